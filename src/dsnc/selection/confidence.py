"""How good probabilities are: measured on held-out rows that did not calibrate them."""

import numpy as np

from dsnc.decoders import Decoder, Evidence
from dsnc.decoders.scoring import FEWEST
from dsnc.metrics import expected_calibration_error, novelty_auroc


def check_confidence(stages: Decoder, evidence: Evidence) -> dict[str, float]:
    """Return the calibration error of the best class, and how well confidence ranks answers.

    Each half of the held-out rows is answered with probabilities that the other half calibrated.
    ``confidence_auroc`` is the probability that an answer that is right has more confidence than
    one that is wrong; it is left out where all answers are right, or all wrong. Nothing is measured
    on rows that are few, or have label sets.
    """
    rows = evidence.rows
    if rows is None or not rows.targets.is_single or len(rows.targets) < FEWEST:
        return {}
    sample = rows.take(stages.rows_to_calibrate)
    is_first = np.arange(len(sample.targets)) % 2 == 0
    confidence, right = np.empty(len(is_first)), np.empty(len(is_first), dtype=np.bool_)
    for half in (is_first, ~is_first):
        rest = sample.only(~half)
        found = stages.calibrated(sample.only(half)).answers(rest.encoded, 1)
        confidence[~half] = found.probabilities[:, 0]
        right[~half] = rest.targets.contains(found.classes[:, 0])
    figures = {"calibration_error": expected_calibration_error(right, confidence)}
    if 0 < right.mean() < 1:
        figures["confidence_auroc"] = novelty_auroc(-confidence[right], -confidence[~right])
    return figures
