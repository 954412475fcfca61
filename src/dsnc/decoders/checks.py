"""Checks of what decoders are given, by the user or by a file that may be hostile."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.arrays import class_numbers
from dsnc.checks import real

Ints = NDArray[np.int64]
Check = Callable[[str, Any], Any]
"""(name, value) to the value as a decoder keeps it, or an error that names both."""
MAX_CLASSES = (1 << 32) - 1  # a score and a class share one integer where the best are chosen


def valid_classes(name: str, values: ArrayLike, n: int, n_classes: int = MAX_CLASSES) -> Ints:
    """Return n class numbers below n_classes as a view or copy of type int64, or refuse them."""
    array = class_numbers(name, values, n, n_classes - 1)
    return array.astype(np.int64, copy=array.flags.writeable).view()


def valid_real(name: str, value: Any, least: float, most: float) -> float:
    """Return a number within the bounds as the float32 that a file holds, or refuse it.

    What is returned passes again: a bound may be rounded, too.
    """
    least, most = min(least, float(np.float32(least))), max(most, float(np.float32(most)))
    return float(np.float32(real(name, value, least, most)))
