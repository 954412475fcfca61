"""Learning rate and factor for each cell of a table, chosen on validation rows: the protocol.

A cell is a method with a code size, under one recipe and on one data set. Each candidate is trained
once, with the first seed; the one with the best validation accuracy trains the models of all seeds.
Of equals the first of the grid is taken. Every trial leaves a record, and none sees a test row.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dsnc.paper.experiments.definition import Definition
from dsnc.paper.experiments.methods import METHODS
from dsnc.paper.experiments.record import Record
from dsnc.paper.experiments.runner import run_all

Cell = tuple[str, str, str, int | None]


def select(
    definitions: Iterable[Definition],
    fixed: dict[str, Any],
    runs: Path,
    *,
    n_jobs: int = 1,
    progress: bool = False,
) -> tuple[list[Definition], list[Record]]:
    """Return the definitions with what was chosen for them, and the records of all trials.

    Parameters
    ----------
    definitions : iterable of Definition
    fixed : dict
        What the user set, which is not up for choice.
    runs, n_jobs, progress
        As in `run_all`.
    """
    definitions = list(definitions)
    first: dict[Cell, Definition] = {}
    for definition in definitions:
        first.setdefault(_cell(definition), definition)
    wanted = [trial for definition in first.values() for trial in trials_of(definition, fixed)]
    trials = run_all(wanted, runs, n_jobs=n_jobs, progress=progress)
    accuracy: dict[Cell, float] = {}
    best: dict[Cell, dict[str, Any]] = {}
    for trial in trials:
        cell = _cell(trial.definition)
        if not trial.error and trial.history["best_accuracy"] > accuracy.get(cell, -math.inf):
            accuracy[cell] = trial.history["best_accuracy"]
            best[cell] = trial.definition.selected
    chosen = [replace(one, selected=best.get(_cell(one), one.selected)) for one in definitions]
    return chosen, trials


def trials_of(definition: Definition, fixed: dict[str, Any]) -> list[Definition]:
    """Return the runs among which validation rows choose for the cell of a definition."""
    candidates = METHODS[definition.method].candidates(definition.recipe, fixed)
    return [
        replace(definition, selected=candidate, trial=True, keep_decoders=False)
        for candidate in candidates
    ]


def _cell(definition: Definition) -> Cell:
    return definition.fingerprint, definition.recipe, definition.method, definition.n_bits
