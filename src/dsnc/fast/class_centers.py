"""Centers of classes for the second stage: what rows of a class look like, in a few kinds.

A class may look different from different sides, where no single vector tells it from others. Dense
rows are near one of few centers of their class, which k-means finds among its rows alone. Then
rows move them: a row towards the nearest center of its class, and away those of other candidates.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc import _native
from dsnc.decoders.memory import some_of_each
from dsnc.fast.rows import Feed, class_blocks
from dsnc.rerank import ClassVectors, Space

_ROWS_EACH = 2  # that a center has at least, on average
_MOST_ROWS = 512  # of a class that are looked at
_PASSES = 20
_NUMBERS = 1 << 22  # of rows that are ready at a time
_SURE = 4.0  # what the usual squared distance of a row from its center counts,
_LEAST = 1e-8  # which is no smaller a part of that of centers from the middle
_RIVALS = 8  # candidates of a row, when rows move centers
_ROUNDS, _STEPS = 8, 1 << 19  # over the rows that name candidates, in so many steps of a row
_RATE = 0.2  # of the way that a row moves a center, to begin with
_SPREAD = 1.0  # by lot, times the usual squared distance: rows in training are nearer than others
_MORE_SPREAD = 4.0  # where centers stand for rows, which are spread in fewer directions than lots
_WORD = 0xFFFFFFFF  # of a seed
_NEVER = np.float32(-1e9)  # the bias of a class without rows


def find_class_centers(
    feed: Feed,
    candidates: NDArray[np.int32],
    *,
    seed: int = 0,
    report: Callable[[], None] = lambda: None,
    **settings: Any,
) -> ClassVectors | None:
    """Return a few centers of each class, as vectors; the same for any number of threads.

    The unit of distance is chosen so that rows are as far from the centers of their class as usual.
    None where features are so large, small or far from 0 that float32 cannot tell distances.

    Rows are dense, with one class each; `candidates` (n, m) are classes that a row might be taken
    for, likely ones first, and -1 where there are fewer. `report` is called now and then; what it
    raises ends the work. Other settings are those of `more_class_centers`.
    """
    found = _k_means(feed, seed=seed, report=report, **settings)
    unit = np.float32(np.sqrt(_SURE / found.usual) if found.usual > 0 else 1)
    space = Space.of(feed.n_features, feed.scaling.shift, feed.scaling.factor).stretched(unit)
    if not (np.isfinite(found.usual) and space.is_sound):
        return None
    centers = found.centers * unit
    _move(centers, found.firsts, len(centers), feed, candidates, unit, _SPREAD, seed, report)
    return found._replace(centers=centers).vectors(space)


def more_class_centers(
    feed: Feed, space: Space, others: "Others | None" = None, *, seed: int = 0, **settings: Any
) -> ClassVectors:
    """Return at most `most` centers of each class, to stand beside others in their space.

    Rows are dense, of one class each, and scaled as that space is. The centers keep a distance from
    others.
    """
    found = _k_means(feed, seed=seed, **settings)
    if others is not None:
        n_new = len(found.centers)
        centers = np.concatenate([found.centers, others.centers])
        firsts = np.concatenate([found.firsts, n_new + np.cumsum(others.n_each)])
        rows, unit = (others.feed, others.candidates), np.float32(1)
        _move(centers, firsts, n_new, *rows, unit, _MORE_SPREAD, seed, lambda: None)
        found = found._replace(centers=centers[:n_new])
    return found.vectors(space)


class Others(NamedTuple):
    """Centers of other classes, which stay where they are."""

    centers: NDArray[np.float32]
    n_each: NDArray[np.int64]  # of each class
    feed: Feed  # rows of the classes that come, then some of these, numbered in this order
    candidates: NDArray[np.int32]  # of each of these rows


class _Found(NamedTuple):
    """Centers of all classes."""

    centers: NDArray[np.float32]
    firsts: NDArray[np.int64]  # where those of each class begin
    is_empty: NDArray[np.bool_]  # those of classes without rows
    usual: float  # squared distance of a row from its center

    def vectors(self, space: Space) -> ClassVectors:
        vectors = space.vectors(self.centers, self.firsts)
        return vectors.with_bias(np.where(self.is_empty, _NEVER, vectors.bias))


def _k_means(
    feed: Feed,
    *,
    most: int,
    seed: int = 0,
    n_threads: int = 1,
    report: Callable[[], None] = lambda: None,
) -> _Found:
    rows, starts = _rows_by_class(feed, seed)
    at_once = max(1, _NUMBERS // max(1, feed.n_features))
    counts = np.clip(np.diff(starts) // _ROWS_EACH, 1, most)
    firsts = np.concatenate([[0], np.cumsum(counts)])
    centers = np.zeros((firsts[-1], feed.n_features), dtype=np.float32)

    def work(block: tuple[int, int]) -> float:
        first, last = block
        report()
        mine = slice(starts[first], starts[last])
        X = np.ascontiguousarray(feed.features(rows[mine]), dtype=np.float32)
        return _native.find_centers(
            X,
            feed.weight[rows[mine]],
            starts[first : last + 1] - starts[first],
            firsts[first : last + 1] - firsts[first],
            seed + first & _WORD,
            _PASSES,
            centers[firsts[first] : firsts[last]],
        )

    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(work, block) for block in class_blocks(starts, at_once)]
        try:
            total = sum(future.result() for future in futures)
        except BaseException:  # Ctrl-C as well
            for future in futures:
                future.cancel()
            raise
    usual = total / max(float(feed.weight[rows].sum(dtype=np.float64)), 1e-30)
    usual = max(usual, _LEAST * float(np.square(centers, dtype=np.float64).sum(axis=1).mean()))
    return _Found(centers, firsts, np.repeat(np.diff(starts) == 0, counts), usual)


def _move(
    centers: NDArray[np.float32],
    firsts: NDArray[np.int64],
    n_movable: int,
    feed: Feed,
    candidates: NDArray[np.int32],
    unit: np.float32,
    spread: float,
    seed: int,
    report: Callable[[], None],
) -> None:
    """Let rows move the first centers, row by row, some rounds of all rows that have rivals."""
    rivals = np.ascontiguousarray(candidates[:, :_RIVALS])
    naming = np.flatnonzero(rivals.max(axis=1, initial=-1) >= 0)
    n_rounds = int(np.clip(_STEPS // max(1, len(naming)), 1, _ROUNDS))
    # The mean square of a lot between -s and s is a third of that of s.
    each = float(np.sqrt(3 * spread * _SURE / max(1, feed.n_features)))
    weight = feed.weight / feed.weight.mean(dtype=np.float64).astype(np.float32)
    rng = np.random.default_rng(seed)
    total, done = n_rounds * len(naming), 0
    for _ in range(n_rounds):
        order = rng.permutation(naming)
        for start in range(0, len(order), feed.at_once):
            report()
            rows = order[start : start + feed.at_once]
            first_rate, last_rate = (_RATE * (1 - n / total) for n in (done, done + len(rows)))
            _native.move_centers(
                np.ascontiguousarray(feed.features(rows) * unit, dtype=np.float32),
                feed.targets.y[rows].astype(np.int64),
                weight[rows],
                rivals[rows],
                firsts,
                first_rate,
                last_rate,
                each,
                int(rng.integers(1 << 32)),
                n_movable,
                centers,
            )
            done += len(rows)


def _rows_by_class(feed: Feed, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of each class, some of very many, and where those of each begin."""
    y = feed.targets.y
    rows = some_of_each(y, _MOST_ROWS, seed)
    rows = rows[np.argsort(y[rows], kind="stable")]
    return rows, np.searchsorted(y[rows], np.arange(feed.targets.n_classes + 1))
