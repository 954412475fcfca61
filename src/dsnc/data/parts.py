"""Several files, one data set: train, validation and test become a predefined split."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.data.dataset import SPLIT_NAMES, Dataset
from dsnc.data.files import stem
from dsnc.errors import DataFileError
from dsnc.labels import Labels

_FILE_NAMES = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test",),
}


def find_parts(folder: Path) -> dict[str, Path]:
    """Find the files of a split by their names, in the order train, validation, test."""
    found: dict[str, Path] = {}
    for part in SPLIT_NAMES:
        usual = _FILE_NAMES[part]
        files = sorted(f for f in folder.iterdir() if f.is_file() and stem(f).lower() in usual)
        if len(files) > 1:
            raise DataFileError.at(
                folder,
                f"has several {part} files ({', '.join(f.name for f in files)})",
                expected="one each; name the file itself instead of the folder",
            )
        if files:
            found[part] = files[0]
    if "train" not in found:
        raise DataFileError.at(
            folder,
            "holds no data that can be recognized",
            expected="X.npz or X.npy with y.npy, or files named train, validation, test",
        )
    return found


def stack_parts(parts: Mapping[str, Dataset]) -> Dataset:
    """Stack data sets that may differ in width and classes; what each was is the split."""
    ends = np.cumsum([0, *(len(part) for part in parts.values())])
    splits = {
        name: np.arange(start, end)
        for name, start, end in zip(parts, ends[:-1], ends[1:], strict=True)
    }
    members = list(parts.values())
    classes = _shared_classes(members)
    labels: dict[str, Any] = {"y": None}
    if any(part.is_multilabel for part in members):
        labels["Y"] = sp.vstack([_label_sets(part, classes) for part in members], format="csr")
    else:
        labels["y"] = np.concatenate([_renumber(part, classes)[part.y] for part in members])
    return Dataset(
        _stack_rows([part.X for part in members]),
        classes=classes,
        splits=splits,
        source="; ".join(f"{name}: {part.source}" for name, part in parts.items()),
        **labels,
    )


def _stack_rows(rows: list[Any]) -> Any:
    if not sp.issparse(rows[0]):
        return np.concatenate(rows)
    width = max(X.shape[1] for X in rows)
    padded = [sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width)) for X in rows]
    return sp.vstack(padded, format="csr")


def _shared_classes(parts: list[Dataset]) -> NDArray[Any]:
    first = parts[0].classes
    if all(np.array_equal(part.classes, first) for part in parts):
        return first  # also keeps an order that the user gave
    return Labels.fit(np.concatenate([part.classes for part in parts]))[0].names


def _renumber(part: Dataset, classes: NDArray[Any]) -> NDArray[np.int32]:
    """Return the shared number of each class of a part."""
    return Labels(classes).numbers(part.classes)


def _label_sets(part: Dataset, classes: NDArray[Any]) -> Any:
    columns = _renumber(part, classes)
    if part.y is not None:
        indices, indptr = columns[part.y], np.arange(len(part) + 1)
        data = np.ones(len(part), dtype=np.int8)
    else:
        data, indices, indptr = part.Y.data, columns[part.Y.indices], part.Y.indptr
    return sp.csr_array((data, indices, indptr), shape=(len(part), len(classes)))
