"""What workers learn, shared out in a way that does not depend on who they are."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dsnc.classifier.inputs import hold_out, row_weights, seed_of
from dsnc.classifier.learned import LearnedClassifier
from dsnc.cluster.preparation import Prepared
from dsnc.cluster.shards import Shard, copy_rows, shard_bounds
from dsnc.rows import draw_rows
from dsnc.targets import Targets
from dsnc.training.examples import Examples
from dsnc.training.learner import Learner
from dsnc.training.scaling import is_mostly_zeros
from dsnc.training.settings import RunSettings
from dsnc.training.world import World

_MOST_HELD_OUT = 1 << 17  # rows


@dataclass(frozen=True)
class Lesson:
    """All that a worker has to know to train."""

    estimator: Any  # not fitted
    settings: RunSettings
    seed: int
    parts: list[Path]
    counts: list[int]
    rows: NDArray[np.int64]  # to learn from
    sample: Examples  # some of them, which decide the scaling
    held_out: Examples | None
    targets: Targets  # of `rows`
    weight: NDArray[np.float32] | None
    shards: int
    digest: str


def make_lesson(
    estimator: LearnedClassifier,
    settings: RunSettings,
    prepared: Prepared,
    shards: int,
    finish_rows: int,
    digest: str,
    near: Path,
) -> Lesson:
    """Share prepared rows out: to learn from, to hold out, and to finish with."""
    n_classes, seed = len(prepared.labels), seed_of(estimator.random_state)
    every = Targets(prepared.y, n_classes)
    fraction = min(estimator.validation_fraction, _MOST_HELD_OUT / len(prepared.y))
    rows, held = hold_out(every, fraction, seed)
    some = rows[draw_rows(len(rows), finish_rows)]
    weight = row_weights(prepared.y, prepared.labels.of(prepared.y), None, estimator.class_weight)

    def taken(which: NDArray[np.int64], name: str) -> Examples:
        place = near / name
        place.mkdir()
        X = copy_rows(prepared.parts, prepared.counts, which, place)
        return Examples(X, every.take(which), None if weight is None else weight[which])

    sample = taken(some, "sample")
    size = settings.rows_of_a_step(len(rows), sparse=is_mostly_zeros(sample.X))
    settings = replace(settings, batch_size=-(-size // shards) * shards)
    return Lesson(
        clone(estimator),
        settings,
        seed,
        prepared.parts,
        prepared.counts,
        rows,
        sample,
        taken(held, "held_out") if len(held) else None,
        every.take(rows),
        None if weight is None else weight[rows],
        shards,
        digest,
    )


def learner_of(lesson: Lesson, world: World | None = None) -> Learner:
    """Return what learns, before the first step; in all processes the same."""
    make = lesson.estimator._make_objective(lesson.sample, lesson.seed)
    settings = lesson.estimator._settings_for(lesson.settings, lesson.sample)
    n_classes = lesson.targets.n_classes
    return Learner(settings, lesson.sample, n_classes, lesson.seed, make, world)


def examples_of(lesson: Lesson, X: Any, first: int) -> Examples:
    """Return all rows to learn from; X has those from `first` on that are here."""
    shape = (len(lesson.rows), lesson.sample.X.shape[1])
    shard = Shard(X, first, shape, lesson.shards, lesson.digest)
    return Examples(shard, lesson.targets, lesson.weight)


def learn(lesson: Lesson, world: World, near: Path) -> Learner:
    """Train, as one of several processes or as the only one; return the learner."""
    size = int(lesson.settings.batch_size)
    bounds = shard_bounds(len(lesson.rows), size, lesson.shards)
    per_process = lesson.shards // world.size
    first, last = (bounds[per_process * (world.rank + i)] for i in (0, 1))
    X = copy_rows(lesson.parts, lesson.counts, lesson.rows[first:last], near)
    learner = learner_of(lesson, world)
    learner.fit(examples_of(lesson, X, int(first)), lesson.held_out)
    return learner
