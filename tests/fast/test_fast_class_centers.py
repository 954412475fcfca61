"""Centers of classes: k-means, one class after the other, by a kernel in threads."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dsnc.decoders.memory import some_of_each
from dsnc.fast import class_centers
from dsnc.fast._kernels.centers import find_centers
from dsnc.fast.class_centers import find_class_centers, more_class_centers
from dsnc.fast.rows import Feed, Scaling
from dsnc.labels import Targets
from dsnc.rerank import Space
from dsnc.training.examples import Examples
from oracles import noise

TRIALS, PASSES = 4, 20


def squared(a, b):
    return ((np.asarray(a, np.float64) - b) ** 2).sum(axis=-1)


def naive_centers(rows, weight, n_centers, seed):
    """Return what k-means finds of one class, and the weighted sum of squared distances."""
    centers, far = [], np.ones(len(rows))
    for c in range(n_centers):
        drawn = []
        for lot in noise(seed, c * TRIALS + np.arange(TRIALS)):
            sums = np.cumsum(weight * far)
            last = np.flatnonzero(weight * far > 0)[-1:].tolist() or [0]
            drawn.append(min(int(np.searchsorted(sums, lot * sums[-1], side="right")), *last))
        left = [(weight * np.minimum(far, squared(rows, rows[i]))).sum() for i in drawn]
        centers.append(rows[drawn[int(np.argmin(left))] if c else drawn[0]])
        nearest = squared(rows, centers[-1])
        far = np.minimum(far, nearest) if c else nearest
    centers, owner = np.array(centers), None
    for _ in range(PASSES):
        apart = squared(rows[:, None], centers[None])
        nearest, before = apart.argmin(axis=1), owner
        owner, far = nearest, apart.min(axis=1)
        if before is not None and (before == owner).all():
            break
        for c in range(n_centers):
            if weight[owner == c].sum() > 0:
                centers[c] = np.average(rows[owner == c], axis=0, weights=weight[owner == c])
    return centers, (weight * far).sum()


@given(st.integers(0, 2**31), st.integers(1, 4), st.booleans())
def test_the_kernel_is_k_means(seed, n_centers, weighted):
    rng = np.random.default_rng(seed)
    # Whole numbers, so that there are ties, and sums are exact.
    rows = rng.integers(-3, 4, (10, 2)).astype(np.float32)
    weight = (rng.integers(0, 3, 10) if weighted else np.ones(10)).astype(np.float32)
    weight[[0, 6]] = 1
    starts, firsts = np.array([0, 6, 6, 10]), np.cumsum([0, n_centers, 1, n_centers])
    centers = np.zeros((firsts[-1], 2), np.float32)
    scratch = np.full(10, -1), np.empty(10, np.float32), np.empty((n_centers, 3))
    total = find_centers(rows, weight, starts, firsts, seed, PASSES, centers, *scratch)
    expected, sums = np.zeros_like(centers), 0.0
    for k in (0, 2):
        mine, own = slice(starts[k], starts[k + 1]), slice(firsts[k], firsts[k + 1])
        expected[own], far = naive_centers(rows[mine], weight[mine], n_centers, seed + k)
        sums += far
    np.testing.assert_allclose(centers, expected, atol=1e-5)
    assert total == pytest.approx(sums, rel=1e-5, abs=1e-5)


def feed(X, y, n_classes, weight=None, scaling=None):
    return Feed(Examples(X, Targets(y, n_classes), weight), scaling or Scaling())


def centers_of(vectors):
    """Return the centers, as rows come."""
    return vectors.matrix().toarray() / (2 * vectors.space.factor**2) + vectors.space.shift


SIDES = np.array([[0, 0], [9, 0], [0, 9], [9, 9]], np.float32)


def test_a_class_has_a_center_on_each_of_its_sides():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 40)
    X = (SIDES[np.arange(120) % 4] + 20 * y[:, None] + rng.normal(0, 0.1, (120, 2))).astype("f4")
    scaling = Scaling(shift=X.mean(axis=0), factor=1 / X.std(axis=0))
    vectors = find_class_centers(feed(X, y, 3, scaling=scaling), most=4)
    assert vectors.firsts.tolist() == [0, 4, 8, 12]
    for k in range(3):
        found = centers_of(vectors)[vectors.of_class(k)]
        assert np.abs(squared(SIDES[:, None] + 20 * k, found).min(axis=1)).max() < 0.2


def test_distances_are_told_in_a_usual_unit():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 5)).astype("f4") * 1000, np.repeat(np.arange(3), 20)
    vectors = find_class_centers(feed(X, y, 3), most=1)
    means = np.stack([X[y == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(centers_of(vectors), means, atol=20)
    usual = squared(X * vectors.space.factor, (means * vectors.space.factor)[y]).mean()
    assert usual == pytest.approx(4, rel=1e-4)
    beside = more_class_centers(feed(X, y, 3), Space.of(5), most=1)
    assert (beside.space.factor == 1).all()


def test_few_rows_have_few_centers_and_many_are_not_all_looked_at(monkeypatch):
    X = np.arange(40, dtype=np.float32)[:, None]
    y = np.array([0] * 1 + [1] * 5 + [3] * 34)
    vectors = find_class_centers(feed(X, y, 4), most=8)
    assert np.diff(vectors.firsts).tolist() == [1, 2, 1, 8]
    assert centers_of(vectors)[0, 0] == 0
    monkeypatch.setattr(class_centers, "_MOST_ROWS", 2)
    few = find_class_centers(feed(X, y, 4), most=1, seed=7)
    rows = some_of_each(y, 2, 7)
    assert len(rows) == 1 + 2 + 2
    means = [X[rows][y[rows] == k].mean() if k != 2 else 0 for k in range(4)]
    assert centers_of(few)[:, 0] == pytest.approx(means, abs=0.2)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_same_for_any_number_of_threads_and_blocks(n_threads, monkeypatch):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300, 4)).astype("f4"), rng.integers(0, 12, 300)
    one = find_class_centers(feed(X, y, 12), most=5, seed=3)
    monkeypatch.setattr(class_centers, "_NUMBERS", 100)
    other = find_class_centers(feed(X, y, 12), most=5, seed=3, n_threads=n_threads)
    assert (one.weights == other.weights).all()
    assert one.bias == pytest.approx(other.bias, rel=1e-5)


def test_weights_count_and_all_rows_may_be_alike():
    X, y = np.array([[0], [1], [4]], np.float32), np.zeros(3, int)
    weighted = find_class_centers(feed(X, y, 1, np.array([1, 1, 2], np.float32)), most=1)
    assert centers_of(weighted)[0, 0] == pytest.approx(9 / 4, abs=0.02)
    alike = find_class_centers(feed(np.ones((8, 3), np.float32), np.arange(8) % 2, 2), most=3)
    assert np.isfinite(alike.bias).all()
    assert alike.space.is_sound
    nothing = find_class_centers(feed(np.zeros((8, 3), np.float32), np.arange(8) % 2, 2), most=3)
    assert (nothing.space.factor == 1).all()


def test_a_class_without_rows_is_never_the_nearest():
    X, y = np.random.default_rng(3).normal(size=(30, 3)).astype("f4"), np.arange(30) % 2
    vectors = find_class_centers(feed(X, y, 3), most=2)
    own = vectors.of_class(2)
    assert vectors.bias[own].tolist() == [-1e9]
    assert (vectors.bias[: own.start] > -1e6).all()


@pytest.mark.parametrize("size", [1e-30, 1e-18, 1e12, 1e25])
def test_where_distances_cannot_be_told_there_are_no_centers(size):
    X = (np.random.default_rng(5).normal(size=(40, 3)) * size).astype("f4")
    with np.errstate(over="ignore"):
        assert find_class_centers(feed(X, np.arange(40) % 4, 4), most=2) is None


def test_rows_that_are_nearly_alike_have_finite_margins():
    X = np.ones((40, 3), np.float32)
    X[3] = np.nextafter(X[3], np.float32(2))
    vectors = find_class_centers(feed(X, np.arange(40) % 2, 2), most=2)
    assert np.abs(vectors.bias).max() < 1e12


def test_sparse_rows_that_are_scaled_have_the_same_centers():
    rng = np.random.default_rng(4)
    X, y = rng.random((50, 6)).astype("f4"), rng.integers(0, 4, 50)
    scaling = Scaling(shift=X.mean(axis=0), factor=1 / X.std(axis=0))
    dense, sparse = (
        find_class_centers(feed(rows, y, 4, scaling=scaling), most=3)
        for rows in (X, sp.csr_array(X))
    )
    assert (dense.weights == sparse.weights).all()


def test_what_a_report_raises_ends_the_work():
    def stop():
        raise KeyboardInterrupt

    X, y = np.ones((9, 2), np.float32), np.arange(9) % 3
    with pytest.raises(KeyboardInterrupt):
        find_class_centers(feed(X, y, 3), most=2, report=stop)
