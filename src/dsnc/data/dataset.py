"""A `Dataset`: rows X, their classes, and nothing else.

Labels of any kind are mapped to 0..K-1 once; all further work is done on integers.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.data.summary import Summary
from dsnc.errors import DataFileError, InputError, shorten, warn
from dsnc.labels import Labels, object_array
from dsnc.sparse import sp
from dsnc.targets import Targets

if TYPE_CHECKING:
    from dsnc.data.columns import Columns

Rows = NDArray[np.int64]
Classes = Sequence[Any] | NDArray[Any] | None
SPLIT_NAMES = ("train", "validation", "test")
MAX_COUNTED = 1 << 25  # classes that have no other names than their numbers


class Split(NamedTuple):
    """Three data sets with the same classes: `train`, `validation` and `test`."""

    train: "Dataset"
    validation: "Dataset"
    test: "Dataset"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows and their classes.

    Parameters
    ----------
    X : ndarray of shape (n, d), scipy CSR, np.memmap, or 1-D object array of str
        The rows. Strings are raw text, to be turned into features later.
    y : integer array of shape (n,), or None
        The class number of each row, 0..K-1. None if rows have label sets.
    classes : array of shape (K,)
        The labels as they were written: row i has the label ``classes[y[i]]``.
    Y : CSR of shape (n, K), optional
        The label sets, if rows have them; nonzero means "has the label".
    splits : dict of str to row numbers, optional
        A predefined split: "train", "validation", "test".
    name, source : str
        What to call the data set; where it came from and how it was read.
    image_shape : (height, width), optional
        The shape of the pictures, if rows are pictures.
    first_index : 0 or 1, optional
        The number of the first feature in svmlight files, if X came from such files.
    columns : dsnc.data.columns.Columns, optional
        What the columns mean, if X came from a table.
    lines, ids : arrays of shape (n,), optional
        The line of each row in its file, and its id there.

    See Also
    --------
    Dataset.from_labels : from labels of any type.
    """

    X: Any
    y: NDArray[np.int32] | None
    classes: NDArray[Any]
    Y: Any = None
    splits: Mapping[str, Rows] | None = None
    name: str = "data"
    source: str = ""
    image_shape: tuple[int, int] | None = None
    first_index: int | None = None
    columns: "Columns | None" = None
    lines: NDArray[np.int64] | None = None
    ids: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        """Check that the parts fit together, and convert sparse matrices to CSR."""
        for field in ("X", "Y"):
            value = getattr(self, field)
            if sp.issparse(value) and not isinstance(value, sp.csr_array):
                object.__setattr__(self, field, sp.csr_array(value))
        if (self.y is None) == (self.Y is None):
            raise InputError(
                "Give either y (one class a row) or Y (label sets), not both or neither."
            )
        labels = self.y if self.y is not None else self.Y
        for what, values in {"labels": labels, "lines": self.lines, "ids": self.ids}.items():
            if values is not None and (n := np.shape(values)[0]) != len(self):
                raise InputError(
                    f"X has {len(self)} rows, but there are {what} for {n}; give {what} for each "
                    "row."
                )
        if self.y is not None:
            object.__setattr__(self, "y", _class_numbers(self.y, self.n_classes))
        elif self.Y.shape[1] != self.n_classes:
            raise InputError(f"Y has {self.Y.shape[1]} columns for {self.n_classes} classes.")
        _check_splits(self.splits, len(self))
        if self.image_shape is not None and self.image_shape[0] * self.image_shape[1] != self.width:
            raise InputError(f"image_shape={self.image_shape} does not fit {self.width} features.")

    @classmethod
    def from_labels(cls, X: Any, labels: Any, *, classes: Classes = None, **rest: Any) -> Self:
        """Make a data set from labels of any type.

        Parameters
        ----------
        X : array-like, CSR or list of str
            The rows. A list of strings becomes an object array.
        labels : sequence
            The label of each row: numbers, strings, or anything else that can be sorted.
        classes : sequence, optional
            The classes in their order, if they are known already (for a test file, for example).
            Any other label is an error.
        **rest
            The other fields of `Dataset`.
        """
        known, y = _numbered(labels, classes)
        if isinstance(X, list | tuple) and X and isinstance(X[0], str):
            X = object_array(X)
        return cls(X if sp.issparse(X) else np.asanyarray(X), y, known.names, **rest)

    @classmethod
    def from_label_lists(
        cls,
        X: Any,
        labels: Any,
        labels_per_row: NDArray[np.int64],
        *,
        classes: Classes = None,
        **rest: Any,
    ) -> Self:
        """Make a data set with label sets from the labels of all rows, one row after the other.

        `labels_per_row` has the number of labels of each row; the rest is as in `from_labels`.
        """
        known, flat = _numbered(labels, classes)
        sets = Targets.from_lists(flat, labels_per_row, len(known))
        return cls(X, None, known.names, Y=sets.classes.astype(np.int8), **rest)

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.X.shape[0])

    @property
    def n_classes(self) -> int:
        """Number of classes, K."""
        return len(self.classes)

    @property
    def is_sparse(self) -> bool:
        """Whether X is a CSR matrix."""
        return bool(sp.issparse(self.X))

    @property
    def is_text(self) -> bool:
        """Whether rows are strings and not yet features."""
        return bool(self.X.ndim == 1)

    @property
    def is_multilabel(self) -> bool:
        """Whether rows have label sets."""
        return self.Y is not None

    @property
    def width(self) -> int | None:
        """Number of features; None for raw text."""
        return None if self.is_text else int(self.X.shape[1])

    @cached_property
    def rows_per_class(self) -> NDArray[np.int64]:
        """The number of rows of each class."""
        return self.targets.counts()

    @property
    def targets(self) -> Targets:
        """The class or the label set of each row, as `Targets`."""
        return Targets(self.Y if self.y is None else self.y, self.n_classes)

    @property
    def labels(self) -> NDArray[Any]:
        """The label of each row, as it was written. Not for label sets."""
        if self.y is None:
            raise InputError(f"{self.name!r} is multi-label: read Y and classes instead of labels.")
        return self.classes[self.y]

    def label_lists(self) -> list[list[Any]]:
        """Return the labels of each row as a list, as they were written."""
        sets = self.as_label_sets().targets.classes
        flat, ends = self.classes[sets.indices].tolist(), sets.indptr.tolist()
        return [flat[start:end] for start, end in zip(ends[:-1], ends[1:], strict=True)]

    def as_label_sets(self) -> Self:
        """Return the data set with label sets; single labels become sets of one."""
        if self.y is None:
            return self
        sets = Targets.from_lists(self.y, np.ones(len(self), np.int64), self.n_classes)
        return replace(self, y=None, Y=sets.classes.astype(np.int8))

    def take(self, rows: Any) -> Self:
        """Return a data set of some rows, given by numbers, a boolean mask or a slice.

        The classes stay the same, so class numbers mean the same in every part. A slice of dense
        rows shares their memory. A predefined split is dropped.
        """
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
        return replace(
            self,
            X=self.X[rows],
            y=None if self.y is None else self.y[rows],
            Y=None if self.Y is None else self.Y[rows],
            splits=None,
            lines=None if self.lines is None else self.lines[rows],
            ids=None if self.ids is None else self.ids[rows],
        )

    def split(
        self, train: float = 0.8, validation: float = 0.1, test: float = 0.1, random_state: int = 0
    ) -> Split:
        """Draw three parts at random, without replacement. The paper uses 80/10/10.

        Parameters
        ----------
        train, validation, test : float, default 0.8, 0.1 and 0.1
            Shares of the rows, together at most 1.
        random_state : int, default 0
            Seed; the same number gives the same parts.
        """
        shares = np.array([train, validation, test], dtype=float)
        if not (np.all(shares >= 0) and 0 < shares.sum() <= 1 + 1e-9):
            raise InputError(
                f"train={train}, validation={validation}, test={test}: shares must be 0 or more "
                "and add up to at most 1."
            )
        order = np.random.default_rng(random_state).permutation(len(self))
        ends = np.rint(np.cumsum(shares) * len(self)).astype(int)
        parts = np.split(order[: ends[-1]], ends[:-1])
        # Within a part the file's order is kept: reading a memmap or CSR in order is faster.
        return Split(*(self.take(np.sort(part)) for part in parts))

    def predefined_split(self) -> Split:
        """Return the parts that came with the data; an error if there are none."""
        if self.splits is None:
            raise InputError(f"{self.name!r} has no predefined split; draw one with split().")
        none = np.empty(0, dtype=np.int64)
        return Split(*(self.take(self.splits.get(name, none)) for name in SPLIT_NAMES))

    def subset_classes(self, n: int, random_state: int = 0) -> Self:
        """Keep `n` random classes and their rows, as the paper makes DMOZ-1K from DMOZ-12K.

        The classes keep their order and are numbered 0..n-1. A predefined split is kept.
        """
        if not 1 <= n <= self.n_classes:
            raise InputError(
                f"n={n} is not a number of classes that {self.name!r} has; give 1 to "
                f"{self.n_classes}."
            )
        kept = np.sort(np.random.default_rng(random_state).choice(self.n_classes, n, replace=False))
        if self.y is None:
            sets = self.Y[:, kept]
            rows = np.flatnonzero(np.diff(sets.indptr))
            labels = {"Y": sets[rows]}
        else:
            number = np.full(self.n_classes, -1, dtype=np.int32)
            number[kept] = np.arange(n, dtype=np.int32)
            rows = np.flatnonzero(number[self.y] >= 0)
            labels = {"y": number[self.y[rows]]}
        splits = None
        if self.splits is not None:
            splits = {s: np.flatnonzero(np.isin(rows, part)) for s, part in self.splits.items()}
        return replace(self.take(rows), classes=self.classes[kept], splits=splits, **labels)

    def numbered_from(self, first_index: int | None) -> Self:
        """Return the data set with columns as if svmlight's first feature had this number.

        A file alone does not show that number unless it contains a 0, so a file that belongs to
        another one is read like that one. If a number is not known (None), columns stay.
        """
        if self.first_index is None or first_index in (None, self.first_index):
            return self
        shift = self.first_index - first_index
        columns = self.X.indices + shift
        if columns.min(initial=0) < 0:
            raise InputError(
                f"{self.source} has a feature 0, but the features of the earlier data were "
                "numbered from 1. If the first feature is 0, give first_index=0."
            )
        shape = (len(self), self.X.shape[1] + shift)
        X = sp.csr_array((self.X.data, columns, self.X.indptr), shape=shape)
        return replace(self, X=X, first_index=first_index)

    def of_width(self, n_features: int) -> Self:
        """Return the data set for a model with this many features; warn if it has others."""
        if not self.is_sparse:
            return self
        X, beyond = fit_width(self.X, n_features)
        warn_of_beyond(self.source or self.name, beyond, n_features)
        return replace(self, X=X)

    def summary(self) -> Summary:
        """Return the numbers of rows, features and classes, the density, and the rows per class."""
        counts, targets = self.rows_per_class, self.targets
        cells = len(self) * (self.width or 0)
        splits = self.splits or {}
        sizes = np.ones(len(self)) if targets.is_single else np.diff(targets.classes.indptr)
        return Summary(
            name=self.name,
            rows=len(self),
            features=self.width,
            density=self.X.nnz / cells if self.is_sparse and cells else None,
            classes=self.n_classes,
            labels_per_row=float(counts.sum() / len(self)) if len(self) else 0.0,
            per_class_min=int(counts.min(initial=len(self))),
            per_class_median=float(np.median(counts)) if counts.size else 0.0,
            per_class_max=int(counts.max(initial=0)),
            splits={name: len(splits[name]) for name in SPLIT_NAMES if name in splits},
            has_label_sets=self.is_multilabel,
            rows_without_label=int((sizes == 0).sum()),
        )

    def __repr__(self) -> str:
        """Return one line: name, size, kind."""
        kind = "text" if self.is_text else "CSR" if self.is_sparse else type(self.X).__name__
        width = "" if self.is_text else f" x {self.width:,} features"
        labels = "label sets over " if self.is_multilabel else ""
        dtype = "" if self.is_text else f" {self.X.dtype}"
        return (
            f"Dataset({self.name!r}: {len(self):,} rows{width} ({kind}{dtype}), "
            f"{labels}{self.n_classes:,} classes)"
        )


def fit_width(X: "sp.csr_array", n_features: int) -> "tuple[sp.csr_array, int]":
    """Return the rows with so many columns, and how many values that leaves out."""
    if X.shape[1] > n_features:
        return sp.csr_array(X[:, :n_features]), int((X.indices >= n_features).sum())
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features)), 0


def warn_of_beyond(name: str, beyond: int, n_features: int) -> None:
    """Say how many values were left out, if any, because no training row had their features."""
    if beyond:
        warn(
            f"{name} has {beyond:,} values of features above the {n_features:,} that were "
            "learned; they are left out."
        )


def counted_classes(path: str | os.PathLike[str], n_classes: int) -> NDArray[np.int64]:
    """Return the classes 0..K-1 of a file that only counts them: a few bytes may claim any K."""
    if n_classes > MAX_COUNTED:
        problem = f"has class numbers up to {n_classes - 1:,}"
        expected = f"fewer than {MAX_COUNTED:,}, counted from 0 without gaps"
        raise DataFileError.at(path, problem, expected=expected)
    return np.arange(n_classes)


def check_multilabel(multilabel: Any) -> None:
    """Refuse what does not say whether rows have label sets."""
    if not isinstance(multilabel, bool) and multilabel != "auto":
        raise InputError(f"multilabel={shorten(multilabel)} must be True, False or 'auto'.")


def _numbered(labels: Any, classes: Classes) -> tuple[Labels, NDArray[np.int32]]:
    """Return the known classes, or those that there are, and the class number of each label."""
    if classes is None:
        return Labels.fit(labels)
    known = Labels(classes)
    return known, known.numbers(labels)


def _class_numbers(y: Any, n_classes: int) -> NDArray[np.int32]:
    numbers = np.asarray(y)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise InputError(
            f"y has shape {numbers.shape} and type {numbers.dtype}; expected class numbers "
            "0..K-1 (use Dataset.from_labels for other labels)."
        )
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < n_classes:
        row = int(np.flatnonzero((numbers < 0) | (numbers >= n_classes))[0])
        raise InputError(f"y[{row}]={numbers[row]} is outside 0..{n_classes - 1}.")
    return numbers.astype(np.int32, copy=False)


def _check_splits(splits: Mapping[str, Rows] | None, n_rows: int) -> None:
    for name, rows in (splits or {}).items():
        if name not in SPLIT_NAMES:
            raise InputError(
                f"splits has an unknown part {name!r}; valid: {', '.join(SPLIT_NAMES)}."
            )
        if len(rows) and not 0 <= np.min(rows) <= np.max(rows) < n_rows:
            raise InputError(f"splits[{name!r}] names rows outside 0..{n_rows - 1}.")
