"""Class vectors of the second stage: a support vector machine for each class, on few rows.

The problem of a class has the rows that have it, and those that name it among their candidates:
what all of them take is rows times candidates, whatever the number of classes. Only the largest
weights are kept, and no array is as large as classes times features.

Where rows have length 1, as texts do, the direction of the mean of its rows is added to the vector
of a class: it knows the features that no mistake in training has asked for.
"""

import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc import _native
from dsnc.fast.rows import Feed, Scaling, class_blocks
from dsnc.rerank import ClassVectors
from dsnc.rows import draw_rows

_PASSES = 20  # over the rows of a class, at most
_TOLERANCE = 0.1  # of the gradient
_OWN = 64  # marks the classes that a row has; other candidates are marked by 1
_PAIRS = 1 << 16  # rows of the problems that are solved at a time,
_NUMBERS = 1 << 23  # and numbers in these rows
_ROOM = 1 << 20  # weights that are found before they are looked through
_LEAST = 1e-4  # weights below this say nothing
_LEAN = 1.0  # of the center of a class, of length 1, beside its vector; for rows of length 1
_SAMPLE = 4096  # rows that tell how long rows are


@dataclass(frozen=True)
class Recipe:
    """How vectors are trained.

    Parameters
    ----------
    C : float
        What errors cost, for rows of length 1 on average.
    n_weights : int
        Weights that are kept at most, of all classes: the largest.
    seed : int
        Decides the order of rows.
    """

    C: float
    n_weights: int
    seed: int = 0


def train_class_vectors(
    feed: Feed,
    candidates: NDArray[np.int32],
    n_classes: int,
    recipe: Recipe,
    *,
    n_threads: int = 1,
    report: Callable[[int], None] = lambda done: None,
) -> ClassVectors:
    """Train a vector for each class; the same ones for any number of threads.

    `candidates` (n, m) are classes that each row might be taken for, -1 where there are fewer.
    `report` is told how many classes are done; what it raises ends training.
    """
    problems = _Problems(feed, candidates, n_classes, recipe)
    kept = _Kept(recipe.n_weights)
    bias = np.zeros(n_classes, dtype=np.float32)
    lock, done = threading.Lock(), 0
    stop = threading.Event()

    def work(block: tuple[int, int]) -> None:
        nonlocal done
        for found in problems.solve(*block, bias, kept):
            with lock:
                kept.add(*found)
        with lock:
            done += block[1] - block[0]
            if not stop.is_set():
                report(done)

    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(work, block) for block in problems.blocks()]
        try:
            for future in futures:
                future.result()
        except BaseException:  # Ctrl-C as well
            stop.set()
            for future in futures:
                future.cancel()
            raise
    owners, features, weights = kept.largest()
    shape = (n_classes, problems.n_features)
    matrix = sp.csr_array((weights, (owners, features)), shape=shape)
    return _unscaled(matrix, bias, feed.scaling)


def _unscaled(matrix: Any, bias: NDArray[np.float32], scaling: Scaling) -> ClassVectors:
    """Return vectors for rows as they come, from those for scaled rows."""
    if scaling.factor is not None and scaling.shift is not None:
        matrix = matrix.multiply(scaling.factor[None, :]).tocsr()
        bias = bias - matrix @ scaling.shift
    return ClassVectors.from_matrix(matrix, bias, unit_rows=scaling.unit_rows)


class _Problems:
    """The rows of each class, and what solves their problems."""

    def __init__(
        self, feed: Feed, candidates: NDArray[np.int32], n_classes: int, recipe: Recipe
    ) -> None:
        self._feed, self._recipe, self.n_classes = feed, recipe, n_classes
        self.n_features = feed.n_features
        shared = _share_out(*feed.targets.lists(), candidates, n_classes)
        self._starts, self._rows, self._positive = shared
        some = feed.features(draw_rows(feed.n_rows, _SAMPLE))
        length = max(float(_squares(some).mean()), 1e-30)
        self._offset = np.float32(np.sqrt(length))  # a bias like a feature as large as a row
        cost = recipe.C / length * feed.weight / feed.weight.mean(dtype=np.float64)
        self._penalty = (0.5 / cost).astype(np.float32)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yield (first class, class after the last), with about as much work in each."""
        at_once = max(1, min(_PAIRS, _NUMBERS // max(1, self._feed.per_row)))
        return class_blocks(self._starts, at_once)

    def solve(
        self, first: int, last: int, bias: NDArray[np.float32], kept: "_Kept"
    ) -> Iterator[tuple[NDArray[Any], ...]]:
        """Yield the weights of some classes, as (classes, features, weights)."""
        starts = self._starts[first : last + 1]
        mine = slice(starts[0], starts[-1])
        rows, local = np.unique(self._rows[mine], return_inverse=True)
        X = self._feed.features(rows.astype(np.int64))
        settings = {
            "offset": self._offset,
            "tolerance": _TOLERANCE,
            "lean": _LEAN if self._feed.scaling.unit_rows else 0.0,
            "n_passes": _PASSES,
            "seed": self._recipe.seed,
        }
        problems = starts - starts[0], local, self._positive[mine], first
        given = *problems, _parts(X), _squares(X), self._penalty[rows], self.n_features
        own, place = np.empty(last - first, dtype=np.float32), 0
        room = _ROOM + self.n_features + 1  # one class more may be found
        found = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.float32)
        while place < last - first:
            settings["least"] = max(_LEAST, kept.least)
            place, n = _native.solve(place, *given, settings, own, found)
            yield tuple(array[:n].copy() for array in found)
        bias[first:last] = own


def _share_out(
    own_starts: NDArray[np.int64],
    own: NDArray[np.int32],
    candidates: NDArray[np.int32],
    n_classes: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.bool_]]:
    """Return where the rows of each class begin, these rows, and whether they have the class."""
    shape, is_one = (len(candidates), n_classes), candidates >= 0
    classes, starts = candidates[is_one], np.concatenate([[0], np.cumsum(is_one.sum(axis=1))])
    named = sp.csr_array((np.ones(len(classes), np.int8), classes, starts), shape=shape)
    having = sp.csr_array((np.full(len(own), _OWN, np.int8), own, own_starts), shape=shape)
    shared = (named + having).tocsc()
    return shared.indptr.astype(np.int64), shared.indices, shared.data >= _OWN


class _Kept:
    """The largest weights so far; which they are does not depend on the order they come in."""

    def __init__(self, most: int) -> None:
        self._most, self._n = most, 0
        self._parts: list[tuple[NDArray[Any], ...]] = []
        self.least = 0.0  # what is smaller cannot be among the largest any more

    def add(self, *found: NDArray[Any]) -> None:
        """Add some; forget those that are too small when there are twice too many."""
        self._parts.append(found)
        self._n += len(found[0])
        if self._n > 2 * self._most:
            self._forget()

    def largest(self) -> tuple[NDArray[Any], ...]:
        """Return classes, features and weights of the largest."""
        self._forget()
        return self._parts[0]

    def _forget(self) -> None:
        kinds = np.int32, np.int32, np.float32
        columns = (
            zip(*self._parts, strict=True) if self._parts else [[np.empty(0, k)] for k in kinds]
        )
        whole = [np.concatenate(column) for column in columns]
        size = np.abs(whole[2])
        if len(size) > self._most:
            smallest = len(size) - self._most
            self.least = float(np.partition(size, smallest)[smallest]) if self._most else math.inf
            whole = [column[size >= self.least] for column in whole]
        self._parts, self._n = [tuple(whole)], len(whole[0])


def _parts(X: Any) -> tuple[NDArray[Any], ...]:
    """Return rows as the native core takes them: two empty arrays stand for dense ones."""
    if isinstance(X, np.ndarray):
        return np.empty(0, np.int64), np.empty(0, np.int32), X.reshape(-1)
    return X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data


def _squares(X: Any) -> NDArray[np.float32]:
    """Return the squared length of each row."""
    if isinstance(X, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", X, X), dtype=np.float32)
    return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float32).ravel()
