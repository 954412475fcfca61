"""Confidence is right on average, and ranks answers, in every group of rows and for every decoder.

Probabilities are calibrated on some rows and judged on others.
"""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from dsnc.codes import Encoded
from dsnc.decoders import DECODERS, HeldOut
from dsnc.metrics import expected_calibration_error, novelty_auroc
from dsnc.rerank import ClassVectors
from dsnc.selection import SelectionSettings, choose
from dsnc.selection.confidence import check_confidence
from made_evidence import problem

N_CLASSES, N = 40, 2000  # N calibrate, N are fresh
NAMES = [name for name, kind in DECODERS.items() if kind.settings is not None]


class Trainer:
    """Returns class vectors in place of training them."""

    def __call__(self, decoder, budget, C):
        return [ClassVectors.from_matrix(2 * np.eye(N_CLASSES), np.zeros(N_CLASSES))]


def evidence_and_fresh(noise):
    """Held-out rows, and as many fresh ones; features tell a little more than codes."""
    known = problem(N_CLASSES, n=2 * N, noise=noise, seed=3)
    logits, targets = known.held_out.encoded.logits, known.held_out.targets
    extra = np.random.default_rng(1).normal(0, 0.5, (2 * N, N_CLASSES))
    X = sp.csr_array((np.eye(N_CLASSES)[targets.y] + extra).astype(np.float32))

    def some(rows):
        encoded = Encoded(logits[rows], source=(X, np.arange(2 * N)[rows]))
        return HeldOut(encoded, targets.take(rows))

    rows = some(slice(0, N))
    return replace(known, held_out=rows, train_vectors=Trainer()), some(slice(N, 2 * N))


def auroc(right, values):
    return novelty_auroc(-values[right], -values[~right])


@pytest.mark.parametrize("noise", [0.7, 1.2, 2.0])
@pytest.mark.parametrize("reranker", [None, "features"])
@pytest.mark.parametrize("name", NAMES)
def test_confidence_holds_on_fresh_rows_and_ranks_them(name, reranker, noise):
    evidence, fresh = evidence_and_fresh(noise)
    chosen = choose(evidence, SelectionSettings(name, reranker=reranker))
    stages = chosen.stages
    found = stages.answers(fresh.encoded, 2)
    confidence = found.probabilities[:, 0].astype(np.float64)
    right = fresh.targets.contains(found.classes[:, 0])
    alone = (stages.candidates(fresh.encoded, 64)[0] >= 0).sum(axis=1) == 1
    median = np.median(confidence)
    groups = {
        "all": np.ones(N, bool),
        "one candidate": alone,
        "several": ~alone,
        "surer half": confidence > median,
        "other half": confidence <= median,
    }
    for group, rows in groups.items():
        if rows.sum() >= 100:
            off = abs(confidence[rows].mean() - right[rows].mean())
            # Both the rows that calibrated and these are a sample.
            assert off < 5 * np.sqrt(2 * 0.25 / rows.sum()), group
    assert expected_calibration_error(right, confidence, 10) < 0.06
    lead = found.scores[:, 0].astype(np.float64) - found.scores[:, 1]
    assert auroc(right, confidence) > 0.6
    assert auroc(right, confidence) > auroc(right, lead) - 0.02
    if min(alone.sum(), (~alone).sum()) >= 100:
        shares, means = zip(
            *((right[rows].mean(), confidence[rows].mean()) for rows in (alone, ~alone)),
            strict=True,
        )
        if abs(shares[0] - shares[1]) > 0.1:
            assert (means[0] > means[1]) == (shares[0] > shares[1])
    told = check_confidence(stages, evidence)
    assert told["calibration_error"] == pytest.approx(
        expected_calibration_error(right, confidence), abs=0.04
    )
    assert told["confidence_auroc"] == pytest.approx(auroc(right, confidence), abs=0.08)
