"""How class vectors are trained when classes come, under an encoder that stays.

New vectors are trained together with the old ones, on new rows and on remembered codes. Where few
classes come to many, old vectors stay as they are: new ones are trained beside those of the classes
that their rows might be taken for, on what is remembered of these.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import Encoded, PackedCodes
from dsnc.codes.soft import SoftCodes
from dsnc.decoders import Decoder, LinearDecoder
from dsnc.decoders.changes import Change
from dsnc.decoders.checks import Ints
from dsnc.decoders.memory import Memory

_HARD = 40.0  # a logit whose soft bit is a hard one
_NEAR, _CODES = 32, 8  # old classes beside a new one, and codes of each, where few come
_LEAST_NEAR, _ALL_NEAR = 16, 1 << 14  # half as many are enough where these would be more in all
_PACE = 5  # other vectors go all the way where a fifth of the classes comes, else less
_TIMES, _TIMES_BESIDE = 4, 1  # remembered codes of an epoch beside the new rows
_KNOWN = 16  # codes that a search finds a new class by, at most: as many as the others have
_FEW = 16  # old classes for each new one that make them few
_ROW_STEPS, _FEWEST_EPOCHS = 60_000, 3  # of these, about; and no fewer epochs


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


class Rows(NamedTuple):
    """What the encoder makes of rows, and their classes."""

    logits: NDArray[np.float32]
    classes: Ints

    def codes(self) -> SoftCodes:
        """Return what is remembered of them."""
        return SoftCodes.from_logits(self.logits)

    def and_drawn(self, each: int, seed: int) -> "Rows":
        """Return these, and more that are drawn from their bits: about `each` of a class in all."""
        n_rows = np.bincount(self.classes)[self.classes]
        more = np.repeat(np.arange(len(n_rows)), np.maximum(each // n_rows - 1, 0))
        noise = np.random.default_rng([seed, 12]).logistic(size=(len(more), self.logits.shape[1]))
        drawn = self.logits[more] + noise.astype(np.float32)
        return Rows(
            np.concatenate([self.logits, drawn]),
            np.concatenate([self.classes, self.classes[more]]),
        )


class Changed(NamedTuple):
    """A decoder of other classes, and its vectors."""

    decoder: Decoder
    linear: LinearDecoder


@dataclass(frozen=True)
class Lesson:
    """How the vectors of a decoder are trained: the same for new classes and for a rehearsal."""

    decoder: Decoder
    linear: LinearDecoder  # its vectors, with biases that count as they are
    epochs: int
    sharpness: float  # of soft bits
    how: Learning

    def learned(
        self,
        memory: Memory | None,
        before: Ints,
        rows: Rows,
        offset: float = 0.0,
        is_young: NDArray[np.bool_] | None = None,
    ) -> Changed:
        """Return the decoder of other classes; `memory` has their numbers already.

        What is put on top of young classes is `offset`: by default, of new ones.
        """
        is_young = before < 0 if is_young is None else is_young
        keeps = False
        if memory is not None and are_few(memory, before, rows.classes):
            keeps = Change(before).only_adds(self.linear.n_classes)
            linear = self._beside(memory, before, rows, offset, keeps=keeps)
        else:
            linear = self._rehearsed(memory, before, rows, offset, is_young)
        n_codes = len(getattr(self.decoder, "codes", ())) // self.decoder.n_classes
        known = rows.and_drawn(min(n_codes, _KNOWN), self.how.seed)
        change = Change(before, linear, PackedCodes.from_logits(known.logits), known.classes, keeps)
        return Changed(self.decoder.with_classes(change), linear)

    def _rehearsed(
        self,
        memory: Memory | None,
        before: Ints,
        rows: Rows,
        offset: float,
        is_young: NDArray[np.bool_],
        times: int = _TIMES,
    ) -> LinearDecoder:
        """Return vectors that were all trained, on new rows and on what is remembered."""
        from dsnc.fast.new_classes import Codes, rehearse

        start = self._start(before, rows)
        remembered = _remembered(memory, start, before)
        is_blind = memory is None or not len(memory.codes)
        on_top = np.where(before < 0, np.float32(0), remembered.offsets)
        start = LinearDecoder(start.weight, start.bias - on_top)
        counts = np.bincount(rows.classes, minlength=len(before)).astype(np.float32)
        known = np.where(before < 0, np.float32(0), remembered.counts)
        usual = max(1.0, float(np.median(known[known > 0]))) if known.any() else 1.0
        # A new class counts as the others do, however few rows it has, and be it a description.
        wanted = np.where(known == 0, np.maximum(counts, usual), known + counts)
        given = counts + np.bincount(remembered.rows.classes, minlength=len(before))
        each = (wanted / np.maximum(given, 1)).astype(np.float32)
        new, old = (
            Codes(self._inputs(part.logits), part.classes, each[part.classes])
            for part in (rows, remembered.rows)
        )
        settings: dict[str, Any] = {"seed": self.how.seed, "n_threads": self.how.n_threads}
        settings |= {"epochs": self.epochs, "times": times}
        linear = rehearse(start, new, old, sharpness=self.sharpness, **settings)
        if is_blind:  # nothing says where old vectors may go
            linear = extended(self.linear, linear, before)
        else:
            share = min(1.0, math.sqrt(_PACE * float((counts > 0).mean())))
            linear = _moved(start, linear, counts == 0, share)
        bias = linear.bias + np.where(is_young, np.float32(offset), on_top)
        return LinearDecoder(linear.weight, bias)

    def _beside(
        self, memory: Memory, before: Ints, rows: Rows, offset: float, *, keeps: bool
    ) -> LinearDecoder:
        """Return the old vectors as they are, and new ones that were trained beside near ones."""
        classes = self.around(before, rows)
        is_new = before[classes] < 0
        part = memory.of_classes(classes, _CODES, self.how.seed)
        epochs = _ROW_STEPS // (len(rows.classes) + len(part.codes))
        others = taken(self.linear, before[classes[~is_new]])
        own = replace(self, linear=others, epochs=min(self.epochs, max(_FEWEST_EPOCHS, epochs)))
        numbered = Rows(rows.logits, np.searchsorted(classes, rows.classes))
        earlier = np.where(is_new, -1, np.cumsum(~is_new) - 1)
        found = own._rehearsed(part, earlier, numbered, offset, is_new, _TIMES_BESIDE)
        new = taken(found, np.flatnonzero(is_new))
        if keeps:
            return self.linear.with_more(new)
        weight, bias = self.linear.weight[before], self.linear.bias[before]
        weight[before < 0], bias[before < 0] = new.weight, new.bias
        return LinearDecoder(weight, bias)

    def around(self, before: Ints, rows: Rows) -> Ints:
        """Return new classes and those that are near them, by their numbers from now on."""
        near = self._near(rows)
        if not Change(before).only_adds(self.linear.n_classes):
            now = np.full(self.linear.n_classes, -1)
            now[before[before >= 0]] = np.flatnonzero(before >= 0)
            near = now[near][now[near] >= 0]
        return np.union1d(near, np.flatnonzero(before < 0))

    def _near(self, rows: Rows) -> Ints:
        """Return the classes nearest to the middle of new ones, by their numbers so far."""
        _, owners, counts = np.unique(rows.classes, return_inverse=True, return_counts=True)
        sums = np.zeros((len(counts), self.linear.n_bits), np.float32)
        np.add.at(sums, owners, np.tanh(rows.logits / 2))
        middle = Encoded(2 * sums / counts[:, None])
        near = max(_LEAST_NEAR, min(_NEAR, _ALL_NEAR // len(counts)))
        return np.unique(self.decoder.top_k(middle, min(near, self.linear.n_classes))[0])

    def _inputs(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return logits whose soft bits are what the decoder sees."""
        if self.decoder.sees_soft_bits:
            return logits
        return np.where(logits > 0, np.float32(_HARD), np.float32(-_HARD))

    def _start(self, before: Ints, rows: Rows) -> LinearDecoder:
        """Return vectors to begin with: those of new classes point to the mean of their rows."""
        bits = np.tanh(self._inputs(rows.logits) / 2)
        sums = np.zeros((len(before), self.linear.n_bits), dtype=np.float32)
        np.add.at(sums, rows.classes, bits)
        lengths = np.linalg.norm(self.linear.weight, axis=1)
        sums *= lengths.mean() / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
        bias = np.full(len(before), np.median(self.linear.bias), dtype=np.float32)
        return extended(self.linear, LinearDecoder(sums, bias), before)


def _moved(
    start: LinearDecoder, end: LinearDecoder, is_other: NDArray[np.bool_], share: float
) -> LinearDecoder:
    """Return trained vectors; those of other classes go only a share of the way."""
    on_the_way = np.where(is_other, np.float32(share), np.float32(1))
    weight = start.weight + on_the_way[:, None] * (end.weight - start.weight)
    return LinearDecoder(weight, start.bias + on_the_way * (end.bias - start.bias))


def are_few(memory: Memory, before: Ints, classes: Ints) -> bool:
    """Tell whether few classes come to many, and no old one has more rows."""
    n_new = int(np.count_nonzero(before < 0))
    return (
        0 < _FEW * n_new <= len(before) - n_new
        and len(memory.codes) > 0
        and bool((before[classes] < 0).all())
    )


class _Remembered(NamedTuple):
    rows: Rows
    counts: NDArray[np.float32]
    offsets: NDArray[np.float32]


def _remembered(memory: Memory | None, start: LinearDecoder, before: Ints) -> _Remembered:
    """Return codes of old classes; of a model without a memory, those that they would like best."""
    if memory is not None and len(memory.codes):
        rows = Rows(memory.codes.logits(), memory.classes)
        return _Remembered(rows, memory.counts, memory.offsets)
    old = np.flatnonzero(before >= 0)
    weight = start.weight[old]
    scale = 2 / np.maximum(np.abs(weight).mean(axis=1, keepdims=True), 1e-9)
    ones = np.ones(len(before), np.float32)
    return _Remembered(Rows(weight * scale, old), ones, np.zeros_like(ones))


def scorer(decoder: Decoder) -> LinearDecoder | None:
    """Return the vectors of a decoder, with biases that count as they are; None if it has none."""
    evidence = decoder.evidence()
    if evidence is None:
        return None
    linear = evidence.linear
    if evidence.scoring.prior == 1:
        return linear
    return LinearDecoder(linear.weight, np.float32(evidence.scoring.prior) * linear.bias)


def taken(linear: LinearDecoder, classes: Ints) -> LinearDecoder:
    """Return the vectors of some classes."""
    return LinearDecoder(linear.weight[classes], linear.bias[classes])


def extended(old: LinearDecoder, new: LinearDecoder, before: Ints) -> LinearDecoder:
    """Return the vectors of old classes, and those of `new` for the others."""
    if len(before) > old.n_classes and Change(before).only_adds(old.n_classes):
        return old.with_more(taken(new, np.arange(old.n_classes, len(before))))
    weight, bias = np.array(new.weight), np.array(new.bias)
    stays = before >= 0
    weight[stays], bias[stays] = old.weight[before[stays]], old.bias[before[stays]]
    return LinearDecoder(weight, bias)
