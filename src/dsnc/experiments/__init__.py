"""The paper's tables and figure, on any data: definition -> raw record -> table."""

from dsnc.experiments.definition import Definition, Source
from dsnc.experiments.methods import METHODS, RECIPES
from dsnc.experiments.plan import PRESETS, Plan
from dsnc.experiments.record import Record, find_records
from dsnc.experiments.reproduce import EXPERIMENTS, reproduce
from dsnc.experiments.runner import run_all
from dsnc.experiments.tables import Cell, Table

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
