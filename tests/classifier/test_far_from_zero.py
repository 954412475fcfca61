"""Features with a large offset, such as seconds since 1970, teach the same as without it."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp

import dsnc
from dsnc import DSNCClassifier, DSNCMultiLabelClassifier
from dsnc.baselines import NearestCentroidBaseline
from dsnc.errors import ModelFileError

FAR = np.array([1.7e9, -2e9, 0.0, 1e9])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 8
    return 3 * rng.normal(size=(8, 4))[y] + rng.normal(size=(400, 4)) / 4, y


@pytest.fixture(scope="module")
def models(rows):
    X, y = rows
    make = [DSNCClassifier(n_bits=16, max_epochs=10).fit(Z, y) for Z in (X, X + FAR)]
    return make


def test_answers_are_those_without_the_offset(rows, models, tmp_path):
    X, y = rows
    near, far = models
    assert (near.predict(X) == y).mean() > 0.9
    assert (far.predict(X + FAR) == near.predict(X)).mean() > 0.98
    assert far.figures_["validation_accuracy"] > 0.85
    assert np.array_equal(far.predict(sp.csr_array(X + FAR)), far.predict(X + FAR))
    labels = far.predict(X + FAR, unknown=-1, unknown_share=0.05)
    assert (labels == -1).mean() < 0.3
    assert np.array_equal(far.encode(X + FAR).words, far.encode(X + FAR).words)
    assert [e.label for e in far.explain((X + FAR)[:5])] == far.predict((X + FAR)[:5]).tolist()
    far.save(tmp_path / "m")
    for loaded in (dsnc.load(tmp_path / "m"), dsnc.model.read_fitted(tmp_path / "m")):
        assert np.array_equal(loaded.predict_proba(X + FAR), far.predict_proba(X + FAR))
    assert near._far_means is None


def test_rows_that_come_later_are_moved_alike(rows):
    X, y = rows
    known = y < 6
    model = DSNCClassifier(n_bits=16, max_epochs=10).fit((X + FAR)[known], y[known])
    model.partial_fit((X + FAR)[known], y[known])
    model.add_classes((X + FAR)[~known], y[~known])
    assert (model.predict(X + FAR) == y).mean() > 0.8
    other = model.with_decoder("nearest", (X + FAR), y)
    assert (other.predict(X + FAR) == y).mean() > 0.8
    assert model.fit(X, y)._far_means is None


@pytest.mark.parametrize("kind", [DSNCMultiLabelClassifier, NearestCentroidBaseline])
def test_other_models_do_the_same(rows, kind):
    X, y = rows
    if kind is NearestCentroidBaseline:
        far, near = (kind().fit(Z, y).predict(Z) for Z in (X + FAR, X))
    else:
        sets = np.eye(8, dtype=int)[y]
        far, near = (kind(n_bits=16, max_epochs=10).fit(Z, sets).predict(Z) for Z in (X + FAR, X))
    assert (far == near).mean() > 0.98


@pytest.mark.parametrize("means", [np.zeros(3), np.array([np.nan, 0, 0, 0]), np.zeros(4, int)])
def test_a_forged_file_is_refused(models, tmp_path, means):
    forged = copy.copy(models[1])
    forged._far_means = means
    forged.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="far_means"):
        dsnc.load(tmp_path / "m")
