"""How well novelty distinguishes rows of known classes from strange ones."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.errors import InputError

_KEPT = 0.95  # of the known rows


def novelty_auroc(known: ArrayLike, unknown: ArrayLike) -> float:
    """Return the probability that a strange row has a larger novelty than a known one.

    This is the area under the ROC curve: 1 is perfect, 0.5 is chance. Equal numbers count half.

    Parameters
    ----------
    known, unknown : arrays of shape (n,) and (m,)
        The novelty of rows of known classes, and of rows of no known class.

    Examples
    --------
    >>> novelty_auroc([0.1, 0.4], [0.3, 0.9])
    0.75
    """
    inside, outside = _numbers("known", known), _numbers("unknown", unknown)
    below = np.searchsorted(np.sort(inside), outside, side="left").sum()
    up_to = np.searchsorted(np.sort(inside), outside, side="right").sum()
    return float((below + up_to) / 2 / (len(inside) * len(outside)))


def false_positives_at_95(known: ArrayLike, unknown: ArrayLike) -> float:
    """Return the share of strange rows that pass for known when 95 % of the known rows do.

    Parameters
    ----------
    known, unknown : arrays of shape (n,) and (m,)
        As in `novelty_auroc`.

    Examples
    --------
    >>> false_positives_at_95(range(100), [50, 94, 95, 200])
    0.5
    """
    inside, outside = _numbers("known", known), _numbers("unknown", unknown)
    kept = int(np.ceil(_KEPT * len(inside))) - 1
    return float((outside <= np.sort(inside)[kept]).mean())


def open_set_classification_rate(known: ArrayLike, right: ArrayLike, unknown: ArrayLike) -> float:
    """Return the area under the curve of right answers over strange rows that pass (OSCR).

    For each threshold, this is the share of known rows that pass and are answered correctly, over
    the share of strange rows that pass. 1 is perfect; the accuracy is the most that can be reached
    (A. Dhamija, M. Günther, T. Boult, "Reducing Network Agnostophobia", NeurIPS 2018).

    Parameters
    ----------
    known, unknown : arrays of shape (n,) and (m,)
        As in `novelty_auroc`.
    right : bool array of shape (n,)
        Whether the answer for each known row is correct.

    Examples
    --------
    >>> open_set_classification_rate([0.1, 0.4], [True, True], [0.3, 0.9])
    0.75
    """
    inside, outside = _numbers("known", known), _numbers("unknown", unknown)
    is_right = np.asarray(right, dtype=np.bool_)
    if is_right.shape != inside.shape:
        raise InputError(f"right has shape {is_right.shape}; expected {inside.shape}, like known.")
    good = inside[is_right]
    if not len(good):
        return 0.0
    return novelty_auroc(good, outside) * len(good) / len(inside)


def _numbers(name: str, values: ArrayLike) -> NDArray[Any]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not len(array) or np.isnan(array).any():
        raise InputError(
            f"{name} has shape {array.shape}; expected numbers of shape (n,), not empty and not "
            "NaN."
        )
    return array
