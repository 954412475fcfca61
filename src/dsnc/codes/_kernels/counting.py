"""The nearest of a query by counting: for lists that are too long to be kept sorted.

A list that grows by insertion (`dsnc.codes._kernels.nearest`) moves its entries again and again,
which is nothing for two of them and almost everything for hundreds. But a distance is a small
integer. So, with all distances at hand, codes are gone through in the order of their rows: how many
owners there are at each distance tells which codes can still enter the list, these are noted down,
and one counting sort puts them in their places. Equal distances stay in the order of their rows.
"""

import numpy as np

from dsnc.codes._kernels.nearest import FREE, ROW_BITS
from dsnc.codes._kernels.tools import lowest_bit, part, up_to

_LANES = 64  # distances that are looked at together


@part
def fill_list(distances, lows, limit, n_codes, labels, keys, owners, largest, space):
    """Write the list of a query, whatever it held.

    Nothing is in it that is farther than the limit. `distances` (n_blocks, n), up to `largest`, are
    those of all codes, `lows` the least of each block; a block beyond the limit is not looked at.
    `labels` owns the codes, or is empty where each owns itself. The last argument is scratch space:
    for the number of owners at each distance, for as many rows as there are codes, and from there
    on for the nearest key of each owner, which is FREE before and after.
    """
    counts, noted = space[: largest + 1], space[largest + 1 : largest + 1 + n_codes]
    best = space[largest + 1 + n_codes :]
    limit = min(limit, largest, np.int64(distances.dtype.type(-1)))
    n = _note(distances, lows, limit, n_codes, labels, keys.shape[0], counts, best, noted)
    _sort(distances, labels, keys, owners, counts, best, noted[:n])
    if len(labels):
        for row in noted[:n]:
            best[labels[row]] = FREE


@part
def _note(distances, lows, limit, n_codes, labels, k, counts, best, noted):
    """Note down each row that is its owner's nearest so far and may enter; return how many.

    Once k owners have something at distance d or nearer, no further code at d may enter: of equal
    distances, the earlier rows count.
    """
    counts[:] = 0
    n = within = 0  # rows noted down, owners within the limit
    for block in range(lows.shape[0]):
        if lows[block] > limit:
            continue
        here, start = distances[block], block * distances.shape[1]
        for first in range(0, distances.shape[1], _LANES):
            near = up_to(here, first, here.dtype.type(max(limit, 0)))
            while near:
                place = first + lowest_bit(near)
                near &= near - np.uint64(1)
                row, distance = start + place, np.int64(here[place])
                if distance > limit or row >= n_codes:  # the limit is lower than it was
                    continue
                before = np.int64(FREE)
                if len(labels):
                    before = best[labels[row]]
                    if before >> ROW_BITS <= distance:
                        continue
                    best[labels[row]] = (distance << ROW_BITS) + row
                    if before != FREE:
                        counts[before >> ROW_BITS] -= 1
                counts[distance] += 1
                noted[n] = row
                n += 1
                within += np.int64(before >> ROW_BITS > limit)
                while within >= k:
                    within -= counts[limit]
                    limit -= 1
    return n


@part
def _sort(distances, labels, keys, owners, counts, best, noted):
    """Put what was noted down in its place, by distance; leave out what is beyond the last one."""
    k, filled = keys.shape[0], 0
    for distance in range(counts.shape[0]):  # where the entries of each distance begin
        filled, counts[distance] = filled + counts[distance], filled
    for row in noted:
        distance = np.int64(distances[row // distances.shape[1], row % distances.shape[1]])
        key, owner = (distance << ROW_BITS) + row, row
        if len(labels):
            owner = labels[row]
            if best[owner] != key:  # it has something nearer
                continue
        place = counts[distance]
        counts[distance] += 1
        if place < k:
            keys[place] = key
            owners[place] = owner
    for place in range(filled, k):
        keys[place] = FREE
        owners[place] = -1
