"""Settings of a shortlist, found on rows that training did not see."""

import itertools
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import PackedCodes
from dsnc.decoders.checks import Ints
from dsnc.decoders.evidence import HeldOut
from dsnc.decoders.linear import Floats, LinearDecoder
from dsnc.decoders.scoring import (
    CLEARLY,
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

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
RADII = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24)
_MOST_ROWS = 8192  # of a trial: tenths of a point count here
_MAX_COMPARED = 1 << 30  # codes, in the search for candidates
_THREADS = 2  # each has long lists, and an index:
_LARGE = 1 << 20  # one at a time of so many codes
_ROWS = 512  # whose lists are held at a time
_SLOWER = 1.0  # standard deviations by which a slower set of codes must be better
_FOR_MORE = 1.25  # times the nanoseconds, for all the rows that they can save
# What a row takes on a typical machine beside the search, and a candidate: to be listed, read and
# scored. Where a class has several codes, it must be found out which of them is the nearest.
_ROW_NS, _CANDIDATE_NS, _BIT_NS, _SEVERAL_NS = 700.0, 35.0, 0.25, 45.0


class _Trial:
    """What any number of the nearest classes of held-out rows is worth.

    Parameters
    ----------
    scoring : Scoring
        What decides among the classes.
    distances : array of shape (n, m)
        Of the nearest m classes of each row, ascending.
    answers : bool array of shape (n, m)
        Whether the best of the first class, of the first two and so on is right.
    weight : array of shape (n,), optional
    radii : list of int
        How far beyond the nearest classes may be looked for.
    """

    def __init__(
        self,
        scoring: Scoring,
        distances: NDArray[np.int16],
        answers: NDArray[np.bool_],
        weight: Floats | None,
        radii: list[int],
    ) -> None:
        self.scoring, self.weight, self._answers = scoring, weight, answers
        self.radii = radii
        self.nearest = distances[:, 0].astype(np.int64)
        self._beyond = distances - distances[:, :1]  # bits beyond the nearest
        self._within = dict[int, Ints]()

    def _counts(self, size: int, radius: int) -> Ints:
        """Return how many classes of each row are candidates."""
        if radius not in self._within:
            self._within[radius] = np.count_nonzero(self._beyond <= radius, axis=1)
        return np.minimum(self._within[radius], size)

    @cached_property
    def most(self) -> NDArray[np.bool_]:
        """Where the longest lists are right: of any radius, unless a smaller one is better.

        Of a dozen radii one is lucky: it must be clearly better.
        """
        widest = self.is_right(SIZES[-1], self.radii[-1])
        answers = (self.is_right(SIZES[-1], radius) for radius in self.radii)
        best = max(answers, key=lambda right: accuracy(right, self.weight))
        is_better = lower_bound(best, widest, self.weight, deviations=CLEARLY) > 0
        return best if is_better else widest

    def loss(self, size: int, radius: int) -> float:
        """Return the share of the rows that only the longest lists get right, at worst.

        Rows that shorter lists get right instead do not make up for them: these come by chance.
        """
        kept = self.is_right(size, radius) & self.most
        return -lower_bound(kept, self.most, self.weight)

    def is_right(self, size: int, radius: int) -> NDArray[np.bool_]:
        counts = self._counts(size, radius)
        return self._answers[np.arange(len(counts)), counts - 1]

    def accuracy(self, size: int, radius: int) -> float:
        return accuracy(self.is_right(size, radius), self.weight)

    def n_candidates(self, size: int, radius: int) -> float:
        return float(self._counts(size, radius).mean())


class Tuned(NamedTuple):
    """A shortlist, and what it is worth on the held-out rows."""

    decoder: ShortlistDecoder
    accuracy: float
    candidates: float  # of a row, on average
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

    For each set of known codes, the scoring that is most accurate is taken, then the cheapest
    radius and size that lose no more of the rows than the tolerance, and then those that lose least
    for a little more time. Few rows cannot tell small shares: a standard deviation counts as lost.
    Between the sets it is the other way round: the slower one must be clearly better.

    `known` has the sets of codes and labels by name, and `scoring` is what is not to choose of it.
    Returns the name of the chosen set, what it gives, and what each set would have given.
    """
    largest_first = sorted(known, key=lambda name: -len(known[name][0]))
    is_large = len(known[largest_first[0]][0]) >= _LARGE
    # Most of it is numpy and kernels, without the GIL.
    with ThreadPoolExecutor(1 if is_large else _THREADS) as pool:
        found = {
            name: pool.submit(_try_out, linear, *known[name], held_out, scoring)
            for name in largest_first
        }
        trials = {name: found[name].result() for name in known}
    tried = {name: _settled(name, linear, *known[name], trial) for name, trial in trials.items()}
    answers, weight = held_out.common(*(each.right for each in tried.values()))
    worth = {name: accuracy(right, weight) for name, right in zip(tried, answers, strict=True)}
    most_accurate = tried[max(worth, key=worth.__getitem__)]
    best = next(
        name
        for name in sorted(tried, key=lambda name: tried[name].nanoseconds)
        if not is_clearly_better(most_accurate.right, tried[name].right, held_out, _SLOWER)
    )
    return best, tried[best], tried


def _try_out(
    linear: LinearDecoder,
    codes: PackedCodes,
    labels: Ints,
    held_out: HeldOut,
    fixed: Mapping[str, float],
) -> _Trial:
    from dsnc.codes import HammingIndex
    from dsnc.codes._kernels.rerank import best_so_far, doubt

    sample = held_out.take(min(_MOST_ROWS, max(256, _MAX_COMPARED // max(1, len(codes)))))
    index, shape = HammingIndex(codes), (len(sample.targets), min(SIZES[-1], linear.n_classes))
    # Long lists of many rows: each block of them leaves small numbers.
    distances, classes = np.empty(shape, np.int16), np.empty(shape, np.int32)
    doubts, answers = np.empty(shape, np.float32), np.empty(shape, np.bool_)
    for rows, block in sample.encoded.blocks(_ROWS):
        found = index.search_classes(block.codes, shape[1], labels)
        distances[rows], classes[rows] = found.distances, found.classes
        doubt(block.codes.words, codes.words, found.rows, block.numbers(), doubts[rows])

    def candidates(rows: slice, width: int) -> Candidates:
        near, far = classes[rows, :width].astype(np.int64), doubts[rows, :width].copy()
        weight = None if sample.weight is None else sample.weight[rows]
        logits = sample.encoded.numbers()[rows]
        return Candidates(linear, logits, near, far, sample.targets.take(rows), weight)

    scoring = best_scoring(candidates(slice(None), WIDTH), fixed)
    for rows, _ in sample.encoded.blocks(_ROWS):
        some = candidates(rows, shape[1])
        best_so_far(some.scores(scoring), some.is_true, answers[rows])
    return _Trial(scoring, distances, answers, sample.weight, _radii(linear))


def _settled(
    name: str, linear: LinearDecoder, codes: PackedCodes, labels: Ints, trial: _Trial
) -> Tuned:
    """Return the setting that loses least for little more than the cheapest that will do."""
    from dsnc.codes.multi_index import nominal_ns

    radii = trial.radii
    sizes = [*(s for s in SIZES if s < linear.n_classes), min(SIZES[-1], linear.n_classes)]
    searching = {r: nominal_ns(linear.n_bits, len(codes), trial.nearest + r) for r in radii}
    candidate = _CANDIDATE_NS + _BIT_NS * linear.n_bits
    if len(codes) > linear.n_classes:
        candidate += _SEVERAL_NS
    pairs = list(itertools.product(sizes, radii))
    losses = {pair: trial.loss(*pair) for pair in pairs}
    prices = {
        (size, radius): _ROW_NS + searching[radius] + candidate * trial.n_candidates(size, radius)
        for size, radius in pairs
        if losses[size, radius] <= TOLERANCE
    }
    most_ns = _FOR_MORE * min(prices.values())
    size, radius = min(
        (pair for pair in prices if prices[pair] <= most_ns),
        key=lambda pair: (losses[pair], prices[pair]),
    )
    settings = {"size": size, "radius": radius, **trial.scoring._asdict()}
    return Tuned(
        ShortlistDecoder(linear, codes, labels, codes_of=name, **settings),
        trial.accuracy(size, radius),
        trial.n_candidates(size, radius),
        prices[size, radius],
        trial.is_right(size, radius),
    )


def _radii(linear: LinearDecoder) -> list[int]:
    return [*(radius for radius in RADII if radius < linear.n_bits), linear.n_bits]
