"""Vectors for classes that come later, and what their rows teach the encoder.

The vectors over bits are trained together with those of the other classes, on new rows and on what
is remembered of the others. Rows of features that are rare also teach the encoder what these mean.
The vectors over features of a second stage are trained against the
other new rows, and against old classes: where rows have length 1, what speaks for a class is a row
that looks like it.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.decoders import LinearDecoder
from dsnc.decoders.checks import Ints
from dsnc.fast import recipe
from dsnc.fast.class_centers import Others, more_class_centers
from dsnc.fast.class_vectors import Recipe, train_class_vectors
from dsnc.fast.learner import _plan
from dsnc.fast.model import Model
from dsnc.fast.rows import Feed, Scaling
from dsnc.fast.steps import FastSteps
from dsnc.rerank import ClassVectors
from dsnc.rows import unit_rows
from dsnc.targets import Targets
from dsnc.training.examples import Examples
from dsnc.training.settings import Settings

_AT_LEAST = 4000  # remembered codes of an epoch
_MORE_WEIGHTS = 2  # than the other classes have on average
_LEAST_WEIGHTS = 64
_LESSONS = 10  # passes over the rows that teach the encoder
_REST = 0.0001  # of a feature that one row had, in squared gradients: by its cube for more rows


class Codes(NamedTuple):
    """Logits, their classes, and how much each counts."""

    logits: NDArray[np.float32]
    classes: Ints
    weight: NDArray[np.float32]


def rehearse(
    linear: LinearDecoder,
    new: Codes,
    remembered: Codes,
    *,
    sharpness: float,
    epochs: int,
    times: int,
    seed: int,
    n_threads: int = 1,
) -> LinearDecoder:
    """Return class vectors, trained on new rows and remembered ones; the same for any n_threads.

    Training begins with those of `linear`. In an epoch, `times` remembered codes are seen for each
    new row, or some thousand at least. `sharpness` is that of the soft bits.
    """
    n_bits, rng = linear.n_bits, np.random.default_rng([seed, 7])
    settings = replace(Settings(n_bits=n_bits), max_epochs=epochs)
    plan = _plan(settings, each_alone=False)._replace(
        n_draws=0, soft_share=1.0, moves_encoder=False, sharpness=sharpness
    )
    alike = np.eye(n_bits, dtype=np.float32), np.zeros(n_bits, np.float32)  # logits stay
    model = Model.of(*alike, linear.weight, linear.bias)
    n_old, most = len(remembered.logits), max(_AT_LEAST, times * len(new.logits))
    steps: FastSteps | None = None
    for epoch in range(epochs):
        if steps is None or n_old > most:  # others of the remembered ones each time
            some = np.arange(n_old)
            if n_old > most:
                some = np.sort(rng.choice(n_old, most, replace=False))
            weight = np.float32(max(1.0, n_old / most)) * remembered.weight[some]
            old = Codes(remembered.logits[some], remembered.classes[some], weight)
            feed = _feed(new, old, linear.n_classes)
            steps = FastSteps(model, feed, settings, plan, seed=seed, n_threads=n_threads)
        steps.run(epoch, lambda: False)
    return LinearDecoder(model.weights.classes[:, :n_bits].copy(), model.weights.class_bias.copy())


def _feed(new: Codes, old: Codes, n_classes: int) -> Feed:
    """Return codes to learn from, as rows of features."""
    parts = [new, old]
    logits, classes, weight = map(np.concatenate, zip(*parts, strict=True))
    targets = Targets(classes.astype(np.int32), n_classes)
    weight = (weight / weight.mean()).astype(np.float32)
    n_bits = logits.shape[1]
    as_they_are = Scaling(shift=np.zeros(n_bits, np.float32), factor=np.ones(n_bits, np.float32))
    return Feed(Examples(logits, targets, weight), as_they_are)


def teach(
    weight: NDArray[np.float32],
    bias: NDArray[np.float32],
    linear: LinearDecoder,
    X: Any,
    classes: Ints,
    seen: NDArray[np.uint32],
    *,
    seed: int,
    n_threads: int = 1,
) -> NDArray[np.float32]:
    """Return the weights of an encoder that has learned from some rows, under vectors that stay.

    `weight` and `bias` are those of the encoder, for rows of length 1. `seen` is how many rows of
    before had each feature: the more, the less it moves. The result is the same for any n_threads.
    """
    settings = replace(Settings(n_bits=linear.n_bits), max_epochs=_LESSONS)
    model = Model.of(weight, bias, linear.weight, linear.bias)
    for squares in model.squares:
        squares[:] = np.inf  # they stay
    model.squares.encoder[:] = _REST * np.maximum(seen, 1).astype(np.float32) ** 3
    targets = Targets(classes.astype(np.int32), linear.n_classes)
    steps = FastSteps(
        model,
        Feed(Examples(X, targets), Scaling(unit_rows=True)),
        settings,
        _plan(settings, each_alone=False),
        seed=seed,
        n_threads=n_threads,
        left_out=recipe.LEFT_OUT,
    )
    for epoch in range(_LESSONS):
        steps.run(epoch, lambda: False)
    return np.array(model.weights.encoder[:, : linear.n_bits])


def new_feature_vectors(
    examples: Examples,
    others: Any,
    candidates: NDArray[np.int32],
    vectors: ClassVectors,
    scaling: Scaling,
    recipe: Recipe,
    *,
    n_threads: int = 1,
) -> ClassVectors:
    """Return vectors over features for new classes, numbered from 0.

    `examples` are rows of the new classes, `others` rows that have none of them. `candidates` are
    the new classes that each row, and then each of the others, might be taken for. New vectors take
    about as many weights as those of the old classes, which `vectors` has.
    """
    n_new, X = examples.targets.n_classes, examples.X
    rows = sp.vstack([X, others], format="csr") if sp.issparse(X) else np.concatenate([X, others])
    none = np.full(others.shape[0], n_new, dtype=np.int32)  # a class of its own, to be forgotten
    targets = Targets(np.concatenate([examples.targets.y, none]), n_new + 1)
    each = max(_LEAST_WEIGHTS, _MORE_WEIGHTS * len(vectors) // max(1, vectors.n_classes))
    recipe = replace(recipe, n_weights=each * (n_new + 1))
    feed = Feed(Examples(rows, targets), scaling)
    found = train_class_vectors(feed, candidates, n_new + 1, recipe, n_threads=n_threads)
    return found.with_classes(np.arange(n_new))


def new_class_centers(
    examples: Examples,
    known: ClassVectors,
    others: ClassVectors | None,
    candidates: NDArray[np.int32] | None,
    *,
    seed: int,
    n_threads: int = 1,
) -> ClassVectors:
    """Return centers of new classes, numbered from 0: at most as many as a known one has.

    `known` has the centers of old classes, and `others` those of some, numbered on: new centers
    keep a distance from them, as rows of these classes. `candidates` are classes that each row, and
    then a row of each other class, might be taken for; None without others.
    """
    space: Any = known.space
    scaling = Scaling(shift=space.shift, factor=space.factor)
    settings = {"most": int(known.n_each.max(initial=1)), "n_threads": n_threads}
    feed, beside = Feed(examples, scaling), None
    if others is not None and candidates is not None:
        centers, counts = space.centers(others), others.n_each
        n_new = examples.targets.n_classes
        X = examples.X.toarray() if sp.issparse(examples.X) else examples.X
        owners = np.repeat(np.arange(others.n_classes), counts)
        y = np.concatenate([examples.targets.y, n_new + owners])
        targets = Targets(y.astype(np.int32), n_new + others.n_classes)
        rows = Examples(np.concatenate([X, space.rows(centers)]), targets)
        candidates = np.concatenate([candidates[: len(X)], candidates[len(X) :][owners]])
        rivals = np.where(candidates == y[:, None], -1, candidates)
        own_first = np.concatenate([y[:, None], rivals], axis=1).astype(np.int32)
        beside = Others(centers, counts, Feed(rows, scaling), own_first)
    return more_class_centers(feed, space, beside, seed=seed, **settings)


def rows_like_classes(vectors: ClassVectors, classes: Ints) -> Any:
    """Return rows of length 1 that look like some classes: what speaks for them."""
    matrix = vectors.matrix()[classes]
    matrix.data = np.maximum(matrix.data, 0)
    matrix.eliminate_zeros()
    return unit_rows(matrix)
