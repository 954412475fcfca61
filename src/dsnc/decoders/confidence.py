"""How scores become calibrated probabilities: the numbers, and what is done with them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.errors import InputError

_LARGEST = float(np.finfo(np.float32).max)
NEVER = -_LARGEST  # as score of "none of the candidates": nothing is left to the others
_MOST_ODDS = 50.0  # the log of: surer is certain
_LEAST_LEAD = 0.05  # of a typical one: below, all leads are alike
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
        top = self._top(odds, lead, np.zeros(len(table), np.bool_))
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
        signals = self.signals(scores, np.where(others > 0, self.other, -np.inf))
        rest, total = signals.rest, signals.total
        with np.errstate(invalid="ignore"):  # where there is nothing else
            share = np.nan_to_num(np.exp(rest - total[:, None]))
        top = self._top(signals.odds, signals.lead, signals.alone)
        share[:, -1] /= np.maximum(others, 1)
        share[:, :-1] = np.maximum(share[:, :-1], share[:, -1:]) * (scores[:, 1:] > -np.inf)
        whole = share[:, :-1].sum(axis=1) + others * share[:, -1]
        share /= np.where(whole > 0, whole, 1)[:, None]
        largest = share.max(axis=1)
        top = np.where(np.isneginf(total), 1, np.maximum(top, largest / (1 + largest)))
        share *= (1 - top)[:, None]
        best = _above(top, share)
        candidates = np.concatenate([best[:, None], share[:, :-1]], axis=1).astype(np.float32)
        return candidates, share[:, -1].astype(np.float32)

    def signals(self, scores: NDArray[Any], none: NDArray[np.float64]) -> "Signals":
        """Return what tells how sure the best candidate of each row is."""
        from scipy.special import logsumexp  # not for who wants labels only

        scaled = np.concatenate([scores, none[:, None]], axis=1) / self.temperature
        with np.errstate(divide="ignore", invalid="ignore"):  # where there is nothing else
            total = logsumexp(scaled[:, 1:], axis=1)
            odds = scaled[:, 0] - total
            lead = scores[:, 0] - np.max(scores[:, 1:2], axis=1, initial=-np.inf)
        return Signals(odds, lead, ~np.isfinite(lead), scaled[:, 1:], total)

    def _top(
        self, odds: NDArray[Any], lead: NDArray[Any], alone: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the probability of the best class of each row."""
        from scipy.special import expit

        odds = within(odds)
        several = self.odds * odds + self.margin * log_lead(lead, self.unit, alone) + self.offset
        z = np.where(alone, self.odds_alone * odds + self.offset_alone, several)
        top: NDArray[np.float64] = expit(along_curve(z, *self.curve))
        return top


class Signals(NamedTuple):
    """What tells how sure the best candidate of each row is."""

    odds: NDArray[np.float64]  # the log of, by the softmax
    lead: NDArray[np.float64]  # of its score over the next
    alone: NDArray[np.bool_]  # whether there is no other candidate
    rest: NDArray[np.float64]  # scaled scores of the others, that of "none" last
    total: NDArray[np.float64]  # the log of their sum


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


def log_lead(lead: NDArray[Any], unit: float, alone: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the log of a lead, for a unit; 0 for rows of one candidate."""
    lead = np.where(alone, unit, lead).astype(np.float64)
    return np.where(alone, 0.0, np.log(_LEAST_LEAD + np.minimum(lead, _LARGEST) / unit))


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


def within(odds: NDArray[Any]) -> NDArray[np.float64]:
    """Return log-odds that no line makes infinite; those of nothing are low."""
    known = np.nan_to_num(odds, nan=-_MOST_ODDS)
    return np.asarray(np.clip(known, -_MOST_ODDS, _MOST_ODDS))
