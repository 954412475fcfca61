"""Numbers and names that users and files give: checked here, and refused in one form."""

import math
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

from dsnc.errors import InputError, shorten, unknown_name


def is_whole(value: Any, least: int = 1, most: int | None = None) -> bool:
    """Tell whether a value is a whole number within the bounds."""
    # True is an integer to Python, and a mistake to everybody else.
    if isinstance(value, bool) or not isinstance(value, Integral):
        return False
    return bool(least <= int(value) and (most is None or int(value) <= most))


def whole(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """Return a whole number within the bounds, or refuse it.

    Examples
    --------
    >>> whole("k", 3, most=5)
    3
    """
    if not is_whole(value, least, most):
        bounds = f", {least} or more" if most is None else f" from {least} to {most}"
        raise InputError(f"{name}={shorten(value)} must be a whole number{bounds}.")
    return int(value)


def real(
    name: str, value: Any, least: float = 0.0, most: float = math.inf, *, above: bool = False
) -> float:
    """Return a finite number within the bounds, or refuse it; `above` excludes the least itself."""
    fits = not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)
    if not fits or not least <= value <= most or (above and value == least):
        bounds = f"above {least:.3g}" if above else f"{least:.3g} or more"
        if most < math.inf:
            bounds = f"from {least:.3g} to {most:.3g}"
        raise InputError(f"{name}={shorten(value)} must be a number {bounds}.")
    return float(value)


def one_of(name: str, value: Any, valid: Collection[str]) -> str:
    """Return one of the valid names, or refuse it with the nearest."""
    if not isinstance(value, str) or value not in valid:
        raise unknown_name(name, value, valid)
    return value
