"""Gradients: how training learns through bits that are drawn at random.

A draw has no derivative, but the expected loss of a random code has one. All gradients estimate it,
and differ in bias, variance and cost. docs/gradients.md measures them side by side.
"""

import copy
import inspect
from collections.abc import Mapping
from typing import Any

from dsnc.errors import InputError, require, unknown_name

require("torch", extra="torch", caller="dsnc.gradients")

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

    Some gradients have state (a running baseline, a slope). A copy leaves what the user passed as
    it was, so training with it twice gives the same result twice.

    Parameters
    ----------
    gradient : str, mapping or Gradient
        A key of `GRADIENTS` for its default parameters, ``{"name": key, ...}`` for others, or an
        instance.

    Examples
    --------
    >>> make_gradient("straight_through")
    StraightThrough(n_draws=1, slope_growth=1.0)
    >>> make_gradient({"name": "relaxed", "temperature": 0.5})
    Relaxed(n_draws=1, temperature=0.5)
    """
    if isinstance(gradient, Gradient):
        return copy.deepcopy(gradient)
    options = {"name": gradient} if isinstance(gradient, str) else gradient
    if not isinstance(options, Mapping) or "name" not in options:
        raise InputError(
            f"gradient={gradient!r} must be a name, a mapping with one, or an instance of "
            f"dsnc.gradients.Gradient. Valid names: {', '.join(GRADIENTS)}."
        )
    settings = dict(options)
    name = settings.pop("name")
    if name not in GRADIENTS:
        raise unknown_name("gradient", name, GRADIENTS)
    kind = GRADIENTS[name]
    for setting in settings:
        if setting not in inspect.signature(kind).parameters:
            parameters = inspect.signature(kind).parameters
            raise unknown_name(f"gradient={name!r}: setting", setting, parameters)
    return kind(**settings)
