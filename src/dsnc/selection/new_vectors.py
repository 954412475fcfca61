"""The second stage of classes that come: vectors over features, trained against other classes."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders import LinearDecoder
from dsnc.decoders.checks import Ints
from dsnc.decoders.memory import Memory, one_in_each
from dsnc.decoders.scoring import FEWEST
from dsnc.rerank import ClassVectors, FeatureReranker
from dsnc.rows import draw_rows
from dsnc.selection.balance import HELD_BACK, worth_of
from dsnc.targets import Targets

if TYPE_CHECKING:
    from dsnc.training.examples import Examples

MANY = 8  # rows of a new class that are enough
_OTHERS = 20_000  # old classes that vectors over features are trained against, at most
_N_CANDIDATES = 20
_SAMPLE = 256  # classes whose centers tell how far rows are from few
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

    def take(self, rows: Ints) -> "Seen":
        """Return some of the rows."""
        return Seen(self.X[rows], self.logits[rows], self.classes[rows])

    @property
    def rows_of_a_class(self) -> float:
        """How many rows classes have, typically."""
        return float(np.median(np.unique(self.classes, return_counts=True)[1]))

    def examples(self) -> "Examples":
        """Return them as training sees them; their classes are numbered from 0."""
        from dsnc.training.examples import Examples

        return Examples(self.X, Targets(self.classes, int(self.classes.max()) + 1))


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

    `before` is the number that each class had so far, -1 for one that is to get a vector; `memory`
    has the old classes by these numbers. `linear` has vectors over bits of all classes, and `seen`
    rows of new classes and others.
    """
    new = np.flatnonzero(before < 0)
    if not len(new):
        return reranker
    number = np.full(len(before), -1)
    number[new] = np.arange(len(new))
    rows = np.flatnonzero(number[seen.classes] >= 0)
    mine = Seen(seen.X[rows], seen.logits[rows], number[seen.classes[rows]].astype(np.int32))
    known, near = reranker.vectors, _near_old(linear, mine.logits, before)
    old = _Old(known, near, before[near], seed, n_threads)
    if known.space is not None:
        come = _centers(mine, new, old, linear)
    else:
        come = _weights(mine, new, old, linear, scaling)
        if mine.rows_of_a_class >= MANY:
            wanted = _usual_bias(known.bias, memory, mine.rows_of_a_class)
            come = come.with_bias(come.bias + np.float32(wanted - come.bias.mean()))
    return with_vectors(reranker, before, come)


class _Old(NamedTuple):
    """What is there when classes come, and how to learn beside it."""

    vectors: ClassVectors
    near: Ints  # classes that new ones might be taken for,
    numbers: Ints  # and those that they have among the vectors
    seed: int
    n_threads: int


def _centers(mine: Seen, new: Ints, old: _Old, linear: LinearDecoder) -> ClassVectors:
    """Return centers of new classes, and what they want on top where rows are few.

    Where rows are many, centers keep a distance from those of old classes, if some rows that are
    held back are found as often then. Where they are few: a row is farther from the nearest of few
    centers of its class than from that of many. Old and new classes keep the same margin where new
    ones are given half of that; less, where they are worth less.
    """
    from dsnc.fast.new_classes import new_class_centers

    inputs = np.concatenate([mine.logits, linear.weight[old.near]])
    candidates = _best_of(linear, np.concatenate([new, old.near]), inputs)
    settings = {"seed": old.seed, "n_threads": old.n_threads}
    everything, back = np.arange(len(mine.classes)), one_in_each(mine.classes, HELD_BACK, old.seed)

    def found(rows: Ints, others: ClassVectors | None) -> ClassVectors:
        named = np.concatenate([candidates[rows], candidates[len(mine.classes) :]])
        some = mine.take(rows).examples()
        return new_class_centers(some, old.vectors, others, named, **settings)

    others = None
    if len(back) >= FEWEST // 10:
        others, rest = old.vectors.with_classes(old.numbers), np.delete(everything, back)
        alone, apart = (
            _told(found(rest, beside), others, mine.take(back), candidates[back])
            for beside in (None, others)
        )
        lost, won = np.count_nonzero(alone & ~apart), np.count_nonzero(apart & ~alone)
        if lost - won > math.sqrt(lost + won):
            others = None
    come = found(everything, others)
    lag = worth_of(mine.rows_of_a_class) * _lags(old.vectors)[come.n_each]
    return come.with_bias(come.bias + np.repeat(lag, come.n_each))


def _told(
    come: ClassVectors, others: ClassVectors, rows: Seen, candidates: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Tell which rows of new classes are nearest to their own among those that they might be."""
    n_new, own = come.n_classes, rows.classes[:, None].astype(np.int64)
    both = come.with_classes(np.append(np.arange(n_new), np.full(others.n_classes, -1)), others)
    classes = np.concatenate([own, np.where(candidates == own, -1, candidates)], axis=1)
    encoded = Encoded(rows.logits, source=(rows.X, slice(0, len(rows.logits))))
    margins = FeatureReranker(both).margins(encoded, classes)
    return np.asarray(margins.argmax(axis=1) == 0)


def _weights(mine: Seen, new: Ints, old: _Old, linear: LinearDecoder, scaling: str) -> ClassVectors:
    """Return vectors of new classes, trained against each other and against old ones."""
    from dsnc.fast.class_vectors import Recipe
    from dsnc.fast.new_classes import new_feature_vectors, rows_like_classes
    from dsnc.fast.rows import Scaling, scaling_of
    from dsnc.training.scaling import is_mostly_zeros

    examples, inputs = mine.examples(), mine.logits
    if old.vectors.unit_rows:
        how, cost = Scaling(unit_rows=True), _UNIT_COST
        others = rows_like_classes(old.vectors, old.numbers)
        inputs = np.concatenate([inputs, linear.weight[old.near]])
    else:
        how = scaling_of(scaling, examples, mostly_zeros=is_mostly_zeros(mine.X))
        cost, others = _OTHER_COST, mine.X[:0]
    candidates, recipe = _best_of(linear, new, inputs), Recipe(cost, 0, old.seed)
    parts = examples, others, candidates, old.vectors, how, recipe
    return new_feature_vectors(*parts, n_threads=old.n_threads)


def with_vectors(reranker: FeatureReranker, before: Ints, come: ClassVectors) -> FeatureReranker:
    """Return a second stage with more vectors."""
    return replace(reranker, vectors=reranker.vectors.with_classes(before, come))


def _lags(vectors: ClassVectors) -> NDArray[np.float32]:
    """Return how much farther rows are from the nearest of 0, 1, 2... centers of their class.

    Farther than from that of as many as classes have at most, whose other centers stand for rows
    here: what the nearest of a few of them is, drawn at random, follows from their distances.
    """
    most = int(vectors.n_each.max(initial=1))
    lags, full = np.zeros(most + 1), np.flatnonzero(vectors.n_each == most)
    if vectors.space is None or most < 3:  # nothing to draw from
        return lags.astype(np.float32)
    full = full[draw_rows(len(full), _SAMPLE)]
    centers = vectors.space.centers(vectors.with_classes(full)).reshape(len(full), most, -1)
    squares = np.einsum("kij,kij->ki", centers, centers)
    apart = squares[:, :, None] + squares[:, None] - 2 * centers @ centers.transpose(0, 2, 1)
    usual = np.sort(apart, axis=2)[:, :, 1:].mean(axis=(0, 1))  # of the nearest, the next, ...
    for n in range(1, most):
        ways = [math.comb(most - 2 - nearer, n - 1) for nearer in range(most - 1)]
        lags[n] = np.array(ways) / math.comb(most - 1, n) @ usual - usual[0]
    return lags.astype(np.float32)


def _usual_bias(bias: NDArray[np.float32], memory: Memory | None, rows: float) -> float:
    """Return the mean bias of old classes that have about as many rows as new ones.

    Trained against few others, a new class would be too sure of itself.
    """
    if memory is None:
        return float(bias.mean())
    alike = (memory.counts >= rows / 2) & (memory.counts <= 2 * rows)
    return float(bias[alike].mean() if alike.any() else bias.mean())


def _near_old(linear: LinearDecoder, logits: NDArray[np.float32], before: Ints) -> Ints:
    """Return old classes that some rows might be taken for."""
    old = np.flatnonzero(before >= 0)
    near = np.unique(_best_of(linear, old, logits))
    return old[near[draw_rows(len(near), _OTHERS)]]


def _best_of(linear: LinearDecoder, classes: Ints, logits: NDArray[Any]) -> NDArray[np.int32]:
    """Return which of some classes are nearest to rows, as places in `classes`."""
    from dsnc.codes import HammingIndex

    index = HammingIndex(PackedCodes.from_logits(linear.weight[classes]))
    codes = PackedCodes.from_logits(logits)
    return index.search(codes, min(_N_CANDIDATES, len(classes)))[1].astype(np.int32)
