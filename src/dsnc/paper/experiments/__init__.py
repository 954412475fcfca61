"""The paper's tables and figure, on any data: from definitions to raw records to tables."""

from dsnc.paper.experiments.definition import Definition, Source
from dsnc.paper.experiments.methods import METHODS, RECIPES
from dsnc.paper.experiments.plan import PRESETS, Plan
from dsnc.paper.experiments.record import Record, find_records
from dsnc.paper.experiments.reproduce import EXPERIMENTS, reproduce
from dsnc.paper.experiments.runner import run_all
from dsnc.paper.experiments.tables import Cell, Table

__all__ = [
    "EXPERIMENTS",
    "METHODS",
    "PRESETS",
    "RECIPES",
    "Cell",
    "Definition",
    "Plan",
    "Record",
    "Source",
    "Table",
    "find_records",
    "reproduce",
    "run_all",
]
