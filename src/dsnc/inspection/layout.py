"""A map of codes: places on a plane where near codes stand together, in near-linear time.

The first two principal components give the plan; then codes are pulled to their nearest ones and
pushed away from others drawn at random, as UMAP does it. The nearest are found by sorting: codes
are ordered by their bits, in several orders of the bits, and whoever is near in one of these is a
candidate. The same codes always get the same places.
"""

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import PackedCodes

Places = NDArray[np.uint16]
_Floats = NDArray[np.float32]
_Ints = NDArray[np.int64]

_NEIGHBORS = 8
_ORDERS, _WINDOW = 10, 3  # of the bits, and places before and after that are looked at
_STRANGERS = 4  # others that push a code away, at each step
_STEPS, _LEAST_STEPS = 240, 40
_WORK = 12_000_000  # codes times steps
_SPAN = 10.0  # from the middle to the edge, at the beginning
_SHARP = 1.6, 0.9  # UMAP's curve of likeness, for a least distance of about 0.1
_TURNS, _EVEN = 24, 0.12  # how often the map is evened out, and how much at a time
_FAR = 4.0  # nothing moves farther in one step
_LAST = 65535  # the edge of the map
_OUTSIDE = 0.0005  # the share of codes on either side that may be drawn in to the edge


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
        places = _evened(_settled(places, near, rng))
    spread = places[unique.inverse]
    return _scaled(spread + _beside(unique.inverse, unique.counts, spread))


def _plan(codes: PackedCodes) -> _Floats:
    """Return the first two principal components, of a sign that is the same everywhere."""
    signs = codes.to_signs(np.float32)
    signs -= signs.mean(axis=0)
    _, vectors = np.linalg.eigh((signs.T @ signs).astype(np.float64))
    axes = vectors[:, :-3:-1] if codes.n_bits > 1 else np.repeat(vectors, 2, axis=1)
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0)
    places = signs @ (axes * np.where(largest < 0, -1, 1)).astype(np.float32)
    widest = np.abs(places).max()
    scaled: _Floats = places * np.float32(_SPAN / widest if widest > 0 else 1)
    return scaled


def _neighbors(codes: PackedCodes, rng: np.random.Generator) -> _Ints:
    """Return the nearest of each code, of those that are beside it in some order of the bits."""
    n, bits = len(codes), codes.to_bits()
    found = np.empty((n, 2 * _WINDOW * _ORDERS), dtype=np.int64)
    column = 0
    for _ in range(_ORDERS):
        shuffled = PackedCodes.from_bits(
            np.ascontiguousarray(bits[:, rng.permutation(codes.n_bits)])
        )
        order = np.lexsort(shuffled.words.T)
        for step in range(1, _WINDOW + 1):
            for sign in (-step, step):
                found[order, column] = np.roll(order, sign)
                column += 1
    found.sort(axis=1)
    distance = _distances(codes, found)
    distance[:, 1:][found[:, 1:] == found[:, :-1]] = codes.n_bits + 1  # who was found before
    distance[found == np.arange(n)[:, None]] = codes.n_bits + 1
    k = min(_NEIGHBORS, n - 1)
    best = np.argsort(distance, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(found, best, axis=1)


def _distances(codes: PackedCodes, others: _Ints) -> NDArray[np.int32]:
    """Return the distances of each code to some others."""
    result = np.zeros(others.shape, dtype=np.int32)
    for word in codes.words.T:
        result += np.bitwise_count(word[:, None] ^ word[others])
    return result


def _settled(places: _Floats, near: _Ints, rng: np.random.Generator) -> _Floats:
    """Move the places: near codes together, others apart, less and less far."""
    n = len(places)
    steps = int(np.clip(_WORK // n, _LEAST_STEPS, _STEPS))
    a, b = _SHARP
    for step in range(steps):
        rate = np.float32(0.5 * (1 - step / steps))
        pull = places[:, None] - places[near]
        square = np.einsum("nkd,nkd->nk", pull, pull) + np.float32(1e-6)
        force = -2 * a * b * square ** np.float32(b - 1) / (1 + a * square ** np.float32(b))
        move = np.einsum("nk,nkd->nd", force, pull)
        for shift in rng.integers(1, n, _STRANGERS):
            push = places - np.roll(places, int(shift), axis=0)
            square = np.einsum("nd,nd->n", push, push)
            force = 2 * b / ((np.float32(0.01) + square) * (1 + a * square))
            move += force[:, None] * push
        places = places + rate * np.clip(move / near.shape[1] * 4, -_FAR, _FAR)
    return places


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


def _beside(inverse: _Ints, counts: _Ints, places: _Floats) -> _Floats:
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
    low, high = np.quantile(places, [_OUTSIDE, 1 - _OUTSIDE], axis=0)
    half = max(float((high - low).max()) / 2, 1e-6)
    moved = (places - (low + high) / 2) / half
    filled: Places = np.clip(np.rint((moved + 1) / 2 * _LAST), 0, _LAST).astype(np.uint16)
    return filled
