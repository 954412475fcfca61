"""Learning rate and factor for each cell of a table, chosen on validation rows: the protocol.

A cell is a method with a code size, under one recipe and on one data set. Each candidate is trained
once, with the first seed; the one with the best validation accuracy trains the models of all seeds.
Of equals the first of the grid is taken. Every trial leaves a record, and none sees a test row.
"""

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
    trials = run_all(
        [trial for definition in first.values() for trial in trials_of(definition, fixed)],
        runs,
        n_jobs=n_jobs,
        progress=progress,
    )
    chosen: dict[Cell, Record] = {}
    for trial in trials:
        cell = _cell(trial.definition)
        if not trial.error and (cell not in chosen or _accuracy(trial) > _accuracy(chosen[cell])):
            chosen[cell] = trial
    return [_with(definition, chosen.get(_cell(definition))) for definition in definitions], trials


def trials_of(definition: Definition, fixed: dict[str, Any]) -> list[Definition]:
    """Return the runs among which validation rows choose for the cell of a definition."""
    candidates = METHODS[definition.method].candidates(definition.recipe, fixed)
    return [
        replace(definition, selected=candidate, trial=True, keep_decoders=False)
        for candidate in candidates
    ]


def _cell(definition: Definition) -> Cell:
    return definition.fingerprint, definition.recipe, definition.method, definition.n_bits


def _accuracy(trial: Record) -> float:
    accuracy: float = trial.history["best_accuracy"]
    return accuracy


def _with(definition: Definition, trial: Record | None) -> Definition:
    """Return a definition with what a trial showed to be best, if there was a choice."""
    return definition if trial is None else replace(definition, selected=trial.definition.selected)
