"""The second stage of classes that come: vectors over features, trained against other classes."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.codes import PackedCodes
from dsnc.decoders import LinearDecoder
from dsnc.decoders.checks import Ints
from dsnc.decoders.memory import Memory
from dsnc.rerank import ClassVectors, FeatureReranker
from dsnc.rerank.reranker import ALL
from dsnc.targets import Targets

MANY = 8  # rows of a new class that are enough
SECOND_LOOK = 16  # candidates of a row, where some are new
_OTHERS = 20_000  # old classes that vectors over features are trained against, at most
_N_CANDIDATES = 20
_UNIT_COST, _OTHER_COST = 3.0, 10.0  # of errors, as at fit


class Seen(NamedTuple):
    """Rows of classes, and what the encoder makes of them."""

    X: Any
    logits: NDArray[np.float32]
    classes: Ints

    def and_also(self, more: "Seen") -> "Seen":
        """Return both."""
        X = sp.vstack([self.X, more.X], format="csr")
        logits = np.concatenate([self.logits, more.logits])
        return Seen(X, logits, np.concatenate([self.classes, more.classes]))


def with_new_vectors(
    reranker: FeatureReranker,
    seen: Seen,
    before: Ints,
    linear: LinearDecoder,
    memory: Memory | None,
    *,
    scaling: str,
    seed: int,
    n_threads: int,
) -> FeatureReranker:
    """Return a second stage that has vectors over features for new classes.

    Parameters
    ----------
    reranker : FeatureReranker
    seen : Seen
        Rows, of new classes and others.
    before : int array
        The number that each class had so far; -1 for one that is to get a vector.
    linear : LinearDecoder
        The vectors over bits of all of them.
    memory : Memory, optional
        Of the old classes, by the numbers that they had so far.
    scaling, seed, n_threads
        How to learn.
    """
    from dsnc.fast.class_vectors import Recipe
    from dsnc.fast.new_classes import (
        new_class_centers,
        new_feature_vectors,
        rows_like_classes,
    )
    from dsnc.fast.rows import Scaling, scaling_of
    from dsnc.training.examples import Examples
    from dsnc.training.scaling import is_mostly_zeros

    vectors, new = reranker.vectors, np.flatnonzero(before < 0)
    if not len(new):
        return reranker
    number = np.full(len(before), -1)
    number[new] = np.arange(len(new))
    rows = np.flatnonzero(number[seen.classes] >= 0)
    X, logits = seen.X[rows], seen.logits[rows]
    examples = Examples(X, Targets(number[seen.classes[rows]].astype(np.int32), len(new)))
    if vectors.space is not None:
        parts = examples, vectors, vectors.space
        come = new_class_centers(*parts, seed=seed, n_threads=n_threads)
        return with_vectors(reranker, before, come)
    how, cost = Scaling(unit_rows=True), _UNIT_COST
    if not vectors.unit_rows:
        how = scaling_of(scaling, examples, mostly_zeros=is_mostly_zeros(X))
        cost = _OTHER_COST
    near = _near_old(linear, logits, before)
    others: Any = X[:0]
    inputs = logits
    if vectors.unit_rows:
        others = rows_like_classes(vectors, before[near])
        inputs = np.concatenate([inputs, linear.weight[near]])
    candidates = _best_of(linear, new, inputs)
    recipe = Recipe(cost, 0, seed)
    come = new_feature_vectors(
        examples, others, candidates, vectors, how, recipe, n_threads=n_threads
    )
    if np.median(examples.targets.counts()) >= MANY:
        wanted = _usual_bias(vectors.bias, memory, examples)
        come = come.with_bias(come.bias + np.float32(wanted - come.bias.mean()))
    return with_vectors(reranker, before, come)


def with_vectors(reranker: FeatureReranker, before: Ints, come: ClassVectors) -> FeatureReranker:
    """Return a second stage with more vectors, which looks at enough candidates to find them."""
    size = max(SECOND_LOOK, reranker.size)
    return replace(
        reranker, vectors=reranker.vectors.with_classes(before, come), size=size, reach=ALL
    )


def _usual_bias(bias: NDArray[np.float32], memory: Memory | None, examples: Any) -> float:
    """Return the mean bias of old classes that have about as many rows as new ones.

    Trained against few others, a new class would be too sure of itself.
    """
    if memory is None:
        return float(bias.mean())
    rows = float(np.median(examples.targets.counts()))
    alike = (memory.counts >= rows / 2) & (memory.counts <= 2 * rows)
    return float(bias[alike].mean() if alike.any() else bias.mean())


def _near_old(linear: LinearDecoder, logits: NDArray[np.float32], before: Ints) -> Ints:
    """Return old classes that some rows might be taken for."""
    old = np.flatnonzero(before >= 0)
    near = np.unique(_best_of(linear, old, logits))
    if len(near) > _OTHERS:
        near = near[np.linspace(0, len(near) - 1, _OTHERS).astype(np.int64)]
    return old[near]


def _best_of(linear: LinearDecoder, classes: Ints, logits: NDArray[Any]) -> NDArray[np.int32]:
    """Return which of some classes are nearest to rows, as places in `classes`."""
    from dsnc.codes import HammingIndex

    index = HammingIndex(PackedCodes.from_logits(linear.weight[classes]))
    codes = PackedCodes.from_logits(logits)
    return index.search(codes, min(_N_CANDIDATES, len(classes)))[1].astype(np.int32)
