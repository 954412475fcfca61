"""How good answers are class by class, and which classes are confused with which.

Nothing here has the size of classes x classes: rows are counted, so a million classes are fine.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.labels import Labels
from dsnc.metrics.answers import check_labels


class ClassScores(NamedTuple):
    """Scores of each class that occurs in the labels or in the answers, in sorted order.

    Attributes
    ----------
    classes : array
        The labels of the classes.
    precision : float array
        Of the answers with each class, the share that is right.
    recall : float array
        Of the rows of each class, the share that is found.
    f1 : float array
        The harmonic mean of the two.
    support, predicted : int array
        Number of rows of each class, and number of answers with it.
    """

    classes: NDArray[Any]  # the labels
    precision: NDArray[np.float64]  # of the answers with this class, the share that is right
    recall: NDArray[np.float64]  # of the rows of this class, the share that is found
    f1: NDArray[np.float64]  # the harmonic mean of the two
    support: NDArray[np.int64]  # rows of this class
    predicted: NDArray[np.int64]  # answers with this class

    @property
    def macro_f1(self) -> float:
        """The mean F1 of all classes, including those that only occur in the answers."""
        return float(self.f1.mean())

    @property
    def weighted_f1(self) -> float:
        """The mean F1 of all classes, weighted by their number of rows."""
        return float(np.average(self.f1, weights=self.support))


class ConfusedPairs(NamedTuple):
    """Labels, the wrong answers they got, and how often; the most frequent pair first.

    Attributes
    ----------
    labels, answers : array
        The true and the predicted class of each pair.
    counts : int array
        How often each pair occurs.
    """

    labels: NDArray[Any]
    answers: NDArray[Any]
    counts: NDArray[np.int64]


def class_scores(y: ArrayLike, predicted: ArrayLike) -> ClassScores:
    """Return precision, recall, F1 and number of rows of each class.

    The classes are those that occur in `y` or in `predicted`, as in scikit-learn's
    ``precision_recall_fscore_support`` with ``zero_division=0``: a class that is never predicted
    has precision 0, one without rows has recall 0, and both count in the macro F1.

    Parameters
    ----------
    y, predicted : arrays of shape (n,)
        The classes and the answers, as numbers or names.

    Examples
    --------
    >>> scores = class_scores(["ox", "ant", "bee", "bee"], ["ox", "bee", "bee", "bee"])
    >>> scores.classes.tolist(), scores.f1.round(2), scores.support
    (['ant', 'bee', 'ox'], array([0. , 0.8, 1. ]), array([1, 2, 1]))
    >>> round(scores.macro_f1, 2), round(scores.weighted_f1, 2)
    (0.6, 0.65)
    """
    classes, truth, answers = _numbered(y, predicted)
    n_classes = len(classes)
    support, given = (np.bincount(rows, minlength=n_classes) for rows in (truth, answers))
    right = np.bincount(truth[truth == answers], minlength=n_classes)
    precision, recall = right / np.maximum(given, 1), right / np.maximum(support, 1)
    return ClassScores(
        classes.names, precision, recall, 2 * right / (support + given), support, given
    )


def confused_pairs(y: ArrayLike, predicted: ArrayLike) -> ConfusedPairs:
    """Return which classes were confused with which, and how often; ties in the order of labels.

    Parameters
    ----------
    y, predicted : arrays of shape (n,)
        The classes and the answers, as numbers or names.

    Examples
    --------
    >>> pairs = confused_pairs(["ox", "ant", "ant", "bee"], ["bee", "bee", "bee", "bee"])
    >>> pairs.labels.tolist(), pairs.answers.tolist(), pairs.counts
    (['ant', 'ox'], ['bee', 'bee'], array([2, 1]))
    """
    classes, truth, answers = _numbered(y, predicted)
    wrong = truth != answers
    # Both numbers in one integer, which sorts as the pair does.
    pairs = truth[wrong].astype(np.int64) * len(classes) + answers[wrong]
    distinct, counts = np.unique(pairs, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    of, to = np.divmod(distinct[order], len(classes))
    return ConfusedPairs(classes.of(of), classes.of(to), counts[order])


def _numbered(
    y: ArrayLike, predicted: ArrayLike
) -> tuple[Labels, NDArray[np.int32], NDArray[np.int32]]:
    """Return the classes that occur, and the class numbers of labels and answers."""
    truth, answers = check_labels(y, "predicted", predicted, n_axes=1)
    if truth.dtype != answers.dtype:  # numpy would round int64 beside uint64
        truth, answers = truth.astype(object), answers.astype(object)
    classes, numbers = Labels.fit(np.concatenate([truth, answers]), "y and predicted")
    return classes, numbers[: len(truth)], numbers[len(truth) :]
