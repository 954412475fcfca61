"""Checks of arrays that come from a model file, which may be damaged or hostile."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.errors import InputError

_LARGEST = float(np.finfo(np.float32).max)


def check_arrays(owner: str, arrays: Mapping[str, Any], expected: Mapping[str, str]) -> None:
    """Refuse a set of arrays that is not exactly the expected one.

    Parameters
    ----------
    owner : str
        Whose arrays they are, to open the message.
    arrays : mapping
        Name to array, as read from a file.
    expected : mapping
        Name to type and number of dimensions, such as ``"float32 2"``.
    """
    missing, unknown = sorted(set(expected) - set(arrays)), sorted(set(arrays) - set(expected))
    if missing or unknown:
        raise InputError(f"{owner}: missing arrays {missing}, unknown arrays {unknown}.")
    for key, kind in expected.items():
        array = arrays[key]
        found = f"{array.dtype} {array.ndim}" if isinstance(array, np.ndarray) else type(array)
        if found != kind:
            raise InputError(f"{owner}: array {key!r} is {found}; expected {kind} (type, axes).")


def bounded(name: str, array: Any, limit: float = _LARGEST) -> NDArray[np.float32]:
    """Return a float32 array that nobody can change, all of its values finite and within `limit`.

    A read-only array (a memory map, say) is shared; a writeable one is copied.
    """
    array = np.asarray(array)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} has type {array.dtype}; expected real numbers.")
    if array.size:
        low, high = float(array.min()), float(array.max())  # a NaN is both
        if not (-limit <= low and high <= limit):
            raise InputError(
                f"{name} has values from {low} to {high}; expected finite ones, "
                f"of size {limit:.3g} at most."
            )
    if array.dtype != np.float32 or array.flags.writeable or not array.flags.c_contiguous:
        array = array.astype(np.float32, order="C")
        array.flags.writeable = False
    result: NDArray[np.float32] = array
    return result


def one_each(owner: str, arrays: Mapping[str, Any], names: Iterable[str]) -> list[Any]:
    """Return the only number of each of the named arrays."""
    for name in names:
        if arrays[name].size != 1:
            raise InputError(f"{owner}: array {name!r} is not one number.")
    return [arrays[name].item() for name in names]
