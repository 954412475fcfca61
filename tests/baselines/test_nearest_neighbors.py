"""The nearest training rows, and what they say of a model that was trained."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize
from test_all_baselines import X_TEST, Y_TEST, X, Y

from dsnc.baselines import NearestNeighborsBaseline, nearest_neighbors
from dsnc.baselines.nearest_neighbors import compare_with_neighbors
from dsnc.data import make_dense_codes
from dsnc.encoders import NeighborsEncoder
from dsnc.errors import InputError
from many_classes import quick

DATA = make_dense_codes(n_rows=900, n_classes=30, n_features=20)
TRAIN, _, TEST = DATA.split(0.7, 0.0, 0.3, random_state=0)


@pytest.mark.parametrize("k", [1, 5])
def test_it_is_scikit_learns(k):
    model = NearestNeighborsBaseline(n_neighbors=k, scaling="none").fit(TRAIN.X, TRAIN.y)
    twin = KNeighborsClassifier(k, weights="distance").fit(TRAIN.X, TRAIN.y)
    assert np.array_equal(model.predict(TEST.X), twin.predict(TEST.X))
    shares = twin.predict_proba(TEST.X)
    np.testing.assert_allclose(model.predict_proba(TEST.X), shares, atol=1e-4)


@pytest.mark.parametrize("rows", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_rows_of_length_one_go_by_the_angle(rows):
    model = NearestNeighborsBaseline(n_neighbors=1, scaling="unit_rows")
    model.fit(rows(TRAIN.X), TRAIN.y)
    twin = KNeighborsClassifier(1).fit(normalize(TRAIN.X), TRAIN.y)
    expected = twin.predict(normalize(TEST.X))
    assert np.array_equal(model.predict(rows(TEST.X)), expected)
    assert np.array_equal(model.predict(7 * TEST.X), expected)


def regions(n, seed):
    """Rows whose class is their place on a line, beside a number that is large and says nothing."""
    rng = np.random.default_rng(seed)
    at = rng.uniform(0, 12, n)
    return np.column_stack([at, rng.normal(scale=1000, size=n)]), at.astype(int) % 4


def test_rows_that_are_held_out_choose_the_scaling_and_how_many():
    (rows, y), (asked, truth) = regions(2000, 0), regions(500, 1)
    model = NearestNeighborsBaseline().fit(rows, y)
    assert model.predictor_.encoder.scale[1] == pytest.approx(1000, rel=0.1)
    assert model.score(asked, truth) > 0.9
    assert NearestNeighborsBaseline(scaling="none").fit(rows, y).score(asked, truth) < 0.5
    noisy = np.where(np.random.default_rng(2).random(2000) < 0.3, 0, y)
    assert NearestNeighborsBaseline().fit(rows, noisy).predictor_.encoder.n_neighbors > 1


def test_rows_of_weight_0_are_not_kept():
    model = NearestNeighborsBaseline().fit(X, Y, sample_weight=np.arange(len(Y)) % 2)
    assert len(model.predictor_.encoder.classes) == len(Y) // 2


def test_sparse_rows_are_compared_by_angle_only():
    with pytest.raises(InputError, match="scaling='standard' would make a sparse X dense"):
        NearestNeighborsBaseline(scaling="standard").fit(sp.csr_array(X), Y)
    with pytest.raises(InputError, match="n_neighbors=0 must be"):
        NearestNeighborsBaseline(n_neighbors=0).fit(X, Y)


@pytest.mark.parametrize("rows", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: arrays.update(classes=arrays["classes"] + 6),
        lambda arrays: arrays.update(weight=arrays["weight"][1:]),
        lambda arrays: arrays.update(scale=arrays["scale"] * 0),
        lambda arrays: arrays.update(settings=arrays["settings"][:2]),
        lambda arrays: arrays.update(settings=np.array([6, 0, 0])),
        lambda arrays: arrays.update({next(k for k in ("rows", "indices") if k in arrays): None}),
    ],
)
def test_wrong_arrays_are_refused(rows, change):
    arrays = NearestNeighborsBaseline().fit(rows(X), Y).predictor_.encoder.arrays()
    again = NeighborsEncoder.from_arrays(arrays)
    assert np.array_equal(again.logits(X_TEST).argmax(1), np.unique(Y_TEST, return_inverse=True)[1])
    change(arrays)
    with pytest.raises((InputError, ValueError)):
        NeighborsEncoder.from_arrays(arrays)


@pytest.fixture(scope="module")
def trained():
    rows, y = regions(1500, 0)
    rows[:, 1] /= 1000
    return quick(trainer="fast", n_bits=16).fit(rows, y), rows, y


def test_a_model_is_compared_with_them_on_the_rows_that_were_held_out(trained):
    found = compare_with_neighbors(*trained)
    assert found.verdict == "worse"
    assert found.accuracy > 0.9 > found.model_accuracy
    assert found.model_accuracy == pytest.approx(trained[0].figures_["validation_accuracy"])


def test_they_do_not_know_the_rows_that_are_asked():
    """Each row has a feature of its own: who keeps it knows its class."""
    rows, labels = sp.identity(600, format="csr"), np.random.default_rng(0).integers(0, 5, 600)
    model = quick(trainer="fast", validation_fraction=0.3).fit(rows, labels)
    assert compare_with_neighbors(model, rows, labels).accuracy < 0.4


def test_nothing_that_takes_long(trained, monkeypatch):
    monkeypatch.setattr(nearest_neighbors, "_MOST_PRODUCTS", 1e5)
    assert compare_with_neighbors(*trained) is None


def test_nothing_without_rows_that_were_held_out(trained):
    model = quick(trainer="fast", validation_fraction=0).fit(*trained[1:])
    assert compare_with_neighbors(model, *trained[1:]) is None
