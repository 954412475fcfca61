"""What a row is scored with: its drawn and soft bits, and a few classes.

These are its own, the nearest by code, and some at random.
"""

import numpy as np

from dsnc.codes._kernels.changing import nearest_keys
from dsnc.codes._kernels.nearest import FREE, ROW_BITS
from dsnc.codes._kernels.tools import part
from dsnc.fast._kernels.lanes import LANES
from dsnc.fast._kernels.vectors import chance, draw, expect

_ROW_MASK = (1 << ROW_BITS) - 1
_ZERO = np.float32(0)
_STREAM = 1 << 16  # places of noise apart; no code is longer


@part
def prepare(rows, first, base, begin, end, weights, layout, batch, space, plan, seed, place):
    """Find the classes of some rows, and draw their bits."""
    window = _hash(seed ^ np.uint64(0x5851F42D4C957F2D), place + first)
    for slot in range(begin, end):
        _list_own(rows, first + slot, base + slot, batch)
    if plan.searches:
        _search(rows, first, base, begin, end, layout, batch, space, plan, window)
    for slot in range(begin, end):
        _list_near(rows, first + slot, base + slot, batch)
        noise = _hash(seed, place + first + slot)
        _choose(base + slot, weights, batch, plan, noise)


@part
def _list_own(rows, row, slot, batch):
    """List the classes that a row has."""
    start = rows.starts[row]
    n = rows.starts[row + 1] - start
    for m in range(n):
        batch.classes[slot, m] = rows.classes[start + m]
    batch.n_own[slot] = n


@part
def _search(rows, first, base, begin, end, layout, batch, space, plan, noise):
    """Find the nearest classes by code, within a window of all classes where these are many."""
    planes, gone, holes = layout
    n_blocks = planes.shape[0]
    size, start = min(n_blocks, plan.window), 0
    if size < n_blocks:
        start = min(np.int64(chance(noise, 0) * np.float32(n_blocks - size + 1)), n_blocks - size)
    nearest_keys(
        planes,
        gone,
        holes,
        start,
        start + size,
        plan.n_bits,
        batch.octets[base + begin : base + end],
        space.keys,
        space.sums,
        space.lows,
        space.notes,
    )
    for slot in range(begin, end):
        keys, near = space.keys[slot - begin], rows.near[first + slot]
        for entry in range(keys.shape[0]):
            is_there = keys[entry] != FREE
            near[entry] = np.int32(keys[entry] & _ROW_MASK) if is_there else np.int32(-1)


@part
def _list_near(rows, row, slot, batch):
    """List the nearest classes behind those that a row has."""
    classes, own = batch.classes[slot], batch.n_own[slot]
    n = own
    for k in rows.near[row]:
        if k >= 0 and not _is_among(k, classes, own):
            classes[n] = k
            n += 1
    batch.n_near[slot] = n


@part
def _is_among(k, classes, n):
    known = 0
    for m in range(n):
        known += np.int64(classes[m] == k)
    return known > 0


@part
def _choose(slot, weights, batch, plan, noise):
    """Add some classes at random to a row's own and the nearest; and draw its bits."""
    classes, n_all, near = batch.classes[slot], weights.classes.shape[0], batch.n_near[slot]
    n = near
    for u in range(plan.n_uniform if near < n_all else 0):
        drawn = chance(noise, _STREAM * (plan.n_draws + 1) + LANES * u)
        k = np.int32(min(np.int64(drawn * np.float32(n_all)), n_all - 1))
        if not _is_among(k, classes, near):
            classes[n] = k
            n += 1
    batch.n_classes[slot] = n
    n_inputs = batch.inputs.shape[1]
    for s in range(plan.n_draws):
        draw(batch.inputs, slot * n_inputs + s, batch.chances, slot, noise, s * _STREAM)
    if plan.soft_share > 0:
        expect(batch.inputs, slot * n_inputs + plan.n_draws, batch.chances, slot)
    for s in range(n_inputs):
        for j in range(plan.n_bits, batch.inputs.shape[2]):  # what fills up the row is no bit
            batch.inputs[slot, s, j] = _ZERO


@part
def _hash(seed, place):
    """Return 32 random bits."""
    x = seed + np.uint64(place) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint32(x >> np.uint64(32))
