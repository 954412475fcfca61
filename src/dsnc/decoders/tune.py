"""Settings of decoders, found on rows that training did not see."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders.base import Decoder
from dsnc.decoders.calibration import fit_confidence, fit_temperature
from dsnc.decoders.checks import Ints
from dsnc.decoders.linear import Floats, LinearDecoder
from dsnc.decoders.nearest import majority_codes
from dsnc.decoders.scoring import (
    NOTHING,
    WIDTH,
    Candidates,
    Scoring,
    accuracy,
    best_scoring,
    lower_bound,
)
from dsnc.decoders.shortlist import ShortlistDecoder
from dsnc.decoders.soft import SoftDecoder

TOLERANCE = 0.001  # accuracy that a cheaper setting may lose
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
RADII = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24)
MAX_ROWS = 4096  # of a trial: accuracies are known to half a point at worst
_MAX_PRODUCTS = 1 << 33  # of scoring all classes; seconds
_MAX_COMPARED = 1 << 31  # codes, in the search for candidates
_MAX_SCORES = 1 << 24  # of all classes, for a temperature
_CLEARLY = 2.0  # standard deviations: one of several decoders is often better by one of them
_REACH = 8  # a code stands for those of its class in so small a part of the bits
_CANDIDATE_NS = 20.0  # of a candidate, beside the products of its bits
_BEST = 1000  # classes of a row, for a temperature
_AT_ONCE = 1 << 22  # numbers in a temporary


class HeldOut(NamedTuple):
    """Rows that training did not see, as the encoder sees them."""

    encoded: Encoded
    y: Ints
    weight: NDArray[np.float32] | None = None  # of a row, in how sure a decoder may be

    def right(self, decoder: Decoder) -> NDArray[np.bool_]:
        """Tell of each row whether a decoder finds its class."""
        return np.asarray(decoder.predict(self.encoded) == self.y)

    def take(self, n: int) -> "HeldOut":
        """Return n of the rows, evenly spaced, or all."""
        if n >= len(self.y):
            return self
        rows = np.linspace(0, len(self.y) - 1, max(1, n)).astype(np.int64)
        weight = None if self.weight is None else self.weight[rows]
        return HeldOut(self.encoded.take(rows), self.y[rows], weight)


@dataclass(frozen=True)
class _Trial:
    """The nearest classes of held-out rows, and what would decide among them."""

    candidates: Candidates
    beyond: NDArray[np.int64]  # bits beyond the nearest
    nearest: Ints  # distance of the nearest
    scoring: Scoring
    scores: Floats

    def is_right(self, size: int, radius: int) -> NDArray[np.bool_]:
        part = np.s_[:, :size]
        within = self.beyond[part] <= radius
        return self.candidates.right(np.where(within, self.scores[part], np.float32(-np.inf)))

    def accuracy(self, size: int, radius: int) -> float:
        return accuracy(self.is_right(size, radius), self.candidates.weight)

    def n_candidates(self, size: int, radius: int) -> float:
        return float((self.beyond[:, :size] <= radius).sum(axis=1).mean())


class Tuned(NamedTuple):
    """A shortlist, and what it is worth on the held-out rows."""

    decoder: ShortlistDecoder
    accuracy: float
    candidates: float  # of a row, on average
    nanoseconds: float  # of a row, on a typical machine
    reaches: bool  # whether it loses no more than the tolerance
    right: NDArray[np.bool_]  # on the held-out rows, or evenly spaced ones of them


def tune_shortlist(
    linear: LinearDecoder,
    known: dict[str, tuple[PackedCodes, Ints]],
    held_out: HeldOut,
    *,
    of_all: float = 0.0,
    scoring: Mapping[str, float] = NOTHING,
) -> tuple[str, Tuned, dict[str, Tuned]]:
    """Find the cheapest shortlist that loses less than a tenth of a point.

    For each set of known codes, the scoring that is most accurate is taken, then the cheapest
    radius and size that are as accurate as the best of all settings and as scoring all classes,
    less the tolerance. Few rows cannot tell small differences: what is not
    clearly as good, by a standard deviation, counts as worse. Between the sets it is the other way
    round: the slower one must be clearly better.

    Parameters
    ----------
    linear : LinearDecoder
    known : dict
        Name to (codes, labels): the sets of codes to choose from.
    held_out : HeldOut
    of_all : float
        The accuracy of scoring all classes.
    scoring : mapping
        Fields of `Scoring` that are not to choose.

    Returns
    -------
    name : str
        Of the chosen set.
    tuned : Tuned
    tried : dict
        What each set would have given.
    """
    trials = {name: _try_out(linear, *known[name], held_out, scoring) for name in known}
    reached = [
        trial.accuracy(SIZES[-1], radius) for trial in trials.values() for radius in _radii(linear)
    ]
    target = max(of_all, *reached) - TOLERANCE
    tried = {name: _cheapest(linear, *known[name], trials[name], target) for name in known}
    # Of those that reach the target the cheapest, otherwise the most accurate.
    best = min(
        tried,
        key=lambda name: (
            not tried[name].reaches,
            tried[name].nanoseconds if tried[name].reaches else -tried[name].accuracy,
        ),
    )
    cheaper = [name for name in tried if tried[name].nanoseconds < tried[best].nanoseconds]
    for name in sorted(cheaper, key=lambda name: tried[name].nanoseconds):
        if not is_clearly_better(tried[best].right, tried[name].right, held_out):
            best = name
            break
    return best, tried[best], tried


def is_clearly_better(
    right: NDArray[np.bool_], other: NDArray[np.bool_], held_out: HeldOut
) -> bool:
    """Tell whether one decoder beats another by more than chance and the tolerance.

    Both are told by whether they were right on held-out rows, all or evenly spaced ones.
    """
    weights = [held_out.take(len(each)).weight for each in (right, other)]
    if len(right) == len(other):
        return lower_bound(right, other, weights[0], deviations=_CLEARLY) > TOLERANCE
    # Not the same rows: each has a deviation of its own.
    spread = _CLEARLY * math.sqrt(right.var() / len(right) + other.var() / len(other))
    gain = accuracy(right, weights[0]) - accuracy(other, weights[1])
    return bool(gain - spread > TOLERANCE)


def calibrate(decoder: ShortlistDecoder, held_out: HeldOut) -> ShortlistDecoder:
    """Return the same shortlist with honest probabilities."""
    classes, scores = decoder.candidates(held_out.encoded)
    truth = _places(classes, held_out.y)
    confidence = fit_confidence(scores, truth, held_out.weight)._asdict()
    return decoder.with_settings(decoder.linear, decoder.codes, decoder.labels, **confidence)


def temperature_of(decoder: LinearDecoder, held_out: HeldOut) -> float:
    """Return the temperature that makes the probabilities of a linear decoder honest."""
    sample = held_out.take(max(64, _MAX_SCORES // decoder.n_classes))
    k = min(decoder.n_classes, _BEST)  # the others hardly count
    classes, scores = decoder.top_k(sample.encoded, k)
    return fit_temperature(scores, _places(classes, sample.y), sample.weight)


def rows_to_score(linear: LinearDecoder) -> int:
    """Return on how many rows all classes can be scored in seconds; MAX_ROWS at most."""
    return min(MAX_ROWS, _MAX_PRODUCTS // (linear.n_classes * linear.n_bits))


def training_codes(linear: LinearDecoder, codes: PackedCodes, y: Ints) -> tuple[PackedCodes, Ints]:
    """Return the distinct training codes and their classes, and a code for classes without one."""
    distinct, labels = majority_codes(codes, y)
    has_code = np.zeros(linear.n_classes, dtype=np.bool_)
    has_code[labels] = True
    without = np.flatnonzero(~has_code)
    ideal = weight_codes(linear)[0].take(without)
    return PackedCodes.concatenate([distinct, ideal]), np.concatenate([labels, without])


def leading_codes(
    linear: LinearDecoder, codes: PackedCodes, labels: Ints
) -> tuple[PackedCodes, Ints]:
    """Return a few of the codes of each class, so that the others are near one of them.

    The nearer a code is to the one that its class would like best, the sooner it leads others.
    """
    from dsnc.codes.leaders import leading_rows

    ideal = weight_codes(linear)[0].words
    distance = np.bitwise_count(codes.words ^ ideal[labels]).sum(axis=1, dtype=np.int64)
    rows = leading_rows(codes, labels, distance, linear.n_bits // _REACH)
    return codes.take(rows), labels[rows]


def weight_codes(linear: LinearDecoder) -> tuple[PackedCodes, Ints]:
    """Return the code that each class would like best: the signs of its weights."""
    return PackedCodes.from_logits(linear.weight), np.arange(linear.n_classes)


def tune_soft(
    linear: LinearDecoder, held_out: HeldOut, fixed: Mapping[str, Any] = NOTHING
) -> tuple[SoftDecoder, float]:
    """Return a decoder that scores all classes as the held-out rows like best, and its accuracy.

    The scoring is chosen among the classes that are best without any. Where even that would take
    too long, it is left plain, and the accuracy is 0. What is fixed is not chosen.
    """
    plain = SoftDecoder(linear.weight, linear.bias, **fixed)
    n = rows_to_score(linear)
    if n < min(256, len(held_out.y)):
        return plain, 0.0
    sample = held_out.take(n)
    classes, scores = plain.top_k(sample.encoded, min(WIDTH, linear.n_classes))
    doubts = np.zeros_like(scores)
    logits = sample.encoded.numbers()
    candidates = Candidates(linear, logits, classes, doubts, sample.y, sample.weight)
    scoring = best_scoring(candidates, {**fixed, "closeness": 0.0})
    decoder = SoftDecoder(
        linear.weight, linear.bias, sharpness=scoring.sharpness, prior=scoring.prior
    )
    return decoder, accuracy(sample.right(decoder), sample.weight)


def _try_out(
    linear: LinearDecoder,
    codes: PackedCodes,
    labels: Ints,
    held_out: HeldOut,
    fixed: Mapping[str, float],
) -> _Trial:
    from dsnc.codes import HammingIndex

    sample = held_out.take(min(MAX_ROWS, max(256, _MAX_COMPARED // max(1, len(codes)))))
    found = HammingIndex(codes).search_classes(sample.encoded.codes, SIZES[-1], labels)
    doubts = np.empty(found.classes.shape, dtype=np.float32)
    step = max(1, _AT_ONCE // (found.classes.shape[1] * linear.n_bits))
    for rows, block in sample.encoded.blocks(step):
        shape = (*found.classes[rows].shape, -1)
        bits = codes.take(found.rows[rows].ravel()).to_bits().reshape(shape)
        differs = bits != block.codes.to_bits()[:, None, :]
        doubts[rows] = np.einsum("ij,ikj->ik", np.abs(block.numbers()), differs)
    classes, weight = found.classes, sample.weight
    logits = sample.encoded.numbers()
    candidates = Candidates(linear, logits, classes, doubts, sample.y, weight)
    scoring = best_scoring(candidates, fixed)
    beyond = (found.distances - found.distances[:, :1]).astype(np.int64)
    nearest = found.distances[:, 0].astype(np.int64)
    return _Trial(candidates, beyond, nearest, scoring, candidates.scores(scoring))


def _cheapest(
    linear: LinearDecoder, codes: PackedCodes, labels: Ints, trial: _Trial, target: float
) -> Tuned:
    """Return the cheapest setting that reaches the target, or else comes close to the best."""
    radii = _radii(linear)
    sizes = [*(s for s in SIZES if s < linear.n_classes), min(SIZES[-1], linear.n_classes)]
    most = [trial.is_right(sizes[-1], radius) for radius in radii]
    best = max(most, key=lambda right: int(right.sum()))
    missing = target - accuracy(best, trial.candidates.weight)  # negative: what may be lost

    def reaches(size: int, radius: int, least: float = missing) -> bool:
        return lower_bound(trial.is_right(size, radius), best, trial.candidates.weight) >= least

    reached: list[tuple[int, int]] = []
    for least in (missing, -TOLERANCE):
        for radius in radii:
            enough = (size for size in sizes if reaches(size, radius, least))
            reached += [(size, radius) for size in itertools.islice(enough, 1)]
        if reached:
            break
    prices = {pair: _nanoseconds(linear, len(codes), trial, *pair) for pair in reached}
    size, radius = min(prices, key=lambda pair: prices[pair])
    settings = {"size": size, "radius": radius, **trial.scoring._asdict()}
    return Tuned(
        ShortlistDecoder(linear, codes, labels, **settings),
        trial.accuracy(size, radius),
        trial.n_candidates(size, radius),
        prices[size, radius],
        reaches(size, radius),
        trial.is_right(size, radius),
    )


def _nanoseconds(
    linear: LinearDecoder, n_codes: int, trial: _Trial, size: int, radius: int
) -> float:
    """Return what a row costs on a typical machine."""
    from dsnc.codes.multi_index import nominal_ns

    searching = nominal_ns(linear.n_bits, n_codes, trial.nearest + radius)
    return searching + trial.n_candidates(size, radius) * (_CANDIDATE_NS + linear.n_bits / 8)


def _radii(linear: LinearDecoder) -> list[int]:
    return [*(radius for radius in RADII if radius < linear.n_bits), linear.n_bits]


def _places(classes: Ints, y: Ints) -> Ints:
    """Return where in its row each true class is; -1 where it is not."""
    is_true = classes == y[:, None]
    return np.where(is_true.any(axis=1), is_true.argmax(axis=1), -1)
