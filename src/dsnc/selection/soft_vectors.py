"""Class vectors for soft bits: trained where held-out rows score better with softer bits.

Training draws bits, so the vectors it leaves expect bits of -1 and +1. Where codes are short,
decoders do better when they see how sure each bit is, and best with vectors that have learned from
such bits.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dsnc.decoders import Evidence, SoftDecoder
from dsnc.decoders.scoring import NOTHING, PLAIN, is_clearly_better
from dsnc.decoders.soft import Tuned

_SOFTER = 0.7  # vectors that learn from softer bits do best on still softer ones


def with_soft_vectors(
    evidence: Evidence, fixed: Mapping[str, Any] = NOTHING
) -> tuple[Evidence, Tuned | None]:
    """Return the evidence with vectors for soft bits, if held-out rows say that they are better.

    `fixed` are settings of the scoring that are not to choose. Vectors are trained at the sharpness
    that is set, or at less than the one that held-out rows choose. What scoring all classes with
    the vectors is worth is returned as well, where that is known.
    """
    rows, linear, train = evidence.rows, evidence.linear, evidence.train_soft
    if train is None:
        return evidence, None
    sharpness, plain = PLAIN.sharpness, None
    if rows is not None:
        plain = SoftDecoder.tuned(linear, rows, fixed)
        sharpness = plain.decoder.sharpness
    if sharpness < PLAIN.sharpness and "sharpness" not in fixed:
        sharpness *= _SOFTER
    soft = train(sharpness)  # asked in any case: processes that train together decide together
    if rows is None or plain is None or soft is linear or not len(plain.right):
        return evidence, plain
    better = SoftDecoder.tuned(soft, rows, fixed)
    if is_clearly_better(better.right, plain.right, rows):
        return replace(evidence, soft=soft), better
    return evidence, plain
