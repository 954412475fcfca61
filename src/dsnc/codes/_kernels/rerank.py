"""Order the nearest classes of a query by their scores on its soft bits.

    score[k] = bias[k] + sum_j soft[j] * weight[k, j] - closeness * doubt[k]

soft[j] is tanh(half * logit[j]); with 0.5, the expected value of a bit. doubt[k] sums abs(logit[j])
over the bits in which the query's code differs from the nearest one of class k.
"""

import numpy as np

from dsnc.codes._kernels.nearest import FREE, ROW_BITS
from dsnc.codes._kernels.tools import kernel, lowest_bit, part, prefetch, reordered
from dsnc.codes.plain import STEP, SURE, TANH_TOP
from dsnc.codes.plain import TANH_ABOVE as _A
from dsnc.codes.plain import TANH_BELOW as _B

_LINE = 16  # numbers in a cache line


@kernel
def rerank(
    keys,
    owners,
    size,
    slack,
    queries,
    codes,
    logits,
    hard,
    weight,
    bias,
    closeness,
    half,
    classes,
    scores,
    inside,
    soft,
):
    """Write the k best classes of each query and their scores; -1 where there are fewer.

    The first `size` classes within the slack are the candidates: they come first, ordered by
    score, and are counted in `inside`. Others follow as near as they are, one step below each
    other. With `hard` the logits are signs, and the bits count for what they are; the last
    argument is scratch space, as long as a code.
    """
    k, row_mask = classes.shape[1], (1 << ROW_BITS) - 1
    for i in range(keys.shape[0]):
        limit = (keys[i, 0] >> ROW_BITS) + slack
        near, filled = 0, np.int64(0)
        for entry in range(min(size, keys.shape[1])):
            if keys[i, entry] >> ROW_BITS > limit:
                break
            for j in range(0, weight.shape[1], _LINE):
                prefetch(weight, owners[i, entry] * weight.shape[1] + j)
        _soften(logits, i, hard, half, soft)
        for entry in range(min(size, keys.shape[1])):
            key, owner = keys[i, entry], owners[i, entry]
            if key >> ROW_BITS > limit or key == FREE:
                break
            near += 1
            score = bias[owner] + _dot(soft, weight, owner)
            if closeness > 0:
                score -= closeness * _doubt(queries, i, codes, key & row_mask, logits)
            filled = _line_up(classes, scores, i, filled, owner, score)
        inside[i] = near
        for entry in range(near, keys.shape[1]):
            if filled == k or keys[i, entry] == FREE:
                break
            last = scores[i, filled - 1]
            scores[i, filled] = last - STEP * max(abs(last), np.float32(1))
            classes[i, filled] = owners[i, entry]
            filled += 1
        for place in range(filled, k):
            classes[i, place] = -1


@kernel
def weigh(soft, weight, classes, products):
    """Write what the soft bits of each query are worth to some classes."""
    for i in range(classes.shape[0]):
        for entry in range(classes.shape[1]):
            products[i, entry] = _dot(soft[i], weight, classes[i, entry])


@kernel
def doubt(queries, codes, rows, logits, doubts):
    """Write the doubts of each query about some codes."""
    for i in range(rows.shape[0]):
        for entry in range(rows.shape[1]):
            doubts[i, entry] = _doubt(queries, i, codes, rows[i, entry], logits)


@kernel
def line_up_best(scores, first, classes, best):
    """Take the best of some more classes into the line of each row.

    They are numbered from `first`; all with smaller numbers have been lined up before.
    """
    k = classes.shape[1]
    for i in range(scores.shape[0]):
        n, least = min(first, k), best[i, k - 1]
        for c in range(scores.shape[1]):
            if n < k or scores[i, c] > least:
                n = _line_up(classes, best, i, n, first + c, scores[i, c])
                least = best[i, k - 1]


@kernel
def best_so_far(scores, is_true, answers):
    """Tell of each entry whether the best of its row up to there is right; the first of equals."""
    for i in range(scores.shape[0]):
        best = 0
        for entry in range(scores.shape[1]):
            if scores[i, entry] > scores[i, best]:
                best = entry
            answers[i, entry] = is_true[i, best]


@part
def _line_up(classes, scores, i, filled, owner, score):
    """Insert a class by its score and then by its number; return the length of the line."""
    k = classes.shape[1]
    place = min(filled, k)
    while place > 0 and (
        scores[i, place - 1] < score
        or (scores[i, place - 1] == score and classes[i, place - 1] > owner)
    ):
        if place < k:
            scores[i, place] = scores[i, place - 1]
            classes[i, place] = classes[i, place - 1]
        place -= 1
    if place < k:
        scores[i, place] = score
        classes[i, place] = owner
    return min(filled + 1, k)


@part
def _soften(logits, i, hard, half, soft):
    """``soft[j] = logits[i, j] if hard else tanh(half * logits[i, j])``."""
    for j in range(logits.shape[1]):
        x = min(max(half * logits[i, j], -TANH_TOP), TANH_TOP)
        s = x * x
        p = (((((_A[0] * s + _A[1]) * s + _A[2]) * s + _A[3]) * s + _A[4]) * s + _A[5]) * s + _A[6]
        q = ((_B[0] * s + _B[1]) * s + _B[2]) * s + _B[3]
        soft[j] = logits[i, j] if hard else x * p / q


@reordered
def _dot(soft, weight, owner):
    total = soft[0] * weight[owner, 0]
    for j in range(1, soft.shape[0]):
        total += soft[j] * weight[owner, j]
    return total


@part
def _doubt(queries, i, codes, row, logits):
    """Sum up how sure the query is of the bits in which it differs from a code."""
    total = np.float32(0)
    for word in range(codes.shape[1]):
        differing = queries[i, word] ^ codes[row, word]
        while differing:
            total += min(abs(logits[i, 64 * word + lowest_bit(differing)]), SURE)
            differing &= differing - np.uint64(1)
    return total
