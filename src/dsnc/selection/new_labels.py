"""Labels that come to a model of label sets, while the others keep their vectors.

Each new label is a question of its own: rows that have it against the other rows that come with it,
and against what the model remembers. It gets a vector over bits, whose scores of remembered codes
are about as high as is usual, and one over features where there is a second stage. Rows of length 1
get one in any case: their features tell more of new labels than bits do, which know only others.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.codes import PackedCodes
from dsnc.codes.soft import SoftCodes
from dsnc.decoders import Decoder, LinearDecoder
from dsnc.decoders.changes import Change
from dsnc.decoders.checks import Ints
from dsnc.decoders.memory import Memory
from dsnc.decoders.scoring import soft_bits
from dsnc.predictor import Predictor
from dsnc.rerank import ClassVectors, FeatureReranker
from dsnc.rows import draw_rows, unit_rows
from dsnc.selection.lesson import Learning, extended, scorer, taken
from dsnc.selection.teaching import can_be_taught
from dsnc.targets import Targets

_BITS_COST, _COST = 0.3, 3.0  # of errors, of vectors over bits and over features
_RIVALS = 512  # new labels that each row may speak against
_RANDOM = 256  # rows of features that are drawn at random, and speak against all new labels
_LOOKED_AT = 32  # candidates of a row: a label of few rows is seldom among the very first
_MIX = 0.125  # what a score counts in a second stage that new labels alone have
_SPREAD = 0.5, 0.95  # quantiles of scores: how far apart they are is as usual,
_SHARE = 0.3  # or as much of it, where features decide
_JUDGES = 1024  # codes and old labels that tell what is usual
_STRENGTH = 2.0  # of vectors over features: as many times as far as these quantiles are apart
_LIFT = 0.1  # of biases: few rows leave out much of what speaks for a label
_ALL = 1 << 40  # weights are kept


class Given(NamedTuple):
    """Rows with sets of labels, some of which are new."""

    X: Any
    targets: Targets  # labels by their numbers from now on
    before: Ints  # the number that each label had so far; -1 for one that is new
    frequency: float  # of old labels among the rows that they were learned from


def with_new_labels(
    predictor: Predictor, memory: Memory | None, given: Given, how: Learning, *, looks: bool
) -> tuple[Predictor, Memory | None]:
    """Return a predictor that knows the new labels of some rows, and what it remembers.

    `looks` says whether new labels may have a second stage where the others have none.
    """
    before, logits = given.before, predictor.logits(given.X)
    new = np.flatnonzero(before < 0)
    if looks and predictor.reranker is None and can_be_taught(predictor.encoder):
        predictor = _with_second_stage(predictor)
    decoder, reranker, rule = predictor.decoder, predictor.reranker, predictor.rule
    linear: Any = scorer(decoder)
    known = linear.weight if memory is None else memory.codes.logits()  # what labels like best
    bits, others = _bits(decoder, logits), _bits(decoder, known)
    has, share = given.targets.classes[:, new], 1.0 if reranker is None else _SHARE
    usual = _usual(linear, others, given.frequency)
    come = _over_bits(bits, has, others, usual, share, how)
    number = np.maximum(np.cumsum(before < 0) - 1, 0)
    every = extended(linear, taken(come, number), before)
    rows, owners = has.nonzero()
    change = Change(before, every, PackedCodes.from_logits(logits[rows]), new[owners])
    decoder = decoder.with_classes(change)
    if memory is not None:
        rows, owners = given.targets.one_each()
        codes = SoftCodes.from_logits(logits[rows])
        memory = memory.changed(change).with_rows(codes, owners, how.most, how.seed)
        memory = memory.counting(owners)
        memory = memory.seeing(given.X) if len(memory.seen) else memory
    if reranker is not None:
        strength = max(1.0, _STRENGTH * reranker.mix * (usual[1] - usual[0]))
        found = _over_features(reranker.vectors, given.X, has, memory, how)
        weight, bias = strength * found.matrix(), strength * found.bias
        found = ClassVectors.from_matrix(weight, bias, unit_rows=found.unit_rows)
        vectors = reranker.vectors.with_classes(before, found)
        size = max(reranker.size, _LOOKED_AT)
        reranker, decoder = replace(reranker, vectors=vectors, size=size), decoder.reaching(size)
    trained = predictor.trained and extended(predictor.trained, every, before)
    rule = rule and rule.of_labels(before)
    return predictor.with_decoder(decoder, trained, reranker, rule), memory


def _with_second_stage(predictor: Predictor) -> Predictor:
    """Return a predictor that answers as before, by a second stage that says nothing yet."""
    n_classes, rule = predictor.n_classes, predictor.rule
    none = sp.csr_array((n_classes, predictor.n_features), dtype=np.float32)
    vectors = ClassVectors.from_matrix(none, np.zeros(n_classes), unit_rows=True)
    rule = rule and replace(rule, knots=_MIX * rule.knots)
    reranker = FeatureReranker(vectors, mix=_MIX, size=_LOOKED_AT)
    return predictor.with_decoder(predictor.decoder, predictor.trained, reranker, rule)


def _bits(decoder: Decoder, logits: Any) -> Any:
    """Return bits as a decoder sees them."""
    if decoder.sees_soft_bits:
        return soft_bits(logits, getattr(decoder, "sharpness", 1.0))
    return np.where(logits > 0, np.float32(1), np.float32(-1))


def _over_bits(
    bits: Any, has: Any, others: Any, usual: Any, share: float, how: Learning
) -> LinearDecoder:
    """Return vectors over bits, which give others about the scores that old labels give them."""
    from dsnc.fast.rows import Scaling

    shift, factor = np.zeros(bits.shape[1], np.float32), np.ones(bits.shape[1], np.float32)
    found = _trained(bits, has, others, Scaling(shift=shift, factor=factor), _BITS_COST, how)
    (low, high), weight = usual, found.matrix().toarray()
    scores = others[draw_rows(len(others), _JUDGES)] @ weight.T
    least, most = np.quantile(scores, _SPREAD, axis=0)
    scale = share * (high - low) / np.maximum(most - least, 1e-9)
    return LinearDecoder(weight * scale[:, None], high - scale * most)


def _usual(linear: LinearDecoder, others: Any, frequency: float) -> Any:
    """Return the usual quantiles of the scores of old labels, where rows do not have them."""
    sample, some = (draw_rows(n, _JUDGES) for n in (len(others), linear.n_classes))
    scores = others[sample] @ linear.weight[some].T + linear.bias[some]
    quantiles = np.multiply(_SPREAD, 1 - frequency)
    return np.quantile(scores, quantiles, axis=0).mean(axis=1)


def _over_features(
    known: ClassVectors, X: Any, has: Any, memory: Memory | None, how: Learning
) -> ClassVectors:
    """Return vectors over features; where rows have length 1, rare features count more."""
    from dsnc.fast.rows import Scaling, scaling_of
    from dsnc.training.examples import Examples
    from dsnc.training.scaling import is_mostly_zeros

    if known.unit_rows:
        X, rarity = sp.csr_array(X, dtype=np.float32), np.ones(known.n_features, np.float32)
        others = X[:0]
        if memory is not None and memory.seen.any():
            rarity = np.log1p(memory.seen.max() / (1 + memory.seen)).astype(np.float32)
            others = _random_rows(X, memory.seen, how.seed)
        rarity /= rarity.mean()
        rows, others = (sp.csr_array(unit_rows(part) * rarity) for part in (X, others))
        found = _trained(rows, has, others, Scaling(unit_rows=True), _COST, how)
        bias = found.bias + _LIFT
        return ClassVectors.from_matrix(found.matrix() * rarity, bias, unit_rows=True)
    examples = Examples(X, Targets(has, has.shape[1]))
    scaling = scaling_of(how.scaling, examples, mostly_zeros=is_mostly_zeros(X))
    found = _trained(X, has, X[:0], scaling, _COST, how)
    usual, is_told = np.median(known.bias), has.sum(axis=0) < has.shape[0]  # apart from others
    bias = usual + is_told * (found.bias - found.bias.mean())
    return ClassVectors.from_matrix(sp.csr_array(found.matrix() * is_told[:, None]), bias)


def _random_rows(X: Any, seen: NDArray[np.uint32], seed: int) -> Any:
    """Return rows as long as others, of features that are drawn as often as rows have them."""
    rng = np.random.default_rng([seed, 16])
    ends = np.append(0, np.cumsum(rng.choice(np.diff(X.indptr), _RANDOM)))
    features = rng.choice(len(seen), ends[-1], p=seen / seen.sum(dtype=np.float64))
    values = np.ones(len(features), np.float32)
    return sp.csr_array((values, features, ends), shape=(_RANDOM, len(seen)))


def _trained(
    X: Any, has: Any, others: Any, scaling: Any, cost: float, how: Learning
) -> ClassVectors:
    """Return a vector for each label, which tells rows that have it from the rest and others."""
    from dsnc.fast.class_vectors import Recipe, train_class_vectors
    from dsnc.fast.rows import Feed
    from dsnc.training.examples import Examples

    n_new = has.shape[1]
    both = sp.vstack([X, others], "csr") if sp.issparse(X) else np.concatenate([X, others])
    members = sp.vstack([has, sp.csr_array((others.shape[0], n_new), dtype=np.bool_)])
    feed = Feed(Examples(both, Targets(members, n_new)), scaling)
    firsts = np.random.default_rng([how.seed, 15]).integers(n_new, size=(members.shape[0], 1))
    named = ((firsts + np.arange(min(n_new, _RIVALS))) % n_new).astype(np.int32)
    recipe = Recipe(cost, _ALL, how.seed)
    return train_class_vectors(feed, named, n_new, recipe, n_threads=how.n_threads)
