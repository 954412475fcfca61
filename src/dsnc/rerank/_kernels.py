"""Score the candidates of each row by its features, and put them in order.

    score[k] = mix * first[k] + bias[k] + scale[k] * sum_j weight[k, j] * x[j]

The row is spread over a scratch space as wide as all features, and the few weights of a candidate
are read from one end to the other: they lie side by side in memory, which is faster than looking up
the features of the row in a table.
"""

import numpy as np

from dsnc.codes._kernels.tools import kernel, part, prefetch, reordered


@kernel
def second_look(
    indptr,
    indices,
    data,
    unit,
    classes,
    scores,
    starts,
    features,
    weights,
    scales,
    bias,
    mix,
    reach,
    spread,
    inside,
):
    """Reorder the candidates of each row in place; tell whether all features are within bounds.

    `classes` and `scores` come best first, and -1 ends a row that has fewer. Those that are no more
    than `reach` below the first are scored anew, and counted in `inside`; the others stay behind
    them. Rows are CSR, or dense one after the other where `indptr` is empty. `spread` is scratch
    space: zeros, and zeros again afterwards.
    """
    dense = indptr.shape[0] == 0
    for i in range(classes.shape[0]):
        near = 0
        while near < classes.shape[1] and classes[i, near] >= 0:
            if scores[i, 0] - scores[i, near] > reach:
                break
            near += 1
        inside[i] = near
        if near < 2:
            continue
        for c in range(near):
            prefetch(features, starts[classes[i, c]])
            prefetch(weights, starts[classes[i, c]])
        if dense:
            row = data[i * spread.shape[0] : (i + 1) * spread.shape[0]]
        else:
            if not _spread_out(indptr, indices, data, i, spread):
                return False
            row = spread
        norm = _norm(indptr, indices, data, i, row) if unit else np.float32(1)
        for c in range(near):
            k = classes[i, c]
            worth = _worth(features, weights, starts[k], starts[k + 1], row)
            margin = bias[k] + scales[k] * worth / norm
            _line_up(classes, scores, i, c, k, mix * scores[i, c] + margin)
        if not dense:
            _clear(indices, indptr[i], indptr[i + 1], spread)
    return True


@kernel
def margins(
    indptr, indices, data, unit, classes, starts, features, weights, scales, bias, spread, out
):
    """Write what the vectors of some classes say of each row; arguments are as of `second_look`."""
    dense = indptr.shape[0] == 0
    for i in range(classes.shape[0]):
        if dense:
            row = data[i * spread.shape[0] : (i + 1) * spread.shape[0]]
        else:
            if not _spread_out(indptr, indices, data, i, spread):
                return False
            row = spread
        norm = _norm(indptr, indices, data, i, row) if unit else np.float32(1)
        for c in range(classes.shape[1]):
            k = classes[i, c]
            if k >= 0:
                worth = _worth(features, weights, starts[k], starts[k + 1], row)
                out[i, c] = bias[k] + scales[k] * worth / norm
        if not dense:
            _clear(indices, indptr[i], indptr[i + 1], spread)
    return True


@part
def _spread_out(indptr, indices, data, i, spread):
    """Write a row of entries over all features; tell whether all are within bounds."""
    for p in range(indptr[i], indptr[i + 1]):
        if np.uint64(indices[p]) >= np.uint64(spread.shape[0]):
            _clear(indices, indptr[i], p, spread)
            return False
        spread[indices[p]] += np.float32(data[p])
    return True


@reordered
def _worth(features, weights, start, stop, row):
    total = np.float32(0)
    for p in range(start, stop):
        total += np.float32(weights[p]) * row[features[p]]
    return total


@part
def _norm(indptr, indices, data, i, row):
    """Return the length of a row, 1 of a row of zeros; an entry in two pieces is their sum."""
    total = np.float64(0)
    if indptr.shape[0] == 0:
        for j in range(row.shape[0]):
            total += np.float64(row[j]) * np.float64(row[j])
    else:
        for p in range(indptr[i], indptr[i + 1]):
            total += np.float64(np.float32(data[p])) * np.float64(row[indices[p]])
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


@part
def _clear(indices, start, stop, spread):
    for p in range(start, stop):
        spread[indices[p]] = np.float32(0)
