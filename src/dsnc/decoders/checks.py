"""Checks of what decoders are given, by the user or by a file that may be hostile."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.checks import real
from dsnc.errors import InputError

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
    return float(np.float32(real("temperature", temperature, 1e-45, above=True)))


def valid_real(name: str, value: Any, least: float, most: float) -> float:
    """Return a number within the bounds as the float32 that a file holds, or refuse it."""
    return float(np.float32(real(name, value, least, most)))
