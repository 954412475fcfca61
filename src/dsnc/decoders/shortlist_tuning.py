"""Settings of a shortlist, found on rows that training did not see."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import PackedCodes
from dsnc.decoders.checks import Ints
from dsnc.decoders.evidence import HeldOut
from dsnc.decoders.linear import Floats, LinearDecoder
from dsnc.decoders.scoring import (
    NOTHING,
    TOLERANCE,
    WIDTH,
    Candidates,
    Scoring,
    accuracy,
    best_scoring,
    is_clearly_better,
    lower_bound,
)
from dsnc.decoders.shortlist import ShortlistDecoder
from dsnc.rows import draw_rows

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
FLIPS = (8, 16, 32, 64, 128)  # that may look likely codes up;
_FEWEST_CODES = 20_000  # of fewer codes, the nearest are found exactly in less time
_MOST_ROWS = 8192  # of a trial: tenths of a point count here
_MAX_COMPARED = 1 << 30  # codes, in the search for candidates
_THREADS = 2  # each has long lists, and an index:
_LARGE = 1 << 20  # one at a time of so many codes
_ROWS = 512  # whose lists are held at a time
_SLOWER = 1.0  # standard deviations by which a slower set of codes must be better
# What a row takes on a typical machine beside the search, and a candidate: to be listed, read and
# scored. Where a class has several codes, it must be found out which of them is the nearest.
_ROW_NS, _CANDIDATE_NS, _BIT_NS, _SEVERAL_NS = 700.0, 35.0, 0.25, 45.0
_FLIP_NS, _FOUND_NS = 90.0, 45.0  # of a lookup in a part of the code, and of each code it finds
_COUNTED = 1 << 16  # codes that tell how many a lookup finds
_BYTE_NS = 0.05  # of a scanned code


class _Trial:
    """What any number of the nearest classes of held-out rows is worth.

    Parameters
    ----------
    scoring : Scoring
        What decides among the classes.
    answers : bool array of shape (n, m)
        Whether the best of the first class, of the first two and so on is right.
    weight : array of shape (n,), optional
    """

    def __init__(self, scoring: Scoring, answers: NDArray[np.bool_], weight: Floats | None) -> None:
        self.scoring, self.weight, self._answers = scoring, weight, answers
        self.most = answers[:, -1]  # where the longest lists are right

    def loss(self, size: int) -> float:
        """Return the share of the rows that only the longest lists get right, at worst.

        Rows that shorter lists get right instead do not make up for them: these come by chance.
        """
        kept = self.is_right(size) & self.most
        return -lower_bound(kept, self.most, self.weight)

    def is_right(self, size: int) -> NDArray[np.bool_]:
        return self._answers[:, size - 1]

    def size(self) -> int:
        """Return the smallest size that loses no more than the tolerance."""
        width: int = self._answers.shape[1]
        sizes = [size for size in SIZES if size < width]
        return next((size for size in sizes if self.loss(size) <= TOLERANCE), width)


class Tuned(NamedTuple):
    """A shortlist, and what it is worth on the held-out rows."""

    decoder: ShortlistDecoder
    accuracy: float
    nanoseconds: float  # of a row, on a typical machine
    right: NDArray[np.bool_]  # on held-out rows, as `HeldOut.take` has them


def tune_shortlist(
    linear: LinearDecoder,
    known: dict[str, tuple[PackedCodes, Ints]],
    held_out: HeldOut,
    *,
    scoring: Mapping[str, float] = NOTHING,
) -> tuple[str, Tuned, dict[str, Tuned]]:
    """Find a shortlist that loses less than a tenth of a point and is next to the cheapest.

    For each set of known codes, the scoring that is most accurate is taken, then the smallest size
    that loses no more of the rows than the tolerance, and then the cheapest search. Few rows cannot
    tell small shares: a standard deviation counts as lost. Between the sets it is the other way
    round: the slower one must be clearly better.

    `known` has the sets of codes and labels by name, and `scoring` is what is not to choose of it.
    Returns the name of the chosen set, what it gives, and what each set would have given.
    """
    largest_first = sorted(known, key=lambda name: -len(known[name][0]))
    is_large = len(known[largest_first[0]][0]) >= _LARGE
    # Most of it is numpy and kernels, without the GIL.
    with ThreadPoolExecutor(1 if is_large else _THREADS) as pool:
        found = {
            name: pool.submit(_tuned, name, linear, *known[name], held_out, scoring)
            for name in largest_first
        }
        tried = {name: found[name].result() for name in known}
    answers, weight = held_out.common(*(each.right for each in tried.values()))
    worth = {name: accuracy(right, weight) for name, right in zip(tried, answers, strict=True)}
    most_accurate = tried[max(worth, key=worth.__getitem__)]
    best = next(
        name
        for name in sorted(tried, key=lambda name: tried[name].nanoseconds)
        if not is_clearly_better(most_accurate.right, tried[name].right, held_out, _SLOWER)
    )
    return best, tried[best], tried


def _tuned(
    name: str,
    linear: LinearDecoder,
    codes: PackedCodes,
    labels: Ints,
    held_out: HeldOut,
    fixed: Mapping[str, float],
) -> Tuned:
    sample = held_out.take(min(_MOST_ROWS, max(256, _MAX_COMPARED // max(1, len(codes)))))
    flips: tuple[int, ...] = (0,)
    if len(codes) >= _FEWEST_CODES and sample.targets.is_single:
        # Where codes are much alike, a lookup finds so many that the nearest of all take less time.
        flips = FLIPS if _flip_nanoseconds(codes) * FLIPS[0] < _scan_nanoseconds(codes) else (0,)
    widest = ShortlistDecoder(
        linear, codes, labels, codes_of=name, size=min(SIZES[-1], linear.n_classes), flips=flips[-1]
    )
    trial = _try_out(widest, sample, fixed)
    size = trial.size()
    best = widest.with_settings(size=size, **trial.scoring._asdict())
    right = trial.is_right(size)
    for fewer in flips[:-1]:
        decoder = best.with_settings(flips=fewer)
        own = sample.right(decoder)
        if -lower_bound(own & right, right, sample.weight) <= TOLERANCE:
            best, right = decoder, own
            break
    return Tuned(best, accuracy(right, sample.weight), _nanoseconds(best), right)


def _try_out(
    decoder: ShortlistDecoder, sample: HeldOut, fixed: Mapping[str, float] = NOTHING
) -> _Trial:
    """Return what the first classes that a shortlist finds for each row are worth."""
    shape = len(sample.targets), decoder.size
    # Long lists of many rows: each block of them leaves small numbers.
    classes, costs = np.empty(shape, np.int32), np.empty(shape, np.float32)
    answers = np.empty(shape, np.bool_)
    for rows, block in sample.encoded.blocks(_ROWS):
        classes[rows], costs[rows] = decoder.nearest(block, decoder.size)

    def candidates(rows: slice, width: int) -> Candidates:
        near, far = classes[rows, :width].astype(np.int64), costs[rows, :width].copy()
        weight = None if sample.weight is None else sample.weight[rows]
        logits, targets = sample.encoded.numbers()[rows], sample.targets.take(rows)
        return Candidates(decoder.linear, logits, near, far, targets, weight)

    scoring = best_scoring(candidates(slice(None), WIDTH), fixed)
    for rows, _ in sample.encoded.blocks(_ROWS):
        some = candidates(rows, decoder.size)
        answers[rows] = _right_so_far(some.scores(scoring), some.is_true)
    return _Trial(scoring, answers, sample.weight)


def _right_so_far(scores: Floats, is_true: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell of each place whether the best of its row up to there is right; the first of equals."""
    best = np.maximum.accumulate(scores, axis=1)
    is_better = np.ones(scores.shape, dtype=np.bool_)
    is_better[:, 1:] = scores[:, 1:] > best[:, :-1]
    places = np.where(is_better, np.arange(scores.shape[1]), 0)
    return np.take_along_axis(is_true, np.maximum.accumulate(places, axis=1), axis=1)


def _nanoseconds(decoder: ShortlistDecoder) -> float:
    """Return what a row takes on a typical machine."""
    searching = _scan_nanoseconds(decoder.codes)
    if decoder.flips:
        searching = decoder.flips * _flip_nanoseconds(decoder.codes)
    candidate = _CANDIDATE_NS + _BIT_NS * decoder.n_bits
    if len(decoder.codes) > decoder.n_classes:
        candidate += _SEVERAL_NS
    return float(_ROW_NS + searching + candidate * decoder.size)


def _scan_nanoseconds(codes: PackedCodes) -> float:
    """Return what it takes to compare a row with all codes."""
    return _BYTE_NS * len(codes) * 4 * -(-codes.n_bits // 32)


def _flip_nanoseconds(codes: PackedCodes) -> float:
    """Return what a lookup in each part of the code takes, with the codes that it finds.

    It finds as many as a known code shares the part with, on average over all codes.
    """
    n = len(codes)
    rows = draw_rows(n, _COUNTED)
    n_parts = max(1, round(codes.n_bits / max(1.0, np.log2(n))))
    total = 0.0
    for part in np.array_split(codes.take(rows).to_bits(), n_parts, axis=1):
        counts = np.unique(part @ (1 << np.arange(part.shape[1])), return_counts=True)[1]
        others = float((counts.astype(np.float64) ** 2).sum()) / len(rows) - 1
        total += _FLIP_NS + _FOUND_NS * (1 + others * n / len(rows))
    return total
