"""How the learner scales features, in training as in prediction."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from dsnc.codes import PackedCodes
from dsnc.errors import InputError
from dsnc.targets import Targets
from dsnc.training.batches import make_source
from dsnc.training.examples import Examples
from dsnc.training.learner import Learner
from made_examples import CPU, D, K, learn, make_dense, make_settings, make_sparse, predictor_of


def test_dense_features_are_standardized_over_the_rows_in_use(monkeypatch):
    monkeypatch.setattr("dsnc.training.scaling._ROWS", 7)
    examples = make_dense(100)._replace(rows=np.arange(0, 100, 3))
    layer = Learner(make_settings(), examples, K, 0).objective.encoder.input
    used = examples.X[::3].astype(np.float64)
    np.testing.assert_allclose(layer.mean, used.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(1 / layer.inverse_deviation, used.std(axis=0), rtol=1e-5)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 + 0.1, -1e-8])
@pytest.mark.parametrize("n", [3, 97, 1000])
def test_a_constant_feature_is_only_centered(value, n):
    X = np.random.default_rng(0).normal(size=(n, 2))
    X[:, 0] = value
    examples = Examples(X, Targets((np.arange(n) % K).astype(np.int32), K))
    layer = Learner(make_settings(scaling="standard"), examples, K, 0).objective.encoder.input
    assert layer.inverse_deviation[0] == 1
    assert layer.mean[0].item() == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [make_dense, make_sparse])
def test_the_users_rows_are_only_read(make, dtype):
    examples = make(100)
    X = examples.X.astype(dtype)
    before = X.copy()
    for array in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
        array.flags.writeable = False
    learn(examples._replace(X=X), max_epochs=1, beta=1e-3, gamma=1e-3)
    assert (X != before).sum() == 0


def test_auto_is_unit_rows_for_sparse_and_scaled_for_dense():
    sparse = Learner(make_settings(), make_sparse(), K, 0)
    dense = Learner(make_settings(), make_dense(), K, 0)
    plain = Learner(make_settings(scaling="none"), make_dense(), K, 0)
    assert (sparse.unit_rows, len(sparse.objective.encoder.input.mean)) == (True, 0)
    assert (dense.unit_rows, len(dense.objective.encoder.input.mean)) == (False, D)
    assert (plain.unit_rows, len(plain.objective.encoder.input.mean)) == (False, 0)


@pytest.mark.parametrize("scaling", ["standard", "common"])
def test_sparse_rows_cannot_be_centered(scaling):
    with pytest.raises(InputError, match=f"scaling='{scaling}' would make a sparse X dense"):
        Learner(make_settings(scaling=scaling), make_sparse(), K, 0)


@pytest.mark.parametrize("make", [make_dense, make_sparse])
@pytest.mark.parametrize("scaling", ["unit_rows", "none"])
def test_training_and_prediction_scale_alike(make, scaling):
    examples = make()
    learner, _ = learn(examples, scaling=scaling, max_epochs=3)
    source = make_source(examples.X, CPU, unit_rows=learner.unit_rows)
    with torch.no_grad():
        logits = learner.objective.encoder(source.take(torch.arange(300))).numpy()
    codes = PackedCodes.from_logits(logits)
    apart = predictor_of(learner).encode(examples.X).words != codes.words
    assert apart.mean() < 0.01
