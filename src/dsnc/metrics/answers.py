"""How often answers are right, and how well their probabilities are calibrated."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.checks import whole
from dsnc.errors import InputError


class CalibrationBins(NamedTuple):
    """Answers grouped by their confidence.

    Attributes
    ----------
    edges : array of shape (n_bins + 1,)
        Borders of the bins, from 0 to 1.
    counts : int array of shape (n_bins,)
        Number of answers in each bin.
    accuracy, confidence : arrays of shape (n_bins,)
        Share of right answers, and mean confidence; NaN for bins without answers.
    """

    edges: NDArray[np.float64]  # n_bins + 1, from 0 to 1
    counts: NDArray[np.int64]  # answers in each bin
    accuracy: NDArray[np.float64]  # the share of them that is right
    confidence: NDArray[np.float64]  # their mean confidence

    @property
    def error(self) -> float:
        """The expected calibration error: the mean gap of all answers' bins."""
        used = self.counts > 0
        gaps = np.abs(self.accuracy[used] - self.confidence[used])
        return float((self.counts[used] * gaps).sum() / self.counts.sum())


def accuracy(y: ArrayLike, predicted: ArrayLike) -> float:
    """Return the share of rows whose answer is right: ``mean(predicted == y)``.

    Parameters
    ----------
    y, predicted : arrays of shape (n,)
        The classes and the answers, as numbers or names.

    Examples
    --------
    >>> accuracy(["ox", "ant", "bee"], ["ox", "bee", "bee"])
    0.6666666666666666
    """
    truth, answers = check_labels(y, "predicted", predicted, n_axes=1)
    return float((answers == truth).mean())


def top_k_accuracy(y: ArrayLike, classes: ArrayLike) -> float:
    """Return the share of rows whose class is among their k answers.

    Parameters
    ----------
    y : array of shape (n,)
        The classes, as numbers or names.
    classes : array of shape (n, k)
        The k best answers of each row, best first. For a smaller k, pass ``classes[:, :k]``.

    Examples
    --------
    >>> top_k_accuracy([5, 3], [[5, 4], [4, 3]])
    1.0
    >>> top_k_accuracy([5, 3], [[5], [4]])
    0.5
    """
    truth, answers = check_labels(y, "classes", classes, n_axes=2)
    return float((answers == truth[:, None]).any(axis=1).mean())


def calibration_bins(
    correct: ArrayLike, confidence: ArrayLike, n_bins: int = 15
) -> CalibrationBins:
    """Group answers by confidence and compare: of those with 0.8, 80 % should be right.

    Bin b holds the confidences in ``(edges[b], edges[b + 1]]``; 0 belongs to the first bin.

    Parameters
    ----------
    correct : array of shape (n,)
        Whether each answer is right: bool, or 0 and 1.
    confidence : array of shape (n,)
        The probability of each answer, 0 to 1.
    n_bins : int, default 15
        Number of bins, of equal width on [0, 1].

    Examples
    --------
    >>> bins = calibration_bins([1, 0, 1], [0.6, 0.8, 1.0], n_bins=2)
    >>> bins.counts
    array([0, 3])
    >>> bins.accuracy.round(2), bins.confidence.round(2)
    (array([ nan, 0.67]), array([nan, 0.8]))
    """
    whole("n_bins", n_bins)
    right, sure = _shares("correct", correct), _shares("confidence", confidence)
    require_equal("confidence", len(sure), "correct", len(right))
    if not np.isin(right, (0, 1)).all():
        row = int(np.argmin(np.isin(right, (0, 1))))
        raise InputError(f"correct[{row}] is {right[row]}; an answer is right (1) or wrong (0).")
    edges = np.linspace(0, 1, n_bins + 1)
    number = np.maximum(np.searchsorted(edges, sure, side="left") - 1, 0)
    counts = np.bincount(number, minlength=n_bins)
    with np.errstate(invalid="ignore"):  # 0 / 0 of an empty bin is its NaN
        means = [np.bincount(number, values, minlength=n_bins) / counts for values in (right, sure)]
    return CalibrationBins(edges, counts, *means)


def expected_calibration_error(
    correct: ArrayLike, confidence: ArrayLike, n_bins: int = 15
) -> float:
    """Return how far confidence is from accuracy: ``sum_b n_b / n * |accuracy_b - confidence_b|``.

    See `calibration_bins` for the parameters. (C. Guo, G. Pleiss, Y. Sun, K. Weinberger, "On
    Calibration of Modern Neural Networks", ICML 2017.)

    Examples
    --------
    >>> round(expected_calibration_error([1, 1, 1, 0], [0.9, 0.9, 0.9, 0.9]), 3)
    0.15
    """
    return calibration_bins(correct, confidence, n_bins).error


def _classes(name: str, values: ArrayLike, n_axes: int) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != n_axes or not array.size:
        expected = ("(n,)", "(n, k)")[n_axes - 1]
        raise InputError(f"{name} has shape {array.shape}; expected {expected}, not empty.")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise InputError(
            f"{name}{np.argwhere(np.isnan(array))[0].tolist()} is NaN, which is not a class."
        )
    return array


def check_labels(
    y: ArrayLike, name: str, values: ArrayLike, n_axes: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return classes and answers that can be compared."""
    truth, answers = _classes("y", y, 1), _classes(name, values, n_axes)
    require_equal(name, len(answers), "y", len(truth))
    kinds = {array.dtype.kind in "biuf" for array in (truth, answers)}
    if len(kinds) > 1 and "O" not in (truth.dtype.kind, answers.dtype.kind):
        raise InputError(
            f"{name} has type {answers.dtype} and y has type {truth.dtype}, so no answer can be "
            "right; give both as numbers or both as names."
        )
    return truth, answers


def _shares(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values)
    if array.ndim != 1 or not array.size or array.dtype.kind not in "biuf":
        raise InputError(
            f"{name} has shape {array.shape} and type {array.dtype}; expected numbers of shape "
            "(n,), not empty."
        )
    inside = (array >= 0) & (array <= 1)  # NaN is not
    if not inside.all():
        row = int(np.argmin(inside))
        raise InputError(f"{name}[{row}] is {array[row]}; expected 0 to 1.")
    return array.astype(np.float64)


def require_equal(name: str, length: int, other: str, other_length: int) -> None:
    """Refuse two things that do not have the same number of rows."""
    if length != other_length:
        raise InputError(
            f"{name} has {length} rows and {other} has {other_length}; give the same number of "
            "both."
        )
