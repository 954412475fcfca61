"""Rows without labels -> groups that look like classes, in the space of soft bits.

1. Novel rows are joined two by two, as `dsnc.discovery.tree` does.
2. How many groups? Classes that the model knows tell, since some codes of each are remembered: as
   many as leave groups as far apart as known classes are. The more classes, the nearer they are to
   each other, so that trees of 25, 100 and 400 known ones say what to expect.
3. A row that is nearer to the middle of a group than to that of the class it would get belongs to
   the group, novel or not; and novel rows go to the nearest group. Where nobody has said how many
   there are, a few rows may belong to none: those that are less like the others of their group
   than rows of known classes are.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import HammingIndex, PackedCodes
from dsnc.decoders.memory import Memory
from dsnc.discovery.tree import Floats, Ints, Tree
from dsnc.errors import InputError
from dsnc.rows import draw_rows

_JUDGES = 1 << 14  # remembered codes that tell what is usual
_LOOSE = 0.1  # of rows may be left out
_ALL = 2048  # centers of which all are looked at
_NEAR = 32  # centers of the nearest codes, where there are more
_BLOCK = 1 << 12  # rows at a time
_ASKED = (25, 100, 400)  # known classes at a time, to learn how far such are apart
_PARTS = 4  # so many times
_STEPS = 400  # numbers of classes that are considered
Tell = Callable[[int], None]


class Grouping(NamedTuple):
    """Which rows belong together."""

    groups: Ints  # of each row, -1 for none
    centers: Floats  # of the groups, of length 1
    likeness: Floats  # of each row with the center of its group: a cosine


def directions(vectors: NDArray[Any]) -> Floats:
    """Return vectors with a length of 1."""
    lengths = np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)
    return np.asarray(vectors / lengths, dtype=np.float32)


def soft_bits(logits: NDArray[Any]) -> Floats:
    """Return soft bits, -1 to 1, as vectors of length 1."""
    return directions(np.tanh(logits / 2))


def class_centers(memory: Memory, n_classes: int) -> Floats:
    """Return the mean direction of what is remembered of each class; 0 where nothing is."""
    found, starts = np.unique(memory.classes, return_index=True)  # they ascend
    centers = np.zeros((n_classes, memory.codes.n_bits), np.float32)
    edges = np.append(starts, len(memory.classes))
    for first in range(0, len(found), _BLOCK):  # soft codes are eight times larger than they are
        some = edges[first : first + _BLOCK + 1]
        bits = soft_bits(memory.codes.take(slice(some[0], some[-1])).logits())
        sums = np.add.reduceat(bits, some[:-1] - some[0], axis=0)
        centers[found[first : first + _BLOCK]] = directions(sums)
    return centers


def nearest_centers(bits: Floats, centers: Floats, k: int, n_jobs: int | None) -> tuple[Any, Any]:
    """Return the (n, k) centers most like each row, best first, and their cosines.

    Among very many centers, those of the nearest codes are compared.
    """
    k = min(k, len(centers))
    index, codes = None, None
    if len(centers) > _ALL:
        index, codes = HammingIndex(PackedCodes.from_logits(centers)), PackedCodes.from_logits(bits)
    which, cosines = [np.empty((0, k), np.int64)], [np.empty((0, k), np.float32)]
    for start in range(0, len(bits), _BLOCK):
        block = slice(start, start + _BLOCK)
        if index is None or codes is None:
            near = np.broadcast_to(np.arange(len(centers)), (len(bits[block]), len(centers)))
            likeness = bits[block] @ centers.T
        else:
            _, near = index.search(codes.take(block), max(k, _NEAR), n_jobs=n_jobs or 1)
            likeness = np.einsum("ij,ikj->ik", bits[block], centers[near])
        order = np.argsort(-likeness, axis=1, kind="stable")[:, :k]
        which.append(np.take_along_axis(near, order, axis=1))
        cosines.append(np.take_along_axis(likeness, order, axis=1))
    return np.concatenate(which), np.concatenate(cosines)


def grown_groups(
    bits: Floats,
    n_groups: int | None,
    memory: Memory | None,
    seed: int,
    n_jobs: int | None,
    tell: Tell | None = None,
) -> Ints:
    """Return the group of each novel row; where `n_groups` is None, the memory tells how many."""
    tree = Tree.grown(bits, n_jobs=n_jobs, tell=tell)
    if n_groups is not None:
        if n_groups > tree.n_leaves:
            raise InputError(
                f"n_classes={n_groups:,}: the {len(bits):,} novel rows have only "
                f"{tree.n_leaves:,} different codes; ask for fewer classes."
            )
        return tree.cut(n_groups)
    if memory is None:
        raise InputError(
            "n_classes=None: the number of new classes is estimated from what the model remembers "
            "of its classes, but it remembers nothing (memory=0); give n_classes."
        )
    return tree.cut(estimated(tree, memory, seed, n_jobs))


def estimated(tree: Tree, memory: Memory, seed: int, n_jobs: int | None) -> int:
    """Return how many classes there seem to be, as classes that are known tell.

    Where groups are as far apart as known classes of that number are; of several such numbers, the
    largest. Where they never are, the number with which they are most nearly so.
    """
    known = np.random.default_rng([seed, 6]).permutation(np.unique(memory.classes))
    sizes = [size for size in _ASKED if size <= len(known)] or [len(known)]
    usual = []
    for size in sizes:
        parts = [known[i * size :][:size] for i in range(min(_PARTS, len(known) // size))]
        usual.append(np.mean([_apart(memory, part, n_jobs) for part in parts]))
    most = max(1, tree.n_leaves // 2)
    numbers = np.unique(np.geomspace(1, most, _STEPS).astype(np.int64))
    expected = _along(np.log(numbers), np.log(sizes), usual)
    ratios = tree.distances(numbers) / np.maximum(expected, 1e-9)
    return int(numbers[np.flatnonzero(ratios >= min(1.0, float(ratios.max())))[-1]])


def _along(x: NDArray[Any], known: NDArray[Any], values: list[Any]) -> NDArray[Any]:
    """Return values between known ones, and beyond the last in the direction of the last two."""
    found = np.interp(x, known, values)
    if len(values) > 1:
        slope = (values[-1] - values[-2]) / (known[-1] - known[-2])
        found += np.maximum(x - known[-1], 0) * min(slope, 0.0)
    return np.asarray(found)


def _apart(memory: Memory, classes: Ints, n_jobs: int | None) -> float:
    """Return how far some known classes are apart."""
    codes = memory.codes.take(np.isin(memory.classes, classes))
    tree = Tree.grown(soft_bits(codes.logits()), n_jobs=n_jobs)
    n_groups = min(len(classes), tree.n_leaves)
    return float(tree.distances(np.array([n_groups]))[0])


def settled(
    bits: Floats,
    groups: Ints,
    rivals: NDArray[Any],
    n_jobs: int | None,
    *,
    least: float = -1.0,
    fewest: int = 1,
) -> Grouping:
    """Give every row to the nearest group, or to none.

    `bits` are those of all rows, novel or not. `groups` has the groups of the novel rows, as grown,
    and -1 for others. `rivals` says how alike each row and the middle of its known class are; -inf
    keeps a row in a group. `least` is how alike a row and the middle of its group must be, where
    most are, and a group has at least `fewest` rows.
    """
    centers = centers_of(bits, groups, int(groups.max()) + 1)
    best, likeness = (found[:, 0] for found in nearest_centers(bits, centers, 1, n_jobs))
    least = min(least, float(np.quantile(likeness[groups >= 0], _LOOSE)))  # new ones may be looser
    groups = np.where((likeness > rivals) & (likeness >= least), best, -1)
    is_large = np.bincount(groups[groups >= 0], minlength=len(centers)) >= fewest
    groups = np.where(groups >= 0, np.where(is_large, np.cumsum(is_large) - 1, -1)[groups], -1)
    if not is_large.any():
        return Grouping(groups, centers[:0], likeness)
    centers = centers_of(bits, groups, int(is_large.sum()))
    return Grouping(groups, centers, np.einsum("ij,ij->i", bits, centers[groups]))


def usual_likeness(memory: Memory, centers: Floats) -> float:
    """Return how alike a row and the middle of its class are at least, but for one in ten."""
    rows = draw_rows(len(memory.codes), _JUDGES)
    bits = soft_bits(memory.codes.take(rows).logits())
    likeness = np.einsum("ij,ij->i", bits, centers[memory.classes[rows]])
    return float(np.quantile(likeness, _LOOSE))


def centers_of(bits: Floats, groups: Ints, n_groups: int) -> Floats:
    """Return the mean directions of groups."""
    rows = np.flatnonzero(groups >= 0)
    rows = rows[np.argsort(groups[rows], kind="stable")]
    starts = np.searchsorted(groups[rows], np.arange(n_groups))
    return directions(np.add.reduceat(bits[rows], starts, axis=0))
