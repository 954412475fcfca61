"""Records, put in the order of a report: data set by data set, recipe by recipe."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.errors import InputError
from dsnc.paper.experiments import Record, accuracy_table, cost_curve, find_records
from dsnc.paper.experiments.cost_curve import Curve
from dsnc.paper.experiments.definition import file_name
from dsnc.paper.experiments.reproduce import ABOUT, PICTURES


@dataclass(frozen=True)
class Chapter:
    """A data set under one recipe: runs that did not fail, and what decoding costs them."""

    data: str
    recipe: str
    records: Sequence[Record]
    curve: Curve | None  # None where no method is one whose cost is compared

    def select(self, method: str, n_bits: int | None = None) -> list[Record]:
        """Return the runs of a method and code size, by seed."""
        found = [
            record
            for record in self.records
            if record.definition.method == method and n_bits in (None, record.definition.n_bits)
        ]
        return sorted(found, key=lambda r: (r.definition.n_bits or 0, r.definition.seed))

    @property
    def sizes(self) -> list[int]:
        """The code sizes there are."""
        return sorted({r.definition.n_bits for r in self.records if r.definition.n_bits})

    @property
    def few_sizes(self) -> list[int]:
        """The smallest and the largest code size, where a figure shows no more."""
        return sorted({*self.sizes[:1], *self.sizes[-1:]})

    @property
    def seeds(self) -> list[int]:
        """The seeds there are."""
        return sorted({record.definition.seed for record in self.records})


@dataclass(frozen=True)
class DataSet:
    """A data set, its chapters, and all of its runs, failed ones included."""

    name: str
    about: Mapping[str, Any]  # of `data.json`; empty where it is missing
    pictures: NDArray[np.uint8] | None
    chapters: Sequence[Chapter]
    records: Sequence[Record]

    def label(self, number: int) -> str:
        """Return the label of a class; its number where labels are not known."""
        classes = self.about.get("classes", ())
        return str(classes[number]) if 0 <= number < len(classes) else f"class {number}"


def read_runs(runs: str | os.PathLike[str]) -> list[DataSet]:
    """Return what a folder of records holds, data sets by name."""
    folder = Path(runs)
    how = f"Make some with: dsnc reproduce all -o {folder}"
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        raise InputError(f"The folder of records {str(folder)!r} {what}. {how}")
    records = list(find_records(folder))
    if not records:
        raise InputError(f"The folder {str(folder)!r} holds no records. {how}")
    names = sorted({record.definition.data for record in records})
    return [_data_set(n, [r for r in records if r.definition.data == n], folder) for n in names]


def _data_set(name: str, records: list[Record], runs: Path) -> DataSet:
    curves = {curve.recipe: curve for curve in cost_curve.curves(records, runs)}
    chapters = [
        Chapter(name, recipe, group, curves.get(recipe))
        for (_, recipe), group in sorted(accuracy_table.groups(records).items())
    ]
    folder = runs / file_name(name)
    return DataSet(name, _about(folder / ABOUT), _pictures(folder / PICTURES), chapters, records)


def _about(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _pictures(path: Path) -> NDArray[np.uint8] | None:
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError):
        return None
    return found if found.ndim == 3 and found.dtype == np.uint8 else None
