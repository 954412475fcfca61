"""Gradients: how training learns through bits that are drawn at random.

A draw has no derivative, but the expected loss of a random code has one. All gradients estimate it,
and differ in bias, variance and cost. docs/gradients.md measures them side by side. Only those that
are used need torch: the trainer that does without has the default, `StraightThrough`, built in.
"""

from collections.abc import Mapping
from typing import Any

from dsnc.families import make_part
from dsnc.gradients.base import Gradient, LossOfCode, Noise, sample_bits
from dsnc.gradients.disarm import DisARM
from dsnc.gradients.reinforce import Reinforce
from dsnc.gradients.relaxed import Relaxed
from dsnc.gradients.straight_through import StraightThrough

__all__ = [
    "GRADIENTS",
    "DisARM",
    "Gradient",
    "LossOfCode",
    "Noise",
    "Reinforce",
    "Relaxed",
    "StraightThrough",
    "make_gradient",
    "sample_bits",
]

GRADIENTS: dict[str, type[Gradient]] = {
    "straight_through": StraightThrough,
    "reinforce": Reinforce,
    "relaxed": Relaxed,
    "disarm": DisARM,
}


def make_gradient(gradient: str | Mapping[str, Any] | Gradient) -> Gradient:
    """Return a gradient for one training run: a new one by name, or a copy of an instance.

    Parameters
    ----------
    gradient : str, mapping or Gradient
        A key of `GRADIENTS` for its default parameters, ``{"name": key, ...}`` for others, or an
        instance.

    Examples
    --------
    >>> make_gradient("straight_through")
    StraightThrough(n_draws=4, slope_growth=1.0)
    >>> make_gradient({"name": "relaxed", "temperature": 0.5})
    Relaxed(n_draws=4, temperature=0.5)
    """
    made: Gradient = make_part("gradient", gradient, GRADIENTS, Gradient)
    return made
