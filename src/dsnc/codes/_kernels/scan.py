"""Exhaustive search, over octet planes unless codes are far.

Octet p of 512 codes lies together, so that one instruction works on as many codes as a vector
register has octets, and distances are sums of octets. Two queries share each reading; a single one
goes through two blocks at once.
"""

import numpy as np

from dsnc.codes._kernels.counting import fill_list
from dsnc.codes._kernels.nearest import ROW_BITS, Lists, bound_of, insert
from dsnc.codes._kernels.tools import (
    add_saturated,
    column_distance,
    inlined,
    kernel,
    part,
    popcount,
    smaller,
)

BLOCK = 512  # codes in a block
_GROUP = 32  # distances that are looked at together where a block has something near


@kernel
def fill_planes(octets, planes):
    """Lay the (n, n_octets) codes out as (n_blocks, n_octets, BLOCK)."""
    for row in range(octets.shape[0]):
        for p in range(planes.shape[1]):
            planes[row // BLOCK, p, row % BLOCK] = octets[row, p]


@kernel
def scan(planes, n_codes, octets, rows, labels, slack, keys, owners, sums, lows, alone, space):
    """Bring the lists of the queries `rows` up to date with all codes.

    `octets` (n_queries, n_planes) are the queries; `labels` owns the codes, or is empty where each
    owns itself; nothing enters a list that is farther than its first by more than `slack`.
    Distances are added up in `sums` (2, tile, BLOCK): they saturate at the largest octet. Their
    least in each block goes to `lows` (2, tile): only when the least of a whole tile is
    known, what is near enough is put into the lists. `alone` says that there is one query, which
    then goes through two blocks at once. `space` is the scratch space of `fill_list` where lists
    are made by counting, for which a tile holds all codes, and otherwise empty.
    """
    n_blocks, n_planes, tile = planes.shape[0], planes.shape[1], sums.shape[1]
    beyond = slack if keys.shape[1] > 1 else 0
    lists = Lists(labels, slack, keys, owners)
    for first in range(0, n_blocks, tile):
        size = min(n_blocks - first, tile)
        steps = (size + 1) // 2 if alone else size
        second = 0 if alone and size > 1 else 1  # whose sums the second of a pair are
        for pair in range(0, rows.shape[0], 2):
            i, j = rows[pair], rows[min(pair + 1, rows.shape[0] - 1)]
            a, b = octets[i], octets[j]
            # The largest distance that would still enter the list, or is in it.
            seen = 0 if len(space) else first * BLOCK + 1
            limit_a = (bound_of(lists, i) - seen) >> ROW_BITS
            limit_b = (bound_of(lists, j) - seen) >> ROW_BITS
            for x in range(steps):
                y = min(x + steps, size - 1) if alone else x
                sum_a, sum_b = sums[0, x], sums[second, y]
                # Two calls: where two queries share codes, the compiler reads these once.
                if alone:
                    low_a, low_b = add_all(
                        planes, first + x, first + y, a, b, sum_a, sum_b, limit_a, limit_b
                    )
                else:
                    low_a, low_b = add_all(
                        planes, first + x, None, a, b, sum_a, sum_b, limit_a, limit_b
                    )
                low_a = _least(sum_a, low_a, n_codes - (first + x) * BLOCK)
                low_b = _least(sum_b, low_b, n_codes - (first + y) * BLOCK)
                lows[0, x], lows[second, y] = low_a, low_b
                limit_a, limit_b = min(limit_a, low_a + beyond), min(limit_b, low_b + beyond)
            if alone:
                limit_a = min(limit_a, limit_b)
            # One call for both, in a loop: what is called twice is compiled twice.
            for side in range(1 if i == j else 2):
                query, limit = (i, limit_a) if side == 0 else (j, limit_b)
                if len(space):
                    near, low = sums[side, :size], lows[side, :size]
                    to = labels, keys[query], owners[query]
                    fill_list(near, low, limit, n_codes, *to, 8 * n_planes, space)
                    continue
                for x in range(size):
                    if lows[side, x] <= limit:
                        start = (first + x) * BLOCK
                        _collect(sums[side, x], limit, start, n_codes, lists, query)


@kernel
def scan_words(words, queries, rows, labels, slack, keys, owners):
    """Bring the lists of the queries `rows` up to date with all codes, whatever the distances.

    Word by word: for codes so long that distances do not fit an octet.
    """
    lists = Lists(labels, slack, keys, owners)
    for first in range(0, words.shape[0], BLOCK):
        for i in rows:
            bound = bound_of(lists, i)
            for row in range(first, min(first + BLOCK, words.shape[0])):
                distance = np.uint64(0)
                for w in range(words.shape[1]):
                    distance += popcount(words[row, w] ^ queries[i, w])
                key = (np.int64(distance) << ROW_BITS) + row
                if key < bound:
                    insert(lists, i, key)
                    bound = bound_of(lists, i)


@inlined
def add_all(planes, block, other, a, b, sum_a, sum_b, limit_a, limit_b):
    """Write the distances in all planes, or in the first ones where these are beyond the limits."""
    n_planes = planes.shape[1]
    p = n_planes % 8
    if p:
        low_a, low_b = _add(planes, block, other, 0, _four(a), _four(b), sum_a, sum_b, None)
    else:
        p = 8
        first_a, first_b = _eight(a, np.int64(0)), _eight(b, np.int64(0))
        low_a, low_b = _add(planes, block, other, 0, first_a, first_b, sum_a, sum_b, None)
    while p < n_planes and (low_a <= limit_a or low_b <= limit_b):
        next_a, next_b = _eight(a, p), _eight(b, p)
        low_a, low_b = _add(planes, block, other, p, next_a, next_b, sum_a, sum_b, True)
        p += 8
    return low_a, low_b


@part
def _add(planes, block, other, p, a, b, sum_a, sum_b, more):
    """Add (or set, where `more` is None) the distances in as many planes as the tuples are long.

    Those of a to the codes of a block, and those of b to the same or to those of another one.
    """
    low_a = low_b = sum_a.dtype.type(-1)
    second = block if other is None else other
    for g in range(BLOCK):
        distance_a = column_distance(planes, block, p, g, a)
        distance_b = column_distance(planes, second, p, g, b)
        if more is None:
            sum_a[g] = distance_a
            sum_b[g] = distance_b
        else:
            sum_a[g] = add_saturated(sum_a[g], distance_a)
            sum_b[g] = add_saturated(sum_b[g], distance_b)
        low_a = smaller(low_a, sum_a[g])
        low_b = smaller(low_b, sum_b[g])
    return low_a, low_b


@part
def _eight(q, p):
    return (q[p], q[p + 1], q[p + 2], q[p + 3], q[p + 4], q[p + 5], q[p + 6], q[p + 7])


@part
def _four(q):
    return (q[0], q[1], q[2], q[3])


@part
def _least(distances, low, n):
    """Return the least distance of a block: the places beyond the n codes do not count."""
    if n < BLOCK:
        low = distances.dtype.type(-1)
        for g in range(n):
            low = smaller(low, distances[g])
    return np.int64(low)


@part
def _collect(distances, limit, start, n_codes, lists, query):
    """Put the codes of a block that are no farther than the limit into the query's list."""
    limit = (limit + 1) << ROW_BITS
    bound = min(bound_of(lists, query), limit)
    for first in range(0, min(BLOCK, n_codes - start), _GROUP):
        low = distances.dtype.type(-1)
        for g in range(_GROUP):
            low = smaller(low, distances[first + g])
        if (low << ROW_BITS) + start + first >= bound:
            continue
        for g in range(first, min(first + _GROUP, n_codes - start)):
            key = (distances[g] << ROW_BITS) + start + g
            if key < bound:
                insert(lists, query, key)
                bound = min(bound_of(lists, query), limit)
