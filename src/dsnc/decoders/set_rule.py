"""From the scores of a row's candidates to its set of labels."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.arrays import check_arrays, numbers
from dsnc.checks import whole
from dsnc.decoders.checks import Ints
from dsnc.decoders.confidence import along_curve, checked_curve
from dsnc.decoders.linear import Floats
from dsnc.errors import InputError

_FLOATS = ("knots", "odds", "threshold")
_ARRAYS = {"size": "int64 1", **dict.fromkeys(_FLOATS, "float32 1")}


@dataclass(frozen=True, eq=False)
class SetRule:
    """Gives each label a probability of its own, and a row the labels that are probable enough.

        probability[k] = 1 / (1 + exp(-curve(score[k])))

    Parameters
    ----------
    knots, odds : float32 arrays of shape (m,)
        The curve that makes scores log-odds: scores, ascending, and the log-odds that belong to
        them, not descending. It is a line from knot to knot; the first and the last line go on.
    threshold : float32 array of shape (1,) or (n_classes,)
        The least probability of a label in a set: of all labels, or of each.
    size : int
        Candidates of a row, among which its labels are.

    Examples
    --------
    >>> rule = SetRule(threshold=np.array([0.5], np.float32))
    >>> rule.chosen(np.array([[3, 0]]), np.array([[2.0, -1.0]], np.float32))
    array([[ True, False]])
    """

    knots: Any = (0.0, 1.0)
    odds: Any = (0.0, 1.0)
    threshold: Any = (0.5,)
    size: int = 64

    def __post_init__(self) -> None:
        """Check the numbers, and keep them as the float32 that a file holds."""
        arrays = {name: np.array(getattr(self, name), dtype=np.float32) for name in _FLOATS}
        knots, odds, threshold = arrays.values()
        if threshold.ndim != 1 or not len(threshold) or not (threshold >= 0).all():
            raise InputError("threshold must be one probability, or one for each label.")
        arrays |= zip(_FLOATS, checked_curve(knots, odds), strict=False)
        for name, array in arrays.items():
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "size", whole("size", self.size))

    def check_classes(self, n_classes: int) -> None:
        """Refuse thresholds of other classes."""
        if len(self.threshold) not in (1, n_classes):
            raise InputError(
                f"threshold has {len(self.threshold)} values for {n_classes} labels; give one for "
                "each."
            )

    def of_labels(self, before: Ints) -> "SetRule":
        """Return the rule of labels with these numbers so far; -1 is new, as a typical one."""
        if len(self.threshold) == 1:
            return self
        typical = np.float32(np.median(self.threshold))
        return replace(self, threshold=np.where(before < 0, typical, self.threshold[before]))

    def log_odds(self, scores: Floats) -> Floats:
        """Return the log-odds of labels with these scores, -inf where there is none."""
        result = along_curve(scores, self.knots, self.odds)
        return np.where(np.isneginf(scores), -np.inf, result).astype(np.float32)

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probabilities of labels with these scores, 0 where there is none."""
        from scipy.special import expit  # not for who wants sets only

        return np.asarray(expit(self.log_odds(scores)), dtype=np.float32)

    def chosen(self, classes: Ints, scores: Floats) -> NDArray[np.bool_]:
        """Tell of each candidate whether the row's set has it; a class of -1 is none."""
        threshold = self.threshold if len(self.threshold) == 1 else self.threshold[classes]
        return np.asarray((classes >= 0) & (self.probabilities(scores) >= threshold))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return plain arrays for a model file; `from_arrays` is the way back."""
        floats = {name: getattr(self, name) for name in _FLOATS}
        return floats | {"size": np.array([self.size], dtype=np.int64)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make the rule from its arrays, checking them."""
        check_arrays("sets", arrays, _ARRAYS)
        return cls(*(arrays[name] for name in _FLOATS), **numbers("sets", arrays, ["size"]))
