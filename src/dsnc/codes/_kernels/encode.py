"""Sparse rows to logits and bits, in one pass.

    logits[i, j] = bias[j] + sum_p data[p] * weight[indices[p], j]   for p in row i

in float32, added in this order. Bit j is set where the logit is above 0.
"""

import numpy as np

from dsnc.codes._kernels.tools import kernel, part, prefetch
from dsnc.codes.plain import FINE, NOT_A_NUMBER, OUTSIDE, SCATTERED

_AHEAD = 6  # entries: their weights come from beyond the second cache
_LINE = 16  # numbers in a cache line


@kernel
def encode_csr(indptr, indices, data, weight, bias, unit, logits, words):
    """Write the logits, and the bits into as many words as there is room for.

    With `unit` each row counts as divided by its norm. Where the indices of a row do not ascend
    then, so that an entry may be in several pieces, it says SCATTERED and stops. Where a row is not
    within the entries, or an index not within the weights, it says OUTSIDE and stops. Otherwise it
    tells whether there was a logit that is not a number.
    """
    n_bits, last = weight.shape[1], min(indices.shape[0], data.shape[0]) - 1
    n_features = np.uint64(weight.shape[0])
    bad = False
    for i in range(logits.shape[0]):
        start, stop = indptr[i], indptr[i + 1]
        if not 0 <= start <= stop <= last + 1:
            return OUTSIDE
        norm = np.float64(1)
        if unit:
            norm = _norm(indices, data, start, stop)
            if norm < 0:
                return SCATTERED
        for j in range(n_bits):
            logits[i, j] = bias[j]
        for p in range(start, stop):
            ahead = np.int64(indices[min(p + _AHEAD, last)]) * n_bits
            for j in range(0, n_bits, _LINE):
                prefetch(weight, ahead + j)
            value, feature = np.float32(data[p]), np.uint64(indices[p])
            if feature >= n_features:  # one below 0 is very large
                return OUTSIDE
            if unit:
                value = np.float32(value / norm)
            for j in range(n_bits):
                logits[i, j] += value * weight[feature, j]
        bad |= _pack(logits, words, i)
    return NOT_A_NUMBER if bad else FINE


@kernel
def pack(logits, words):
    """Write the bits; tell whether all logits are numbers."""
    bad = False
    for i in range(logits.shape[0]):
        bad |= _pack(logits, words, i)
    return NOT_A_NUMBER if bad else FINE


@part
def _norm(indices, data, start, stop):
    """Return the norm of a row, 1 of a row of zeros, or -1 where its indices do not ascend."""
    total = np.float64(0)
    ascends = True
    for p in range(start, stop):
        value = np.float64(np.float32(data[p]))
        total += value * value
        ascends &= p == start or indices[p] > indices[p - 1]
    if not ascends:
        return np.float64(-1)
    return np.sqrt(total) if total > 0 else np.float64(1)


@part
def _pack(logits, words, i):
    """Write the bits of a row; tell whether one of its logits is not a number."""
    bad = False
    for j in range(logits.shape[1]):
        bad |= logits[i, j] != logits[i, j]
    for w in range(words.shape[1]):
        word = np.uint64(0)
        for j in range(64 * w, min(64 * w + 64, logits.shape[1])):
            word |= np.uint64(logits[i, j] > 0) << np.uint64(j - 64 * w)
        words[i, w] = word
    return bad
