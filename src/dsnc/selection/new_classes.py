"""Classes that come to a model whose encoder stays: vectors, balance, second stage, memory.

New vectors are trained together with the old ones, on new rows and on remembered codes. What is
left to decide is the balance: a class of few rows is scored lower than it should be, by an amount
that no row of its own can tell. So the model looks at classes that it knows: it forgets some,
learns them again from as few codes, and sees what they want on top to be found as often as they
should on held-out codes.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders import Decoder, LinearDecoder
from dsnc.decoders.changes import Change
from dsnc.decoders.checks import Ints
from dsnc.decoders.memory import Memory, some_of_each
from dsnc.decoders.scoring import FEWEST
from dsnc.errors import warn
from dsnc.labels import Targets
from dsnc.predictor import Predictor
from dsnc.rerank import ClassVectors, FeatureReranker
from dsnc.rerank.reranker import ALL

_EPOCHS, _DENSE_EPOCHS = 3, 10  # over the new rows, of length 1 and others
_SHARE = 0.2  # of the classes, to be forgotten and learned again
_AGAIN, _ROWS_AGAIN = 1000, 10_000  # classes and codes of that, at most
_WORTH, _WORTH_OF_FEW = 0.3, 0.5  # of new classes beside old ones; of those that have few rows
_OFFSETS = np.arange(-2, 8.25, 0.25)  # on top of the scores of new classes
_TOLERANCE = 0.0005  # of the mean accuracy
_JUDGED = 64  # candidates of a held-out row
_FEW = 8  # rows of a new class that make it hard to find
_REACHED, _WITHIN = 32, 0.1875  # candidates then, and how far away, as a share of the bits
_SECOND_LOOK = 16  # candidates of a row, where some are new
_OTHERS = 20_000  # old classes that vectors over features are trained against, at most
_N_CANDIDATES = 20
_HARD = 40.0  # a logit whose soft bit is a hard one
_UNIT_COST, _OTHER_COST = 3.0, 10.0  # of errors, as at fit


class Arrival(NamedTuple):
    """Rows of new classes, or more rows of known ones."""

    X: Any  # rows of numbers
    classes: Ints  # by their numbers from now on
    before: Ints  # the number that each class had so far; -1 for one that is new


@dataclass(frozen=True)
class Learning:
    """How to learn.

    Parameters
    ----------
    most : int
        Soft codes of a class to remember; 0 for none.
    scaling : str
        As of `dsnc.training.scaling`.
    seed : int
    n_threads : int
    """

    most: int
    scaling: str = "auto"
    seed: int = 0
    n_threads: int = 1


def with_new_classes(
    predictor: Predictor, memory: Memory | None, arrival: Arrival, how: Learning
) -> tuple[Predictor, Memory | None]:
    """Return a predictor that knows the classes of some rows as well, and what it remembers."""
    logits = predictor.logits(arrival.X)
    rows = _Rows(logits, arrival.classes)
    kept = memory and memory.changed(Change(arrival.before))
    decoder, linear = predictor.decoder, _scorer(predictor.decoder)
    if linear is None:
        if predictor.reranker is not None:
            warn(
                f"The second stage is left out: without class vectors, as of the {decoder.name!r} "
                "decoder, nothing says which classes are near the new ones."
            )
        change = Change(arrival.before, None, PackedCodes.from_logits(logits), arrival.classes)
        return predictor.with_decoder(decoder.with_classes(change)), _remembering(kept, rows, how)
    n_rows = _rows_of_a_class(arrival)
    size = _REACHED if n_rows is not None and n_rows < _FEW else 1
    if predictor.reranker is not None:
        size = max(size, _SECOND_LOOK)
    if size > 1:
        decoder = decoder.reaching(size, round(_WITHIN * decoder.n_bits))
    epochs = _EPOCHS if getattr(predictor.encoder, "row_normalize", False) else _DENSE_EPOCHS
    lesson = _Lesson(decoder, linear, epochs, how)
    offset, kept = _offset(lesson, memory, kept, n_rows)
    changed = lesson.learned(kept, arrival.before, rows, offset)
    if kept is not None:
        on_top = np.where(arrival.before < 0, np.float32(offset), kept.offsets)
        kept = replace(kept, offsets=on_top.astype(np.float32))
    trained = predictor.trained and _extended(predictor.trained, changed.linear, arrival.before)
    reranker = predictor.reranker
    if reranker is not None:
        reranker = _second_stage(reranker, arrival, logits, changed, memory, how)
    predictor = predictor.with_decoder(changed.decoder, trained, reranker)
    return predictor, _remembering(kept, rows, how)


def without_classes(
    predictor: Predictor, memory: Memory | None, before: Ints
) -> tuple[Predictor, Memory | None]:
    """Return a predictor of fewer classes; `before` is the number that each of them had so far."""
    linear, trained, reranker = _scorer(predictor.decoder), predictor.trained, predictor.reranker
    change = Change(before, linear and _taken(linear, before))
    if reranker is not None:
        reranker = replace(reranker, vectors=reranker.vectors.with_classes(before))
    decoder = predictor.decoder.with_classes(change)
    predictor = predictor.with_decoder(decoder, trained and _taken(trained, before), reranker)
    return predictor, memory and memory.changed(change)


class _Rows(NamedTuple):
    logits: NDArray[np.float32]
    classes: Ints


class _Changed(NamedTuple):
    decoder: Decoder
    linear: LinearDecoder


@dataclass(frozen=True)
class _Lesson:
    """How the vectors of a decoder are trained: the same for new classes and for a rehearsal."""

    decoder: Decoder
    linear: LinearDecoder  # its vectors, with biases that count as they are
    epochs: int
    how: Learning

    def learned(
        self, memory: Memory | None, before: Ints, rows: _Rows, offset: float = 0.0
    ) -> _Changed:
        """Return the decoder of other classes; `memory` has their numbers already."""
        from dsnc.fast.new_classes import Codes, rehearse

        start = self._start(before, rows)
        remembered = _remembered(memory, start, before)
        is_blind = memory is None or not len(memory.codes)
        on_top = np.where(before < 0, np.float32(0), remembered.offsets)
        start = LinearDecoder(start.weight, start.bias - on_top)
        counts = np.bincount(rows.classes, minlength=len(before)).astype(np.float32)
        known = remembered.counts
        usual = max(1.0, float(np.median(known[before >= 0]))) if (before >= 0).any() else 1.0
        # A new class counts as the others do, however few rows it has.
        wanted = np.where(before < 0, np.maximum(counts, usual), known + counts)
        given = counts + np.bincount(remembered.rows.classes, minlength=len(before))
        each = (wanted / np.maximum(given, 1)).astype(np.float32)
        new, old = (
            Codes(self._inputs(part.logits), part.classes, each[part.classes])
            for part in (rows, remembered.rows)
        )
        sharpness = float(getattr(self.decoder, "sharpness", 1.0))
        settings: dict[str, Any] = {"seed": self.how.seed, "n_threads": self.how.n_threads}
        linear = rehearse(start, new, old, sharpness=sharpness, epochs=self.epochs, **settings)
        if is_blind:  # nothing says where old vectors may go
            linear = _extended(self.linear, linear, before)
        bias = linear.bias + np.where(before < 0, np.float32(offset), on_top)
        linear = LinearDecoder(linear.weight, bias)
        change = Change(before, linear, PackedCodes.from_logits(rows.logits), rows.classes)
        return _Changed(self.decoder.with_classes(change), linear)

    def _inputs(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return logits whose soft bits are what the decoder sees."""
        if self.decoder.sees_soft_bits:
            return logits
        return np.where(logits > 0, np.float32(_HARD), np.float32(-_HARD))

    def _start(self, before: Ints, rows: _Rows) -> LinearDecoder:
        """Return vectors to begin with: those of new classes point to the mean of their rows."""
        bits = np.tanh(self._inputs(rows.logits) / 2)
        sums = np.zeros((len(before), self.linear.n_bits), dtype=np.float32)
        np.add.at(sums, rows.classes, bits)
        lengths = np.linalg.norm(self.linear.weight, axis=1)
        sums *= lengths.mean() / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
        bias = np.full(len(before), np.median(self.linear.bias), dtype=np.float32)
        return _extended(self.linear, LinearDecoder(sums, bias), before)


class _Remembered(NamedTuple):
    rows: _Rows
    counts: NDArray[np.float32]
    offsets: NDArray[np.float32]


def _remembered(memory: Memory | None, start: LinearDecoder, before: Ints) -> _Remembered:
    """Return codes of old classes; of a model without a memory, those that they would like best."""
    if memory is not None and len(memory.codes):
        rows = _Rows(memory.codes.logits(), memory.classes)
        return _Remembered(rows, memory.counts, memory.offsets)
    old = np.flatnonzero(before >= 0)
    weight = start.weight[old]
    scale = 2 / np.maximum(np.abs(weight).mean(axis=1, keepdims=True), 1e-9)
    ones = np.ones(len(before), np.float32)
    return _Remembered(_Rows(weight * scale, old), ones, np.zeros_like(ones))


def _offset(
    lesson: _Lesson, memory: Memory | None, kept: Memory | None, n_rows: int | None
) -> tuple[float, Memory | None]:
    """Return what new classes of so many rows want on top, and the memory, which knows it now."""
    if memory is None or kept is None or n_rows is None:
        return 0.0, kept
    n_rows = max(1, lesson.how.most) if n_rows >= _FEW else n_rows
    if n_rows not in memory.balance:
        found = _balance(lesson, memory, n_rows)
        if found is None:
            return 0.0, kept
        kept = replace(kept, balance={**kept.balance, n_rows: found})
    return kept.balance[n_rows], kept


def _balance(lesson: _Lesson, memory: Memory, n_rows: int) -> float | None:
    """Forget some classes, learn them again from few codes, and see what they lack."""
    n_classes = lesson.linear.n_classes
    is_again = np.zeros(n_classes, dtype=np.bool_)
    is_again[_learned_again(memory, n_rows, lesson.how.seed)] = True
    judged = is_again[memory.held_out_classes]
    if min(judged.sum(), (~judged).sum()) < FEWEST // 10 or not len(memory.codes):
        return None
    before = np.where(is_again, -1, np.arange(n_classes))
    mine = is_again[memory.classes]
    few = np.flatnonzero(mine)[some_of_each(memory.classes[mine], n_rows, lesson.how.seed)]
    rows = _Rows(memory.codes.take(few).logits(), memory.classes[few])
    others = replace(memory, codes=memory.codes.take(~mine), classes=memory.classes[~mine])
    decoder = lesson.learned(others, before, rows).decoder
    width = min(_JUDGED, n_classes)
    classes, scores = decoder.candidates(Encoded(memory.held_out.logits()), width)
    is_new = is_again[np.maximum(classes, 0)]
    truth = classes == memory.held_out_classes[:, None]
    share = _WORTH if n_rows >= _FEW else _WORTH_OF_FEW
    worth = [_harmonic(scores + offset * is_new, truth, judged, share) for offset in _OFFSETS]
    smooth = np.convolve(np.pad(worth, 1, mode="edge"), np.ones(3) / 3, "valid")
    good = _OFFSETS[smooth >= smooth.max() - _TOLERANCE]
    return float(good[np.abs(good).argmin()])  # no farther than it has to


def _learned_again(memory: Memory, n_rows: int, seed: int) -> Ints:
    """Return classes to forget: a fifth of all, but no more than can be learned in seconds."""
    n_classes = len(memory.counts)
    judged = np.unique(memory.held_out_classes)  # others could not tell what they lack
    each = max(1.0, min(n_rows, len(memory.codes) / max(1, n_classes)))
    most = min(int(_SHARE * n_classes), len(judged) // 2, _AGAIN, int(_ROWS_AGAIN / each))
    return np.sort(np.random.default_rng([seed, 11]).permutation(judged)[:most])


def _harmonic(
    scores: NDArray[Any], truth: NDArray[np.bool_], is_new: NDArray[np.bool_], share: float
) -> float:
    """Return the harmonic mean of the accuracies of old and new classes; the new count `share`."""
    right = truth[np.arange(len(truth)), scores.argmax(axis=1)]
    old, new = max(right[~is_new].mean(), 1e-9), max(right[is_new].mean(), 1e-9)
    return float(1 / ((1 - share) / old + share / new))


def _rows_of_a_class(arrival: Arrival) -> int | None:
    """Return how many rows new classes have, typically, as a power of 2; None if none is new."""
    counts = np.bincount(arrival.classes, minlength=len(arrival.before))[arrival.before < 0]
    return None if not len(counts) else 1 << round(np.log2(np.median(counts)))


def _scorer(decoder: Decoder) -> LinearDecoder | None:
    """Return the vectors of a decoder, with biases that count as they are; None if it has none."""
    evidence = decoder.evidence()
    if evidence is None:
        return None
    linear = evidence.linear
    return LinearDecoder(linear.weight, np.float32(evidence.scoring.prior) * linear.bias)


def _taken(linear: LinearDecoder, classes: Ints) -> LinearDecoder:
    return LinearDecoder(linear.weight[classes], linear.bias[classes])


def _extended(old: LinearDecoder, new: LinearDecoder, before: Ints) -> LinearDecoder:
    """Return the vectors of old classes, and those of `new` for the others."""
    weight, bias = np.array(new.weight), np.array(new.bias)
    stays = before >= 0
    weight[stays], bias[stays] = old.weight[before[stays]], old.bias[before[stays]]
    return LinearDecoder(weight, bias)


def _remembering(memory: Memory | None, rows: _Rows, how: Learning) -> Memory | None:
    if memory is None:
        return None
    memory = memory.with_rows(rows.logits, rows.classes, how.most, how.seed)
    return memory.counting(rows.classes)


def _second_stage(
    reranker: FeatureReranker,
    arrival: Arrival,
    logits: Any,
    changed: _Changed,
    memory: Memory | None,
    how: Learning,
) -> FeatureReranker:
    """Return a second stage that has vectors over features for new classes."""
    from dsnc.fast.class_vectors import Recipe
    from dsnc.fast.new_classes import new_feature_vectors, rows_like_classes
    from dsnc.fast.rows import Scaling, scaling_of
    from dsnc.training.examples import Examples
    from dsnc.training.scaling import is_mostly_zeros

    before, vectors = arrival.before, reranker.vectors
    new = np.flatnonzero(before < 0)
    number = np.full(len(before), -1)
    number[new] = np.arange(len(new))
    rows = np.flatnonzero(number[arrival.classes] >= 0)
    if not len(new):
        return reranker
    X = arrival.X[rows]
    examples = Examples(X, Targets(number[arrival.classes[rows]].astype(np.int32), len(new)))
    scaling, cost = Scaling(unit_rows=True), _UNIT_COST
    if not vectors.unit_rows:
        scaling = scaling_of(how.scaling, examples, mostly_zeros=is_mostly_zeros(X))
        cost = _OTHER_COST
    near = _near_old(changed.linear, logits[rows], before)
    others: Any = X[:0]
    inputs = logits[rows]
    if vectors.unit_rows:
        others = rows_like_classes(vectors, before[near])
        inputs = np.concatenate([inputs, changed.linear.weight[near]])
    candidates = _best_of(changed.linear, new, inputs)
    recipe = Recipe(cost, 0, how.seed)
    come: ClassVectors = new_feature_vectors(
        examples, others, candidates, vectors, scaling, recipe, n_threads=how.n_threads
    )
    if np.median(examples.targets.counts()) >= _FEW:
        wanted = _usual_bias(vectors.bias, memory, examples)
        come = come.with_bias(come.bias + np.float32(wanted - come.bias.mean()))
    size = max(_SECOND_LOOK, reranker.size)
    return replace(reranker, vectors=vectors.with_classes(before, come), size=size, reach=ALL)


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
