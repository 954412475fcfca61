"""`decision_function` says what `predict` says, for every classifier and decoder."""

import numpy as np
import pytest

import dsnc
from dsnc.baselines import (
    ECOCBaseline,
    MLPBaseline,
    NearestCentroidBaseline,
    OneVsRestBaseline,
)
from dsnc.errors import InputError
from dsnc.model import fitted

RNG = np.random.default_rng(0)
Y = np.array(["ant", "bee", "cat", "dog", "eel"])[np.arange(100) % 5]
X = np.eye(5, 6)[np.arange(100) % 5] + RNG.normal(size=(100, 6))
FAST = {"max_epochs": 2, "device": "cpu"}
MODELS = {
    **{
        name: dsnc.DSNCClassifier(n_bits=8, decoder=name, **FAST)
        for name in ("linear", "soft", "nearest", "table", "shortlist")
    },
    "few": dsnc.DSNCClassifier(n_bits=8, decoder={"name": "shortlist", "size": 1}, **FAST),
    "mlp": MLPBaseline(n_units=8, **FAST),
    "ecoc": ECOCBaseline(n_bits=8, **FAST),
    "ecoc-soft": ECOCBaseline(n_bits=8, decoding="soft", **FAST),
    "hinge": OneVsRestBaseline(**FAST),
    "logistic": OneVsRestBaseline(loss="logistic", **FAST),
    "nearest_centroid": NearestCentroidBaseline(),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_largest_score_is_the_answer(name):
    model = MODELS[name].fit(X, Y)
    scores = model.decision_function(X)
    assert scores.shape == (100, 5)
    assert np.isfinite(scores).all()
    assert np.array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))
    if name not in ("hinge", "logistic"):
        expected = np.log(np.maximum(model.predict_proba(X).astype(np.float64), 1e-45))
        np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", MODELS)
def test_of_two_classes_the_second_is_above_zero(name):
    model = MODELS[name].fit(X, Y == "ant")
    scores = model.decision_function(X)
    assert scores.shape == (100,)
    assert np.array_equal(model.classes_[(scores > 0).astype(int)], model.predict(X))


def test_tables_that_are_too_large_are_refused(monkeypatch):
    model = MODELS["linear"].fit(X, Y)
    texts = ["night nurse", "bus driver"] * 10
    by_texts = dsnc.DSNCClassifier(n_bits=8, **FAST).fit(texts, [0, 1] * 10)
    assert by_texts.decision_function(texts).shape == (20,)
    monkeypatch.setattr(fitted, "_MAX_TABLE", 4 * 99 * 5)
    assert model.decision_function(X[:99]).shape == (99, 5)
    with pytest.raises(InputError, match="100 rows and 5 classes .* use predict_top_k"):
        model.decision_function(X)
    monkeypatch.setattr(fitted, "_MAX_TABLE", 8)
    for other, rows in ((by_texts, texts), (MODELS["hinge"].fit(X, Y), X)):
        with pytest.raises(InputError, match="predict_top_k"):
            other.decision_function(rows)
