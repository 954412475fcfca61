"""How scores become calibrated probabilities: the numbers, and what is done with them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc import _native
from dsnc.errors import InputError

_LARGEST = float(np.finfo(np.float32).max)
NEVER = -_LARGEST  # as score of "none of the candidates": nothing is left to the others
_MOST_KNOTS = 64


class Confidence(NamedTuple):
    """How scores become calibrated probabilities.

    A softmax of ``scores / temperature``, in which "none of the candidates" has the score `other`,
    says how the classes share. Then the log-odds z of the best class become

        odds * z + margin * log(0.05 + lead / unit) + offset

    where the lead is how far its score is above the next one, or, where there is one candidate
    only, ``odds_alone * z + offset_alone``; and these are looked up on a curve. The other classes
    share what is left. The best class always stays the most probable one.
    """

    temperature: float = 1.0
    other: float = NEVER
    unit: float = 1.0
    odds: float = 1.0
    margin: float = 0.0
    offset: float = 0.0
    odds_alone: float = 1.0
    offset_alone: float = 0.0
    curve: tuple[Any, Any] = ((0.0, 1.0), (0.0, 1.0))  # knots, and the log-odds there

    def checked(self) -> "Confidence":
        """Return the same numbers as the float32 that a file holds, or refuse them."""
        values = {name: float(np.float32(getattr(self, name))) for name in _LIMITS}
        for name, (least, most) in _LIMITS.items():
            if not least <= values[name] <= most:
                raise InputError(f"confidence: {name}={values[name]} is not {least} to {most}.")
        knots, odds = (tuple(each.tolist()) for each in checked_curve(*self.curve))
        return Confidence(**values, curve=(knots, odds))

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """Return all numbers as arrays for a model file."""
        values = [getattr(self, name) for name in _LIMITS]
        return {
            "confidence": np.array(values, dtype=np.float32),
            "curve": np.array(self.curve, dtype=np.float32),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "Confidence":
        """Take the numbers from the arrays of a model file, whose types are known to be right."""
        values = arrays["confidence"].tolist()
        if len(values) != len(_LIMITS):
            raise InputError(f"confidence has {len(values)} numbers; expected {len(_LIMITS)}.")
        if len(arrays["curve"]) != 2:
            raise InputError(f"curve has {len(arrays['curve'])} rows; expected knots and odds.")
        named = dict(zip(_LIMITS, values, strict=True))
        return cls(**named, curve=arrays["curve"]).checked()

    def softmax(self, table: NDArray[np.float32]) -> None:
        """Turn scores of all classes into probabilities, in place, keeping the best class."""
        rows, best = np.arange(len(table)), table.argmax(axis=1)
        table -= table[rows, best][:, None]
        table[rows, best] = -np.inf
        lead = -table.max(axis=1).astype(np.float64)
        with np.errstate(over="ignore", under="ignore"):  # a tiny temperature gives exp(-inf) = 0
            table /= np.float32(self.temperature)
            np.exp(table, out=table)
        rest = table.sum(axis=1, dtype=np.float64)
        with np.errstate(divide="ignore"):
            odds = -np.log(rest)
        top = np.empty(len(table))
        _native.surest(self, odds, lead, top)
        largest = table.max(axis=1) / np.where(rest > 0, rest, 1)
        top = np.where(rest > 0, np.maximum(top, largest / (1 + largest)), 1)
        table *= ((1 - top) / np.where(rest > 0, rest, 1)).astype(np.float32)[:, None]
        table[rows, best] = _above(top, table)

    def shares(
        self, scores: NDArray[Any], others: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the probabilities of the candidates, and that of each other class.

        No class is more probable than one before it, and none of the others than a candidate.

        Parameters
        ----------
        scores : array of shape (n, m)
            Of each row's candidates, best first; -inf where there are fewer.
        others : int array of shape (n,)
            How many classes are not among them.
        """
        scores = np.ascontiguousarray(scores, np.float32)
        counts, others = np.count_nonzero(scores > -np.inf, axis=1), np.asarray(others, np.int64)
        shares, rest = np.empty_like(scores), np.empty(len(scores), np.float32)
        _native.shares(self, scores, counts, others, shares, rest)
        return shares, rest


_LIMITS = {  # of the numbers, in the order of a model file
    "temperature": (1e-45, _LARGEST),
    "other": (-_LARGEST, _LARGEST),
    "unit": (1e-45, _LARGEST),
    "odds": (0.0, _LARGEST),
    "margin": (0.0, _LARGEST),
    "offset": (-_LARGEST, _LARGEST),
    "odds_alone": (0.0, _LARGEST),
    "offset_alone": (-_LARGEST, _LARGEST),
}


def _above(top: NDArray[np.float64], share: NDArray[Any]) -> NDArray[np.float32]:
    """Return probabilities as float32 that no rounding puts beside those of other classes."""
    best = np.maximum(top, share.max(axis=1)).astype(np.float32)
    above: NDArray[np.float32] = np.nextafter(best, np.float32(2))
    return np.minimum(above, np.float32(1))


def checked_curve(knots: Any, odds: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return an ascending curve as the float32 that a file holds, or refuse it."""
    knots, odds = np.array(knots, dtype=np.float32), np.array(odds, dtype=np.float32)
    if knots.ndim != 1 or knots.shape != odds.shape or not 2 <= len(knots) <= _MOST_KNOTS:
        raise InputError(f"a curve needs as many knots as odds: 2 to {_MOST_KNOTS}.")
    ascends = (np.diff(knots) > 0).all() and (np.diff(odds) >= 0).all()
    if not (ascends and np.isfinite([knots, odds]).all()):
        raise InputError("knots and odds of a curve must be finite, and ascend.")
    return knots, odds


def along_curve(values: NDArray[Any], knots: Any, odds: Any) -> NDArray[np.float64]:
    """Return the log-odds at some values: lines from knot to knot; the outer ones go on."""
    knots, odds = np.asarray(knots, dtype=np.float64), np.asarray(odds, dtype=np.float64)
    first, last = np.diff(odds)[[0, -1]] / np.diff(knots)[[0, -1]]
    result = np.interp(values, knots, odds)
    with np.errstate(invalid="ignore"):  # a slope of 0, and a value that is infinite
        result += first * np.minimum(values - knots[0], 0)
        result += last * np.maximum(values - knots[-1], 0)
    return np.asarray(result)
