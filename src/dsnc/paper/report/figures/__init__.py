"""The figures of the report: pure functions from numbers to matplotlib figures or pictures."""

from dsnc.paper.report.figures.accuracy import Line, accuracy_figure
from dsnc.paper.report.figures.codes import balance_figure, distance_figure
from dsnc.paper.report.figures.cost import cost_figure
from dsnc.paper.report.figures.learning import learning_figure
from dsnc.paper.report.figures.pictures import heat_map, picture, sheet

__all__ = [
    "Line",
    "accuracy_figure",
    "balance_figure",
    "cost_figure",
    "distance_figure",
    "heat_map",
    "learning_figure",
    "picture",
    "sheet",
]
