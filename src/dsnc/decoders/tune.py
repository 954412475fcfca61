"""Settings of decoders, found on rows that training did not see."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import PackedCodes
from dsnc.decoders.calibration import fit_confidence, fit_temperature
from dsnc.decoders.checks import Ints
from dsnc.decoders.linear import Floats, LinearDecoder
from dsnc.decoders.nearest import majority_codes
from dsnc.decoders.shortlist import ShortlistDecoder
from dsnc.decoders.soft import SoftDecoder

TOLERANCE = 0.001  # accuracy that a cheaper setting may lose
SIZES = (1, 2, 4, 8, 16, 32, 64)
RADII = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24)
CLOSENESS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
MAX_ROWS = 4096  # of a trial: accuracies are known to half a point at worst
_MAX_PRODUCTS = 1 << 33  # of scoring all classes; seconds
_MAX_COMPARED = 1 << 31  # codes, in the search for candidates
_MAX_SCORES = 1 << 24  # of all classes, for a temperature
_BEST = 1000  # classes of a row, for a temperature
_EVERYWHERE = 1 << 20  # a radius beyond all codes
_AT_ONCE = 1 << 22  # numbers in a temporary


class HeldOut(NamedTuple):
    """Rows that training did not see, as the encoder sees them."""

    codes: PackedCodes
    logits: Floats
    y: Ints
    weight: NDArray[np.float32] | None = None  # of a row, in how sure a decoder may be

    def take(self, n: int) -> "HeldOut":
        """Return n of the rows, evenly spaced, or all."""
        if n >= len(self.y):
            return self
        rows = np.linspace(0, len(self.y) - 1, max(1, n)).astype(np.int64)
        weight = None if self.weight is None else self.weight[rows]
        return HeldOut(self.codes.take(rows), self.logits[rows], self.y[rows], weight)


@dataclass(frozen=True)
class _Trial:
    """The nearest classes of held-out rows, and what would decide among them."""

    classes: Ints
    beyond: NDArray[np.int64]  # bits beyond the nearest
    scores: Floats
    doubts: Floats
    y: Ints
    nearest: Ints  # distance of the nearest

    def is_right(self, size: int, radius: int, closeness: float) -> NDArray[np.bool_]:
        part = np.s_[:, :size]
        scores = self.scores[part] - np.float32(closeness) * self.doubts[part]
        scores[self.beyond[part] > radius] = -np.inf
        best = self.classes[np.arange(len(self.y)), scores.argmax(axis=1)]
        return np.asarray(best == self.y)

    def accuracy(self, size: int, radius: int, closeness: float) -> float:
        return float(self.is_right(size, radius, closeness).mean())

    def candidates(self, size: int, radius: int) -> float:
        return float((self.beyond[:, :size] <= radius).sum(axis=1).mean())


class Tuned(NamedTuple):
    """A shortlist, and what it is worth on the held-out rows."""

    decoder: ShortlistDecoder
    accuracy: float
    candidates: float  # of a row, on average
    nanoseconds: float  # of a row, on a typical machine
    reaches: bool  # whether it loses no more than the tolerance


def tune_shortlist(
    linear: LinearDecoder,
    known: dict[str, tuple[PackedCodes, Ints]],
    held_out: HeldOut,
) -> tuple[str, Tuned, dict[str, Tuned]]:
    """Find the cheapest shortlist that loses less than a tenth of a point.

    For each set of known codes, the weight of the doubt that is most accurate is taken, then the
    smallest radius and the smallest size that are as accurate as the best of all settings and as
    scoring all classes, less the tolerance. Few rows cannot tell small differences: what is not
    clearly as good, by a standard deviation, counts as worse. Between the sets it is the other way
    round: the slower one must be clearly better.

    Parameters
    ----------
    linear : LinearDecoder
    known : dict
        Name to (codes, labels): the sets of codes to choose from.
    held_out : HeldOut

    Returns
    -------
    name : str
        Of the chosen set.
    tuned : Tuned
    tried : dict
        What each set would have given.
    """
    trials = {name: _try_out(linear, *codes, held_out) for name, codes in known.items()}
    closeness = {name: _best_closeness(trial) for name, trial in trials.items()}
    reached = [
        trials[name].accuracy(SIZES[-1], radius, closeness[name])
        for name in known
        for radius in _radii(linear)
    ]
    target = max(_accuracy_of_all(linear, held_out), *reached) - TOLERANCE
    tried = {
        name: _cheapest(linear, *known[name], trials[name], closeness[name], target)
        for name in known
    }
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
        rivals = [(trials[key], tried[key].decoder) for key in (best, name)]
        if not _is_clearly_better(*rivals):
            best = name
            break
    return best, tried[best], tried


def _is_clearly_better(
    first: tuple[_Trial, ShortlistDecoder], second: tuple[_Trial, ShortlistDecoder]
) -> bool:
    """Tell whether one shortlist beats another by more than chance and the tolerance."""
    one, other = (t.is_right(d.size, d.radius, d.closeness) for t, d in (first, second))
    n = min(len(one), len(other))  # of equally spaced rows; the same ones where there are as many
    if len(one) == len(other):
        return _lower_bound(one, other) > TOLERANCE
    spread = math.sqrt((one.var() + other.var()) / n)
    return bool(one.mean() - other.mean() - spread > TOLERANCE)


def calibrate(decoder: ShortlistDecoder, held_out: HeldOut) -> ShortlistDecoder:
    """Return the same shortlist with honest probabilities."""
    size = min(decoder.size, decoder.n_classes)
    ranked = [
        decoder.candidates(codes, logits)
        for codes, logits in _row_blocks(held_out.codes, held_out.logits, size)
    ]
    classes, scores = (np.concatenate(parts) for parts in zip(*ranked, strict=True))
    truth = _places(classes, held_out.y)
    confidence = fit_confidence(scores, truth, held_out.weight)._asdict()
    return decoder.with_settings(decoder.linear, decoder.codes, decoder.labels, **confidence)


def temperature_of(decoder: LinearDecoder, held_out: HeldOut) -> float:
    """Return the temperature that makes the probabilities of a linear decoder honest."""
    sample = held_out.take(max(64, _MAX_SCORES // decoder.n_classes))
    k = min(decoder.n_classes, _BEST)  # the others hardly count
    classes, scores = decoder.top_k(sample.codes, sample.logits, k)
    return fit_temperature(scores, _places(classes, sample.y), sample.weight)


def training_codes(linear: LinearDecoder, codes: PackedCodes, y: Ints) -> tuple[PackedCodes, Ints]:
    """Return the distinct training codes and their classes, and a code for classes without one."""
    distinct, labels = majority_codes(codes, y)
    has_code = np.zeros(linear.n_classes, dtype=np.bool_)
    has_code[labels] = True
    without = np.flatnonzero(~has_code)
    ideal = weight_codes(linear)[0].take(without)
    return PackedCodes.concatenate([distinct, ideal]), np.concatenate([labels, without])


def weight_codes(linear: LinearDecoder) -> tuple[PackedCodes, Ints]:
    """Return the code that each class would like best: the signs of its weights."""
    return PackedCodes.from_logits(linear.weight), np.arange(linear.n_classes)


def _try_out(linear: LinearDecoder, codes: PackedCodes, labels: Ints, held_out: HeldOut) -> _Trial:
    from dsnc.codes import HammingIndex

    sample = held_out.take(min(MAX_ROWS, max(256, _MAX_COMPARED // max(1, len(codes)))))
    found = HammingIndex(codes).search_classes(sample.codes, SIZES[-1], labels)
    scores = np.empty(found.classes.shape, dtype=np.float32)
    doubts = np.empty_like(scores)
    step = max(1, _AT_ONCE // (found.classes.shape[1] * linear.n_bits))
    soft = np.tanh(sample.logits * np.float32(0.5))
    for start in range(0, len(sample.y), step):
        rows = slice(start, start + step)
        classes = found.classes[rows]
        scores[rows] = np.einsum("ij,ikj->ik", soft[rows], linear.weight[classes])
        scores[rows] += linear.bias[classes]
        bits = codes.take(found.rows[rows].ravel()).to_bits().reshape(*classes.shape, -1)
        differs = bits != sample.codes.take(rows).to_bits()[:, None, :]
        doubts[rows] = np.einsum("ij,ikj->ik", np.abs(sample.logits[rows]), differs)
    beyond = (found.distances - found.distances[:, :1]).astype(np.int64)
    nearest = found.distances[:, 0].astype(np.int64)
    return _Trial(found.classes, beyond, scores, doubts, sample.y, nearest)


def _best_closeness(trial: _Trial) -> float:
    whole = [trial.is_right(SIZES[-1], _EVERYWHERE, closeness) for closeness in CLOSENESS]
    best = int(np.argmax([right.sum() for right in whole]))
    return CLOSENESS[best] if _lower_bound(whole[best], whole[0]) > 0 else 0.0


def _lower_bound(right: NDArray[np.bool_], reference: NDArray[np.bool_]) -> float:
    """Return by how much one is more accurate than the other, less a standard deviation."""
    gain = int(right.sum()) - int(reference.sum())
    return (gain - math.sqrt((right != reference).sum())) / len(right)


def _cheapest(
    linear: LinearDecoder,
    codes: PackedCodes,
    labels: Ints,
    trial: _Trial,
    closeness: float,
    target: float,
) -> Tuned:
    from dsnc.codes.multi_index import nominal_ns

    radii = _radii(linear)
    most = [trial.is_right(SIZES[-1], radius, closeness) for radius in radii]
    best = max(most, key=lambda right: int(right.sum()))
    allowed = target - float(best.mean())  # negative: what may be lost

    def reaches(size: int, radius: int) -> bool:
        return _lower_bound(trial.is_right(size, radius, closeness), best) >= allowed

    radius = next((r for r in radii if reaches(SIZES[-1], r)), radii[-1])
    sizes = [*(s for s in SIZES if s < linear.n_classes), min(SIZES[-1], linear.n_classes)]
    size = next((s for s in sizes if reaches(s, radius)), sizes[-1])
    candidates = trial.candidates(size, radius)
    searching = nominal_ns(linear.n_bits, len(codes), trial.nearest + radius)
    return Tuned(
        ShortlistDecoder(linear, codes, labels, size=size, radius=radius, closeness=closeness),
        trial.accuracy(size, radius, closeness),
        candidates,
        searching + candidates * linear.n_bits / 8,
        reaches(size, radius),
    )


def _radii(linear: LinearDecoder) -> list[int]:
    return [*(radius for radius in RADII if radius < linear.n_bits), linear.n_bits]


def _accuracy_of_all(linear: LinearDecoder, held_out: HeldOut) -> float:
    """Return the accuracy of scoring all classes on soft bits; 0 where that takes too long."""
    n = min(MAX_ROWS, _MAX_PRODUCTS // (linear.n_classes * linear.n_bits))
    if n < min(256, len(held_out.y)):
        return 0.0
    sample = held_out.take(n)
    answers = SoftDecoder(linear.weight, linear.bias).predict(sample.codes, sample.logits)
    return float((answers == sample.y).mean())


def _places(classes: Ints, y: Ints) -> Ints:
    """Return where in its row each true class is; -1 where it is not."""
    is_true = classes == y[:, None]
    return np.where(is_true.any(axis=1), is_true.argmax(axis=1), -1)


def _row_blocks(codes: PackedCodes, logits: Floats, width: int) -> list[tuple[PackedCodes, Floats]]:
    step = max(1, _AT_ONCE // max(1, width))
    starts = range(0, max(1, len(codes)), step)
    return [(codes.take(slice(s, s + step)), logits[s : s + step]) for s in starts]
