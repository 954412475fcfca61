"""Known and strange rows: the figures against scikit-learn's and by hand."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from dsnc.errors import InputError
from dsnc.metrics import false_positives_at_95, novelty_auroc, open_set_classification_rate

RNG = np.random.default_rng(0)
KNOWN, UNKNOWN = RNG.normal(size=200).round(1), RNG.normal(1, size=150).round(1)


def test_auroc_is_that_of_scikit_learn():
    truth = np.repeat([0, 1], [200, 150])
    expected = roc_auc_score(truth, np.concatenate([KNOWN, UNKNOWN]))
    assert novelty_auroc(KNOWN, UNKNOWN) == pytest.approx(expected)


def test_false_positives():
    kept = np.sort(KNOWN)[189]
    assert false_positives_at_95(KNOWN, UNKNOWN) == (kept >= UNKNOWN).mean()
    assert false_positives_at_95([0, 1], [2, 3]) == 0


def test_open_set_rate_is_bounded_by_accuracy():
    right = RNG.random(200) < 0.8
    rate = open_set_classification_rate(KNOWN, right, UNKNOWN)
    assert rate == pytest.approx(
        np.mean([(KNOWN[right] < u).sum() + (KNOWN[right] == u).sum() / 2 for u in UNKNOWN]) / 200
    )
    assert open_set_classification_rate([0.0], [False], [1.0]) == 0


def test_refusals():
    with pytest.raises(InputError, match="known has shape"):
        novelty_auroc([], [1])
    with pytest.raises(InputError, match="right has shape"):
        open_set_classification_rate([1, 2], [True], [1])
