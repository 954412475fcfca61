"""Baselines of label sets: they learn, and come back from files."""

import numpy as np
import pytest
import scipy.sparse as sp

import dsnc
from dsnc.baselines import MLPMultiLabelBaseline, OneVsRestMultiLabelBaseline
from dsnc.metrics import f1_of_sets

KINDS = {
    "mlp": lambda **more: MLPMultiLabelBaseline(n_units=16, max_epochs=15, device="cpu", **more),
    "one_vs_rest": lambda **more: OneVsRestMultiLabelBaseline(C=10, device="cpu", **more),
    "logistic": lambda **more: OneVsRestMultiLabelBaseline(
        C=10, loss="logistic", device="cpu", **more
    ),
}


def make(n=400, seed=0):
    rng = np.random.default_rng(seed)
    Y = rng.random((n, 8)) < 0.2
    X = Y @ np.random.default_rng(5).normal(size=(8, 20)) + 0.2 * rng.normal(size=(n, 20))
    return X.astype(np.float32), Y.astype(int)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse", [False, True])
def test_sets_are_learned_and_kept(kind, sparse, tmp_path):
    (X, Y), (test_X, test_Y) = make(), make(seed=1)
    if sparse:
        X, test_X = (sp.csr_matrix(np.where(np.abs(rows) > 0.4, rows, 0)) for rows in (X, test_X))
    model = KINDS[kind]().fit(X, sp.csr_matrix(Y))
    assert f1_of_sets(test_Y, model.predict(test_X)) > 0.85
    assert model.score(test_X, test_Y) > 0.75  # a sixth of the rows have no label
    model.save(tmp_path / "m")
    same = dsnc.load(tmp_path / "m")
    assert type(same) is type(model) and (same.predict(test_X) != model.predict(test_X)).nnz == 0
    np.testing.assert_array_equal(same.predict_proba(test_X), model.predict_proba(test_X))


@pytest.mark.parametrize("kind", KINDS)
def test_labels_may_count_differently(kind):
    X, Y = make()
    usual, more = (KINDS[kind](class_weight=w).fit(X, Y) for w in (None, {0: 30.0}))
    first = [model.predictor_.top_k(X, 8)[0] for model in (usual, more)]
    ranks = [(classes == 0).argmax(axis=1).mean() for classes in first]
    assert ranks[1] < ranks[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_threshold_is_fitted_on_held_out_rows(kind):
    X, Y = make()
    model = KINDS[kind](validation_fraction=0.25).fit(X, Y)
    assert model.predictor_.rule.threshold[0] != 0.5
    assert model.figures_["validation_accuracy"] > 0.7
