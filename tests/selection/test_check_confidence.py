from dataclasses import replace

import numpy as np

from dsnc.decoders import LinearDecoder
from dsnc.decoders.scoring import FEWEST
from dsnc.selection.confidence import check_confidence
from made_evidence import problem


class Watched(LinearDecoder):
    """Notes which rows calibrate it, and which ones it answers then."""

    known = seen = None

    def calibrated(self, rows):
        found = super().calibrated(rows)
        found.known = set(map(bytes, rows.encoded.logits))
        return found

    def answers(self, encoded, k):
        self.seen.append((self.known, set(map(bytes, encoded.logits))))
        return super().answers(encoded, k)


def test_no_row_is_judged_by_what_it_calibrated():
    evidence = problem()
    decoder = Watched(evidence.linear.weight, evidence.linear.bias)
    decoder.seen = []
    figures = check_confidence(decoder, evidence)
    assert set(figures) == {"calibration_error", "confidence_auroc"}
    everything = set(map(bytes, evidence.held_out.encoded.logits))
    assert len(everything) == 400
    assert len(decoder.seen) == 2
    for calibrated, judged in decoder.seen:
        assert len(calibrated) == len(judged) == 200
        assert calibrated | judged == everything


def test_nothing_is_said_of_few_rows_nor_of_the_order_of_answers_that_are_all_right():
    evidence = problem(n=FEWEST, noise=0.0)
    assert set(check_confidence(evidence.linear, evidence)) == {"calibration_error"}
    few = replace(evidence, held_out=evidence.held_out.only(np.arange(FEWEST) > 0))
    assert check_confidence(evidence.linear, few) == {}
