"""Labels of any kind to class numbers 0..K-1, once, at the door."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.errors import DataFileError, InputError, shorten

Classes = Sequence[Any] | NDArray[Any] | None


class UnknownLabelError(InputError):
    """A label that is none of the given classes."""

    def __init__(self, position: int, label: object, n_classes: int) -> None:
        super().__init__(
            f"labels[{position}] is {shorten(str(label))}, which is none of the {n_classes:,} "
            "known classes."
        )
        self.position, self.label, self.n_classes = position, label, n_classes

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the arguments; the message is made from them."""
        return type(self), (self.position, self.label, self.n_classes)

    def row(self, labels_per_row: NDArray[np.int64]) -> int:
        """Return the row that the label belongs to."""
        return int(np.searchsorted(np.cumsum(labels_per_row), self.position, side="right"))

    def in_file(self, path: str | os.PathLike[str], line: int) -> DataFileError:
        """Return the error that says where in a file the label stands."""
        return DataFileError.at(
            path,
            "has an unknown label",
            line=line,
            text=str(self.label),
            expected=f"one of the {self.n_classes:,} known classes",
        )


def encode_labels(labels: Any, classes: Classes = None) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Map labels to 0..K-1.

    Parameters
    ----------
    labels : sequence
        One label a row.
    classes : sequence, optional
        The classes in their order; without it the distinct labels, sorted.

    Returns
    -------
    y : int32 array
    classes : array
    """
    array = label_array(labels)
    if array.ndim != 1:
        raise InputError(f"labels has shape {array.shape}; expected one label a row (1-D).")
    if array.dtype.kind == "f" and np.isnan(array).any():
        row = int(np.flatnonzero(np.isnan(array))[0])
        raise InputError(f"labels[{row}] is NaN; remove the rows without a label.")
    if classes is None and array.dtype.kind != "O":
        known, y = np.unique(array, return_inverse=True)
        return y.astype(np.int32), known
    return _encode_by_dict(array, classes)


def encode_label_lists(
    flat: Any, counts: NDArray[np.int64], classes: Classes = None
) -> tuple[Any, NDArray[Any]]:
    """Map label sets to a CSR matrix of ones.

    Parameters
    ----------
    flat : sequence
        The labels of all rows, one row after the other.
    counts : array
        How many labels each row has.
    classes : sequence, optional
        As in `encode_labels`.

    Returns
    -------
    Y : CSR array of int8, shape (rows, classes)
    classes : array
    """
    columns, known = encode_labels(flat, classes)
    ends = np.concatenate([[0], np.cumsum(counts)])
    shape = (len(counts), len(known))
    Y = sp.csr_array((np.ones(len(columns), np.int8), columns, ends), shape=shape)
    Y.sum_duplicates()
    Y.data[:] = 1  # a label named twice is still one label
    return Y, known


def object_array(items: Sequence[Any]) -> NDArray[Any]:
    """Return a 1-D object array, whatever the items are."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def label_array(labels: Iterable[Any]) -> NDArray[Any]:
    """Turn labels into an array that keeps them as they are.

    Strings stay objects: in numpy's own string arrays one long label would widen all, and a
    trailing NUL would be lost. So do whole numbers that numpy would have to round (64-bit hashes).
    """
    if isinstance(labels, np.ndarray):
        return labels
    items = list(labels)
    if items and all(isinstance(item, int | float | np.number) for item in items):
        array = np.asarray(items)
        rounded = array.dtype.kind == "f" and all(isinstance(item, int) for item in items)
        if not rounded:
            return array
    return object_array(items)


def _encode_by_dict(
    labels: NDArray[Any], classes: Classes
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    items = labels.tolist()
    if classes is None:
        try:
            known: list[Any] = sorted(set(items))
        except TypeError as error:
            raise InputError(
                f"labels mixes kinds that cannot be ordered ({error}); use strings throughout."
            ) from None
    else:
        known = label_array(classes).tolist()
    number = {label: i for i, label in enumerate(known)}
    if len(number) != len(known):
        raise InputError("classes names a class twice; give each once.")
    try:
        y = np.fromiter((number[item] for item in items), dtype=np.int32, count=len(items))
    except KeyError as error:
        label = error.args[0]
        raise UnknownLabelError(items.index(label), label, len(known)) from None
    return y, label_array(known if classes is None else classes)
