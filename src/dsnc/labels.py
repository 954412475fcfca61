"""Labels and class numbers, in both directions.

Users have labels of any type; everything inside works on class numbers 0..K-1. `Labels` is the one
place where they meet.
"""

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import count
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.arrays import appended
from dsnc.errors import DataFileError, InputError, shorten, warn

NONE: Mapping[int, Any] = MappingProxyType({})
_KINDS: tuple[Any, ...] = (str, (bool, np.bool_), Integral, Real)  # of labels; numpy's are too
_LOCK = threading.Lock()
_LONG, _FAR_LONGER = 100, 10  # characters of a text; how often as many as others have


class UnknownLabelError(InputError):
    """A label that is none of the known classes."""

    def __init__(self, name: str, position: int, label: object, n_classes: int) -> None:
        super().__init__(
            f"{name}[{position}] is {shorten(label)}, which is not one of the {n_classes:,} "
            "classes."
        )
        self.name, self.position, self.label, self.n_classes = name, position, label, n_classes

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the arguments; the message is made from them."""
        return type(self), (self.name, self.position, self.label, self.n_classes)

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


class Labels:
    """The label of each class number; a label may be anything that can be looked up.

    Nobody else may assume an order: `fit` numbers labels as they are sorted, but labels that a user
    gave, or that came later, have the numbers that they have.

    Parameters
    ----------
    names : sequence
        The label of class 0, 1, ..., each once.
    removed : mapping of int to label, optional
        Labels that are no classes any more, and the places that they had among all labels there
        ever were: where one comes again, it goes there.

    Examples
    --------
    >>> labels, y = Labels.fit(["ox", "bee", "ox"])
    >>> y, labels.of(y[:2])
    (array([1, 0, 1], dtype=int32), array(['ox', 'bee'], dtype=object))
    """

    def __init__(self, names: Iterable[Any], removed: Mapping[int, Any] = NONE) -> None:
        self.names = label_array(names)
        self.removed = dict(removed)
        if any(not 0 <= place < len(self.names) + len(self.removed) for place in self.removed):
            raise InputError("removed lists positions that do not exist.")

    @classmethod
    def fit(cls, labels: Any, name: str = "labels") -> tuple[Self, NDArray[np.int32]]:
        """Give labels numbers in sorted order; return this, and the number of each label.

        Parameters
        ----------
        labels : sequence
            One label a row.
        name : str
            What to call them in messages.
        """
        array = _one_a_row(labels, name)
        if array.dtype.kind == "f" and np.isnan(array).any():
            row = int(np.flatnonzero(np.isnan(array))[0])
            raise InputError(f"{name}[{row}] is NaN; remove the rows without a label.")
        if array.dtype.kind != "O":
            names, numbers = np.unique(array, return_inverse=True)
            return cls(names), numbers.astype(np.int32)
        try:
            known = cls(object_array(sorted(set(array.tolist()))))
        except TypeError as error:
            raise InputError(
                f"{name} mixes types that cannot be ordered ({error}); use strings throughout."
            ) from None
        return known, known.find(array)

    def __len__(self) -> int:
        """Return the number of classes."""
        return len(self.names)

    def of(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return the labels of class numbers, in an array of the same shape."""
        names: NDArray[Any] = self.names[numbers]
        return names

    def find(self, labels: Any) -> NDArray[np.int32]:
        """Return the class numbers of labels, in an array of the same shape; -1 where unknown."""
        array, get = label_array(labels), self._number.get
        found = (get(label, -1) for label in array.ravel().tolist())
        numbers = np.fromiter(found, dtype=np.int32, count=array.size).reshape(array.shape)
        numbers[numbers >= len(self)] = -1  # of labels that have come to others: see `_continued`
        return numbers

    def numbers(self, labels: Any, name: str = "labels") -> NDArray[np.int32]:
        """Return the class number of each label; an unknown one is an error."""
        array = _one_a_row(labels, name)
        numbers = self.find(array)
        if numbers.size and numbers.min() < 0:
            position = int(numbers.argmin())
            label = array[position : position + 1].tolist()[0]
            raise UnknownLabelError(name, position, label, len(self))
        return numbers

    def adding(self, labels: Any, name: str = "labels") -> tuple["Labels", NDArray[np.int64]]:
        """Return labels with more of them, and the number that each class has had so far, or -1.

        Those that were removed go back to their place, others come last, in sorted order.
        """
        wanted = Labels.fit(labels, name)[0].names
        new = wanted[self.find(wanted) < 0]
        places = {label: place for place, label in self.removed.items()}
        back = {places[label]: label for label in new.tolist() if label in places}
        fresh = [label for label in new.tolist() if label not in places]
        staying = {place: label for place, label in self.removed.items() if place not in back}
        _check_kinds(self.names, new, name)
        if not back and len(new):
            return self._continued(fresh), np.append(np.arange(len(self)), [-1] * len(new))
        everything = self._everything() | back
        end = len(self.names) + len(self.removed)
        everything |= dict(enumerate(fresh, start=end))
        return self._renamed(everything, staying)

    def removing(self, labels: Any, name: str = "labels") -> tuple["Labels", NDArray[np.int64]]:
        """Return labels without some of them, and the number that each class has had so far."""
        gone = set(self.numbers(labels, name).tolist())
        places = list(self._everything())
        everything = {
            place: label
            for number, (place, label) in enumerate(self._everything().items())
            if number not in gone
        }
        names = self.names.tolist()
        return self._renamed(everything, self.removed | {places[k]: names[k] for k in gone})

    def _continued(self, fresh: list[Any]) -> "Labels":
        """Return these labels, and others behind them.

        Both share one dictionary, which is not copied unless others have come to these before.
        """
        kind = self.names.dtype.kind
        more = typed_array(fresh, kind)
        if more.dtype.kind == kind == "U" and more.itemsize < self.names.itemsize:
            more = more.astype(self.names.dtype)
        if more.dtype == self.names.dtype:
            names = appended(self.names, more)
        else:
            names = typed_array([*self.names.tolist(), *fresh], kind)
        labels = Labels(names, self.removed)
        with _LOCK:
            number = self._number
            if len(number) > len(self):
                number = {label: i for label, i in number.items() if i < len(self)}
            number.update(zip(fresh, count(len(self)), strict=False))
        vars(labels)["_number"] = number
        return labels

    def _everything(self) -> dict[int, Any]:
        """Return the place of each label among all that there ever were."""
        places = (place for place in count() if place not in self.removed)
        return dict(zip(places, self.names.tolist(), strict=False))

    def _renamed(
        self, everything: dict[int, Any], removed: dict[int, Any]
    ) -> tuple["Labels", NDArray[np.int64]]:
        names = [everything[place] for place in sorted(everything)]
        array = typed_array(names, self.names.dtype.kind)
        if array.dtype.kind == self.names.dtype.kind != "U":
            array = array.astype(np.result_type(array.dtype, self.names.dtype))
        return Labels(array, removed), self.find(array).astype(np.int64)

    @cached_property
    def _number(self) -> dict[Any, int]:
        """Made when a label is looked up: a model that only predicts has no use for it."""
        number = {label: i for i, label in enumerate(self.names.tolist())}
        if len(number) != len(self):
            raise InputError("classes lists a class twice; give each class once.")
        return number

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the names alone."""
        return type(self), (self.names, self.removed)


def object_array(items: Sequence[Any]) -> NDArray[Any]:
    """Return a 1-D object array, whatever the items are."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def typed_array(labels: list[Any], kind: str) -> NDArray[Any]:
    """Return labels in an array of this kind of type, or as objects where numpy would change one.

    Objects are texts, too, of which one is far longer than the others: numpy would widen all.
    """
    lengths = [len(label) for label in labels] if kind == "U" else [0]
    longest = max(lengths, default=0)
    if kind != "O" and longest <= max(_LONG, _FAR_LONGER * sum(lengths) // max(1, len(labels))):
        array = np.array(labels)
        alike = array.dtype.kind == kind or {array.dtype.kind, kind} == {"i", "u"}
        if alike and array.tolist() == labels:
            return array
    return object_array(labels)


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


def _check_kinds(known: NDArray[Any], new: NDArray[Any], name: str) -> None:
    """Refuse texts beside numbers, and other numbers beside whole ones: one type for all labels."""
    if not len(known) or not len(new):
        return
    first = known[:1].tolist()[0]
    for other in new.tolist():
        kinds = _kind(first), _kind(other)
        if kinds[0] != kinds[1] and kinds != (_kind(0.5), _kind(1)):
            raise InputError(
                f"{name} has {shorten(other)} of type {type(other).__name__}, but classes such as "
                f"{shorten(first)} are of type {type(first).__name__}; use one type."
            )


def _kind(label: object) -> int:
    return next((n for n, kind in enumerate(_KINDS) if isinstance(label, kind)), len(_KINDS))


def _one_a_row(labels: Any, name: str) -> NDArray[Any]:
    array = label_array(labels)
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}; expected one label per row (1-D).")
    return array


def warn_of_unknown(
    what: str, labels: NDArray[Any], known: NDArray[np.bool_], consequence: str
) -> None:
    """Say how many labels no training row has, which for example, and what follows."""
    strange = labels[~known].tolist()  # numbers of Python: they are shown
    if not len(strange):
        return
    if len(strange) == len(labels):
        raise InputError(
            f"None of the {len(labels):,} {what} rows has a label that was learned; the first is "
            f"{strange[0]!r}. Is it the right file, and the right column?"
        )
    warn(
        f"{len(strange):,} of {len(labels):,} {what} rows have labels that were not learned, such "
        f"as {strange[0]!r}; {consequence}."
    )
