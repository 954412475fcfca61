"""A second stage of centers: classes that look different from different sides."""

import json

import numpy as np
import pytest

import dsnc
from dsnc import DSNCClassifier

N_CLASSES, N_SIDES, N_FEATURES = 24, 4, 6
SIDES = np.random.default_rng(0).normal(size=(N_CLASSES, N_SIDES, N_FEATURES))


def drawn(n, seed):
    """Return rows near one of the sides of their class; no vector tells one class from others."""
    rng = np.random.default_rng(seed)
    y, side = rng.integers(0, N_CLASSES, n), rng.integers(0, N_SIDES, n)
    return (SIDES[y, side] + rng.normal(0, 0.15, (n, N_FEATURES))).astype(np.float32), y


X, Y = drawn(3600, 1)
TEST_X, TEST_Y = drawn(1000, 2)


@pytest.fixture(scope="module")
def model():
    return DSNCClassifier(n_bits=12, max_epochs=5, random_state=0).fit(X, Y)


def test_centers_decide_where_no_vector_does(model):
    alone = DSNCClassifier(n_bits=12, max_epochs=5, random_state=0, reranker=None).fit(X, Y)
    assert model.predictor_.reranker.vectors.space is not None
    assert model.score(TEST_X, TEST_Y) > alone.score(TEST_X, TEST_Y) + 0.2
    assert "centers" in str(model.predictor_.reranker)


def test_a_saved_model_answers_the_same(model, tmp_path):
    model.save(tmp_path / "model")
    again = dsnc.load(tmp_path / "model")
    assert (again.predict_proba(TEST_X) == model.predict_proba(TEST_X)).all()
    json.dumps(again.predictor_.reranker.chosen_settings())


def test_explanations_add_up_to_the_lead(model):
    for row in model.explain(TEST_X[:20]):
        first, second = (candidate.score for candidate in row.candidates[:2])
        assert sum(term.value for term in row.terms) == pytest.approx(first - second, abs=1e-3)


def test_classes_come_with_centers_and_go(model, tmp_path):
    old = Y < 20
    some = DSNCClassifier(n_bits=12, max_epochs=5, random_state=0).fit(X[old], Y[old])
    some.add_classes(X[~old], Y[~old])
    vectors = some.predictor_.reranker.vectors
    assert vectors.n_classes == N_CLASSES
    assert np.diff(vectors.firsts)[20:].min() > 1
    right = some.predict(TEST_X) == TEST_Y
    new = TEST_Y >= 20
    assert right[new].mean() > 0.5
    assert right[~new].mean() > 0.5
    some.remove_classes([3])
    assert some.predictor_.reranker.vectors.n_classes == N_CLASSES - 1
    assert 3 not in some.predict(TEST_X)
    some.save(tmp_path / "model")
    assert (dsnc.load(tmp_path / "model").predict(TEST_X) == some.predict(TEST_X)).all()


def test_attributes_point_to_a_center():
    attributes = SIDES.mean(axis=1)
    old = Y < 20
    some = DSNCClassifier(n_bits=12, max_epochs=5, random_state=0)
    some.fit(X[old], Y[old], attributes={k: attributes[k] for k in range(N_CLASSES)})
    vectors = some.predictor_.reranker.vectors
    assert vectors.space is not None
    assert np.diff(vectors.firsts)[20:].tolist() == [1] * 4
    assert np.isfinite(some.predict_proba(TEST_X)).all()
