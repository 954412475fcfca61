"""Arrays: checks of those that come from a file, which may be hostile, and those that grow."""

import threading
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.errors import InputError

_LARGEST = float(np.finfo(np.float32).max)
_SPARE = 8  # of so many rows of an array that grows, one is room for more
_LOCK = threading.Lock()


class _Room(np.ndarray):
    """Memory of an array, and behind it room for more rows."""

    used: int


def appended(array: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    """Return an array with more rows behind it, which nobody can change.

    Nothing is copied where there is room behind the array. Room is for who asks first: another
    array that grows from the same beginning gets memory of its own.
    """
    n, end = len(array), len(array) + len(more)
    with _LOCK:
        room = array.base
        if not (isinstance(room, _Room) and room.used == n and end <= len(room)):
            room = _Room((end + end // _SPARE, *array.shape[1:]), array.dtype)
            room[:n] = array
        room[n:end] = more
        room.used = end
    result: NDArray[Any] = np.ndarray((end, *array.shape[1:]), array.dtype, buffer=room)
    result.flags.writeable = False
    return result


def check_arrays(owner: str, arrays: Mapping[str, Any], expected: Mapping[str, str]) -> None:
    """Refuse a set of arrays that is not exactly the expected one.

    What is expected is a type and a number of axes for each, such as ``"float32 2"``; messages
    open with the owner.
    """
    missing, unknown = sorted(set(expected) - set(arrays)), sorted(set(arrays) - set(expected))
    if missing or unknown:
        raise InputError(f"{owner}: missing arrays {missing}, unknown arrays {unknown}.")
    for key, kind in expected.items():
        array = arrays[key]
        found = f"{array.dtype} {array.ndim}" if isinstance(array, np.ndarray) else type(array)
        if found != kind:
            raise InputError(f"{owner}: array {key!r} is {found}; expected {kind} (type, axes).")


def class_numbers(name: str, values: Any, n: int, most: int | None = None) -> NDArray[Any]:
    """Return n whole numbers from 0 to `most` as an array, or refuse them."""
    array = np.asarray(values)
    if array.shape != (n,) or (n and array.dtype.kind not in "iu"):
        raise InputError(
            f"{name} has shape {array.shape} and type {array.dtype}; expected whole numbers of "
            f"shape ({n},)."
        )
    if n and (array.min() < 0 or (most is not None and array.max() > most)):
        wrong = array < 0 if most is None else (array < 0) | (array > most)
        row = int(wrong.argmax())
        bounds = "0 or more" if most is None else f"0 to {most}"
        raise InputError(f"{name}[{row}] is {array[row]}; a class is {bounds}.")
    return array


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
                f"{name} has values from {low} to {high}; expected finite values, "
                f"of magnitude {limit:.3g} at most."
            )
    if array.dtype != np.float32 or array.flags.writeable or not array.flags.c_contiguous:
        array = array.astype(np.float32, order="C")
        array.flags.writeable = False
    result: NDArray[np.float32] = array
    return result


def numbers(owner: str, arrays: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the only number of each of the named arrays; `number_arrays` is the way back."""
    for name in names:
        if arrays[name].size != 1:
            raise InputError(f"{owner}: array {name!r} is not a single number.")
    return {name: arrays[name].item() for name in names}


def number_arrays(owner: Any, kinds: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    """Return attributes of an object as arrays of one number, of kinds such as ``"float32 1"``."""
    return {name: np.array([getattr(owner, name)], kind.split()[0]) for name, kind in kinds.items()}
