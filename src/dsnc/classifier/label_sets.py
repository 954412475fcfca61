"""Sets of labels as users have them: indicators, or lists of labels."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.errors import InputError, shorten, warn
from dsnc.features.points import is_missing
from dsnc.labels import Labels, UnknownLabelError, label_array
from dsnc.metrics.label_sets import label_sets
from dsnc.targets import Targets

_LISTS, _WHOLE = (list, tuple, np.ndarray), (int, np.integer, np.bool_)


@dataclass(frozen=True)
class GivenSets:
    """The labels of each row, by number or by name.

    Parameters
    ----------
    sets : Targets, optional
        Of an indicator.
    flat, counts : array and int64 array of shape (n,), optional
        All labels, one row after the other, and how many each row has; of lists.
    classes : sequence, optional
        The labels of the columns of an indicator, or all labels that lists may have.
    is_dense : bool
        Whether it was a plain array.
    """

    sets: Targets | None = None
    flat: Any = None
    counts: Any = None
    classes: Any = None
    is_dense: bool = False

    @classmethod
    def of(cls, Y: Any, classes: Any = None) -> "GivenSets":
        """Read an indicator, or lists of labels; refuse what is neither."""
        if isinstance(Y, cls):
            return Y
        if Y is None:
            raise InputError("fit requires y to be passed, but the target y is None.")
        if isinstance(Y, Targets) or sp.issparse(Y) or _is_table(Y):
            sets = label_sets("y", Y.to_numpy() if hasattr(Y, "to_numpy") else Y)
            if classes is not None and len(classes) != sets.n_classes:
                raise InputError(
                    f"classes lists {len(classes)} labels, but y has {sets.n_classes} columns; "
                    "name each column once."
                )
            is_dense = not (isinstance(Y, Targets) or sp.issparse(Y))
            return cls(sets=sets, classes=classes, is_dense=is_dense)
        flat, counts = _flattened(Y)
        return cls(flat=flat, counts=counts, classes=classes)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.counts if self.sets is None else self.sets)

    def learned(self) -> tuple[Labels, Targets]:
        """Give labels numbers; refuse those that leave nothing to choose from."""
        if self.sets is not None:
            names = np.arange(self.sets.n_classes) if self.classes is None else self.classes
            labels, targets = _labels(names), self.sets
        elif self.classes is not None:
            labels = _labels(self.classes)
            targets = self.known(labels)
        else:
            labels, numbers = Labels.fit(self.flat, "y")
            targets = Targets.from_lists(numbers, self.counts, len(labels))
        if not targets.counts().any():
            raise InputError("y has no label in any row; there is nothing to learn.")
        if len(labels) < 2:
            only = shorten(labels.names.tolist()[0])
            raise InputError(
                f"y has only one label, {only}; to predict whether a row has it, use "
                "DSNCClassifier with one label for yes and another for no."
            )
        return labels, targets

    def named(self, known: Labels) -> "GivenSets":
        """Return lists of labels; an indicator has a column for each known one, then new ones."""
        if self.sets is None:
            return self
        n_known, counts = len(known), self.sets.counts()
        if known.names.tolist() != list(range(n_known)) or len(counts) < n_known:
            raise InputError(
                f"y is an indicator with {len(counts)} columns; with new labels, it needs columns "
                f"0 to {n_known - 1} for the labels of the model, if these are its labels. Give "
                "lists of labels instead."
            )
        if not counts[n_known:].all():
            empty = n_known + int(np.flatnonzero(counts[n_known:] == 0)[0])
            raise InputError(f"y has no row with the new label {empty}; leave out its column.")
        starts, flat = self.sets.lists()
        return replace(self, sets=None, flat=flat.astype(np.int64), counts=np.diff(starts))

    def without_unknown(self, labels: Labels) -> "GivenSets":
        """Return validation sets without labels that training does not have, and say so."""
        if self.sets is not None:
            return self
        known = labels.find(self.flat) >= 0
        if known.all():
            return self
        strange = self.flat[~known].tolist()
        warn(
            f"{len(strange):,} of {len(known):,} labels of the validation rows were not learned, "
            f"such as {shorten(strange[0])}; they are left out of their sets."
        )
        owners = np.repeat(np.arange(len(self)), self.counts)[known]
        counts = np.bincount(owners, minlength=len(self))
        return replace(self, flat=self.flat[known], counts=counts)

    def known(self, labels: Labels) -> Targets:
        """Return the sets as numbers of labels that are known; others are refused."""
        if self.sets is None:
            try:
                numbers = labels.numbers(self.flat, "y")
            except UnknownLabelError as error:
                row = error.row(self.counts)
                raise InputError(
                    f"y[{row}] has {shorten(error.label)}, which is not one of the "
                    f"{len(labels):,} labels known from fit; leave it out, or call fit again."
                ) from None
            return Targets.from_lists(numbers, self.counts, len(labels))
        if self.classes is not None and list(self.classes) != labels.names.tolist():
            numbers = labels.numbers(self.classes, "classes")
            sets = self.sets.classes
            renamed = sp.csr_array(
                (sets.data, numbers[sets.indices], sets.indptr), shape=(len(self), len(labels))
            )
            return Targets(renamed, len(labels))
        if self.sets.n_classes != len(labels):
            raise InputError(
                f"y has {self.sets.n_classes} columns, but the model has {len(labels)} labels; "
                "give one column for each label in classes_."
            )
        return self.sets


def _labels(names: Any) -> Labels:
    labels = Labels(label_array(names))
    labels.find([])  # refuses names that are there twice
    return labels


def _is_table(Y: Any) -> bool:
    """Tell whether labels are an array, a frame, or what lists of labels cannot be.

    Lists of 0 and 1, all equally long, are an indicator, as scikit-learn has it.
    """
    if hasattr(Y, "ndim") and Y.ndim != 1:
        return True
    if isinstance(Y, list | tuple) and len(Y) and isinstance(Y[0], _LISTS) and len(Y[0]) > 1:
        return all(isinstance(row, _LISTS) and len(row) == len(Y[0]) for row in Y) and all(
            isinstance(digit, _WHOLE) and digit in (0, 1) for row in Y for digit in row
        )
    if isinstance(Y, np.ndarray) and Y.dtype != object:
        raise InputError(
            f"y has shape {Y.shape}; expected an indicator (n, n_labels), or a list of labels for "
            "each row. For one label per row, use DSNCClassifier."
        )
    return False


def _flattened(Y: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return all labels, one row after the other, and how many each row has."""
    try:
        rows = Y.tolist() if isinstance(Y, np.ndarray) else list(Y)
    except TypeError:
        raise InputError(
            f"y is of type {type(Y).__name__}; expected an indicator, or a list of labels for each "
            "row."
        ) from None
    flat: list[Any] = []
    counts = np.empty(len(rows), dtype=np.int64)
    for i, row in enumerate(rows):
        some = row.tolist() if isinstance(row, np.ndarray) else row
        if isinstance(some, str | bytes) or not isinstance(some, Collection):
            raise InputError(
                f"y[{i}] is {shorten(row)} of type {type(row).__name__}; give a list of labels for "
                "each row, which may be empty: [['a', 'b'], [], ['a']]."
            )
        if any(is_missing(label) for label in some):
            raise InputError(f"y[{i}] has a missing label; leave it out.")
        counts[i] = len(some)
        flat += sorted(some, key=str) if isinstance(some, set | frozenset) else some
    return label_array(flat), counts
