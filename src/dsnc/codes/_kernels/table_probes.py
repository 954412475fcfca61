"""Several entries of a table of codes, read around one code, and the classes found there scored.

Bits err where they are least certain. Flipping every subset of the j bits whose logits are nearest
to 0 gives 2**j codes; the table names a class for each, and every class found gets the score

    ``score[k] = bias[k] + signs[0] * weight[k, 0] + signs[1] * weight[k, 1] + ...``

in float32, added in this order: whoever scores all classes in the same order gets the same numbers.
"""

from typing import Any

import numpy as np

from dsnc.codes._kernels.tools import inlined, kernel, part, prefetch, smaller

_AT_ONCE = 16  # rows whose entries are asked for together
_KEY_BITS = np.uint64(5)  # of a key, for the number of a bit
_MAX_BITS = 32
_SIZE = np.uint64(0x7FFFFFFF)  # a float without its sign: as integers they ascend alike
_DONE = np.uint64(0xFFFFFFFFFFFFFFFF)
_NO_TABLES = {kind: np.empty(0, dtype=kind) for kind in (np.uint8, np.uint16, np.uint32)}
for _none in _NO_TABLES.values():
    _none.flags.writeable = False


def find_classes(
    table, words, logits, signs, weight, bias, n_flips: int, k: int
) -> tuple[Any, Any, Any]:
    """Return the k best classes found around each code, their scores, and how many were found.

    `table`, `words`, `weight` and `bias` are read-only and `signs` is not, always: the kernel is
    compiled anew for each kind of array. Where fewer than k were found, the rest is 0.
    """
    n = len(words)
    sizes = logits.view(np.uint32)
    sizes.flags.writeable = False
    classes, scores = np.zeros((n, k), dtype=np.int64), np.zeros((n, k), dtype=np.float32)
    lists = classes, scores, np.zeros(n, dtype=np.int64)
    scratch = (
        np.empty((_AT_ONCE, 1 << n_flips), dtype=np.int64),
        np.empty(_MAX_BITS, dtype=np.uint64),
        np.zeros(len(bias), dtype=np.int64),
    )
    tables = (table if table.dtype == kind else none for kind, none in _NO_TABLES.items())
    _find(*tables, words, sizes, signs, weight, bias, n_flips, *lists, *scratch)
    return lists


@kernel
def _find(
    octets,
    pairs,
    fours,
    words,
    logits,
    signs,
    weight,
    bias,
    n_flips,
    classes,
    scores,
    counts,
    places,
    keys,
    stamps,
):
    """List the classes found around each code: larger score first, then the smaller class.

    The table is one of the first three, in the type that it has, and the others are empty: so
    there is one kernel for all types.
    `logits` are the bits of float32 numbers; of equally certain bits the first is flipped first.
    ``counts[i]`` is the number of classes found for row i; as many as fit are in ``classes[i]``
    and ``scores[i]``, and what is behind them is left as it was. The last three are scratch space:
    ``places[_AT_ONCE, 2**n_flips]``, ``keys[_MAX_BITS]`` and ``stamps[n_classes]``, which is 0.
    """
    for first in range(0, words.shape[0], _AT_ONCE):
        last = min(words.shape[0], first + _AT_ONCE)
        for i in range(first, last):
            _set_places(words[i, 0], logits, i, n_flips, places, i - first, keys)
            for p in range(1 << n_flips):
                place = places[i - first, p]
                if len(octets):
                    prefetch(octets, place)
                elif len(pairs):
                    prefetch(pairs, place)
                else:
                    prefetch(fours, place)
        for i in range(first, last):
            found = np.int64(0)
            for p in range(1 << n_flips):
                label = _label(octets, pairs, fours, places[i - first, p])
                if stamps[label] != i + 1:
                    stamps[label] = i + 1
                    score = bias[label]
                    for j in range(signs.shape[1]):
                        score += signs[i, j] * weight[label, j]
                    _insert(classes, scores, i, found, label, score)
                    found += 1
            counts[i] = found


@inlined
def _label(octets, pairs, fours, place):
    if len(octets):
        return np.int64(octets[place])
    if len(pairs):
        return np.int64(pairs[place])
    return np.int64(fours[place])


@part
def _set_places(word, logits, i, n_flips, places, slot, keys):
    """Write the code with every subset of its least certain bits flipped."""
    n_bits = logits.shape[1]
    for j in range(n_bits):
        keys[j] = (np.uint64(logits[i, j]) & _SIZE) << _KEY_BITS | np.uint64(j)
    places[slot, 0] = np.int64(word)
    for flip in range(n_flips):
        least = _DONE
        for j in range(n_bits):
            least = smaller(least, keys[j])
        bit = np.int64(least & np.uint64(_MAX_BITS - 1))
        keys[bit] = _DONE
        for p in range(1 << flip):
            places[slot, (1 << flip) + p] = places[slot, p] ^ (1 << bit)


@part
def _insert(classes, scores, i, found, label, score):
    """Put a class in its place in a sorted list that holds as many of those found as fit."""
    place = min(found, classes.shape[1])
    while place > 0:
        ahead = scores[i, place - 1]
        if not (score > ahead or (score == ahead and label < classes[i, place - 1])):
            break
        place -= 1
        if place + 1 < classes.shape[1]:
            classes[i, place + 1] = classes[i, place]
            scores[i, place + 1] = scores[i, place]
    if place < classes.shape[1]:
        classes[i, place] = label
        scores[i, place] = score
