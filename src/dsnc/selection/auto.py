"""The best decoder for the data: the cheapest that the most accurate one does not clearly beat."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.decoders import (
    Decoder,
    Evidence,
    HeldOut,
    LinearDecoder,
    ShortlistDecoder,
    SoftDecoder,
)
from dsnc.decoders.known_codes import known_codes
from dsnc.decoders.scoring import FEWEST, NOTHING, accuracy, is_clearly_better, rows_to_score
from dsnc.decoders.shortlist_tuning import tune_shortlist
from dsnc.selection.report import Trial

_ALL = "of the decoders that no other clearly beats, scoring all classes is the fastest"
_LISTS = {  # what a shortlist compares a row with, in words
    "weights": "codes of the classes",
    "training": "codes of all training rows",
}

_AT_ONCE_NS = 1000  # where all classes are scored in this time, nothing is cheaper
_PRODUCTS_NS = 0.1  # of a multiplication in a matrix product, on a typical machine
_LITTLE_LONGER = 3.0  # times the nanoseconds of a list: features may be given more to decide among


class _Rival(NamedTuple):
    """A decoder that may be chosen, and which of the held-out rows it gets right."""

    decoder: LinearDecoder | ShortlistDecoder
    nanoseconds: float
    right: NDArray[np.bool_]
    known: Mapping[str, Any] = NOTHING  # what codes are of, in a report


class Best(NamedTuple):
    """The best decoder for the held-out rows, why it is, and what others are worth."""

    decoder: Decoder
    reason: str
    trials: list[Trial]
    fuller: SoftDecoder | None = None  # that scores all classes in little more time


def choose_best(evidence: Evidence) -> Best:
    """Return the best decoder."""
    linear, held_out = evidence.linear, evidence.rows
    all_ns = _PRODUCTS_NS * linear.n_classes * linear.n_bits
    if all_ns < _AT_ONCE_NS:
        reason = f"scoring all {linear.n_classes:,} classes takes almost no time"
        return Best(SoftDecoder.make(evidence), reason, [])
    if held_out is None:
        reason = (
            f"there are {linear.n_classes:,} classes, but no held-out rows to choose a decoder by"
        )
        return Best(ShortlistDecoder.make(evidence), reason, [])
    everything = SoftDecoder.tuned(linear, held_out)
    sets = known_codes(evidence)
    known, tuned, tried = tune_shortlist(linear, sets, held_out)
    sample = held_out.take(max(1, rows_to_score(linear)))
    known_right = everything.right if len(everything.right) else sample.right(everything.decoder)
    lists = {
        name: _Rival(each.decoder, each.nanoseconds, each.right, {"known": name})
        for name, each in tried.items()
    }
    full = [
        _Rival(everything.decoder, all_ns, known_right),
        _Rival(linear, all_ns, sample.right(linear)),
    ]
    rivals = _most_accurate_first([lists[known], *full], held_out)
    choice = next(
        rival.decoder
        for rival in sorted(rivals, key=lambda rival: rival.nanoseconds)
        if not is_clearly_better(rivals[0].right, rival.right, held_out)
    )
    trials = _trials([*lists.values(), *full], held_out)
    if choice is not tuned.decoder:
        return Best(
            choice,
            _ALL,
            trials,
        )
    reason = (
        f"no other is clearly more accurate on held-out rows, and scoring all "
        f"{linear.n_classes:,} classes would take {all_ns / tuned.nanoseconds:.1f} times as long; "
        f"it looks among {_LISTS[known]}"
    )
    is_near = all_ns <= _LITTLE_LONGER * tuned.nanoseconds
    return Best(choice, reason, trials, everything.decoder if is_near else None)


def _accuracies(rivals: list[_Rival], held_out: HeldOut) -> list[float]:
    """Return how accurate each is, on the same rows unless these are too few to tell."""
    if min(len(rival.right) for rival in rivals) >= FEWEST:
        answers, weight = held_out.common(*(rival.right for rival in rivals))
        return [accuracy(right, weight) for right in answers]
    return [accuracy(r.right, held_out.take(len(r.right)).weight) for r in rivals]


def _most_accurate_first(rivals: list[_Rival], held_out: HeldOut) -> list[_Rival]:
    worth = _accuracies(rivals, held_out)
    return [rivals[place] for place in np.argsort([-each for each in worth], kind="stable")]


def _trials(rivals: list[_Rival], held_out: HeldOut) -> list[Trial]:
    """Return the lines of a report."""
    return [
        Trial(
            rival.decoder.name,
            {**rival.known, **rival.decoder.chosen_settings()},
            worth,
            rival.nanoseconds,
        )
        for rival, worth in zip(rivals, _accuracies(rivals, held_out), strict=True)
    ]
