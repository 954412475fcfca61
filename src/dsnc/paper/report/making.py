"""How it was made: runs, settings, versions, machines, seconds, and what failed."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from dsnc.paper.experiments import Record
from dsnc.paper.experiments.tables import Cell, Table
from dsnc.paper.report.chapters import DataSet
from dsnc.paper.report.sections import METHOD_TITLES
from dsnc.progress import duration


class Failure(NamedTuple):
    """A run that failed."""

    title: str
    reason: str  # the last line
    trace: str


def failures(data_sets: Iterable[DataSet]) -> list[Failure]:
    """Return all runs that failed."""
    found = []
    for data in data_sets:
        for record in data.failed:
            trace = record.error.strip()
            lines = trace.splitlines() or ["unknown"]
            found.append(Failure(record.definition.title, lines[-1], trace))
    return found


def runs_table(data: DataSet) -> Table:
    """Return how many runs of each method there are, and their seconds."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in data.records:
        definition = record.definition
        groups.setdefault((definition.recipe, definition.method), []).append(record)
    order = list(METHOD_TITLES)
    rows = []
    for recipe, method in sorted(groups, key=lambda key: (key[0], order.index(key[1]))):
        records = groups[recipe, method]
        sizes = sorted({r.definition.n_bits for r in records if r.definition.n_bits})
        seeds = sorted({r.definition.seed for r in records})
        rows.append(
            [
                Cell(METHOD_TITLES[method]),
                Cell(recipe),
                Cell(", ".join(map(str, sizes)) or "–"),
                Cell(", ".join(map(str, seeds))),
                Cell(str(len(records))),
                Cell(_mean_seconds(records, "fit")),
                Cell(_mean_seconds(records, "evaluate")),
            ]
        )
    columns = ("method", "recipe", "bits", "seeds", "runs", "fit, s", "evaluate, s")
    seconds = sum(sum(record.seconds.values()) for record in data.records)
    note = f"Mean seconds a run; all runs together: {duration(seconds)}."
    return Table(f"Runs on {data.name}", columns, rows, [note])


def settings_of(data: DataSet) -> list[str]:
    """Return the settings over the recipes' own, one line for each kind there is."""
    return sorted({_line(r.definition.settings) or "as the recipes say" for r in data.records})


def warnings_of(data: DataSet) -> list[str]:
    """Return why runs on a data set may not be compared with each other."""
    found = []
    good = [record for record in data.records if not record.error]
    if len({record.definition.fingerprint for record in good}) > 1:
        found.append("Runs on different versions of these data are mixed: rows or split changed.")
    if len({_line(record.definition.settings) for record in good}) > 1:
        found.append("Runs with different settings are mixed; see how it was made.")
    return found


def distinct(values: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a line for each different mapping, empty ones left out."""
    return sorted({line for value in values if (line := _line(value))})


def _mean_seconds(records: Sequence[Record], what: str) -> str:
    values = [record.seconds[what] for record in records if what in record.seconds]
    return f"{fmean(values):,.1f}" if values else "–"


def _line(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items() if value is not None)
