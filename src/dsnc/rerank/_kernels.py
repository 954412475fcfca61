"""Score the candidates of each row by its features, and put them in order.

    score[k] = mix * first[k] + bias[k] + scale[k] * sum_j weight[k, j] * x[j]

Where a class has several vectors, the one that says most counts.

A dense row is multiplied with the weights of a candidate from one end to the other. A sparse row
has far fewer features than a class has weights, so that each is looked up: the weights of a class
are a hash table, half full, with linear probing. A slot has the number of the feature and, in its
last octet, the weight; 0 is a free one.
"""

import numpy as np

from dsnc.codes._kernels.tools import kernel, part, prefetch, reordered

_FACTOR = np.uint32(2654435761)  # 2**32 divided by the golden ratio


@kernel
def fill_table(starts, features, weights, slots):
    """Write the weights of each class into its part of the table, which has twice the places."""
    for k in range(starts.shape[0] - 1):
        base, size = 2 * starts[k], 2 * (starts[k + 1] - starts[k])
        for p in range(starts[k], starts[k + 1]):
            place = _place(features[p], size)
            while slots[base + place] != 0:
                place = place + 1 if place + 1 < size else 0
            slots[base + place] = (np.uint64(features[p]) << np.uint64(8)) | np.uint64(
                np.uint8(weights[p])
            )


@kernel
def second_look(
    indptr,
    indices,
    data,
    unit,
    classes,
    scores,
    firsts,
    starts,
    named,
    weights,
    scales,
    bias,
    mix,
    reach,
    inside,
):
    """Reorder the candidates of each row in place, and count those that were scored anew.

    `classes` and `scores` come best first, and -1 ends a row that has fewer. Those that are no more
    than `reach` below the first are scored anew; the others stay behind them. Rows are CSR, and
    `named` is a table; where `indptr` is empty, rows are dense, one after the other, and `named`
    and `weights` are features and weights in their order. Vectors of class k begin at
    ``firsts[k]``; where `firsts` is empty, each class has one.
    """
    width = data.shape[0] // max(1, classes.shape[0])
    for i in range(classes.shape[0]):
        near = 0
        while near < classes.shape[1] and classes[i, near] >= 0:
            if scores[i, 0] - scores[i, near] > reach:
                break
            near += 1
        inside[i] = near
        if near < 2:
            continue
        start = indptr[i] if indptr.shape[0] else i * width
        stop = indptr[i + 1] if indptr.shape[0] else start + width
        norm = _norm(data, start, stop) if unit else np.float32(1)
        for c in range(near):
            k = classes[i, c]
            row = indptr.shape[0] > 0, indices, data, start, stop, norm
            margin = _margin(row, firsts, starts, named, weights, scales, bias, k)
            _line_up(classes, scores, i, c, k, mix * scores[i, c] + margin)


@kernel
def margins(
    indptr, indices, data, unit, classes, firsts, starts, named, weights, scales, bias, out
):
    """Write what the vectors of some classes say of each row; arguments are as of `second_look`."""
    width = data.shape[0] // max(1, classes.shape[0])
    for i in range(classes.shape[0]):
        start = indptr[i] if indptr.shape[0] else i * width
        stop = indptr[i + 1] if indptr.shape[0] else start + width
        norm = _norm(data, start, stop) if unit else np.float32(1)
        for c in range(classes.shape[1]):
            k = classes[i, c]
            if k < 0:
                continue
            row = indptr.shape[0] > 0, indices, data, start, stop, norm
            out[i, c] = _margin(row, firsts, starts, named, weights, scales, bias, k)


@part
def _margin(row, firsts, starts, named, weights, scales, bias, k):
    """Return what a class says of a row: the most that one of its vectors says."""
    is_sparse, indices, data, start, stop, norm = row
    first, last = k, k + 1
    if firsts.shape[0]:
        first, last = firsts[k], firsts[k + 1]
    most = np.float32(-np.inf)
    for v in range(first, last):
        if is_sparse:
            worth = _looked_up(indices, data, start, stop, named, starts, v)
        else:
            worth = _multiplied(data, start, named, weights, starts, v)
        most = max(most, bias[v] + scales[v] * worth / norm)
    return most


@part
def _looked_up(indices, data, start, stop, slots, starts, k):
    """Return the sum over the entries of a sparse row."""
    base, size = 2 * starts[k], 2 * (starts[k + 1] - starts[k])
    total = np.float32(0)
    if size == 0:
        return total
    for p in range(start, stop):
        prefetch(slots, base + _place(indices[p], size))
    for p in range(start, stop):
        feature = np.uint64(indices[p])
        place = _place(indices[p], size)
        while True:
            slot = np.uint64(slots[base + place])
            if slot == 0:
                break
            if slot >> np.uint64(8) == feature:
                total += np.float32(np.int8(slot & np.uint64(255))) * np.float32(data[p])
                break
            place = place + 1 if place + 1 < size else 0
    return total


@reordered
def _multiplied(data, start, features, weights, starts, k):
    """Return the sum over the weights of a class, for a dense row."""
    total = np.float32(0)
    for p in range(starts[k], starts[k + 1]):
        total += np.float32(weights[p]) * data[start + features[p]]
    return total


@part
def _place(feature, size):
    """Return where a feature belongs in a table: a hash, brought into range by a product."""
    mixed = np.uint32(feature) * _FACTOR
    return np.int64((np.uint64(np.uint32(mixed)) * np.uint64(size)) >> np.uint64(32))


@part
def _norm(data, start, stop):
    """Return the length of a row, 1 of a row of zeros."""
    total = np.float64(0)
    for p in range(start, stop):
        value = np.float64(np.float32(data[p]))
        total += value * value
    return np.float32(np.sqrt(total)) if total > 0 else np.float32(1)


@part
def _line_up(classes, scores, i, place, owner, score):
    """Move a class up to where it belongs, by its score and then by its number."""
    while place > 0 and (
        scores[i, place - 1] < score
        or (scores[i, place - 1] == score and classes[i, place - 1] > owner)
    ):
        scores[i, place], classes[i, place] = scores[i, place - 1], classes[i, place - 1]
        place -= 1
    scores[i, place], classes[i, place] = score, owner
