"""The best decoder for the data: the cheapest that the most accurate one does not clearly beat."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.decoders import Decoder, Evidence, LinearDecoder, ShortlistDecoder, SoftDecoder
from dsnc.decoders.known_codes import known_codes
from dsnc.decoders.scoring import accuracy, is_clearly_better, rows_to_score
from dsnc.decoders.shortlist_tuning import tune_shortlist
from dsnc.decoders.soft import Tuned
from dsnc.selection.report import Trial

_AT_ONCE_NS = 1000  # where all classes are scored in this time, nothing is cheaper
_PRODUCTS_NS = 0.1  # of a multiplication in a matrix product, on a typical machine


class _Rival(NamedTuple):
    """A decoder that may be chosen, and which of the held-out rows it gets right."""

    decoder: LinearDecoder | ShortlistDecoder
    accuracy: float
    nanoseconds: float
    right: NDArray[np.bool_]


def choose_best(
    evidence: Evidence, everything: Tuned | None = None
) -> tuple[Decoder, str, list[Trial]]:
    """Return the best decoder for the held-out rows, why it is, and what others are worth.

    `everything` is what scoring all classes is worth, where that is known already.
    """
    linear, scorer, held_out = evidence.linear, evidence.scorer, evidence.rows
    all_ns = _PRODUCTS_NS * linear.n_classes * linear.n_bits
    if all_ns < _AT_ONCE_NS:
        reason = f"{linear.n_classes:,} classes are all scored in no time"
        return SoftDecoder.make(evidence), reason, []
    if held_out is None:
        reason = f"there are {linear.n_classes:,} classes; no rows were held out to choose by"
        return ShortlistDecoder.make(evidence), reason, []
    everything = everything or SoftDecoder.tuned(scorer, held_out)
    sets = known_codes(evidence)
    known, tuned, tried = tune_shortlist(scorer, sets, held_out, of_all=everything.accuracy)
    trials = [
        Trial(
            "shortlist", {"known": name, **t.decoder.chosen_settings()}, t.accuracy, t.nanoseconds
        )
        for name, t in tried.items()
    ]
    rivals = [_Rival(tuned.decoder, tuned.accuracy, tuned.nanoseconds, tuned.right)]
    # On the rows of the shortlist's trials: chance must not decide between them.
    sample = held_out.take(max(1, rows_to_score(linear)))
    known_right = everything.right if len(everything.right) else sample.right(everything.decoder)
    for decoder, right in ((everything.decoder, known_right), (linear, sample.right(linear))):
        worth = accuracy(right, sample.weight)
        trials.append(Trial(decoder.name, decoder.chosen_settings(), worth, all_ns))
        rivals.append(_Rival(decoder, worth, all_ns, right))
    best = max(rivals, key=lambda rival: rival.accuracy)
    choice = next(
        rival.decoder
        for rival in sorted(rivals, key=lambda rival: (rival.nanoseconds, -rival.accuracy))
        if rival is best or not is_clearly_better(best.right, rival.right, held_out)
    )
    if choice is not tuned.decoder:
        return choice, "scoring all classes is the cheapest that is as accurate", trials
    reason = (
        f"as accurate as any, as far as the held-out rows tell; scoring all "
        f"{linear.n_classes:,} classes would take {all_ns / tuned.nanoseconds:.1f} times as "
        f"long; codes of {known}{', rows trained on soft bits' if evidence.soft else ''}"
    )
    return choice, reason, trials
