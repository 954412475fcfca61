"""P@k and PSP@k of label sets, and calibration, as `dsnc.metrics` has them.

With numpy and scipy only: environments of others have no dsnc.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

KS = (1, 3, 5)
_BINS = 15


def ranking_figures(train: Any, truth: Any, answers: NDArray[Any]) -> dict[str, float]:
    """Return P@k and PSP@k in percent, as `dsnc.metrics` has them.

    Parameters
    ----------
    train, truth : CSR of shape (n, labels)
        Label sets of training rows, of which rarity is known, and of the rows that were asked for.
    answers : int array of shape (rows, k)
        Label numbers, best first; -1 where there are fewer.
    """
    is_right, earned, possible = hits_of_rows(train, truth, answers)
    n_rows, hits = len(answers), is_right.sum(axis=0).cumsum()
    gained, whole = earned.sum(axis=0).cumsum(), possible.sum(axis=0).cumsum()
    figures = {f"P@{k} %": 100 * float(hits[k - 1] / (n_rows * k)) for k in KS}
    return figures | {f"PSP@{k} %": 100 * float(gained[k - 1] / whole[k - 1]) for k in KS}


def hits_of_rows(
    train: Any, truth: Any, answers: NDArray[Any]
) -> tuple[NDArray[np.bool_], NDArray[Any], NDArray[Any]]:
    """Return arrays (rows, places): whether an answer is right, what that earns, and could."""
    rarity = (np.log(train.shape[0]) - 1) * (2.5 / (np.diff(train.tocsc().indptr) + 1.5)) ** 0.55
    worth = 1 + rarity  # what a hit counts: one over its propensity
    n_rows, width = len(answers), max(KS)
    best = np.full((n_rows, width), -1)
    best[:, : answers.shape[1]] = answers[:, :width]
    rows = np.arange(n_rows)
    is_right = np.stack(
        [np.asarray(truth[rows, np.maximum(place, 0)]).ravel() > 0 for place in best.T], axis=1
    )
    is_right &= best >= 0
    possible = np.zeros((n_rows, width))
    for row, (start, end) in enumerate(zip(truth.indptr[:-1], truth.indptr[1:], strict=True)):
        most = np.sort(worth[truth.indices[start:end]])[::-1][:width]
        possible[row, : len(most)] = most
    return is_right, is_right * worth[best], possible


def validation_score(train: Any, truth: Any, answers: NDArray[Any]) -> float:
    """Return what settings are chosen by: accuracy, of label sets the mean of P@1, 3 and 5."""
    if not sp.issparse(truth):
        return 100 * float((answers[:, 0] == truth).mean())
    figures = ranking_figures(train, truth, answers)
    return float(np.mean([figures[f"P@{k} %"] for k in KS]))


def calibration_error(is_right: NDArray[Any], confidences: NDArray[Any]) -> float:
    """Return how far confidences are from how often they are right (ECE), bins of equal width."""
    bins = np.maximum(np.ceil(confidences * _BINS).astype(int) - 1, 0)
    return float(np.abs(np.bincount(bins, is_right - confidences)).sum() / len(bins))
