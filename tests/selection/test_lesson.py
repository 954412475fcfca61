"""Few classes that come to many are learned beside their neighbors; the others stay as they are."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import dsnc

X, Y = make_blobs(6000, centers=104, n_features=24, cluster_std=1.5, random_state=0)
X = X.astype(np.float32)
OLD, TEST = Y < 100, np.arange(len(Y)) % 4 == 0


@pytest.fixture(scope="module")
def base():
    settings = {"n_bits": 32, "max_epochs": 5, "reranker": None, "decoder": "shortlist"}
    return dsnc.DSNCClassifier(**settings).fit(X[OLD & ~TEST], Y[OLD & ~TEST])


@pytest.fixture
def model(base):
    return copy.deepcopy(base)


def come(model, *classes, rows=1000):
    places = [np.flatnonzero((Y == k) & ~TEST)[:rows] for k in classes]
    return model.add_classes(X[np.concatenate(places)], Y[np.concatenate(places)])


def score(model, classes):
    rows = TEST & np.isin(Y, classes)
    return model.score(X[rows], Y[rows])


@pytest.mark.parametrize(("rows", "least"), [(1000, 0.95), (5, 0.9), (1, 0.8)])
def test_one_by_one(model, rows, least):
    before = score(model, range(100))
    for k in range(100, 104):
        come(model, k, rows=rows)
    assert list(model.classes_) == list(range(104))
    assert score(model, range(100, 104)) >= least
    assert score(model, range(100)) > before - 0.02


def test_vectors_of_old_classes_stay(model):
    come(model, 100)  # which may make the shortlist longer
    before = model.predictor_.decoder
    model.predict(X[:100])
    come(model, 101)
    after = model.predictor_.decoder
    assert np.array_equal(after.linear.weight[:101], before.linear.weight)
    assert np.shares_memory(after.linear.weight, before.linear.weight)
    assert before.n_classes == 101
    assert "_index" in vars(after)  # it has grown with the codes


def test_two_that_come_from_one_do_not_disturb_each_other(model):
    come(model, 100)
    other = copy.copy(model)
    come(model, 101)
    come(other, 102)
    assert model.classes_[-1] == 101
    assert other.classes_[-1] == 102
    assert score(model, [101]) > 0.9
    assert score(other, [102]) > 0.9
    assert score(other, [100]) > 0.9


def test_files_and_pickles_have_what_came(model, tmp_path):
    for k in range(100, 103):
        come(model, k)
    model.save(tmp_path / "model")
    expected = model.predict(X)
    for again in (dsnc.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):  # noqa: S301
        assert np.array_equal(again.predict(X), expected)
        assert score(come(again, 103), [103]) > 0.9


def test_classes_that_go_and_come_back(model):
    come(model, 100, rows=20)
    model.remove_classes([100])
    assert len(model.classes_) == len(model._memory.counts) == 100
    come(model, 101)
    come(model, 100)
    assert list(model.classes_[-2:]) == [100, 101]
    assert score(model, [100, 101]) > 0.9


def test_the_line_of_novelty_moves_when_somebody_asks(model):
    strange = X[Y == 103]
    come(model, 100)
    come(model, 101)
    assert "quantiles" not in vars(model._novelty)
    later = copy.copy(model)
    assert model.is_unknown(X[TEST & (Y < 102)]).mean() < 0.12
    assert model.is_unknown(strange).mean() > model.is_unknown(X[TEST & OLD]).mean()
    come(model, 102)
    come(later, 102)
    assert np.allclose(model._novelty.quantiles, later._novelty.quantiles, atol=1e-4)


def test_the_fewer_come_the_less_old_vectors_move(model):
    model.remove_classes(range(40, 100))
    weight = model.predictor_.decoder.linear.weight
    far = [
        np.abs(come(copy.deepcopy(model), *classes).predictor_.decoder.linear.weight[:40] - weight)
        for classes in ([100, 101], [100, 101, 102], [100, 101, 102, 103])
    ]
    two, three, four = (float(each.mean()) for each in far)
    assert two == 0 < three < four
