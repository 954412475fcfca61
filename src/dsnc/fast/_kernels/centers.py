"""Centers of the rows of each class: k-means, one class after the other, and then steps of all.

The first centers are rows that are drawn by their squared distance from those before (D. Arthur,
S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007). The steps are those of
soft learning vector quantization (S. Seo, K. Obermayer, Neural Computation 15, 2003), with nothing
but the nearest center of each class.
"""

import numpy as np

from dsnc.codes._kernels.tools import kernel, part, reordered
from dsnc.fast._kernels.vectors import chance

_TRIALS = 4  # rows that are drawn for a center
_MOST = np.float32(0.5)  # of the way that a row moves a center, whatever its weight
_LEAST = np.float32(1e-4)  # less is not worth a step


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


@kernel
def move_centers(
    rows,
    own,
    weight,
    candidates,
    firsts,
    rates,
    spread,
    seed,
    n_movable,
    centers,
    moved,
    nearest,
    share,
):
    """Move the centers next to each row: towards it those of its class, away from it the others.

    Minus the squared distance from its nearest center is the logit of a class; steps raise the
    log-likelihood of the own one among the candidates. Those of a row are numbers of classes, -1
    where there are fewer; rows whose own class is missing move nothing. Each number of a row is
    first moved by up to `spread`, by lot: `moved` is scratch space for that, `nearest` and `share`
    for each candidate. The rate falls from the first of `rates` to the second. Centers from
    `n_movable` on stay where they are.
    """
    width = rows.shape[1]
    for i in range(rows.shape[0]):
        for j in range(width):
            lot = np.float32(2) * chance(np.uint32(seed), i * width + j) - np.float32(1)
            moved[j] = rows[i, j] + spread * lot
        mine, least = -1, np.float32(np.inf)
        for c in range(candidates.shape[1]):
            k = candidates[i, c]
            if k < 0:
                nearest[c] = -1
                continue
            nearest[c], share[c] = _nearest(moved, firsts[k], firsts[k + 1], centers)
            least = min(least, share[c])
            if k == own[i]:
                mine = c
        if mine < 0:
            continue
        total = np.float32(0)
        for c in range(candidates.shape[1]):
            share[c] = np.float32(0) if nearest[c] < 0 else np.exp(least - share[c])
            total += share[c]
        done = np.float32(i) / np.float32(rows.shape[0])
        rate = weight[i] * (rates[0] + done * (rates[1] - rates[0]))
        for c in range(candidates.shape[1]):
            wish = np.float32(c == mine) - share[c] / total
            step = min(max(rate * wish, -_MOST), _MOST)
            if abs(step) > _LEAST and nearest[c] < n_movable:
                for j in range(width):
                    centers[nearest[c], j] += step * (moved[j] - centers[nearest[c], j])


@part
def _nearest(row, first, last, centers):
    """Return the nearest of some centers, the first of several, and its squared distance."""
    nearest, least = first, _apart(row, centers[first])
    for c in range(first + 1, last):
        apart = _apart(row, centers[c])
        if apart < least:
            nearest, least = c, apart
    return nearest, least


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
        nearest, least = _nearest(rows[i], first, last, centers)
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
