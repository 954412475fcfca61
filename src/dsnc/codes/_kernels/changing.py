"""The nearest of codes that change in place: for kernels that train them.

The codes lie in the planes of the scan, where writing one is a few octets. `gone` has an octet for
each place of the planes, 255 where no code is and otherwise 0, and `holes` the number of the former
in each block: what is not there is as far as no code can be.

Some queries go through some blocks (a tile) together while these are in the cache. What can still
enter a query's list is noted down in the order of rows, and how many were noted at each distance
tells what can: see `dsnc.codes._kernels.counting`, which needs all distances and a place for every
row, while the notes here are a few times as long as the list.
"""

import numpy as np

from dsnc.codes._kernels.nearest import FREE, ROW_BITS
from dsnc.codes._kernels.scan import BLOCK, add_all
from dsnc.codes._kernels.tools import lowest_bit, part, popcount, smaller, up_to

GONE = 255  # in `gone`
LIMIT, NOTED, WITHIN, COUNTS = 0, 1, 2, 3  # places in the notes of a query
_LANES = 64  # distances that are looked at together
_SAMPLE = 2  # blocks that tell how far the first rows may be that are noted down


def notes_size(n_bits: int, k: int) -> int:
    """Return how long the notes of a query are: counts of all distances, and keys."""
    return COUNTS + n_bits + 1 + 4 * k + 2 * _LANES


@part
def nearest_keys(planes, gone, holes, first, last, n_bits, octets, keys, sums, lows, notes):
    """Write the nearest codes of some queries in the blocks from `first` up to before `last`.

    `octets` (n_queries, n_planes) are the queries; `keys` (n_queries, k) get ``distance << ROW_BITS
    | row``, ascending, FREE where there are no more codes. The others are scratch space, of one
    thread: `sums` (2, tile, BLOCK) of a type whose largest number is above `n_bits`, `lows` (2,
    tile) and `notes` (n_queries, `notes_size`).
    """
    n_queries, tile, k = octets.shape[0], sums.shape[1], keys.shape[1]
    notes[:n_queries, LIMIT] = n_bits
    notes[:n_queries, NOTED : COUNTS + n_bits + 1] = 0
    for start in range(first, last, tile):
        size = min(last - start, tile)
        for i in range(0, n_queries, 2):
            j = i + 1
            if j == n_queries:
                _measure_alone(planes, gone, holes, start, size, octets[i], sums, lows, notes[i])
            else:
                _measure(planes, gone, holes, start, size, i, octets, sums, lows, notes)
            for query in range(i, min(j + 1, n_queries)):
                near, low, mine = sums[query - i, :size], lows[query - i, :size], notes[query]
                if start == first:
                    mine[LIMIT] = _kth(near[:_SAMPLE], low[:_SAMPLE], k, n_bits)
                _note(near, low, start * BLOCK, k, n_bits, mine)
    for query in range(n_queries):
        _sort(notes[query], n_bits, keys[query])


@part
def _measure(planes, gone, holes, start, size, i, octets, sums, lows, notes):
    """Write the distances of two queries to the codes of a tile, and the least in each block."""
    limit_a, limit_b = notes[i, LIMIT], notes[i + 1, LIMIT]
    a, b = octets[i], octets[i + 1]
    for x in range(size):
        block, sum_a, sum_b = start + x, sums[0, x], sums[1, x]
        low_a, low_b = add_all(planes, block, None, a, b, sum_a, sum_b, limit_a, limit_b)
        if holes[block]:
            low_a, low_b = _hide(gone[block], sum_a), _hide(gone[block], sum_b)
        lows[0, x], lows[1, x] = low_a, low_b


@part
def _measure_alone(planes, gone, holes, start, size, a, sums, lows, notes):
    """Do so for one query, two blocks at once."""
    limit, steps = notes[LIMIT], (size + 1) // 2
    side = 0 if size > 1 else 1  # the sums of two blocks must not be the same
    for x in range(steps):
        y = min(x + steps, size - 1)
        sum_a, sum_b = sums[0, x], sums[side, y]
        low_a, low_b = add_all(planes, start + x, start + y, a, a, sum_a, sum_b, limit, limit)
        if holes[start + x]:
            low_a = _hide(gone[start + x], sum_a)
        if holes[start + y]:
            low_b = _hide(gone[start + y], sum_b)
        lows[0, x], lows[side, y] = low_a, low_b


@part
def _hide(gone, distances):
    """Make what is not there the farthest of all; return the least distance."""
    largest = low = distances.dtype.type(-1)
    for g in range(BLOCK):
        if gone[g]:
            distances[g] = largest
        low = smaller(low, distances[g])
    return low


@part
def _kth(distances, lows, k, n_bits):
    """Return the k-th distance, or `n_bits` where there are fewer."""
    low, high = np.int64(n_bits), np.int64(n_bits)
    for least in lows:
        low = min(low, least)
    while low < high:
        middle, n = (low + high) >> 1, 0
        for block in range(distances.shape[0]):
            here = distances[block]
            for first in range(0, BLOCK, _LANES):
                n += np.int64(popcount(up_to(here, first, here.dtype.type(middle))))
        if n >= k:
            high = middle
        else:
            low = middle + 1
    return low


@part
def _note(distances, lows, start, k, n_bits, notes):
    """Note down what may enter the list.

    Once k codes are at distance d or nearer, no further code at d may enter: of equal distances,
    the earlier rows count. So of each distance at most k are noted down.
    """
    limit, n, within = notes[LIMIT], notes[NOTED], notes[WITHIN]
    counts, noted = notes[COUNTS : COUNTS + n_bits + 1], notes[COUNTS + n_bits + 1 :]
    for block in range(lows.shape[0]):
        if lows[block] > limit:
            continue
        here = distances[block]
        for first in range(0, BLOCK, _LANES):
            near = up_to(here, first, here.dtype.type(max(limit, 0)))
            if near and n + _LANES > noted.shape[0]:
                n = _drop(noted, n, limit + 1)
            while near:
                place = first + lowest_bit(near)
                near &= near - np.uint64(1)
                distance = np.int64(here[place])
                if distance > limit:  # it is lower than it was
                    continue
                counts[distance] += 1
                noted[n] = (distance << ROW_BITS) + start + block * BLOCK + place
                n += 1
                within += 1
                while within >= k:
                    within -= counts[limit]
                    limit -= 1
    notes[LIMIT], notes[NOTED], notes[WITHIN] = limit, n, within


@part
def _drop(noted, n, limit):
    """Drop what is farther than the limit; return how many are left, fewer than 2 k."""
    kept = 0
    for x in range(n):
        noted[kept] = noted[x]
        kept += np.int64(noted[x] >> ROW_BITS <= limit)
    return kept


@part
def _sort(notes, n_bits, keys):
    """Put what was noted down in its place, by distance; leave out what is beyond the last one."""
    k, filled, limit = keys.shape[0], 0, min(notes[LIMIT] + 1, n_bits)
    counts, noted = notes[COUNTS : COUNTS + limit + 1], notes[COUNTS + n_bits + 1 :]
    for distance in range(limit + 1):  # where the entries of each distance begin
        filled, counts[distance] = filled + counts[distance], filled
    for x in range(notes[NOTED]):
        distance = noted[x] >> ROW_BITS
        if distance <= limit:
            place = counts[distance]
            counts[distance] += 1
            if place < k:
                keys[place] = noted[x]
    for place in range(filled, k):
        keys[place] = FREE
