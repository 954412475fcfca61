"""How class vectors are trained when classes come, under an encoder that stays.

New vectors are trained together with the old ones, on new rows and on remembered codes.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import PackedCodes
from dsnc.decoders import Decoder, LinearDecoder
from dsnc.decoders.changes import Change
from dsnc.decoders.checks import Ints
from dsnc.decoders.memory import Memory

_HARD = 40.0  # a logit whose soft bit is a hard one


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
        sharpness = float(getattr(self.decoder, "sharpness", 1.0))
        settings: dict[str, Any] = {"seed": self.how.seed, "n_threads": self.how.n_threads}
        linear = rehearse(start, new, old, sharpness=sharpness, epochs=self.epochs, **settings)
        if is_blind:  # nothing says where old vectors may go
            linear = extended(self.linear, linear, before)
        is_young = before < 0 if is_young is None else is_young
        bias = linear.bias + np.where(is_young, np.float32(offset), on_top)
        linear = LinearDecoder(linear.weight, bias)
        change = Change(before, linear, PackedCodes.from_logits(rows.logits), rows.classes)
        return Changed(self.decoder.with_classes(change), linear)

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
    return LinearDecoder(linear.weight, np.float32(evidence.scoring.prior) * linear.bias)


def taken(linear: LinearDecoder, classes: Ints) -> LinearDecoder:
    """Return the vectors of some classes."""
    return LinearDecoder(linear.weight[classes], linear.bias[classes])


def extended(old: LinearDecoder, new: LinearDecoder, before: Ints) -> LinearDecoder:
    """Return the vectors of old classes, and those of `new` for the others."""
    weight, bias = np.array(new.weight), np.array(new.bias)
    stays = before >= 0
    weight[stays], bias[stays] = old.weight[before[stays]], old.bias[before[stays]]
    return LinearDecoder(weight, bias)
