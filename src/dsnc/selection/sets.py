"""Which labels a row gets: probabilities of labels, and thresholds, from rows held out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.checks import real
from dsnc.decoders import (
    Decoder,
    Evidence,
    HeldOut,
    LinearDecoder,
    ShortlistDecoder,
    SoftDecoder,
)
from dsnc.decoders.calibration import fit_curve
from dsnc.decoders.known_codes import weight_codes
from dsnc.decoders.scoring import TOLERANCE, accuracy
from dsnc.decoders.set_rule import SetRule
from dsnc.errors import InputError, shorten

AVERAGES = ("micro", "macro", "samples")
_SIZE = 64  # candidates of a row at least, among which its labels are
_SIZES = (64, 128, 256, 512, 1024)  # of lists that are tried
_WORTH_IT = 8  # times as many labels are too many to be all scored
_ROWS = 1 << 14  # that fit the rule
_THRESHOLDS = 256  # that are tried where no sort finds the best
_FEW = 10  # rows of a label; with fewer, it takes the threshold of all
_UNFITTED = 0.5


@dataclass(frozen=True)
class SetSettings:
    """What a user may say about the sets.

    Parameters
    ----------
    threshold : "micro", "macro", "samples" or float
        The F1 that the threshold is fitted for, or the threshold.
    per_label : bool
        Whether each label gets a threshold of its own.
    """

    threshold: Any = "micro"
    per_label: bool = False

    def check(self) -> None:
        """Refuse what cannot work."""
        if isinstance(self.threshold, str):
            if self.threshold not in AVERAGES:
                raise InputError(
                    f"threshold={shorten(self.threshold)} is not one of {', '.join(AVERAGES)}; "
                    "name the F1 to fit it for, or give a probability."
                )
        else:
            real("threshold", self.threshold, most=1.0)
            if self.per_label:
                raise InputError(
                    f"per_label_threshold=True, but threshold={self.threshold} is given for all "
                    "labels; name the F1 to fit thresholds for, such as 'micro'."
                )


def wide_enough(decoder: Decoder, evidence: Evidence, *, short: bool = False) -> Decoder:
    """Return a decoder whose first five labels are about as good as if all had been scored.

    What is chosen by its first answer alone may be too short a list, or longer than it must be.
    Where no list is good enough, all labels are scored; if it must stay `short`, it is the best.
    """
    everything, rows = SoftDecoder.make(evidence), evidence.rows
    if rows is None:
        return decoder.reaching(_SIZE)
    sample = rows.take(_ROWS >> 2)
    least = accuracy(sample.worth(everything), sample.weight) - TOLERANCE
    tried: list[tuple[float, Decoder]] = []
    for shortlist in _shortlists(decoder, everything):
        tried.append((accuracy(sample.worth(shortlist), sample.weight), shortlist))
        if tried[-1][0] >= least:
            return shortlist
    return max(tried, key=lambda each: each[0])[1] if short and tried else everything


def _shortlists(decoder: Decoder, everything: SoftDecoder) -> Iterator[ShortlistDecoder]:
    """Yield lists of labels with near codes, the cheapest first: the one at hand, longer ones."""
    if isinstance(decoder, ShortlistDecoder):
        yield decoder.reaching(_SIZE)
    linear = LinearDecoder(everything.weight, everything.bias)
    scoring: dict[str, Any] = {"sharpness": everything.sharpness, "prior": everything.prior}
    for size in _SIZES:
        if _WORTH_IT * size <= everything.n_classes:
            yield ShortlistDecoder(linear, *weight_codes(linear), size=size, **scoring)


def fit_rule(stages: Decoder, rows: HeldOut | None, settings: SetSettings, most: int) -> SetRule:
    """Return the rule that makes sets of the scores of both stages; `most` is the largest set.

    Without rows, scores are taken for log-odds, and the threshold is a half.
    """
    size = min(stages.n_classes, max(_SIZE, 2 * most))
    given = None if isinstance(settings.threshold, str) else float(settings.threshold)
    if rows is None:
        return SetRule(size=size, threshold=(_UNFITTED if given is None else given,))
    sample = rows.take(_ROWS)
    classes, scores = stages.candidates(sample.encoded, size)
    found = classes >= 0
    is_true = sample.targets.contains(classes) & found
    weight = np.ones(len(classes)) if sample.weight is None else sample.weight.astype(np.float64)
    each = np.broadcast_to(weight[:, None], classes.shape)[found]
    curve = fit_curve(scores[found].astype(np.float64), is_true[found], each)
    if given is not None:
        return SetRule(*curve, (given,), size)
    trial = _Trial(classes, SetRule(*curve).probabilities(scores), is_true, sample, weight)
    threshold = trial.best(str(settings.threshold))
    if settings.per_label:
        return SetRule(*curve, trial.best_of_each(threshold), size)
    return SetRule(*curve, (threshold,), size)


@dataclass(frozen=True)
class _Trial:
    """Candidates of held-out rows, their probabilities, and whether they are right."""

    classes: NDArray[np.int64]
    probabilities: NDArray[np.float32]
    is_true: NDArray[np.bool_]
    rows: HeldOut
    weight: NDArray[np.float64]

    def best(self, average: str) -> float:
        """Return the threshold with the highest F1."""
        if average == "micro":
            found = self.classes >= 0
            each = np.broadcast_to(self.weight[:, None], found.shape)[found]
            n_true = float(self._counts().sum())
            answers = self.probabilities[found], self.is_true[found], each
            return _best_cut(*answers, n_true, _UNFITTED)
        quantiles = np.linspace(0, 1, _THRESHOLDS)
        likely = np.unique(self.probabilities[self.is_true])
        tried = np.unique(np.quantile(likely, quantiles)) if len(likely) else [_UNFITTED]
        return float(max(tried, key=lambda threshold: self._f1(threshold, average)))

    def _f1(self, threshold: float, average: str) -> float:
        """Return the F1 of rows or of labels."""
        chosen = (self.classes >= 0) & (self.probabilities >= threshold)
        if average == "samples":
            hits = (chosen & self.is_true).sum(axis=1)
            sizes = chosen.sum(axis=1) + self.rows.targets.sizes()
            return float(np.average(2 * hits / np.maximum(sizes, 1), weights=self.weight))
        hits = self._weigh(chosen & self.is_true)
        sizes = self._weigh(chosen) + self._counts()
        return float((2 * hits / np.where(sizes > 0, sizes, 1)).mean())

    def _weigh(self, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return for each label how much the rows weigh for which it is chosen."""
        each = np.broadcast_to(self.weight[:, None], chosen.shape)[chosen]
        n_classes = self.rows.targets.n_classes
        return np.asarray(np.bincount(self.classes[chosen], each, n_classes), dtype=np.float64)

    def _counts(self) -> NDArray[np.float64]:
        """Return for each label how much the rows weigh that have it."""
        return self.rows.targets.counts(self.weight)

    def best_of_each(self, threshold: float) -> NDArray[np.float32]:
        """Return the threshold of each label; rare ones take that of all."""
        counts, weights = self.rows.targets.counts(), self._counts()
        result = np.full(len(counts), threshold, dtype=np.float32)
        found = np.flatnonzero((self.classes >= 0).ravel())
        owners = self.classes.ravel()[found]
        order = found[np.argsort(owners, kind="stable")]
        ends = np.cumsum(np.bincount(owners, minlength=len(counts)))
        each = np.broadcast_to(self.weight[:, None], self.classes.shape).ravel()
        for k in np.flatnonzero(counts >= _FEW):
            own = order[ends[k - 1] if k else 0 : ends[k]]
            likely, is_true = self.probabilities.ravel()[own], self.is_true.ravel()[own]
            result[k] = _best_cut(likely, is_true, each[own], float(weights[k]), threshold)
        return result


def _best_cut(
    likely: NDArray[np.float32],
    is_true: NDArray[np.bool_],
    weight: NDArray[np.float64],
    n_true: float,
    otherwise: float,
) -> float:
    """Return the least probability to accept for the highest F1, halfway to what is left out.

    Answers have weights, and `n_true` is what all right ones weigh, also those that are not here.
    """
    if not is_true.any():
        return otherwise
    order = np.argsort(-likely, kind="stable")
    ranked, taken = likely[order], np.cumsum(weight[order])
    hits = np.cumsum(np.where(is_true, weight, 0)[order])
    is_end = np.append(ranked[1:] < ranked[:-1], True)
    f1 = np.where(is_end, 2 * hits / (taken + n_true), 0)
    last = int(f1.argmax())
    beyond = ranked[last + 1] if last + 1 < len(ranked) else 0.0
    return float((ranked[last] + beyond) / 2)
