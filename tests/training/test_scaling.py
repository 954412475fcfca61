import numpy as np
import pytest
import scipy.sparse as sp

from dsnc.targets import Targets
from dsnc.training import scaling
from dsnc.training.examples import Examples
from dsnc.training.scaling import is_mostly_zeros, moments, scale_of


def examples(X, rows=None):
    return Examples(np.asarray(X), Targets(np.zeros(len(X), dtype=np.int32), 1), None, rows)


def normal(*deviations, n=400):
    return np.random.default_rng(0).normal(3, deviations, size=(n, len(deviations)))


def test_moments_are_those_of_the_rows_in_use(monkeypatch):
    monkeypatch.setattr(scaling, "_ROWS", 64)  # several blocks
    X = normal(1, 2, 5)
    used = X[::3]
    found = moments(examples(X, np.arange(0, 400, 3)))
    np.testing.assert_allclose(found.mean, used.mean(axis=0))
    np.testing.assert_allclose(found.deviation, used.std(axis=0))
    assert np.array_equal([found.low, found.high], [used.min(axis=0), used.max(axis=0)])
    # Around the mean of the first block.
    np.testing.assert_allclose(found.distance, abs(used - used.mean(axis=0)).mean(axis=0), rtol=0.1)


def test_a_row_of_weight_two_counts_as_two():
    X = normal(1, 2, 5)
    twice = moments(examples(np.concatenate([X, X[:100]])))
    weight = np.where(np.arange(400) < 100, 2, 1).astype(np.float32)
    weighted = moments(examples(X)._replace(weight=weight))
    for name, values in twice._asdict().items():
        np.testing.assert_allclose(values, getattr(weighted, name), rtol=0.02, err_msg=name)
    np.testing.assert_allclose(twice.deviation, weighted.deviation)


def test_a_large_offset_does_not_eat_the_deviation():
    X = 1e7 + np.random.default_rng(0).normal(size=(500, 1))
    found = moments(examples(X))
    assert found.deviation[0] == pytest.approx(X.std(), rel=1e-6)
    assert found.mean[0] == pytest.approx(X.mean(), rel=1e-12)


def test_features_of_one_unit_are_divided_by_one_deviation():
    X = normal(1, 2, 5)
    mean, deviation = scale_of(examples(X), "auto")
    np.testing.assert_allclose(mean, X.mean(axis=0))
    np.testing.assert_allclose(deviation, np.sqrt(X.var(axis=0).mean()))


@pytest.mark.parametrize("X", [normal(1, 2, 50_000), normal(1, 1, 1) + [0, 50, 100]])
def test_features_of_several_units_are_divided_by_their_own(X):
    np.testing.assert_allclose(scale_of(examples(X), "auto")[1], X.std(axis=0))
    np.testing.assert_allclose(scale_of(examples(X), "common")[1], np.sqrt(X.var(axis=0).mean()))


def test_a_pixel_that_hardly_ever_varies_is_not_blown_up():
    X = np.random.default_rng(0).random((500, 20))
    X[:, 0] = np.arange(500) == 7  # once in all rows
    own, common = (scale_of(examples(X), name)[1] for name in ("standard", "auto"))
    assert own[0] < 0.2 * own[1]
    assert common[0] == common[1]


@pytest.mark.parametrize("name", ["standard", "common"])
def test_rows_of_many_features_are_no_longer_than_those_of_few(name):
    for width in (10, 60, 1000):
        X = np.random.default_rng(0).normal(size=(300, width))
        mean, deviation = scale_of(examples(X), name)
        length = np.abs((X - mean) / deviation).sum(axis=1).mean()
        assert length == pytest.approx(min(50, 0.8 * width), rel=0.05)


@pytest.mark.parametrize("name", ["auto", "standard", "common"])
def test_rows_that_are_all_the_same_are_only_centered(name):
    mean, deviation = scale_of(examples(np.full((9, 3), 2.5)), name)
    assert mean.tolist() == [2.5] * 3
    assert deviation.tolist() == [0] * 3


@pytest.mark.parametrize(("share", "expected"), [(0.02, True), (0.5, False)])
def test_rows_of_mostly_zeros_are_known_by_their_numbers(share, expected):
    X = np.random.default_rng(0).random((50, 40)) * (
        np.random.default_rng(1).random((50, 40)) < share
    )
    stored_zeros = sp.csr_array(X)
    stored_zeros.data[:] = 0
    assert is_mostly_zeros(X) is is_mostly_zeros(sp.csr_array(X)) is expected
    assert is_mostly_zeros(stored_zeros)


def test_moments_do_not_depend_on_the_container(monkeypatch):
    monkeypatch.setattr(scaling, "_BLOCK", 30)
    X = normal(1, 2, 5) * (np.random.default_rng(1).random((400, 3)) < 0.5)
    dense, sparse = (moments(examples(X)._replace(X=made)) for made in (X, sp.csr_array(X)))
    for a, b in zip(dense, sparse, strict=True):
        assert np.array_equal(a, b)
