"""A support vector machine for each class, by dual coordinate descent.

Squared hinge and a bias, one row at a time, leaving out rows that do not matter for a while (C.-J.
Hsieh, K.-W. Chang, C.-J. Lin, S. Keerthi, S. Sundararajan, "A dual coordinate descent method for
large-scale linear SVM", ICML 2008).
"""

import numpy as np

from dsnc.codes._kernels.tools import kernel, part, reordered

_ANY = np.float32(1e30)  # no gradient is as large


@kernel
def share_out(own_starts, own, candidates, starts, rows):
    """Give each class the rows of its problem: those that have it, and those that name it.

    The classes that row i has are ``own[own_starts[i] : own_starts[i + 1]]``, ascending; a
    candidate of -1 is none. A row that has the class is written as ``-1 - i``, others as i.

    Called twice: with `rows` empty, ``starts[k + 1]`` counts the rows of class k. Then, with the
    sums of these in `starts`, the rows are written; ``starts[k]`` ends up where class k ends.
    """
    counts = rows.shape[0] == 0
    for i in range(candidates.shape[0]):
        mine = own[own_starts[i] : own_starts[i + 1]]
        for place in range(-mine.shape[0], candidates.shape[1]):
            if place < 0:
                k = np.int64(mine[-1 - place])
            else:
                k = np.int64(candidates[i, place])
                if k < 0 or _has(mine, k):
                    continue
            if counts:
                starts[k + 1] += 1
            else:
                rows[starts[k]] = -1 - i if place < 0 else i
                starts[k] += 1


@part
def _has(classes, k):
    found = 0
    for m in range(classes.shape[0]):
        found += np.int64(classes[m] == k)
    return found > 0


@kernel
def solve(
    first,
    last,
    starts,
    rows,
    positive,
    penalty,
    indptr,
    indices,
    data,
    squares,
    offset,
    n_passes,
    tolerance,
    seed,
    least,
    lean,
    vector,
    center,
    alpha,
    order,
    bias,
    owners,
    features,
    weights,
):
    """Solve the problems of some classes; return how many of them there was room for, and weights.

    The rows of the problem of class k are ``rows[starts[k] : starts[k + 1]]``, numbers of rows of
    the CSR matrix; where `indptr` is empty, that is dense. `positive` says whether a row has the
    class, and `penalty` is 1 / (2 * C) of each row. Weights smaller than `least`, which is above 0,
    are left out. `lean` is how much of its center, of length 1, a class gets on top, where rows are
    sparse. `vector` and `center` (zeros, left so), `alpha` and `order` are scratch space.
    """
    n_found, sparse = 0, indptr.shape[0] > 0
    for k in range(first, last):
        start = starts[k]
        n = starts[k + 1] - start
        if n_found + vector.shape[0] > weights.shape[0]:
            return k, n_found
        b = _descend(
            rows[start : start + n],
            positive[start : start + n],
            penalty,
            indptr,
            indices,
            data,
            squares,
            offset,
            n_passes,
            tolerance,
            np.uint64(seed) + np.uint64(k) * np.uint64(1 << 32),
            vector,
            alpha,
            order,
        )
        bias[k] = b * offset
        if lean > 0 and sparse:
            problem = rows[start : start + n], positive[start : start + n]
            _lean(*problem, indptr, indices, data, lean, center, vector)
        found = owners, features, weights
        for t in range(start, start + n):
            # Of dense rows, the first has all features.
            entries = indptr[rows[t] + 1] - indptr[rows[t]] if sparse else vector.shape[0]
            for entry in range(entries):
                j = indices[indptr[rows[t]] + entry] if sparse else entry
                n_found = _take(k, j, least, vector, n_found, found)
            if not sparse:
                break
    return last, n_found


@part
def _lean(rows, positive, indptr, indices, data, lean, center, vector):
    """Add the direction of the mean of its own rows to the vector of a class."""
    for t in range(rows.shape[0]):
        if positive[t]:
            for p in range(indptr[rows[t]], indptr[rows[t] + 1]):
                center[indices[p]] += data[p]
    total = np.float64(0)
    for t in range(rows.shape[0]):
        if positive[t]:
            for p in range(indptr[rows[t]], indptr[rows[t] + 1]):
                total += data[p] * center[indices[p]]
    scale = np.float32(lean / np.sqrt(total)) if total > 0 else np.float32(0)
    for t in range(rows.shape[0]):
        if positive[t]:
            for p in range(indptr[rows[t]], indptr[rows[t] + 1]):
                vector[indices[p]] += scale * center[indices[p]]
                center[indices[p]] = np.float32(0)


@part
def _take(k, j, least, vector, n_found, found):
    """Move a weight from the vector to those found, if it is large enough."""
    owners, features, weights = found
    value = vector[j]
    vector[j] = np.float32(0)
    if abs(value) < least:
        return n_found
    owners[n_found], features[n_found], weights[n_found] = k, j, value
    return n_found + 1


@part
def _descend(
    rows,
    positive,
    penalty,
    indptr,
    indices,
    data,
    squares,
    offset,
    n_passes,
    tolerance,
    seed,
    vector,
    alpha,
    order,
):
    """Find the vector of one class; return its bias."""
    n = rows.shape[0]
    for t in range(n):
        alpha[t], order[t] = np.float32(0), t
    active, bound, b, drawn = n, _ANY, np.float32(0), seed
    for _ in range(n_passes):
        highest, lowest = -_ANY, _ANY
        for place in range(active - 1, 0, -1):
            drawn += np.uint64(1)
            other = np.int64(_mixed(drawn) % np.uint64(place + 1))
            order[place], order[other] = order[other], order[place]
        place = 0
        while place < active:
            t = order[place]
            i = rows[t]
            sign = np.float32(1) if positive[t] else np.float32(-1)
            z = b * offset + _dot(indptr, indices, data, i, vector)
            slope = sign * z - np.float32(1) + penalty[i] * alpha[t]
            if alpha[t] == 0:
                if slope > bound:  # right by far: not to be looked at for now
                    active -= 1
                    order[place], order[active] = order[active], t
                    continue
                slope = min(slope, np.float32(0))
            highest, lowest = max(highest, slope), min(lowest, slope)
            if slope != 0:
                step = slope / (squares[i] + offset * offset + penalty[i])
                moved = max(alpha[t] - step, np.float32(0))
                change = (moved - alpha[t]) * sign
                alpha[t] = moved
                b += change * offset
                _add(indptr, indices, data, i, change, vector)
            place += 1
        if highest - lowest <= tolerance:
            if active == n:
                break
            active, bound = n, _ANY
        else:
            bound = highest if highest > 0 else _ANY
    return b


@reordered
def _dot(indptr, indices, data, i, vector):
    total = np.float32(0)
    if indptr.shape[0]:
        for p in range(indptr[i], indptr[i + 1]):
            total += vector[indices[p]] * data[p]
    else:
        start = i * vector.shape[0]
        for j in range(vector.shape[0]):
            total += vector[j] * data[start + j]
    return total


@part
def _add(indptr, indices, data, i, change, vector):
    if indptr.shape[0]:
        for p in range(indptr[i], indptr[i + 1]):
            vector[indices[p]] += change * data[p]
    else:
        start = i * vector.shape[0]
        for j in range(vector.shape[0]):
            vector[j] += change * data[start + j]


@part
def _mixed(x):
    """Return a random number: a hash, by the last steps of splitmix64."""
    x = x * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
