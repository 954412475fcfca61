"""Learning rate and factor for each cell of a table, chosen on validation rows: the protocol.

A cell is a method with a code size, under one recipe and on one data set. Each candidate is trained
once, with the first seed; the one with the best validation accuracy trains the models of all seeds.
Of equals the first of the grid is taken. Every trial leaves a record, and none sees a test row.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from dsnc.paper.experiments.definition import Definition
from dsnc.paper.experiments.methods import METHODS
from dsnc.paper.experiments.record import Record

Cell = tuple[str, str, str, int | None]


def trials_of(definitions: Iterable[Definition], fixed: Mapping[str, Any]) -> list[Definition]:
    """Return the runs among which validation rows choose; what is `fixed` is not up for choice."""
    first: dict[Cell, Definition] = {}
    for definition in definitions:
        first.setdefault(_cell(definition), definition)
    return [
        replace(definition, selected=candidate, trial=True, keep_decoders=False)
        for definition in first.values()
        for candidate in METHODS[definition.method].candidates(definition.recipe, fixed)
    ]


def select(definitions: Iterable[Definition], trials: Iterable[Record]) -> list[Definition]:
    """Return the definitions with what was best for their cell, where trials ended well."""
    accuracy: dict[Cell, float] = {}
    best: dict[Cell, dict[str, Any]] = {}
    for trial in trials:
        cell = _cell(trial.definition)
        if not trial.error and trial.history["best_accuracy"] > accuracy.get(cell, -math.inf):
            accuracy[cell] = trial.history["best_accuracy"]
            best[cell] = trial.definition.selected
    return [replace(one, selected=best.get(_cell(one), one.selected)) for one in definitions]


def _cell(definition: Definition) -> Cell:
    return definition.fingerprint, definition.recipe, definition.method, definition.n_bits
