"""Checks of what `fit` and `predict` are given."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils.validation import _check_sample_weight

from dsnc.errors import InputError, shorten
from dsnc.features.points import is_missing
from dsnc.labels import Labels, label_array
from dsnc.targets import Targets


def label_column(y: Any, name: str = "y") -> Any:
    """Return labels as an array, whatever Series they are in; refuse missing and mixed ones.

    What is not one label a row is left to scikit-learn.
    """
    array = label_array(y) if isinstance(y, list | tuple) else np.asarray(y)
    if array.ndim != 1 or array.dtype.kind not in "Of":
        return array
    if array.dtype.kind == "f":
        missing = np.flatnonzero(np.isnan(array))
        if len(missing):
            raise _missing_label(name, int(missing[0]), "NaN")
        return array
    items = array.tolist()
    kinds = set(map(type, items))
    if kinds <= {str}:
        return array
    for row, item in enumerate(items):
        if is_missing(item):
            raise _missing_label(name, row, repr(item))
    if kinds <= {bool} or kinds <= {int, float}:  # a nullable type without missing ones
        return label_array(items)
    for row, item in enumerate(items):
        if isinstance(item, str) != isinstance(items[0], str):
            raise InputError(
                f"{name}[{row}] is {shorten(item)} of type {type(item).__name__}, but {name}[0] is "
                f"{shorten(items[0])} of type {type(items[0]).__name__}; use one type, such as "
                f"strings throughout: [str(label) for label in {name}]."
            )
    return array


def _missing_label(name: str, row: int, shown: str) -> InputError:
    return InputError(f"{name}[{row}] is {shown}; remove the rows without a label.")


def learned_labels(y: Any, parameter: str = "y") -> tuple[Labels, NDArray[np.int32]]:
    """Give labels numbers; refuse those that leave nothing to choose from."""
    labels, numbers = Labels.fit(np.asarray(y), parameter)
    if len(labels) < 2:
        found = f"one class, {labels.names[0]!r}" if len(labels) else "no class"
        raise InputError(f"{parameter} has {found}; a classifier needs at least 2 classes.")
    return labels, numbers


def row_weights(
    X: Any, y: Any, sample_weight: Any, class_weight: Any, *, relative: bool = True
) -> NDArray[Any] | None:
    """Return how much each row counts; None if all count the same.

    Relative weights are 1 on average and float32, others are as they were given.
    """
    if sample_weight is None and class_weight is None:
        return None
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if class_weight is not None:
        weight = weight * compute_sample_weight(class_weight, y)
        if not weight.min() >= 0:
            raise InputError(f"class_weight={class_weight!r} has a weight below 0 or NaN.")
    if not 0 < weight.sum() < np.inf:
        raise InputError(
            "sample_weight times class_weight adds up to 0 or to infinity; nothing can be learned."
        )
    return np.asarray(weight / weight.mean(), dtype=np.float32) if relative else weight


def rows_that_count(weight: NDArray[np.float32] | None) -> NDArray[np.int64] | None:
    """Return the rows whose weight is above 0; None if all of them are."""
    if weight is None or weight.all():
        return None
    return np.flatnonzero(weight)


def seed_of(random_state: Any) -> int:
    """Return the number that decides everything random."""
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31))
    except ValueError as error:
        raise InputError(
            f"random_state={random_state!r} is not a seed; use a whole number, 0 or more."
        ) from error


def hold_out(
    targets: Targets, fraction: float, seed: int, rows: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Choose rows (of all, or of some) to learn from, and rows to validate on.

    Held-out rows are drawn at random, so that they are like the rows to come. Of a class, or a
    label of sets, that would be left without a row to learn from, one goes back.
    """
    if not (isinstance(fraction, int | float | np.number) and 0 <= fraction < 1):
        raise InputError(f"validation_fraction={fraction!r} must be at least 0 and below 1.")
    rows = np.arange(len(targets)) if rows is None else rows
    order = np.random.default_rng([seed, 1]).permutation(rows)
    n_held = int(fraction * len(rows))
    held, learned = targets.take(order[:n_held]), targets.take(order[n_held:])
    owners = np.repeat(np.arange(n_held), held.sizes())
    classes, first = np.unique(held.lists()[1], return_index=True)
    is_lost = learned.counts()[classes] == 0
    spare = np.delete(order[:n_held], owners[first[is_lost]])
    return np.setdiff1d(rows, spare, assume_unique=True), np.sort(spare)


def check_range(X: Any) -> None:
    """Refuse values that float32, in which everything is computed, cannot hold."""
    values = X.data if sp.issparse(X) else X
    if values.dtype.kind != "f" or values.dtype.itemsize <= 4 or not values.size:
        return
    largest = max(abs(float(values.min())), abs(float(values.max())))
    if largest > float(np.finfo(np.float32).max):
        raise InputError(f"X has values up to {largest:.3g}, too large for float32; scale them.")
