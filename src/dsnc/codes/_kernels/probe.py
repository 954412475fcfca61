"""Multi-index hashing: search by looking near codes up instead of going through all of them.

Bits are cut into m chunks, and every chunk has a table from its value to the rows that have it. A
code within distance d of the query is within ``d // m`` of it in some chunk. So the values of each
chunk are tried in the order of their distance r to the query's: when all chunks have been tried up
to r - 1 and the first j up to r, whatever was not found is at distance ``m * r + j`` at least.

M. Norouzi, A. Punjani, D. Fleet: Fast exact search in Hamming space with multi-index hashing, 2014.
"""

from typing import Any

import numpy as np

from dsnc.codes._kernels.nearest import ROW_BITS, bound_of, insert
from dsnc.codes._kernels.tools import inlined, kernel, part, popcount, prefetch, smaller

START, WIDTH, BASE = 0, 1, 2  # columns of `chunks`: first bit, bits, place of its offsets
SCAN, LOOKUP, BUCKET, CANDIDATE, CHECK = 0, 1, 2, 3, 4  # places in `costs`, nanoseconds each
AT_ONCE = 64  # queries whose first lookups, and values whose buckets, are asked for together
_LONG = 32  # from here on, a bucket's smallest distance is found before its rows are looked at
_GIVE_UP = 1.2  # of the scan's cost: what is ahead shrinks with everything that is found
_EXPLORE, _EXPLORE_NEAR = 0.1, 0.3  # share of it that may be spent without hope of an end
_PILOT, _SKIP = 64, 960  # where almost no pilot gets through, so many are scanned at once


@part
def bits_of(words: Any, row: Any, start: Any, width: Any) -> Any:
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
def signature(words: Any, row: Any, n_bits: Any, start: Any, width: Any, which: Any) -> Any:
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
        value |= bits_of(words, row, 0, min(64 - behind, start)) << np.uint64(behind)
    return value


@kernel
def fill_buckets(
    words: Any, n_bits: Any, chunks: Any, offsets: Any, ids: Any, signatures: Any
) -> Any:
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


@kernel
def probe(
    words: Any,
    n_bits: Any,
    queries: Any,
    labels: Any,
    slack: Any,
    chunks: Any,
    offsets: Any,
    ids: Any,
    signatures: Any,
    masks: Any,
    mask_starts: Any,
    n_radii: Any,
    costs: Any,
    ahead: Any,
    keys: Any,
    owners: Any,
    done: Any,
    counts: Any,
    values: Any,
    signs: Any,
    buckets: Any,
) -> Any:
    """Bring the lists up to date, set `done` where they are complete; return how many are.

    The others cost less to scan: their lists hold true neighbors, not yet all of them. `masks`
    are the values of each number of bits, those of r bits (of chunks `width` wide) from
    ``mask_starts[width, r]``; ``ahead[r, d]`` is what going on from radius r costs when the list
    ends at distance d, its last column what radius r alone does. `counts` gathers lookups,
    candidates and their checks; the last three arguments are scratch space.
    """
    n, m, n_parts = words.shape[0], chunks.shape[0], signatures.shape[1]
    failed = tried = skip = n_done = 0
    for first in range(0, queries.shape[0], AT_ONCE):
        last = min(queries.shape[0], first + AT_ONCE)
        if skip > 0:
            skip -= last - first
            continue
        for i in range(first, last):
            for j in range(m):
                value = np.int64(bits_of(queries, i, chunks[j, START], chunks[j, WIDTH]))
                values[i - first, j] = value
                prefetch(offsets, chunks[j, BASE] + value)
        for i in range(first, last):
            if i + 1 < last:
                for j in range(m):
                    bucket = chunks[j, BASE] + values[i + 1 - first, j]
                    prefetch(signatures, n_parts * (j * n + np.int64(offsets[bucket])))
            for j in range(m):
                for which in range(n_parts):
                    signs[j, which] = signature(
                        queries, i, n_bits, chunks[j, START], chunks[j, WIDTH], which
                    )
            done[i] = _probe_one(
                words,
                queries,
                i,
                labels,
                slack,
                chunks,
                offsets,
                ids,
                signatures,
                masks,
                mask_starts,
                n_radii,
                costs,
                ahead,
                keys,
                owners,
                values,
                signs,
                buckets,
                counts,
            )
            tried += 1
            failed += 1 - done[i]
            n_done += np.int64(done[i])
        if tried >= _PILOT:
            if failed >= 0.95 * tried:
                skip = _SKIP
            failed = tried = 0
    return n_done


@inlined
def _probe_one(
    words: Any,
    queries: Any,
    i: Any,
    labels: Any,
    slack: Any,
    chunks: Any,
    offsets: Any,
    ids: Any,
    signatures: Any,
    masks: Any,
    mask_starts: Any,
    n_radii: Any,
    costs: Any,
    ahead: Any,
    keys: Any,
    owners: Any,
    values: Any,
    signs: Any,
    buckets: Any,
    counts: Any,
) -> Any:
    """Search one query by growing radius; return whether its list is complete."""
    n, m, n_parts = words.shape[0], chunks.shape[0], signatures.shape[1]
    spent = 0.0
    for r in range(n_radii):
        distance = min((bound_of(keys, i, slack) - 1) >> ROW_BITS, ahead.shape[1] - 2)
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
            if m * r + j > (bound_of(keys, i, slack) - 1) >> ROW_BITS:
                return True
            width = chunks[j, WIDTH]
            base = chunks[j, BASE]
            for start in range(mask_starts[width, r], mask_starts[width, r + 1], AT_ONCE):
                stop = min(mask_starts[width, r + 1], start + AT_ONCE)
                n_buckets = 0
                for x in range(start, stop):  # without branches: most buckets may be empty
                    place = base + (values[i % AT_ONCE, j] ^ np.int64(masks[x]))
                    low = j * n + np.int64(offsets[place])
                    high = j * n + np.int64(offsets[place + 1])
                    buckets[n_buckets, 0] = low
                    buckets[n_buckets, 1] = high
                    prefetch(signatures, n_parts * low)
                    n_buckets += np.int64(high > low)
                candidates, checks = _visit(
                    words,
                    queries,
                    i,
                    labels,
                    slack,
                    ids,
                    signatures,
                    signs,
                    j,
                    r,
                    buckets,
                    n_buckets,
                    keys,
                    owners,
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
def _visit(
    words: Any,
    queries: Any,
    i: Any,
    labels: Any,
    slack: Any,
    ids: Any,
    signatures: Any,
    signs: Any,
    j: Any,
    r: Any,
    buckets: Any,
    n_buckets: Any,
    keys: Any,
    owners: Any,
) -> Any:
    """Look at the rows of some buckets; return how many there are, and how many seemed near."""
    n_words, two, last = words.shape[1], signatures.shape[1] == 2, keys.shape[1] - 1
    exact = n_words <= 2
    extra = 0 if exact else r  # the chunk's own share of the distance
    sign, second = signs[j, 0], signs[j, 1 if two else 0]
    candidates = checks = 0
    for b in range(n_buckets):
        low, high = buckets[b, 0], buckets[b, 1]
        candidates += high - low
        bound = bound_of(keys, i, slack)
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
                insert(keys, owners, i, key, labels)
                bound = bound_of(keys, i, slack)
    return candidates, checks


@part
def _least(signatures: Any, low: Any, high: Any, sign: Any) -> Any:
    least = np.uint32(64)
    for words in signatures[low:high]:
        least = smaller(least, np.uint32(popcount(words[0] ^ sign)))
    return np.int64(least)
