"""A map of codes: places on a plane where near codes stand together, in near-linear time.

The first two principal components give the plan; then codes are pulled to their nearest ones and
pushed away from others drawn at random, as UMAP does it; at last what is crowded gets room. The
same codes always get the same places, and few new ones among many leave the map much as it was.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import PackedCodes

Places = NDArray[np.uint16]
_Floats = NDArray[np.float32]
_Ints = NDArray[Any]  # numbers of codes

_NEIGHBORS = 8
_ORDERS, _WINDOW = 6, 3  # of the bits, and places before and after that are looked at
_ROUNDS = 4  # of looking at the nearest of the nearest
_BLOCK = 4096  # codes at a time
_NUMBER_BITS = 40  # of a key that is a distance and a number
_STRANGERS, _PUSH = 6, 8.0  # others that push a code away, at each step, and how strongly
_MIXES, _MIXER = 16, np.uint64(0xBF58476D1CE4E5B9)  # orders by which they are chosen, and how
_STEPS, _LEAST_STEPS = 500, 40
_WORK = 10_000_000  # codes times steps
_SPAN = 40.0  # from the middle to the edge, at the beginning
_SHARP = 1.6, 0.9  # UMAP's curve of likeness, for a least distance of about 0.1
_TURNS, _EVEN = 32, 0.16  # how often the map is evened out, and how much at a time
_FAR = 1.0  # nothing moves farther in one step
_LAST = 65535  # the edge of the map


def class_map(codes: PackedCodes) -> Places:
    """Return the places of codes on a map, (n, 2) numbers of 0 to 65535.

    Parameters
    ----------
    codes : PackedCodes

    Examples
    --------
    >>> class_map(PackedCodes.from_bits([[0, 1], [1, 1], [0, 1]])).shape
    (3, 2)
    """
    if not len(codes):
        return np.zeros((0, 2), dtype=np.uint16)
    unique = codes.unique()
    places = _plan(unique.codes)
    rng = np.random.default_rng(0)
    if len(places) > 3:
        near = _neighbors(unique.codes, rng)
        places = _evened(_settled(unique.codes, places, near))
    spread = places[unique.inverse]
    return _scaled(spread + _beside(unique.inverse, unique.counts))


def _plan(codes: PackedCodes) -> _Floats:
    """Return the first two principal components, of a sign that is the same everywhere."""
    signs = codes.to_signs(np.float32)
    signs -= signs.mean(axis=0)
    _, vectors = np.linalg.eigh((signs.T @ signs).astype(np.float64))
    axes = vectors[:, :-3:-1] if codes.n_bits > 1 else np.repeat(vectors, 2, axis=1)
    side = np.random.default_rng(2).normal(size=codes.n_bits) @ axes  # hardly ever near 0
    places = signs @ (axes * np.where(side < 0, -1, 1)).astype(np.float32)
    widest = np.abs(places).max()
    scaled: _Floats = places * np.float32(_SPAN / widest if widest > 0 else 1)
    return scaled


def _neighbors(codes: PackedCodes, rng: np.random.Generator) -> _Ints:
    """Return the nearest of each code, as far as they can be found in near-linear time.

    Those beside it in some order of the bits are a beginning; then the nearest of the nearest,
    and of those that are near from the other side, are looked at, a few times.
    """
    n, bits = len(codes), codes.to_bits()
    found = np.empty((n, 2 * _WINDOW * _ORDERS), dtype=np.int32)
    column = 0
    for _ in range(_ORDERS):
        shuffled = bits[:, rng.permutation(codes.n_bits)]
        order = np.lexsort(PackedCodes.from_bits(shuffled).words.T)
        for step in range(1, _WINDOW + 1):
            for sign in (-step, step):
                found[order, column] = np.roll(order, sign)
                column += 1
    near = _best(codes, lambda rows: found[rows])
    for _ in range(_ROUNDS):
        near = _best(codes, partial(_of_the_nearest, near, _other_side(near)))
    return near


def _of_the_nearest(near: _Ints, other: _Ints, rows: _Ints) -> _Ints:
    """Return the nearest of some codes, and those that are near to these, from either side."""
    mine = near[rows]
    theirs = (side[mine].reshape(len(rows), -1) for side in (near, other))
    return np.concatenate([mine, *theirs], axis=1)


def _best(codes: PackedCodes, find: Callable[[_Ints], _Ints]) -> _Ints:
    """Return the nearest of those that are found for each code, each once, without itself."""
    result = np.empty((len(codes), min(_NEIGHBORS, len(codes) - 1)), dtype=np.int32)
    for start in range(0, len(codes), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, len(codes)))
        some = np.sort(find(rows), axis=1)
        keys = _distances(codes, rows, some).astype(np.int64)
        keys[:, 1:][some[:, 1:] == some[:, :-1]] = codes.n_bits + 1  # who was found before
        keys[some == rows[:, None]] = codes.n_bits + 2
        keys = (keys << _NUMBER_BITS) + some
        k = result.shape[1]
        if k < keys.shape[1]:
            keys = np.partition(keys, k - 1, axis=1)[:, :k]
        result[rows] = np.sort(keys, axis=1) & ((1 << _NUMBER_BITS) - 1)
    return result


def _other_side(near: _Ints) -> _Ints:
    """Return, for each code, some of those that it is near to; itself where there are too few."""
    n, k = near.shape
    order = np.argsort(near.ravel(), kind="stable")
    owner, target = order // k, near.ravel()[order]
    rank = np.arange(n * k) - np.searchsorted(target, np.arange(n))[target]
    result = np.repeat(np.arange(n, dtype=np.int32)[:, None], k, axis=1)
    some = rank < k
    result[target[some], rank[some]] = owner[some]
    return result


def _distances(codes: PackedCodes, rows: _Ints, others: _Ints) -> NDArray[np.int32]:
    """Return the distances of some codes to some others each."""
    result = np.zeros(others.shape, dtype=np.int32)
    for word in codes.words.T:
        result += np.bitwise_count(word[rows][:, None] ^ word[others])
    return result


def _settled(codes: PackedCodes, places: _Floats, near: _Ints) -> _Floats:
    """Move the places: near codes together, others apart, less and less far."""
    steps = int(np.clip(_WORK // len(places), _LEAST_STEPS, _STEPS))
    a, b = _SHARP
    strangers = _Strangers(codes)
    for step in range(steps):
        rate = np.float32(0.5 * (1 - step / steps))
        pull = places[:, None] - places[near]
        square = np.einsum("nkd,nkd->nk", pull, pull) + np.float32(1e-6)
        force = -2 * a * b * square ** np.float32(b - 1) / (1 + a * square ** np.float32(b))
        move = np.einsum("nk,nkd->nd", force, pull)
        for stranger in range(_STRANGERS):
            push = places - places[strangers(step * _STRANGERS + stranger)]
            square = np.einsum("nd,nd->n", push, push)
            force = _PUSH * 2 * b / ((np.float32(0.01) + square) * (1 + a * square))
            move += force[:, None] * push
        move *= np.float32(4 / near.shape[1])
        length = np.sqrt(np.einsum("nd,nd->n", move, move))
        within = np.minimum(1, _FAR / np.maximum(length, np.float32(1e-9)))
        places = places + (rate * within)[:, None] * move
    return places


class _Strangers:
    """Others for each code, as good as drawn at random; few of them change when a code comes.

    Codes are put in some orders that have nothing to do with their bits, and meet who stands so
    many places behind them: a new code changes that for those just before it, and nobody else.
    """

    def __init__(self, codes: PackedCodes) -> None:
        rng = np.random.default_rng(1)
        self._orders, self._ranks = [], []
        for _ in range(_MIXES):
            mixed = np.zeros(len(codes), dtype=np.uint64)
            for word in codes.words.T:
                mixed = (mixed ^ word) * (2 * rng.integers(1 << 62, dtype=np.uint64) + 1)
                mixed ^= mixed >> np.uint64(32)
                mixed *= _MIXER
                mixed ^= mixed >> np.uint64(29)
            order = np.argsort(mixed, kind="stable").astype(np.int32)
            rank = np.empty_like(order)
            rank[order] = np.arange(len(order), dtype=np.int32)
            self._orders.append(order)
            self._ranks.append(rank)

    def __call__(self, time: int) -> _Ints:
        order, rank = self._orders[time % _MIXES], self._ranks[time % _MIXES]
        behind: _Ints = np.roll(order, -(1 + time // _MIXES))[rank]
        return behind


def _evened(places: _Floats) -> _Floats:
    """Move the places part of the way to an evenly filled disc, in one direction after another.

    What is crowded gets room, and who stands beside whom remains.
    """
    places = places - places.mean(axis=0)
    radius = 2 * float(np.sqrt((places**2).sum(axis=1).mean()))
    x = np.linspace(-1, 1, 1025)
    below = 0.5 + (x * np.sqrt(1 - x * x) + np.arcsin(x)) / np.pi  # the part of a disc left of x
    wanted = radius * np.interp((np.arange(len(places)) + 0.5) / len(places), below, x)
    for turn in range(_TURNS):
        angle = np.pi * 0.618034 * turn
        axis = np.array([np.cos(angle), np.sin(angle)], dtype=np.float32)
        along = places @ axis
        order = np.argsort(along, kind="stable")
        move = np.empty_like(along)
        move[order] = wanted - along[order]
        places += np.float32(_EVEN) * move[:, None] * axis
    return places


def _beside(inverse: _Ints, counts: _Ints) -> _Floats:
    """Return how far those of one code stand from its place: in a spiral around it."""
    order = np.argsort(inverse, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rank = np.empty(len(inverse), dtype=np.int64)
    rank[order] = np.arange(len(inverse)) - starts[inverse[order]]
    unit = 0.1 * np.sqrt(_SPAN * _SPAN / max(1, len(counts)))
    angle, radius = 2.399963 * rank, unit * np.sqrt(rank)
    spiral = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return spiral.astype(np.float32)


def _scaled(places: _Floats) -> Places:
    """Return places that fill the map, with one scale for both directions."""
    low, high = places.min(axis=0), places.max(axis=0)
    half = max(float((high - low).max()) / 2, 1e-6)
    moved = (places - (low + high) / 2) / half
    filled: Places = np.clip(np.rint((moved + 1) / 2 * _LAST), 0, _LAST).astype(np.uint16)
    return filled
