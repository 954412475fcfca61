"""How good the first k labels of each row are, where rows have label sets.

`k` may be one number, which gives a number, or several, which give an array. All rows count, as in
scikit-learn, napkinXC and xclib: a row without labels adds 0. Nothing here has the size of rows x
labels.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.checks import real, whole
from dsnc.errors import InputError, shorten
from dsnc.metrics.answers import require_equal
from dsnc.metrics.label_sets import as_array, label_sets, ratio
from dsnc.targets import Targets

AtK = float | NDArray[np.float64]  # a number for one k, an array for several


def precision_at_k(Y: Any, predicted: ArrayLike, k: int | Sequence[int]) -> AtK:
    """Return the share of the first k labels that are right: ``hits / (n * k)``.

    It always divides by k: a row with fewer than k labels, true or predicted, cannot reach 1.

    Parameters
    ----------
    Y : sparse or dense indicator of shape (n, n_labels), or Targets
        The labels of each row.
    predicted : int array of shape (n, at least k)
        Label numbers, best first; -1 if a row has fewer.
    k : int or sequence of int
        How many of them count. Several, such as ``(1, 3, 5)``, give an array with a figure for
        each.

    Examples
    --------
    >>> Y = [[1, 0, 1, 0], [0, 1, 0, 0]]
    >>> precision_at_k(Y, [[2, 1], [1, 0]], k=1)
    1.0
    >>> precision_at_k(Y, [[2, 1], [1, 0]], k=(1, 2))
    array([1. , 0.5])
    """
    ranking = _compare(Y, predicted, k)
    hits = ranking.is_right.sum(axis=0).cumsum()
    return _at(k, hits / (len(ranking.is_right) * np.arange(1, len(hits) + 1)))


def recall_at_k(Y: Any, predicted: ArrayLike, k: int | Sequence[int]) -> AtK:
    """Return how much of a row's set is among the first k labels: the mean of ``hits / size``.

    See `precision_at_k` for the parameters. A row without labels adds 0.

    Examples
    --------
    >>> recall_at_k([[1, 0, 1, 0], [0, 1, 0, 0]], [[2, 1], [1, 0]], k=2)
    0.75
    """
    ranking = _compare(Y, predicted, k)
    shares = ranking.is_right / np.maximum(ranking.sizes, 1)[:, None]
    return _at(k, shares.mean(axis=0).cumsum())


def ndcg_at_k(Y: Any, predicted: ArrayLike, k: int | Sequence[int]) -> AtK:
    """Return the normalized discounted cumulative gain: hits count less the later they come.

    A hit at place j (from 1) is worth ``1 / log2(j + 1)``. The sum over the first k is divided by
    what it would be with all labels of the row in front; the figure is the mean over rows, as in
    scikit-learn's ``ndcg_score``. See `precision_at_k` for the parameters. A row without labels
    adds 0.

    Examples
    --------
    >>> round(ndcg_at_k([[1, 0, 1, 0], [0, 1, 0, 0]], [[2, 1], [1, 0]], k=2), 4)
    0.8066
    """
    ranking = _compare(Y, predicted, k)
    places = np.arange(1, ranking.is_right.shape[1] + 1)
    worth = 1 / np.log2(places + 1)
    gains = (ranking.is_right * worth).cumsum(axis=1)
    n_best = np.minimum(np.maximum(ranking.sizes, 1)[:, None], places)
    return _at(k, (gains / worth.cumsum()[n_best - 1]).mean(axis=0))


def propensities(Y: Any, A: float = 0.55, B: float = 1.5) -> NDArray[np.float64]:
    """Return how likely it is that a label that applies was noted, by how frequent it is.

    ``p_l = 1 / (1 + C exp(-A log(N_l + B)))`` with ``C = (log N - 1) (B + 1)^A``, for N rows of
    which N_l have label l. (H. Jain, Y. Prabhu, M. Varma, "Extreme Multi-label Loss Functions for
    Recommendation, Tagging, Ranking & Other Missing Label Applications", KDD 2016.)

    Parameters
    ----------
    Y : sparse or dense indicator of shape (n, n_labels), or Targets
        The labels of the training rows, at least 3 rows.
    A, B : float, default 0.55 and 1.5
        The paper uses 0.5 and 0.4 for Wikipedia, 0.6 and 2.6 for Amazon, the defaults elsewhere.

    Examples
    --------
    >>> propensities([[1, 0], [1, 0], [1, 1], [1, 0]]).round(3)
    array([0.8  , 0.721])
    """
    sets = label_sets("Y", Y)
    return propensities_of_counts(sets.counts(), len(sets), A, B)


def propensities_of_counts(
    counts: ArrayLike, n_rows: int, A: float = 0.55, B: float = 1.5
) -> NDArray[np.float64]:
    """Return the same as `propensities`, given how many of `n_rows` rows have each label.

    Parameters
    ----------
    counts : array of shape (n_labels,)
        The number of training rows that have each label.
    n_rows : int
        The number of training rows, at least 3.
    A, B : float, default 0.55 and 1.5
        As in `propensities`.

    Examples
    --------
    >>> propensities_of_counts([4, 1], 4).round(3)
    array([0.8  , 0.721])
    """
    real("A", A)
    real("B", B, above=True)
    if n_rows < 3:
        raise InputError(
            f"Y has {n_rows} rows; propensities need 3 or more, so that log N exceeds 1. "
            "Give the training rows."
        )
    rarity = (np.log(n_rows) - 1) * ((B + 1) / (np.asarray(counts) + B)) ** A
    return np.asarray(1 / (1 + rarity))


def psprecision_at_k(
    Y: Any, predicted: ArrayLike, k: int | Sequence[int], propensity: ArrayLike
) -> AtK:
    """Return the propensity-scored precision: hits of rare labels count more, 1 is the best.

    A hit of label l is worth ``1 / p_l``. The total worth of the first k labels of all rows is
    divided by the total worth of the k labels of each row that are worth most. This is the ratio of
    two means over rows, not the mean of the rows' ratios: the normalization of the Extreme
    Classification Repository, xclib and napkinXC.

    Parameters
    ----------
    Y, predicted, k
        As in `precision_at_k`.
    propensity : array of shape (n_labels,)
        The propensity of each label, as `propensities` returns it for the training rows.

    Examples
    --------
    >>> Y = [[1, 0, 1, 0], [0, 1, 0, 0]]
    >>> psprecision_at_k(Y, [[0, 2], [2, 0]], k=(1, 2), propensity=[0.5, 0.5, 0.25, 1])
    array([0.33333333, 0.75      ])
    """
    ranking = _compare(Y, predicted, k)
    sets, most = ranking.sets.classes, ranking.is_right.shape[1]
    worth = 1 / _propensity(propensity, ranking.sets.n_classes)
    earned = (ranking.is_right * worth[ranking.labels]).sum(axis=0)
    rows = np.repeat(np.arange(len(ranking.sizes)), ranking.sizes)
    worth_of_sets = worth[sets.indices]
    order = np.lexsort((-worth_of_sets, rows))  # row by row, the most worthy label first
    place = np.arange(len(rows)) - sets.indptr[rows]
    first = place < most
    best = np.bincount(place[first], worth_of_sets[order][first], minlength=most)
    return _at(k, ratio(earned.cumsum(), best.cumsum()))


def coverage_at_k(Y: Any, predicted: ArrayLike, k: int | Sequence[int]) -> AtK:
    """Return the share of labels that are found at least once, of those that some row has.

    See `precision_at_k` for the parameters. A label is found if it is among the first k labels of a
    row that has it. Low values mean that a model knows only the frequent labels.

    Examples
    --------
    >>> round(coverage_at_k([[1, 0, 1, 0], [0, 1, 0, 0]], [[2, 1], [1, 0]], k=2), 4)
    0.6667
    """
    ranking = _compare(Y, predicted, k)
    places, rows = np.nonzero(ranking.is_right.T)  # by place, so that a label's first is its best
    _, first = np.unique(ranking.labels[rows, places], return_index=True)
    found = np.bincount(places[first], minlength=ranking.is_right.shape[1]).cumsum()
    return _at(k, ratio(found, np.count_nonzero(ranking.sets.counts())))


class _Ranking(NamedTuple):
    """The labels that count, and which of them are right."""

    sets: Targets
    sizes: NDArray[Any]  # labels of each row
    labels: NDArray[np.int64]  # (n, largest k), best first
    is_right: NDArray[np.bool_]  # the same shape


def _compare(Y: Any, predicted: ArrayLike, k: int | Sequence[int]) -> _Ranking:
    sets = label_sets("Y", Y)
    labels = as_array(predicted)
    if labels.ndim != 2 or labels.dtype.kind not in "iu":
        raise InputError(
            f"predicted has shape {labels.shape} and type {labels.dtype}; expected label numbers "
            "(int) of shape (n, k), best first, -1 where a row has fewer."
        )
    require_equal("predicted", len(labels), "Y", len(sets))
    most = max(_each(k))
    if most > labels.shape[1]:
        raise InputError(
            f"k={shorten(k)} is more than the {labels.shape[1]} columns of predicted; use a "
            "smaller k, or predict more labels (-1 where a row has fewer)."
        )
    _check_numbers(labels, sets.n_classes)
    labels = labels[:, :most].astype(np.int64)
    return _Ranking(sets, np.diff(sets.classes.indptr), labels, sets.contains(labels))


def _check_numbers(labels: NDArray[Any], n_labels: int) -> None:
    """Refuse what is not a label, and labels that a row has twice."""
    wrong = (labels < -1) | (labels >= n_labels)
    if wrong.any():
        row, place = np.argwhere(wrong)[0]
        raise InputError(
            f"predicted[{row}, {place}] is {labels[row, place]}; a label is 0 to {n_labels - 1}, "
            "a column of Y, or -1 for none."
        )
    ordered = np.sort(labels, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != -1)
    if twice.any():
        row, place = np.argwhere(twice)[0]
        raise InputError(
            f"predicted[{row}] has label {ordered[row, place]} twice; give each label once per row."
        )


def _propensity(values: ArrayLike, n_labels: int) -> NDArray[np.float64]:
    array = np.asarray(values)
    if array.shape != (n_labels,) or array.dtype.kind not in "biuf":
        raise InputError(
            f"propensity has shape {array.shape} and type {array.dtype}; expected numbers of shape "
            f"({n_labels},), one for each label."
        )
    fits = (array > 0) & (array <= 1)  # NaN is not
    if not fits.all():
        label = int(np.argmin(fits))
        raise InputError(
            f"propensity[{label}] is {array[label]}; expected above 0 and at most 1. Give "
            "propensities, not their inverses."
        )
    return array.astype(np.float64)


def _each(k: int | Sequence[int]) -> list[int]:
    several = np.atleast_1d(k).tolist()
    if not several:
        raise InputError(f"k={shorten(k)} is empty; give one whole number or several.")
    return [whole("k", one) for one in several]


def _at(k: int | Sequence[int], figures: NDArray[np.float64]) -> AtK:
    """Return what was asked for of the figures at 1, 2, ..."""
    chosen = figures[np.array(_each(k)) - 1]
    return float(chosen[0]) if np.ndim(k) == 0 else chosen
