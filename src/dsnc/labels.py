"""Labels and class numbers, in both directions, and what each row should be.

Users have labels of any type; everything inside works on class numbers 0..K-1. `Labels` is the one
place where they meet, and `Targets` the one that knows whether an answer is right.
"""

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from dsnc.arrays import appended
from dsnc.errors import DataFileError, InputError, shorten

# What a right answer of a set is worth at each rank: its share of the mean of P@1, P@3 and P@5.
_RANKS = np.array([23, 8, 8, 3, 3], dtype=np.float64) / 45

NONE: Mapping[int, Any] = MappingProxyType({})
_LOCK = threading.Lock()


class UnknownLabelError(InputError):
    """A label that is none of the known classes."""

    def __init__(self, name: str, position: int, label: object, n_classes: int) -> None:
        super().__init__(
            f"{name}[{position}] is {shorten(label)}, which is none of the {n_classes:,} classes."
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
            raise InputError("removed names places that there are none of.")

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
                f"{name} mixes kinds that cannot be ordered ({error}); use strings throughout."
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
        more = object_array(fresh) if self.names.dtype.kind == "O" else np.array(fresh)
        alike = more.dtype == self.names.dtype
        names = appended(self.names, more) if alike else np.concatenate([self.names, more])
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
        array = object_array(names) if self.names.dtype.kind == "O" else np.array(names)
        if array.dtype.kind == self.names.dtype.kind != "U":
            array = array.astype(np.result_type(array.dtype, self.names.dtype))
        return Labels(array, removed), self.find(array).astype(np.int64)

    @cached_property
    def _number(self) -> dict[Any, int]:
        """Made when a label is looked up: a model that only predicts has no use for it."""
        number = {label: i for i, label in enumerate(self.names.tolist())}
        if len(number) != len(self):
            raise InputError("classes names a class twice; give each once.")
        return number

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the names alone."""
        return type(self), (self.names, self.removed)


@dataclass(frozen=True, eq=False)
class Targets:
    """What each row should be: one class, or a set of classes.

    Parameters
    ----------
    classes : int array of shape (n,), or sparse matrix of shape (n, n_classes)
        The class of each row; or its set, the columns that are not zero.
    n_classes : int
        Number of classes; some may have no row.

    Examples
    --------
    >>> Targets(np.array([2, 0]), 3).contains([[1, 2], [1, 2]])
    array([[False,  True],
           [False, False]])
    """

    classes: Any
    n_classes: int

    def __post_init__(self) -> None:
        """Bring sets into one form: sorted columns, each once, no zeros."""
        if sp.issparse(self.classes):
            sets = sp.csr_array(self.classes)
            if not (sets.has_canonical_format and sets.data.all()):
                sets = sets.astype(np.bool_)  # a copy: what the caller has stays as it is
                sets.sum_duplicates()
                sets.eliminate_zeros()
            object.__setattr__(self, "classes", sets)

    @classmethod
    def from_lists(cls, flat: NDArray[Any], counts: ArrayLike, n_classes: int) -> Self:
        """Make sets from the class numbers of all rows, one row after the other.

        Parameters
        ----------
        flat : int array
            Class numbers; one that a row has twice counts once.
        counts : int array of shape (n,)
            How many of them each row has.
        n_classes : int
        """
        ends = np.concatenate([[0], np.cumsum(counts)])
        shape = (len(ends) - 1, n_classes)
        return cls(sp.csr_array((np.ones(len(flat), np.bool_), flat, ends), shape=shape), n_classes)

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.classes.shape[0])

    @property
    def is_single(self) -> bool:
        """Whether each row has one class."""
        return not sp.issparse(self.classes)

    @property
    def y(self) -> NDArray[Any]:
        """The class of each row, for what can learn from one class a row only."""
        if not self.is_single:
            raise InputError("rows have sets of classes; one class a row is needed here.")
        y: NDArray[Any] = self.classes
        return y

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays that make up the targets."""
        return (self.y,) if self.is_single else (self.classes.indptr, self.classes.indices)

    def lists(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return where the classes of each row begin (and where the last ones end), and all."""
        if self.is_single:
            return np.arange(len(self) + 1), self.classes.astype(np.int32, copy=False)
        return self.classes.indptr.astype(np.int64), self.classes.indices.astype(np.int32)

    def sizes(self) -> NDArray[np.int64]:
        """Return how many classes each row has."""
        return np.diff(self.lists()[0])

    @property
    def most(self) -> int:
        """The number of classes of the row that has most."""
        return int(self.sizes().max(initial=0))

    def take(self, rows: Any) -> "Targets":
        """Return the targets of some rows: numbers, a boolean mask or a slice."""
        return replace(self, classes=self.classes[rows])

    def counts(self, weight: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return how many rows each class has; with weights of rows, how much they weigh."""
        members = self.classes
        if not self.is_single:
            members = self.classes.indices
            weight = None if weight is None else np.repeat(weight, np.diff(self.classes.indptr))
        return np.bincount(members, weight, minlength=self.n_classes)

    @property
    def n_ranks(self) -> int:
        """How many of the best answers count: one, or five where rows have sets."""
        return 1 if self.is_single else len(_RANKS)

    def worth(self, is_true: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return what the best answers of each row are worth.

        1 if the first is right, where rows have one class; the mean of the precision of the first,
        the first three and the first five, where they have sets.

        Parameters
        ----------
        is_true : bool array of shape (n, k)
            Whether the answers are right, best first.
        """
        shares = np.ones(1) if self.is_single else _RANKS
        k = min(len(shares), is_true.shape[1])
        return np.asarray(is_true[:, :k] @ shares[:k], dtype=np.float64)

    def worth_of_scores(
        self, scores: NDArray[Any], is_true: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return what the order of scored answers is worth for each row; see `worth`."""
        if self.is_single:
            best = scores.argmax(axis=1)[:, None]
        else:
            best = np.argsort(-scores, axis=1, kind="stable")[:, : self.n_ranks]
        return self.worth(np.take_along_axis(is_true, best, axis=1))

    def contains(self, classes: ArrayLike) -> NDArray[np.bool_]:
        """Tell of each answer whether it is right.

        Parameters
        ----------
        classes : int array of shape (n,) or (n, k)
            Class numbers, of which each row has one or k; what is not a class is wrong.
        """
        answers = np.asarray(classes)
        column = (slice(None), *(None for _ in answers.shape[1:]))
        if self.is_single:
            return np.asarray(answers == self.classes[column])
        # Row and class in one integer, ascending: sets are looked up by bisection.
        rows = np.arange(len(self), dtype=np.int64)
        members = np.repeat(rows, np.diff(self.classes.indptr)) * self.n_classes
        members += self.classes.indices
        wanted = rows[column] * self.n_classes + answers
        places = np.minimum(np.searchsorted(members, wanted), max(0, len(members) - 1))
        is_class = (answers >= 0) & (answers < self.n_classes)
        found = members[places] == wanted if len(members) else np.False_
        return np.asarray(is_class & found)


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


def _check_kinds(known: NDArray[Any], new: NDArray[Any], name: str) -> None:
    """Refuse texts beside numbers: one type for all labels."""
    if not len(known) or not len(new):
        return
    first, other = known[:1].tolist()[0], new[:1].tolist()[0]
    if isinstance(first, str) != isinstance(other, str):
        raise InputError(
            f"{name} has {shorten(other)}, a {type(other).__name__}, and the classes are like "
            f"{shorten(first)}, a {type(first).__name__}; use one type."
        )


def _one_a_row(labels: Any, name: str) -> NDArray[Any]:
    array = label_array(labels)
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}; expected one label a row (1-D).")
    return array
