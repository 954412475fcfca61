"""From the names of experiments to their tables."""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dsnc.errors import require, unknown_name
from dsnc.files import write_whole
from dsnc.paper.experiments import accuracy_table, cost_curve, latent_table
from dsnc.paper.experiments.definition import Definition, Source, file_name
from dsnc.paper.experiments.plan import Plan
from dsnc.paper.experiments.prepare import prepare
from dsnc.paper.experiments.record import Record
from dsnc.paper.experiments.runner import run_all
from dsnc.paper.experiments.selection import select, trials_of
from dsnc.paper.experiments.tables import Table

ABOUT, PICTURES = "data.json", "pictures.npy"


class Experiment(NamedTuple):
    """What to run, and what to make of it."""

    title: str
    definitions: Callable[[Source, Plan], Iterable[Definition]]
    tables: Callable[[Sequence[Record], Path], list[Table]]
    measure: Callable[[Iterable[Record], Path], None] = lambda records, runs: None


EXPERIMENTS: dict[str, Experiment] = {
    "accuracy": Experiment(
        "Table 2: accuracy",
        lambda source, plan: plan.definitions(source),
        lambda records, runs: accuracy_table.tables(records),
    ),
    "latent": Experiment(
        "Table 3: the space of codes",
        lambda source, plan: plan.definitions(source, latent_table.METHODS),
        lambda records, runs: latent_table.tables(records),
    ),
    "cost": Experiment(
        "Figure 2: accuracy against cost",
        lambda source, plan: plan.definitions(source, cost_curve.CONTESTANTS, keep_decoders=True),
        cost_curve.tables,
        cost_curve.measure,
    ),
}
"""The experiments by name."""


def reproduce(
    names: Iterable[str],
    data: str,
    plan: Plan,
    runs: str | os.PathLike[str] = "runs",
    *,
    beside: str | None = None,
    n_jobs: int = 1,
    progress: bool = False,
) -> tuple[list[Table], list[Record]]:
    """Run what is missing, and return the tables of the experiments and their records.

    Trials of settings are among the records if they failed.

    Parameters
    ----------
    names : iterable of str
        Keys of `EXPERIMENTS`.
    data : str
        Anything that `dsnc.data.load_dataset` accepts.
    plan : Plan
        How much to run.
    runs : path, default "runs"
        The folder of the records.
    beside : str, optional
        The paper's data set that the data stand for, such as "DMOZ-1K"; its figures are shown
        beside ours. Not needed for the paper's own sets.
    n_jobs, progress
        As in `run_all`.
    """
    require("torch", extra="torch", caller="dsnc.paper.experiments.reproduce")
    names, folder = list(names), Path(runs)
    for name in names:
        if name not in EXPERIMENTS:
            raise unknown_name("experiment", name, EXPERIMENTS)
    sources = plan.sources(data, beside)
    definitions = [
        definition
        for source in sources
        for name in names
        for definition in EXPERIMENTS[name].definitions(source, plan)
    ]
    # Of equal runs the first counts: one that keeps its decoders serves both experiments.
    definitions.sort(key=lambda definition: not definition.keep_decoders)
    _write_about(definitions[0], folder)
    trials: list[Record] = []
    if plan.select:
        wanted = trials_of(definitions, plan.settings)
        trials = run_all(wanted, folder, n_jobs=n_jobs, progress=progress)
        definitions = select(definitions, trials)
    records = run_all(definitions, folder, n_jobs=n_jobs, progress=progress)
    tables: list[Table] = []
    for name in names:
        EXPERIMENTS[name].measure(records, folder)
        tables += EXPERIMENTS[name].tables(records, folder)
    return tables, [*(trial for trial in trials if trial.error), *records]


def _write_about(definition: Definition, runs: Path) -> None:
    """Write what a report needs to know of the data themselves."""
    prepared = prepare(definition.source, definition.weighting)
    folder = runs / file_name(prepared.name)
    text = json.dumps(prepared.about(), ensure_ascii=False)
    write_whole(folder / ABOUT, text.encode())
    pictures = prepared.pictures()
    if pictures is not None:
        write_whole(folder / PICTURES, lambda file: np.save(file, pictures))
