import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import StandardScaler, normalize
from test_all_baselines import X_TEST, Y_TEST, X, Y

from dsnc.baselines import NearestCentroidBaseline
from dsnc.data import make_dense_codes
from dsnc.errors import InputError

DATA = make_dense_codes(n_rows=600, n_classes=30, n_features=10)
TRAIN, _, TEST = DATA.split(0.7, 0.0, 0.3, random_state=0)


@pytest.mark.parametrize("rows", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_it_is_scikit_learns(rows):
    model = NearestCentroidBaseline(scaling="none").fit(rows(TRAIN.X), TRAIN.y)
    twin = NearestCentroid().fit(TRAIN.X, TRAIN.y)
    assert np.array_equal(model.predict(rows(TEST.X)), twin.predict(TEST.X))


def test_standardized_features():
    scaler = StandardScaler().fit(TRAIN.X)
    model = NearestCentroidBaseline(scaling="standard").fit(TRAIN.X, TRAIN.y)
    twin = NearestCentroid().fit(scaler.transform(TRAIN.X), TRAIN.y)
    assert np.array_equal(model.predict(TEST.X), twin.predict(scaler.transform(TEST.X)))


@pytest.mark.parametrize("rows", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_rows_of_length_one_go_by_the_angle(rows):
    model = NearestCentroidBaseline(scaling="unit_rows").fit(rows(TRAIN.X), TRAIN.y)
    unit = normalize(TRAIN.X)
    means = np.stack([unit[TRAIN.y == label].mean(axis=0) for label in np.unique(TRAIN.y)])
    cosine = normalize(TEST.X) @ normalize(means).T
    expected = np.unique(TRAIN.y)[cosine.argmax(axis=1)]
    assert np.array_equal(model.predict(rows(TEST.X)), expected)


def test_weights_are_repetitions():
    repeats = np.arange(len(X)) // 6 % 3
    weighted = NearestCentroidBaseline().fit(X, Y, sample_weight=repeats)
    repeated = NearestCentroidBaseline().fit(np.repeat(X, repeats, axis=0), np.repeat(Y, repeats))
    np.testing.assert_allclose(
        weighted.predictor_.logits(X_TEST), repeated.predictor_.logits(X_TEST), rtol=1e-3
    )
    assert weighted.score(X_TEST, Y_TEST) > 0.95


def test_a_class_of_no_weight_is_never_the_answer():
    weight = (Y != "cat").astype(float)
    model = NearestCentroidBaseline().fit(X, Y, sample_weight=weight)
    assert "cat" in model.classes_
    assert "cat" not in model.predict(np.concatenate([X, np.zeros((1, 8))]))


def test_what_cannot_work_is_named():
    with pytest.raises(InputError, match="scaling='std' is not known"):
        NearestCentroidBaseline(scaling="std").fit(X, Y)
    with pytest.raises(InputError, match="scaling='standard' would make a sparse X dense"):
        NearestCentroidBaseline(scaling="standard").fit(sp.csr_array(X), Y)
