"""Mutants of bytes, of what JSON holds, and of arrays: small damage, or what someone means harm by.

All of them are made by the random numbers that they are given, and by nothing else.
"""

import copy
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_OCTETS = (0, 1, 0x7F, 0x80, 0xFF, *b'\n\r\t ",:;|{}[]-+.eE019')
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 7, 64, 255, 2**31 - 1, 2**31, 2**32, 2**53 + 1),
    *(2**63 - 1, 2**63, -(2**63), 2**64, 10**30, 10**400, 0.0, -0.0, 0.5, 1.5, -1.5, 1e-320),
    *(1e20, 1e308, -1e308, "", "a", "0", "nan", "\0", "\ud800", "é", "ü" * 300, "x" * 70_000),
    *("../../x", "__class__", "linear", "auto", "text", "object", "int8", "float16"),
    *([], [[]], {}, [None], [0], [-1], [1, 2], [0.5, 1.5], ["a"], ["a", "a"], [["a", 1]]),
    *([[0, "z"]], {"a": 1}, {"name": "x"}, {"": None}, [0] * 1000, ["b"] * 300),
)
"""What a place in JSON may be given instead."""


def mutate_bytes(
    dice: random.Random, content: bytes, others: Sequence[bytes] = (), tokens: Sequence[bytes] = ()
) -> bytes:
    """Damage bytes in one to four places; others may give spans, and tokens are put in."""
    data = bytearray(content)
    for _ in range(dice.choice((1, 1, 2, 4))):
        _damage(dice, data, others, tokens)
    return bytes(data)


def _damage(
    dice: random.Random, data: bytearray, others: Sequence[bytes], tokens: Sequence[bytes]
) -> None:
    place = dice.randrange(len(data) + 1)
    span = slice(place, place + min(dice.choice((1, 2, 4, 8, 30, 200)), len(data)))
    how = dice.choice(
        ["bit", "octet", "octet", "drop", "twice", "insert", "cut", "swap"]
        + ["splice"] * bool(others)
        + ["token"] * (3 * bool(tokens))
    )
    if how in ("bit", "octet") and place < len(data):
        data[place] = (
            dice.choice(_OCTETS) if how == "octet" else data[place] ^ 1 << dice.randrange(8)
        )
    elif how == "drop":
        del data[span]
    elif how == "twice":
        data[place:place] = data[span] * dice.choice((1, 1, 3, 100))
    elif how == "insert":
        data[place:place] = dice.randbytes(dice.choice((1, 2, 4, 8, 30)))
    elif how == "cut":
        del data[place:]
    elif how == "swap" and data:
        other = dice.randrange(len(data))
        data[span], data[other : other + 1] = data[other : other + 1], data[span]
    elif how == "splice":
        other = dice.choice(others)
        start = dice.randrange(len(other) + 1)
        data[span] = other[start : start + dice.choice((1, 8, 60, 1000))]
    elif how == "token":
        token = dice.choice(tokens)
        data[place : place + dice.choice((0, len(token)))] = token


def mutate_json(dice: random.Random, value: Any, others: Sequence[Any] = ()) -> Any:
    """Return a copy of what JSON holds with one to three values exchanged, dropped or added."""
    value = copy.deepcopy(value)
    for _ in range(dice.choice((1, 1, 2, 3))):
        places = list(_places(value))
        if not places:
            return dice.choice(VALUES)
        where, key = dice.choice(places)
        _exchange(dice, where, key, places, others)
    return value


def _exchange(dice: random.Random, where: Any, key: Any, places: list[Any], others: Any) -> None:
    how = dice.choice(("hostile", "hostile", "near", "middle", "drop", "again", "swap", "other"))
    if how == "drop":
        del where[key]
    elif how == "again" and isinstance(where, list):
        where.insert(dice.randrange(len(where) + 1), copy.deepcopy(where[key]))
    elif how == "again":
        where[f"{key}{dice.choice(('', 's', '.', '2', ' '))}"] = copy.deepcopy(where[key])
    elif how == "middle" and isinstance(where[key], int | float):
        where[key] = type(where[key])(10 ** dice.uniform(0, 19))
    elif how == "near" and isinstance(where[key], int | float):
        where[key] = where[key] + dice.choice((-1, 1, 0.5, -where[key], 1 << 20))
    elif how == "swap":
        there, other = dice.choice(places)
        where[key], there[other] = copy.deepcopy(there[other]), copy.deepcopy(where[key])
    elif how == "other" and others:
        foreign = list(_places(dice.choice(others)))
        same = [(w, k) for w, k in foreign if k == key] or foreign
        there, other = dice.choice(same)
        where[key] = copy.deepcopy(there[other])
    else:
        where[key] = copy.deepcopy(dice.choice(VALUES))


def _places(value: Any) -> Any:
    """Yield all (container, key) in what JSON holds."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield value, key
        if isinstance(inner, dict | list):
            yield from _places(inner)


def mutate_array(dice: random.Random, array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of other values, another shape or another type."""
    how = dice.choice(("value", "value", "values", "type", "shape", "length", "all"))
    if how == "type":
        kinds = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")
        with np.errstate(all="ignore"):
            return array.astype(dice.choice(kinds))
    if how == "shape":
        return _other_shape(dice, array)
    if how == "length":
        return _other_length(dice, array)
    changed = np.array(array, order="C")
    if changed.size:
        flat = changed.reshape(-1)
        n = {"value": 1, "values": min(4, flat.size), "all": flat.size}[how]
        where = slice(None) if how == "all" else [dice.randrange(flat.size) for _ in range(n)]
        flat[where] = _other_value(dice, flat)
    return changed


def _other_value(dice: random.Random, array: NDArray[Any]) -> Any:
    """Return a value that an array of this type can hold and its owner may not expect."""
    kind = array.dtype
    if kind.kind == "b":
        return dice.random() < 0.5
    if kind.kind == "f":
        limits = np.finfo(kind)
        known = [np.nan, np.inf, -np.inf, limits.max, limits.min, limits.tiny, 0.0, -0.0, -1.0]
        middle = 10 ** dice.uniform(-6, 4)  # which half precision holds, too
        return kind.type(dice.choice([*known, 1.0, 1e-30, middle, float(dice.choice(array))]))
    limits = np.iinfo(kind)
    near = int(dice.choice(array)) + dice.choice((-1, 1))
    known = [limits.min, limits.max, limits.max - 1, limits.max // 2 + 1, 0, 1, 2, 64]
    middle = [int(2 ** dice.uniform(0, kind.itemsize * 8 - 1)) for _ in range(3)]
    near = min(max(near, limits.min), limits.max)
    return dice.choice([*known, *middle, near, dice.randrange(limits.max)])


def _other_shape(dice: random.Random, array: NDArray[Any]) -> NDArray[Any]:
    shapes = [(-1,), (1, -1), (-1, 1), (1, 1, -1), array.shape[::-1]]
    if array.size == 1:
        shapes.append(())
    if array.ndim == 2:
        shapes.append((array.shape[0] * 2, -1) if array.shape[1] % 2 == 0 else (-1, 1))
    shape = dice.choice(shapes)
    return np.ascontiguousarray(array.reshape(shape if array.size else (0,)))


def _other_length(dice: random.Random, array: NDArray[Any]) -> NDArray[Any]:
    """Return more, fewer or no entries along one axis."""
    if array.ndim == 0:
        return np.stack([array] * dice.choice((1, 2)))
    axis = dice.randrange(array.ndim)
    n = array.shape[axis]
    wanted = dice.choice((0, 1, max(0, n - 1), n + 1, n + 64, 2 * n))
    if n == 0:
        return np.zeros(
            [wanted if i == axis else m for i, m in enumerate(array.shape)], array.dtype
        )
    return np.ascontiguousarray(np.take(array, np.arange(wanted) % n, axis=axis))
