"""Ward's tree of soft codes: the two groups whose union spreads least become one, again and again.

Of all pairs only those count whose codes are near each other, as the Hamming index tells: with n
rows about n log n pairs are looked at. All groups that are each other's best partner are joined at
once, which gives the same tree as one pair after the other, in some log n rounds (B. Sumengen et
al., "Scaling Hierarchical Agglomerative Clustering to Billion-sized Datasets", 2021).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import HammingIndex, PackedCodes

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
_ALL_PAIRS = 2048  # groups of which all pairs are looked at
_NEAR = 8  # others of the nearest codes, where there are more groups
_BLOCK = 1 << 14  # pairs at a time
_ABOUT = 1.05  # times as many groups are about as many


class Pairs(NamedTuple):
    """Pairs of groups that may be joined, each once, the smaller number first."""

    first: Ints
    second: Ints

    @classmethod
    def of(cls, one: Ints, other: Ints, n_groups: int) -> "Pairs":
        """Leave out repeated pairs, and groups paired with themselves."""
        low, high = np.minimum(one, other), np.maximum(one, other)
        keys = np.unique((low * n_groups + high)[low < high])
        return cls(keys // n_groups, keys % n_groups)


class Tree:
    """Groups of rows, joined two by two until one is left.

    Parameters
    ----------
    leaf_of : int array of shape (n,)
        The leaf of each row: rows with the same code have one.
    counts : int array of shape (n_leaves,)
        How many rows each leaf has.
    joints : int array of shape (n_leaves - 1, 2)
        Which nodes were joined; joint i made node ``n_leaves + i``.
    distances : float array of shape (n_leaves - 1,)
        Between the centers of the two.
    """

    def __init__(self, leaf_of: Ints, counts: Ints, joints: Ints, distances: NDArray[Any]) -> None:
        self.leaf_of, self.joints = leaf_of, joints
        n_leaves = len(counts)
        self.sizes = np.concatenate([counts, np.zeros(len(joints), np.int64)])
        for node, (a, b) in enumerate(joints.tolist(), n_leaves):
            self.sizes[node] = self.sizes[a] + self.sizes[b]
        one, other = (self.sizes[joints[:, side]].astype(np.float64) for side in (0, 1))
        rows = 2 * one * other / (one + other)
        self._costs = self._highest(distances * np.sqrt(rows))

    @classmethod
    def grown(
        cls, bits: Floats, *, n_jobs: int | None = 1, tell: Callable[[int], None] | None = None
    ) -> "Tree":
        """Grow the tree of soft bits of shape (n, n_bits).

        `tell` hears how many rows are in groups.
        """
        found = PackedCodes.from_logits(bits).unique()
        counts = found.counts.astype(np.int64)
        order = np.argsort(found.inverse, kind="stable")
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        centers = np.add.reduceat(bits[order], starts, axis=0) / counts[:, None]
        if tell is not None:
            tell(len(bits) - len(counts))
        joints, distances = _joined(centers.astype(np.float32), counts, n_jobs or 1, tell)
        return cls(found.inverse, counts, joints, distances)

    @property
    def n_leaves(self) -> int:
        """Number of different codes."""
        return len(self.joints) + 1

    def cut(self, n_groups: int) -> Ints:
        """Return the group of each row, 0 to n_groups - 1: the cheapest unions are made."""
        n_leaves = self.n_leaves
        made = np.zeros(len(self.joints), dtype=np.bool_)
        made[np.argsort(self._costs, kind="stable")[: n_leaves - n_groups]] = True
        owner = np.arange(n_leaves + len(self.joints))
        for joint in range(len(self.joints) - 1, -1, -1):
            if made[joint]:
                owner[self.joints[joint]] = owner[n_leaves + joint]
        groups = np.unique(owner[:n_leaves], return_inverse=True)[1]
        return np.asarray(groups[self.leaf_of], dtype=np.int64)

    def distances(self, n_groups: Ints) -> NDArray[np.float64]:
        """Return for each number of groups how far apart the nearest of them are.

        The distance of their centers, on average: what the next union would cost, a row. From its
        square the part is taken that few rows have by chance, by the spread within groups.
        """
        costs, n_rows, n_leaves = np.sort(self._costs) ** 2, len(self.leaf_of), self.n_leaves
        if n_leaves == 1:
            return np.zeros(len(n_groups))
        within = np.concatenate([[0.0], np.cumsum(costs / 2)])[n_leaves - n_groups]
        logs = np.concatenate([[0.0], np.cumsum(np.log(np.maximum(costs, 1e-12)))])
        # Joints of about this place, five percent up and down: a single one is chance.
        last = n_leaves - np.maximum((n_groups / _ABOUT).astype(np.int64) - 1, 1)
        first = np.maximum(0, n_leaves - np.ceil(n_groups * _ABOUT).astype(np.int64))
        cost = np.exp((logs[last] - logs[first]) / (last - first))
        chance = 2 * within / np.maximum(1, n_rows - n_groups)
        return np.asarray(np.sqrt(np.maximum(cost - chance, 0) * n_groups / n_rows))

    def _highest(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return of each joint the largest value of it and of all below."""
        n_leaves = len(self.joints) + 1
        highest = [0.0] * n_leaves
        for (a, b), value in zip(self.joints.tolist(), values.tolist(), strict=True):
            highest.append(max(value, highest[a], highest[b]))
        return np.array(highest[n_leaves:])


def _joined(
    centers: Floats, counts: Ints, n_jobs: int, tell: Callable[[int], None] | None
) -> tuple[Ints, NDArray[np.float32]]:
    """Return which groups were joined, and how far their centers were apart."""
    n, sizes, nodes = len(centers), counts.astype(np.float32), np.arange(len(centers))
    joints: list[Any] = [np.empty((0, 2), np.int64)]
    distances: list[Any] = [np.empty(0, np.float32)]
    pairs, searched, made = None, 2 * n, n
    while len(centers) > 1:
        m = len(centers)
        if m > _ALL_PAIRS and (pairs is None or 2 * m <= searched):
            pairs, searched = _near_pairs(centers, n_jobs), m
        best = _best_of_all(centers, sizes) if m <= _ALL_PAIRS else _best(centers, sizes, pairs)
        one = np.flatnonzero((best > np.arange(m)) & (best[best] == np.arange(m)))
        other = best[one]
        between = centers[one] - centers[other]
        distances.append(np.sqrt(np.einsum("ij,ij->i", between, between)))
        joints.append(np.stack([nodes[one], nodes[other]], axis=1))
        share = sizes[other] / (sizes[one] + sizes[other])
        centers[one] -= share[:, None] * between
        sizes[one] += sizes[other]
        nodes[one] = made + np.arange(len(one))
        made += len(one)
        stays = np.ones(m, dtype=np.bool_)
        stays[other] = False
        centers, sizes, nodes = centers[stays], sizes[stays], nodes[stays]
        if len(centers) > _ALL_PAIRS and pairs is not None:
            place = np.cumsum(stays) - 1
            place[other] = place[one]
            pairs = Pairs.of(place[pairs.first], place[pairs.second], len(centers))
            pairs = pairs if len(pairs.first) else None
        if tell is not None:
            tell(int(counts.sum()) - len(centers) + 1)
    return np.concatenate(joints), np.concatenate(distances)


def _near_pairs(centers: Floats, n_jobs: int) -> Pairs:
    """Return the pairs of groups whose codes are near each other."""
    codes = PackedCodes.from_logits(centers)
    _, near = HammingIndex(codes).search(codes, _NEAR + 1, n_jobs=n_jobs)
    groups = np.repeat(np.arange(len(codes)), near.shape[1])
    return Pairs.of(groups, near.ravel(), len(codes))


def _best(centers: Floats, sizes: Floats, pairs: Any) -> Ints:
    """Return with whom of its pairs each group is joined at the least cost; itself if it has none.

    Of equal costs, the smaller number.
    """
    one, other = pairs
    costs = np.empty(len(one), np.float32)
    for start in range(0, len(one), _BLOCK):
        block = slice(start, start + _BLOCK)
        between = centers[one[block]] - centers[other[block]]
        a, b = sizes[one[block]], sizes[other[block]]
        costs[block] = np.einsum("ij,ij->i", between, between) * a * b / (a + b)
    least = np.full(len(centers), np.inf, np.float32)
    np.minimum.at(least, one, costs)
    np.minimum.at(least, other, costs)
    best = np.full(len(centers), len(centers))
    for mine, its in ((one, other), (other, one)):
        is_least = costs <= least[mine]
        np.minimum.at(best, mine[is_least], its[is_least])
    return np.where(best < len(centers), best, np.arange(len(centers)))


def _best_of_all(centers: Floats, sizes: Floats) -> Ints:
    """Return with whom each group is joined at the least cost; of equal costs, the first."""
    squares = np.einsum("ij,ij->i", centers, centers)
    costs = squares[:, None] + squares - 2 * centers @ centers.T
    costs = np.maximum(costs, 0) * (sizes / (sizes[:, None] + sizes) * sizes[:, None])
    costs = np.minimum(costs, costs.T)  # rounding must not make a pair two
    np.fill_diagonal(costs, np.inf)
    return np.asarray(costs.argmin(axis=1), dtype=np.int64)
