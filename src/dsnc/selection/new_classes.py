"""Classes that come to a model that is trained, and classes that go.

They come from rows, from descriptions (which are rows that do not count as such) or from attributes
(which point to codes). In each case a class gets a code, a vector over bits (`lesson`), what it
wants on top of its scores (`balance`), and a vector over features (`new_vectors`). Many rows of a
class also teach the encoder what rare features mean (`teaching`).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import Encoded, PackedCodes
from dsnc.codes.soft import SoftCodes
from dsnc.decoders import Decoder
from dsnc.decoders.changes import Change
from dsnc.decoders.checks import Ints
from dsnc.decoders.memory import Memory, one_in_each
from dsnc.decoders.scoring import FEWEST
from dsnc.errors import warn
from dsnc.predictor import Predictor
from dsnc.rerank import FeatureReranker
from dsnc.rerank.reranker import ALL
from dsnc.rows import draw_rows
from dsnc.selection.attributes import AttributeMap
from dsnc.selection.balance import (
    DESCRIBED,
    FEW,
    HELD_BACK,
    OF_ATTRIBUTES,
    offset_by_rows,
    offset_of_new,
)
from dsnc.selection.lesson import Changed, Learning, Lesson, Rows, are_few, extended, scorer, taken
from dsnc.selection.new_vectors import Seen, with_new_vectors, with_vectors
from dsnc.selection.teaching import can_be_taught, with_taught_encoder

_EPOCHS, _FEWER_EPOCHS = 10, 3  # over the new rows; fewer if they are many, and of length 1
_REACHED = 32  # candidates of a row, where classes of few rows are among them
_JUDGES, _JUDGES_EACH = 1024, 64  # held-out rows that tell how far to look, for each new class
_JUDGED = 16  # candidates of such a row


class Arrival(NamedTuple):
    """Rows of new classes, or more rows of known ones."""

    X: Any  # rows of numbers; or attributes, a class in each row
    classes: Ints  # by their numbers from now on
    before: Ints  # the number that each class had so far; -1 for one that is new

    def divided(self, is_first: NDArray[np.bool_]) -> tuple["Arrival", "Arrival"]:
        """Return rows of some classes, and those of the others."""
        first = is_first[self.classes]
        parts = np.flatnonzero(first), np.flatnonzero(~first)
        one, other = (self._taken(p) for p in parts)
        return one, other

    def held_back(self, is_young: NDArray[np.bool_], seed: int) -> tuple["Arrival", "Arrival"]:
        """Return most of the rows, and a tenth of those of each young class, drawn at random."""
        back = one_in_each(self.classes, HELD_BACK, seed)
        back = back[is_young[self.classes[back]]]
        rest = np.delete(np.arange(len(self.classes)), back)
        return self._taken(rest), self._taken(back)

    def _taken(self, rows: Ints) -> "Arrival":
        return self._replace(X=self.X[rows], classes=self.classes[rows])


_Second = Callable[[FeatureReranker, Changed, Ints], FeatureReranker]


def with_new_classes(
    predictor: Predictor, memory: Memory | None, arrival: Arrival, how: Learning
) -> tuple[Predictor, Memory | None]:
    """Return a predictor that knows the classes of some rows as well, and what it remembers."""
    n_rows, offset = _rows_of_a_class(memory, arrival), None
    if memory is not None and n_rows is not None and n_rows >= FEW:
        predictor, offset = _studied(predictor, memory, arrival, how)
    rows = Rows(predictor.logits(arrival.X), arrival.classes)
    second = _vectors_from_rows(predictor, memory, arrival, rows, how)
    predictor, kept = _learned(predictor, memory, arrival, rows, n_rows, how, second, offset)
    if kept is not None:
        kept = kept.with_rows(rows.codes(), rows.classes, how.most, how.seed)
        kept = kept.counting(rows.classes)
        if len(kept.seen):
            kept = kept.seeing(arrival.X)
    return predictor, kept


def _studied(
    predictor: Predictor, memory: Memory, arrival: Arrival, how: Learning
) -> tuple[Predictor, float | None]:
    """Return a predictor whose encoder has learned from rows, and what new classes want on top.

    That is seen on some of the rows, which are held back for it.
    """
    lesson = _lesson(predictor, how, FEW)
    if lesson is None:
        return predictor, None
    offset, is_young = None, _young(memory, arrival)
    kept = memory.changed(Change(arrival.before))
    mine, judges = arrival.held_back(is_young, how.seed)
    if min(len(judges.classes), len(kept.held_out_classes)) >= FEWEST // 10:
        taught = _taught(predictor, kept, mine, lesson, how)
        rows = Rows(taught.logits(mine.X), mine.classes)
        decoder = lesson.learned(kept, arrival.before, rows, 0.0, is_young).decoder
        judge = Rows(taught.logits(judges.X), judges.classes)
        n_rows = is_young[arrival.classes].sum() / is_young.sum()
        offset = offset_by_rows(decoder, kept, judge, is_young, n_rows)
    return _taught(predictor, kept, arrival, lesson, how), offset


def _taught(
    predictor: Predictor, memory: Memory, arrival: Arrival, lesson: Lesson, how: Learning
) -> Predictor:
    """Return a predictor whose encoder has learned from rows, if it can."""
    if not (can_be_taught(predictor.encoder) and len(memory.seen)):
        return predictor
    rows, before = Rows(predictor.logits(arrival.X), arrival.classes), arrival.before
    linear, classes = lesson.learned(memory, before, rows).linear, rows.classes
    if are_few(memory, before, classes):
        around = lesson.around(before, rows)
        linear, classes = taken(linear, around), np.searchsorted(around, classes)
    return with_taught_encoder(predictor, memory, arrival.X, classes, linear, how)


def with_described_classes(
    predictor: Predictor, memory: Memory | None, arrival: Arrival, how: Learning
) -> tuple[Predictor, Memory | None]:
    """Return a predictor that knows classes by their descriptions, and what it remembers.

    Descriptions of classes that have rows tell what others may expect of theirs.
    """
    new, known = arrival.divided(_young(memory, arrival))
    if memory is not None and len(known.classes):
        codes = SoftCodes.from_logits(predictor.logits(known.X))
        memory = memory.with_descriptions(codes, known.before[known.classes])
    if not len(new.classes):
        return predictor, memory
    rows = Rows(predictor.logits(new.X), new.classes)
    second = _vectors_from_rows(predictor, None, new, rows, how)
    predictor, kept = _learned(predictor, memory, new, rows, DESCRIBED, how, second)
    return predictor, kept and kept.with_descriptions(rows.codes(), rows.classes)


def with_attributes(
    predictor: Predictor, memory: Memory, arrival: Arrival, how: Learning
) -> tuple[Predictor, Memory | None]:
    """Return a predictor that knows classes by their attributes, and what it remembers.

    Classes that have rows tell what attributes mean.
    """
    new, known = arrival.divided(_young(memory, arrival))
    if len(known.classes):
        memory = memory.with_attributes(known.X, known.before[known.classes])
    if not len(new.classes):
        return predictor, memory
    meaning = AttributeMap.learned(memory)
    rows = Rows(meaning.logits(new.X), new.classes)

    def second(reranker: FeatureReranker, _: Changed, before: Ints) -> FeatureReranker:
        order = np.argsort(new.classes)
        return with_vectors(reranker, before, meaning.vectors(reranker.vectors, new.X[order]))

    predictor, kept = _learned(predictor, memory, new, rows, OF_ATTRIBUTES, how, second)
    kept = kept and kept.with_descriptions(rows.codes(), rows.classes).with_attributes(
        new.X, new.classes
    )
    return predictor, kept


def without_classes(
    predictor: Predictor, memory: Memory | None, before: Ints
) -> tuple[Predictor, Memory | None]:
    """Return a predictor of fewer classes; `before` is the number that each of them had so far."""
    linear, trained, reranker = scorer(predictor.decoder), predictor.trained, predictor.reranker
    change = Change(before, linear and taken(linear, before))
    if reranker is not None:
        reranker = replace(reranker, vectors=reranker.vectors.with_classes(before))
    decoder = predictor.decoder.with_classes(change)
    trained, rule = trained and taken(trained, before), predictor.rule
    rule = rule and rule.of_labels(before)
    predictor = predictor.with_decoder(decoder, trained, reranker, rule)
    return predictor, memory and memory.changed(change)


def _young(memory: Memory | None, arrival: Arrival) -> NDArray[np.bool_]:
    """Tell which classes get rows or descriptions and have never had a row."""
    is_young = np.zeros(len(arrival.before), np.bool_)
    classes = np.unique(arrival.classes)
    before = arrival.before[classes]
    is_young[classes] = before < 0
    if memory is not None:
        is_young[classes] |= memory.counts[before] == 0
    return is_young


def _rows_of_a_class(memory: Memory | None, arrival: Arrival) -> int | None:
    """Return how many rows new classes have, typically, as a power of 2; None if none is new.

    A class that was described before is worth one of two rows at least.
    """
    classes, counts = np.unique(arrival.classes, return_counts=True)
    if memory is not None:
        described = np.isin(arrival.before[classes], memory.classes[memory.described])
        counts[described] = np.maximum(counts[described], 2)
    counts = counts[_young(memory, arrival)[classes]]
    return None if not len(counts) else 1 << round(np.log2(np.median(counts)))


def _learned(
    predictor: Predictor,
    memory: Memory | None,
    arrival: Arrival,
    rows: Rows,
    n_rows: int | None,
    how: Learning,
    second: _Second,
    offset: float | None = None,
) -> tuple[Predictor, Memory | None]:
    """Return a predictor that has learned classes, and what it remembered so far of all of them."""
    before, decoder = arrival.before, predictor.decoder
    kept, lesson = memory and memory.changed(Change(before)), _lesson(predictor, how, n_rows)
    if lesson is None:
        if predictor.reranker is not None:
            warn(
                f"The second stage is left out: the {decoder.name!r} decoder has no class vectors, "
                "which would tell which classes are near the new ones."
            )
        change = Change(before, None, PackedCodes.from_logits(rows.logits), rows.classes)
        return predictor.with_decoder(decoder.with_classes(change)), kept
    is_young = _young(memory, arrival)
    n_new = int(np.count_nonzero(is_young))
    if offset is None:
        offset, kept = offset_of_new(lesson, memory, kept, n_rows, n_new)
    changed = lesson.learned(kept, before, rows, offset, is_young)
    if kept is not None:
        on_top = kept.offsets.copy()
        on_top[is_young] = offset
        kept = replace(kept, offsets=on_top)
    trained = predictor.trained and extended(predictor.trained, changed.linear, before)
    reranker = predictor.reranker
    if reranker is not None and is_young.any():
        reranker = second(reranker, changed, np.where(is_young, -1, before))
        if memory is not None and kept is not None and reranker.reach < ALL:
            most = min(_JUDGES, _JUDGES_EACH * n_new)
            below = _below_best(decoder, memory, most), _below_best(changed.decoder, kept, most)
            reranker = replace(reranker, reach=_as_often(reranker.reach, *below))
    return predictor.with_decoder(changed.decoder, trained, reranker), kept


def _below_best(decoder: Decoder, memory: Memory, most: int) -> NDArray[np.float32]:
    """Return how far some held-out rows' own classes score below the best, ascending."""
    rows = draw_rows(len(memory.held_out_classes), most)
    classes, scores = decoder.candidates(Encoded(memory.held_out.take(rows).logits()), _JUDGED)
    is_own = classes == memory.held_out_classes[rows, None]
    own = np.where(is_own, scores, -np.inf).max(axis=1, initial=-np.inf)
    return np.sort(scores[:, 0] - own)


def _as_often(reach: float, before: NDArray[np.float32], after: NDArray[np.float32]) -> float:
    """Return a reach that held-out rows' own classes are within as often as before, at least."""
    n_within = np.searchsorted(before, reach, side="right")
    if not 0 < n_within < len(before) == len(after):
        return reach
    return float(min(ALL, max(reach, after[n_within - 1])))


def _lesson(predictor: Predictor, how: Learning, n_rows: int | None) -> Lesson | None:
    """Return how class vectors are trained, where a class has so many rows; None without any."""
    decoder, linear = predictor.decoder, scorer(predictor.decoder)
    if linear is None:
        return None
    has_few = n_rows is not None and n_rows < FEW
    if has_few and getattr(decoder, "codes_of", "weights") != "weights":  # others have more codes
        decoder = decoder.reaching(_REACHED)
    is_short = not has_few and getattr(predictor.encoder, "row_normalize", False)
    epochs = _FEWER_EPOCHS if is_short else _EPOCHS
    # A decoder may like blunt bits. With these every row looks unsure, and few new rows would move
    # all old vectors: they are rehearsed with bits as sharp as fit has them.
    sharpness = 1.0 if has_few else float(getattr(decoder, "sharpness", 1.0))
    return Lesson(decoder, linear, epochs, sharpness, how)


def _vectors_from_rows(
    predictor: Predictor, memory: Memory | None, arrival: Arrival, rows: Rows, how: Learning
) -> _Second:
    """Return what trains the vectors of a second stage, on rows and on what was described."""
    settings: dict[str, Any] = {"scaling": how.scaling, "seed": how.seed}

    def second(reranker: FeatureReranker, changed: Changed, before: Ints) -> FeatureReranker:
        from dsnc.fast.new_classes import rows_like_classes

        seen = Seen(arrival.X, *rows)
        described = np.flatnonzero((before < 0) & (arrival.before >= 0))
        if len(described) and reranker.vectors.unit_rows:
            X = rows_like_classes(reranker.vectors, arrival.before[described])
            seen = seen.and_also(Seen(X, predictor.logits(X), described))
        return with_new_vectors(
            reranker, seen, before, changed.linear, memory, n_threads=how.n_threads, **settings
        )

    return second
