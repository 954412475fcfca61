"""Centers of the rows of each class: k-means, one class after the other.

The first centers are rows that are drawn by their squared distance from those before (D. Arthur,
S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007).
"""

import numpy as np

from dsnc.codes._kernels.tools import kernel, part, reordered
from dsnc.fast._kernels.vectors import chance

_TRIALS = 4  # rows that are drawn for a center


@kernel
def find_centers(rows, weight, starts, firsts, seed, n_passes, centers, owner, distance, sums):
    """Write the centers of each class; return the weighted sum of all squared distances to them.

    Rows of class k are from ``starts[k]`` to ``starts[k + 1]``, and its centers from ``firsts[k]``
    to ``firsts[k + 1]``; each class has as many rows at least, or none at all. `owner` and
    `distance` are scratch space for each row, `sums` for each center of a class.
    """
    total = 0.0
    for k in range(starts.shape[0] - 1):
        first, last = firsts[k], firsts[k + 1]
        begin, end = starts[k], starts[k + 1]
        if begin == end:
            continue
        _draw(rows, weight, begin, end, first, last, np.uint32(seed + k), centers, distance)
        for _ in range(n_passes):
            moved = _assign(rows, begin, end, first, last, centers, owner, distance)
            if not moved:
                break
            _average(rows, weight, begin, end, first, last, centers, owner, sums)
        for i in range(begin, end):
            total += weight[i] * np.float64(distance[i])
    return total


@part
def _draw(rows, weight, begin, end, first, last, seed, centers, distance):
    """Take some of the rows for the first centers, one by one.

    A few are drawn, those likely that are far from the centers before; the one that helps most
    is taken.
    """
    for i in range(begin, end):
        distance[i] = np.float32(1)
    for c in range(first, last):
        best, least = begin, np.inf
        for trial in range(_TRIALS if c > first else 1):  # the first one is as good as any
            i = _drawn(weight, begin, end, chance(seed, (c - first) * _TRIALS + trial), distance)
            left = 0.0
            for other in range(begin, end):
                nearer = min(distance[other], _apart(rows[other], rows[i]))
                left += weight[other] * np.float64(nearer)
            if left < least:
                best, least = i, left
        for j in range(rows.shape[1]):
            centers[c, j] = rows[best, j]
        for i in range(begin, end):
            apart = _apart(rows[i], centers[c])
            if c == first or apart < distance[i]:
                distance[i] = apart


@part
def _drawn(weight, begin, end, lot, distance):
    """Return a row, as likely as its weight and its squared distance are large."""
    total = 0.0
    for i in range(begin, end):
        total += weight[i] * np.float64(distance[i])
    left, chosen = np.float64(lot) * total, begin
    for i in range(begin, end):
        share = weight[i] * np.float64(distance[i])
        if share > 0:
            chosen = i
            left -= share
            if left < 0:
                break
    return chosen


@part
def _assign(rows, begin, end, first, last, centers, owner, distance):
    """Find the nearest center of each row, the first one of several; tell whether one is new."""
    moved = 0
    for i in range(begin, end):
        nearest, least = first, _apart(rows[i], centers[first])
        for c in range(first + 1, last):
            apart = _apart(rows[i], centers[c])
            if apart < least:
                nearest, least = c, apart
        moved += np.int64(owner[i] != nearest)
        owner[i], distance[i] = nearest, least
    return moved > 0


@part
def _average(rows, weight, begin, end, first, last, centers, owner, sums):
    """Move the centers to the middle of their rows; one without rows stays."""
    width = rows.shape[1]
    for c in range(last - first):
        for j in range(width + 1):
            sums[c, j] = 0.0
    for i in range(begin, end):
        c = owner[i] - first
        sums[c, width] += weight[i]
        for j in range(width):
            sums[c, j] += weight[i] * np.float64(rows[i, j])
    for c in range(last - first):
        if sums[c, width] > 0:
            for j in range(width):
                centers[first + c, j] = np.float32(sums[c, j] / sums[c, width])


@reordered
def _apart(a, b):
    """Return the squared distance of two points."""
    total = np.float32(0)
    for j in range(a.shape[0]):
        difference = a[j] - b[j]
        total += difference * difference
    return total
