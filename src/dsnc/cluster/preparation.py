"""Rows of a source to rows that can be learned from, part by part, by the workers of a cluster."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.classifier.texts import as_numbers, learned_features
from dsnc.cluster.units import Reading, Unit
from dsnc.data.columns import LABEL_NAMES, choose_columns, split_options
from dsnc.data.table_rows import Made, RowMaker
from dsnc.errors import DsncError, InputError
from dsnc.features import FittedTextFeatures
from dsnc.files import whole_folder
from dsnc.labels import Labels, label_array

_LABELS = "labels.json"


@dataclass(frozen=True)
class Preparing:
    """All that a worker has to know to prepare rows."""

    folder: str
    units: list[Unit]
    reading: Reading
    features: FittedTextFeatures | None

    def part(self, number: int) -> Path:
        """Return the folder of a part."""
        return Path(self.folder) / f"part-{number:05}"


@dataclass(frozen=True)
class Prepared:
    """What is known of all rows when they are prepared."""

    parts: list[Path]
    counts: list[int]  # rows of each part
    labels: Labels
    y: NDArray[np.int32]


def learn_reading(
    units: list[Unit], table: dict[str, Any], text: Any, most: int
) -> tuple[Reading, FittedTextFeatures | None]:
    """Decide how rows are read, and which features texts get, by some units, evenly spaced.

    `table` has options of tables, `text` is the parameter of the estimator, and `most` is how many
    texts decide on features.
    """
    options, roles = split_options(table, "fit")
    options.check()
    reading, opened = Reading.like(units[0], options, [*LABEL_NAMES, *roles.names()])
    columns = choose_columns(opened, roles)
    reading = replace(reading, columns=columns)
    made, columns = _made(reading, units[0])  # categories, means and the like are of these rows
    reading = replace(reading, columns=columns)
    if made.X.dtype == np.float64:
        raise InputError(
            "the source has numbers that are more than 1,000 standard deviations from 0; subtract "
            "their mean: a cluster learns in float32, which would lose their digits."
        )
    if not columns.text:
        return reading, None
    texts = list(made.X)
    wanted = -(-most // max(1, len(texts)))  # units, if they are like the first
    for place in np.unique(np.linspace(0, len(units) - 1, min(wanted, len(units))).astype(int))[1:]:
        texts += list(_made(reading, units[place])[0].X)
    return reading, learned_features(texts, text)


def _made(reading: Reading, unit: Unit) -> tuple[Made, Any]:
    """Return the rows of a unit with their labels, one each."""
    with reading.open(unit) as table:
        return RowMaker(table, reading.columns, multilabel=False).make(table.rows())


class Prepares:
    """A worker: writes the rows of a unit as arrays, with numbers for its own labels."""

    def __init__(self, job: Preparing) -> None:
        self._job = job

    def __call__(self, number: int) -> dict[str, Any]:
        """Prepare a unit; what is wrong with it is said, as trying again is vain."""
        job, unit = self._job, self._job.units[number]
        try:
            made, _ = _made(job.reading, unit)
            X = made.X if len(made.lines) else np.zeros((0, 1), np.float32)
            X = as_numbers(X, job.features) if job.features is not None else X
            names, y = Labels.fit(label_array(made.labels)) if made.labels else (None, [])
            save_rows(job.part(number), X, y, [] if names is None else names.names.tolist())
        except (DsncError, TypeError, ValueError) as error:
            named = unit.name in str(error)
            return {"problem": str(error) if named else f"{unit.name}: {error}"}
        return {"problem": ""}


def save_rows(folder: Path, X: Any, y: Any, labels: list[Any]) -> None:
    """Write rows, the numbers of their labels, and the labels, whole or not at all."""
    with whole_folder(folder, replace=True) as aside:
        if sp.issparse(X):
            for name in ("data", "indices", "indptr"):
                np.save(aside / f"{name}.npy", getattr(X, name))
            np.save(aside / "width.npy", X.shape[1])
        else:
            np.save(aside / "X.npy", np.asarray(X, dtype=np.float32))
        np.save(aside / "y.npy", np.asarray(y, dtype=np.int32))
        (aside / _LABELS).write_text(json.dumps(labels), encoding="utf-8")


def collect(job: Preparing) -> Prepared:
    """Return what the parts say together: the labels of all, and a number for each row."""
    parts = [job.part(number) for number in range(len(job.units))]
    own = [json.loads((part / _LABELS).read_text(encoding="utf-8")) for part in parts]
    kinds = {type(label) for some in own for label in some}
    if len(kinds) > 1 and not kinds <= {int, float}:
        shown = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise InputError(f"labels are of different types in different files: {shown}; use one.")
    distinct = list(dict.fromkeys(label for some in own for label in some))
    if len(distinct) < 2:
        raise InputError(f"the rows have {len(distinct)} classes; a classifier needs at least 2.")
    labels, numbers = Labels.fit(label_array(distinct))
    number_of = dict(zip(distinct, numbers.tolist(), strict=True))
    y, counts = [], []
    for part, some in zip(parts, own, strict=True):
        found = np.load(part / "y.npy")
        table = np.array([number_of[label] for label in some], dtype=np.int32)
        y.append(table[found] if len(found) else found)
        counts.append(len(found))
    kept = [i for i, count in enumerate(counts) if count]  # an empty file is no part
    return Prepared([parts[i] for i in kept], [counts[i] for i in kept], labels, np.concatenate(y))
