"""Checks of what decoders are given, by the user or by a file that may be hostile."""

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.errors import InputError, unknown_name

Ints = NDArray[np.int64]
Check = Callable[[str, Any], Any]
"""(name, value) to the value as a decoder keeps it, or an error that names both."""
MAX_CLASSES = (1 << 32) - 1  # a score and a class share one integer where the best are chosen


def valid_classes(name: str, values: ArrayLike, n: int, n_classes: int = MAX_CLASSES) -> Ints:
    """Return n class numbers below n_classes as a view or copy of type int64, or refuse them."""
    array = np.asarray(values)
    if array.shape != (n,) or (n and array.dtype.kind not in "iu"):
        raise InputError(
            f"{name} has shape {array.shape} and type {array.dtype}; expected whole numbers, one "
            f"for each of the {n} codes."
        )
    if n and not (array.min() >= 0 and array.max() < n_classes):
        row = int(np.argmax((array < 0) | (array >= n_classes)))
        raise InputError(f"{name}[{row}] is {array[row]}; a class is 0 to {n_classes - 1}.")
    return array.astype(np.int64, copy=array.flags.writeable).view()


def valid_temperature(temperature: float) -> float:
    """Return the temperature as the float32 that a file holds, or refuse it."""
    if not (np.isfinite(temperature) and np.float32(temperature) > 0):
        raise InputError(f"temperature={temperature!r} is not a number above 0.")
    return float(np.float32(temperature))


def valid_real(name: str, value: Any, least: float, most: float) -> float:
    """Return a number within the bounds as the float32 that a file holds, or refuse it."""
    if not (isinstance(value, int | float | np.number) and least <= value <= most):
        raise InputError(f"{name}={value!r} is not a number from {least:.3g} to {most:.3g}.")
    return float(np.float32(value))


def valid_name(name: str, value: Any, names: Collection[str]) -> str:
    """Return one of the names, or refuse it with the nearest."""
    if not isinstance(value, str) or value not in names:
        raise unknown_name(name, value, names)
    return value


def valid_number(name: str, value: Any, limit: int, least: int = 1) -> int:
    """Return a whole number from the least to the limit, or refuse it."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise InputError(f"{name}={value!r} is not a whole number.")
    if not least <= value <= limit:
        raise InputError(f"{name}={value}: expected {least} to {limit}.")
    return int(value)
