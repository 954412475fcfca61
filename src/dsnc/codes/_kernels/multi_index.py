"""Multi-index hashing: search by looking near codes up instead of going through all of them.

Bits are cut into m chunks, and every chunk has a table from its value to the rows that have it. A
code within distance d of the query is within ``d // m`` of it in some chunk. So the values of each
chunk are tried in the order of their distance r to the query's: when all chunks have been tried up
to r - 1 and the first j up to r, whatever was not found is at distance ``m * r + j`` at least.

M. Norouzi, A. Punjani, D. Fleet: Fast exact search in Hamming space with multi-index hashing, 2014.
"""

from typing import Any, NamedTuple

import numpy as np

from dsnc.codes._kernels.nearest import ROW_BITS, Lists, bound_of, insert
from dsnc.codes._kernels.tools import inlined, kernel, part, popcount, prefetch, smaller

START, WIDTH, BASE = 0, 1, 2  # columns of `chunks`: first bit, bits, place of its offsets
SCAN, LOOKUP, BUCKET, CANDIDATE, CHECK = 0, 1, 2, 3, 4  # places in `costs`, nanoseconds each
AT_ONCE = 64  # queries whose first lookups, and values whose buckets, are asked for together
_LONG = 32  # from here on, a bucket's smallest distance is found before its rows are looked at
_GIVE_UP = 1.2  # of the scan's cost: what is ahead shrinks with everything that is found
_EXPLORE, _EXPLORE_NEAR = 0.1, 0.3  # share of it that may be spent without hope of an end
_PILOT, _SKIP = 64, 960  # where almost no pilot gets through, so many are scanned at once


@part
def bits_of(words, row, start, width):
    """Return up to 64 bits of a code from bit `start`; bits past its last word are 0."""
    word, shift = start >> 6, np.uint64(start & 63)
    value = np.uint64(0)
    if word < words.shape[1]:
        value = words[row, word] >> shift
        if shift > 0 and word + 1 < words.shape[1]:
            value |= words[row, word + 1] << (np.uint64(64) - shift)
    if width < 64:
        value &= (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    return value


@part
def signature(words, row, n_bits, start, width, which):
    """Return a word that stands beside the rows of a chunk, to judge them without their codes.

    Codes of one or two words stand there whole, word by word. Of longer ones it is 64 bits outside
    the chunk (those that follow it, then the first ones): their distance and the chunk's add up to
    a lower bound of the codes'.
    """
    if words.shape[1] <= 2:
        return words[row, which]
    behind = min(64, n_bits - start - width)
    value = bits_of(words, row, start + width, behind)
    if behind < 64:
        value |= bits_of(words, row, np.int64(0), min(64 - behind, start)) << np.uint64(behind)
    return value


@kernel
def fill_buckets(words, n_bits, chunks, offsets, ids, signatures):
    """Sort the rows of every chunk by its value: counting sort, rows ascending in a bucket."""
    n = words.shape[0]
    for j in range(chunks.shape[0]):
        start, width, base = chunks[j, START], chunks[j, WIDTH], chunks[j, BASE]
        ends = offsets[base : base + (1 << width) + 1]
        ends[:] = 0
        for row in range(n):
            ends[np.int64(bits_of(words, row, start, width)) + 1] += np.uint32(1)
        for value in range(1 << width):
            ends[value + 1] += ends[value]
        for row in range(n):
            value = np.int64(bits_of(words, row, start, width))
            place = j * n + np.int64(ends[value])
            ends[value] += np.uint32(1)
            ids[place] = row
            for which in range(signatures.shape[1]):
                signatures[place, which] = signature(words, row, n_bits, start, width, which)
        for value in range(1 << width, 0, -1):
            ends[value] = ends[value - 1]
        ends[0] = 0


class Tables(NamedTuple):
    """A multi-index, as its kernels see it."""

    words: Any  # of the codes; of those behind the last one in the tables, a few
    chunks: Any
    offsets: Any  # of each value of each chunk: where its rows begin
    ids: Any  # rows, by chunk and value
    signatures: Any  # of these rows
    masks: Any  # values by their number of bits: those of r bits, for chunks `width` wide,
    mask_starts: Any  # begin at ``[width, r]``
    costs: Any
    ahead: Any  # [r, d]: going on from radius r to distance d costs so much; [r, -1]: r alone


@kernel
def probe(
    words,
    n_bits,
    queries,
    chunks,
    offsets,
    ids,
    signatures,
    masks,
    mask_starts,
    n_radii,
    costs,
    ahead,
    labels,
    slack,
    keys,
    owners,
    done,
    counts,
    values,
    signs,
    buckets,
):
    """Bring the lists up to date, set `done` where they are complete.

    The others cost less to scan: their lists hold true neighbors, not yet all of them. See
    `Tables` and `Lists`; arguments are not grouped so, as that takes longer for each call from
    Python. `counts` gathers lookups, candidates and their checks; the last three arguments are
    scratch space.
    """
    tables = Tables(words, chunks, offsets, ids, signatures, masks, mask_starts, costs, ahead)
    lists = Lists(labels, slack, keys, owners)
    failed = tried = skip = 0
    for first in range(0, queries.shape[0], AT_ONCE):
        last = min(queries.shape[0], first + AT_ONCE)
        if skip > 0:
            skip -= last - first
            continue
        _set_values(tables, queries, first, last, values)
        for i in range(first, last):
            _compare_later(tables, queries, i, lists)
            _set_signs(tables, queries, i, last, n_bits, values, signs)
            done[i] = _probe_one(tables, n_radii, queries, i, lists, values, signs, buckets, counts)
            tried += 1
            failed += 1 - done[i]
        if tried >= _PILOT:
            if failed >= 0.95 * tried:
                skip = _SKIP
            failed = tried = 0


@part
def n_tabled(tables):
    """Return how many codes the tables have; others came later, and are compared one by one."""
    return tables.ids.shape[0] // tables.chunks.shape[0]


@inlined
def _compare_later(tables, queries, i, lists):
    """Compare a query with the codes that came after the tables were made."""
    words = tables.words
    for row in range(n_tabled(tables), words.shape[0]):
        distance = np.int64(0)
        for w in range(words.shape[1]):
            distance += np.int64(popcount(words[row, w] ^ queries[i, w]))
        key = (distance << ROW_BITS) + row
        if key < bound_of(lists, i):
            insert(lists, i, key)


@inlined
def _set_values(tables, queries, first, last, values):
    """Write the values of the queries' chunks, and ask for where their rows begin."""
    chunks = tables.chunks
    for i in range(first, last):
        for j in range(chunks.shape[0]):
            value = np.int64(bits_of(queries, i, chunks[j, START], chunks[j, WIDTH]))
            values[i - first, j] = value
            prefetch(tables.offsets, chunks[j, BASE] + value)


@inlined
def _set_signs(tables, queries, i, last, n_bits, values, signs):
    """Write the signatures of a query, and ask for those of the rows that the next one finds."""
    chunks, n_parts = tables.chunks, tables.signatures.shape[1]
    if i + 1 < last:
        for j in range(chunks.shape[0]):
            bucket = chunks[j, BASE] + values[(i + 1) % AT_ONCE, j]
            start = j * n_tabled(tables) + np.int64(tables.offsets[bucket])
            prefetch(tables.signatures, n_parts * start)
    for j in range(chunks.shape[0]):
        for which in range(n_parts):
            signs[j, which] = signature(
                queries, i, n_bits, chunks[j, START], chunks[j, WIDTH], which
            )


@inlined
def _probe_one(tables, n_radii, queries, i, lists, values, signs, buckets, counts):
    """Search one query by growing radius; return whether its list is complete."""
    chunks, mask_starts, costs, ahead = (
        tables.chunks,
        tables.mask_starts,
        tables.costs,
        tables.ahead,
    )
    m = chunks.shape[0]
    spent = 0.0
    for r in range(n_radii):
        distance = min((bound_of(lists, i) - 1) >> ROW_BITS, ahead.shape[1] - 2)
        # Where the end is not in sight, a little may still be spent, for what it may find; more
        # where one radius further might do.
        explore = _EXPLORE_NEAR if distance < m * (r + 2) else _EXPLORE
        if (
            r > 0
            and spent + ahead[r, distance] > _GIVE_UP * costs[SCAN]
            and spent + ahead[r, -1] > explore * costs[SCAN]
        ):
            return False
        for j in range(m):
            if m * r + j > (bound_of(lists, i) - 1) >> ROW_BITS:
                return True
            width = chunks[j, WIDTH]
            for start in range(mask_starts[width, r], mask_starts[width, r + 1], AT_ONCE):
                stop = min(mask_starts[width, r + 1], start + AT_ONCE)
                n_buckets = _list_buckets(tables, j, values[i % AT_ONCE, j], start, stop, buckets)
                candidates, checks = _visit(
                    tables, queries, i, lists, signs, j, r, buckets, n_buckets
                )
                counts[0] += stop - start
                counts[1] += candidates
                counts[2] += checks
                spent += (
                    costs[LOOKUP] * (stop - start)
                    + costs[BUCKET] * n_buckets
                    + costs[CANDIDATE] * candidates
                    + costs[CHECK] * checks
                )
            if spent > costs[SCAN]:
                return False
    return False


@inlined
def _list_buckets(tables, j, value, start, stop, buckets):
    """List where the rows begin and end of the values that some masks give; return how many."""
    n, n_parts = n_tabled(tables), tables.signatures.shape[1]
    n_buckets = 0
    for x in range(start, stop):  # without branches: most buckets may be empty
        place = tables.chunks[j, BASE] + (value ^ np.int64(tables.masks[x]))
        low = j * n + np.int64(tables.offsets[place])
        high = j * n + np.int64(tables.offsets[place + 1])
        buckets[n_buckets, 0] = low
        buckets[n_buckets, 1] = high
        prefetch(tables.signatures, n_parts * low)
        n_buckets += np.int64(high > low)
    return n_buckets


@inlined
def _visit(tables, queries, i, lists, signs, j, r, buckets, n_buckets):
    """Look at the rows of some buckets; return how many there are, and how many seemed near."""
    words, ids, signatures = tables.words, tables.ids, tables.signatures
    labels, keys, owners = lists.labels, lists.keys, lists.owners
    n_words, two, last = words.shape[1], signatures.shape[1] == 2, keys.shape[1] - 1
    exact = n_words <= 2
    extra = 0 if exact else r  # the chunk's own share of the distance
    sign, second = signs[j, 0], signs[j, 1 if two else 0]
    candidates = checks = 0
    for b in range(n_buckets):
        low, high = buckets[b, 0], buckets[b, 1]
        candidates += high - low
        bound = bound_of(lists, i)
        if high - low >= _LONG and _least(signatures, low, high, sign) + extra > bound >> ROW_BITS:
            continue
        if r == 0 and exact and last == 0:  # likely near: no branch could be foretold
            best = bound
            for place in range(low, high):
                distance = np.int64(popcount(signatures[place, 0] ^ sign))
                if two:
                    distance += np.int64(popcount(signatures[place, 1] ^ second))
                best = min(best, (distance << ROW_BITS) + np.int64(ids[place]))
            if best < bound:
                keys[i, 0] = best
                row = best & ((1 << ROW_BITS) - 1)
                owners[i, 0] = labels[row] if len(labels) else row
            continue
        for place in range(low, high):
            distance = np.int64(popcount(signatures[place, 0] ^ sign)) + extra
            if two:
                distance += np.int64(popcount(signatures[place, 1] ^ second))
            if distance > bound >> ROW_BITS:
                continue
            row = np.int64(ids[place])
            if not exact:
                checks += 1
                distance = 0
                for w in range(n_words):
                    distance += np.int64(popcount(words[row, w] ^ queries[i, w]))
            key = (distance << ROW_BITS) + row
            if key < bound:
                insert(lists, i, key)
                bound = bound_of(lists, i)
    return candidates, checks


@part
def _least(signatures, low, high, sign):
    least = np.uint32(64)
    for words in signatures[low:high]:
        least = smaller(least, np.uint32(popcount(words[0] ^ sign)))
    return np.int64(least)
