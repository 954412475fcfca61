"""Centers of classes: k-means, one class after the other, by a kernel in threads; then steps."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dsnc import _native
from dsnc.decoders.memory import some_of_each
from dsnc.fast import class_centers
from dsnc.fast.class_centers import find_class_centers, more_class_centers
from dsnc.fast.rows import Feed, Scaling
from dsnc.rerank import Space
from dsnc.targets import Targets
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


@given(seed=st.integers(0, 2**31), n_centers=st.integers(1, 4), weighted=st.booleans())
def test_the_kernel_is_k_means(level, seed, n_centers, weighted):
    rng = np.random.default_rng(seed)
    # Whole numbers, so that there are ties, and sums are exact.
    rows = rng.integers(-3, 4, (10, 2)).astype(np.float32)
    weight = (rng.integers(0, 3, 10) if weighted else np.ones(10)).astype(np.float32)
    weight[[0, 6]] = 1
    starts, firsts = np.array([0, 6, 6, 10]), np.cumsum([0, n_centers, 1, n_centers])
    centers = np.zeros((firsts[-1], 2), np.float32)
    total = _native.find_centers(rows, weight, starts, firsts, seed, PASSES, centers)
    expected, sums = np.zeros_like(centers), 0.0
    for k in (0, 2):
        mine, own = slice(starts[k], starts[k + 1]), slice(firsts[k], firsts[k + 1])
        expected[own], far = naive_centers(rows[mine], weight[mine], n_centers, seed + k)
        sums += far
    np.testing.assert_allclose(centers, expected, atol=1e-5)
    assert total == pytest.approx(sums, rel=1e-5, abs=1e-5)


def naive_steps(rows, own, weight, candidates, firsts, rates, spread, seed, n_movable, centers):
    """Move the first centers in place, one row after the other."""
    width = rows.shape[1]
    for i, row in enumerate(rows.astype(np.float64)):
        rate = weight[i] * (rates[0] + i / len(rows) * (rates[1] - rates[0]))
        moved = row + spread * (2 * noise(seed, i * width + np.arange(width)) - 1)
        named = [k for k in candidates[i] if k >= 0]
        if own[i] not in named:
            continue
        apart = [squared(centers[firsts[k] : firsts[k + 1]], moved) for k in named]
        logits = -np.array([each.min() for each in apart])
        share = np.exp(logits - logits.max())
        wishes = (np.array(named) == own[i]) - share / share.sum()
        for k, each, wish in zip(named, apart, wishes, strict=True):
            step = np.clip(rate * wish, -0.5, 0.5)
            c = firsts[k] + each.argmin()
            if abs(step) > 1e-4 and c < n_movable:
                centers[c] += step * (moved - centers[c])


@given(
    seed=st.integers(0, 2**31),
    spread=st.sampled_from([0.0, 0.3]),
    n_movable=st.sampled_from([3, 8]),
    width=st.sampled_from([3, 16, 51]),
)
def test_the_kernel_moves_centers_as_it_should(level, seed, spread, n_movable, width):
    rng = np.random.default_rng(seed)
    firsts = np.array([0, 2, 3, 6, 8])
    rows, centers = (rng.normal(size=(n, width)).astype("f4") for n in (12, 8))
    rows, centers = rows / np.float32(width**0.5), centers / np.float32(width**0.5)
    own, weight = rng.integers(0, 4, 12), rng.choice([0.0, 0.5, 1, 9], 12).astype("f4")
    candidates = np.array([rng.permutation([0, 1, 2, 3, -1])[:4] for _ in range(12)], np.int32)
    given, rates, rest = (rows, own, weight, candidates, firsts), (0.4, 0.1), (spread, seed)
    expected, before = centers.astype(np.float64), centers.copy()
    naive_steps(*given, rates, *rest, n_movable, expected)
    _native.move_centers(*given, *rates, *rest, n_movable, centers)
    np.testing.assert_allclose(centers, expected, atol=1e-4)
    assert (centers[n_movable:] == before[n_movable:]).all()
    assert (centers != before).any() or not np.isin(own, candidates).all() or n_movable < 8


def feed(X, y, n_classes, weight=None, scaling=None):
    return Feed(Examples(X, Targets(y, n_classes), weight), scaling or Scaling())


def found(given, candidates=None, **settings):
    """Return centers; by default no row names a candidate, and k-means has the last word."""
    if candidates is None:
        candidates = np.full((given.n_rows, 1), -1, np.int32)
    return find_class_centers(given, candidates, **settings)


def centers_of(vectors):
    """Return the centers, as rows come."""
    return vectors.matrix().toarray() / (2 * vectors.space.factor**2) + vectors.space.shift


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight": np.ones(3, "f4")}, "do not fit"),
        ({"starts": np.array([0, 5])}, "rows of classes lead outside"),
        ({"starts": np.array([3, 0, 4])}, "rows of classes lead outside"),
        ({"firsts": np.array([0, 3])}, "centers of classes lead outside"),
        ({"firsts": np.array([0, 0])}, "more centers than rows, or none"),
    ],
)
def test_the_core_refuses_classes_that_lead_outside(change, message):
    given = {"rows": np.ones((4, 2), "f4"), "weight": np.ones(4, "f4")}
    given |= {"starts": np.array([0, 4]), "firsts": np.array([0, 2]), **change}
    with pytest.raises(ValueError, match=message):
        _native.find_centers(*given.values(), 0, 3, np.zeros((2, 2), "f4"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"own": np.zeros(3, int)}, "do not fit"),
        ({"candidates": np.full((4, 1), 1, "i4")}, "a candidate is no class"),
        ({"firsts": np.array([0, 3])}, "centers of classes lead outside"),
        ({"firsts": np.array([0, 0, 2])}, "a class has no center"),
    ],
)
def test_the_core_refuses_candidates_that_lead_outside(change, message):
    given = {"rows": np.ones((4, 2), "f4"), "own": np.zeros(4, int), "weight": np.ones(4, "f4")}
    given |= {"candidates": np.zeros((4, 1), "i4"), "firsts": np.array([0, 2]), **change}
    with pytest.raises(ValueError, match=message):
        _native.move_centers(*given.values(), 0.1, 0.0, 1.0, 0, 2, np.zeros((2, 2), "f4"))


SIDES = np.array([[0, 0], [9, 0], [0, 9], [9, 9]], np.float32)


def test_a_class_has_a_center_on_each_of_its_sides():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 40)
    X = (SIDES[np.arange(120) % 4] + 20 * y[:, None] + rng.normal(0, 0.1, (120, 2))).astype("f4")
    scaling = Scaling(shift=X.mean(axis=0), factor=1 / X.std(axis=0))
    vectors = found(feed(X, y, 3, scaling=scaling), most=4)
    assert vectors.firsts.tolist() == [0, 4, 8, 12]
    for k in range(3):
        mine = centers_of(vectors)[vectors.of_class(k)]
        assert np.abs(squared(SIDES[:, None] + 20 * k, mine).min(axis=1)).max() < 0.2


def test_distances_are_told_in_a_usual_unit():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 5)).astype("f4") * 1000, np.repeat(np.arange(3), 20)
    vectors = found(feed(X, y, 3), most=1)
    means = np.stack([X[y == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(centers_of(vectors), means, atol=20)
    usual = squared(X * vectors.space.factor, (means * vectors.space.factor)[y]).mean()
    assert usual == pytest.approx(4, rel=1e-4)
    beside = more_class_centers(feed(X, y, 3), Space.of(5), most=1)
    assert (beside.space.factor == 1).all()


def test_few_rows_have_few_centers_and_many_are_not_all_looked_at(monkeypatch):
    X = np.arange(40, dtype=np.float32)[:, None]
    y = np.array([0] * 1 + [1] * 5 + [3] * 34)
    vectors = found(feed(X, y, 4), most=8)
    assert np.diff(vectors.firsts).tolist() == [1, 2, 1, 8]
    assert centers_of(vectors)[0, 0] == 0
    monkeypatch.setattr(class_centers, "_MOST_ROWS", 2)
    few = found(feed(X, y, 4), most=1, seed=7)
    rows = some_of_each(y, 2, 7)
    assert len(rows) == 1 + 2 + 2
    means = [X[rows][y[rows] == k].mean() if k != 2 else 0 for k in range(4)]
    assert centers_of(few)[:, 0] == pytest.approx(means, abs=0.2)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_same_for_any_number_of_threads_and_blocks(n_threads, monkeypatch):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300, 4)).astype("f4"), rng.integers(0, 12, 300)
    one = found(feed(X, y, 12), most=5, seed=3)
    monkeypatch.setattr(class_centers, "_NUMBERS", 100)
    other = found(feed(X, y, 12), most=5, seed=3, n_threads=n_threads)
    assert (one.weights == other.weights).all()
    assert one.bias == pytest.approx(other.bias, rel=1e-5)


def test_rows_move_centers_to_where_their_class_is_told_from_others():
    rng = np.random.default_rng(6)
    middles, stretch = rng.normal(size=(30, 12)), np.linspace(0.2, 2, 12)

    def drawn(n):
        y = rng.integers(0, 30, n)
        return (middles[y] + stretch * rng.normal(size=(n, 12))).astype("f4"), y

    X, y = drawn(3000)
    near = squared(X[:, None], middles).argsort(axis=1).astype(np.int32)
    alone, moved = (found(feed(X, y, 30), rivals, most=4, seed=1) for rivals in (None, near))
    fresh, truth = drawn(2000)

    def right(vectors):
        margins = fresh @ vectors.matrix().toarray().T + vectors.bias
        best = np.maximum.reduceat(margins, vectors.firsts[:-1], axis=1).argmax(axis=1)
        return (best == truth).mean()

    assert right(moved) > right(alone) + 0.04
    again = found(feed(X, y, 30), near, most=4, seed=1, n_threads=2)
    assert (moved.weights == again.weights).all()


def test_very_many_rows_move_centers_in_few_rounds(monkeypatch):
    calls = []
    monkeypatch.setattr(_native, "move_centers", lambda rows, *_: calls.append(len(rows)))
    X, y = np.random.default_rng(7).normal(size=(30, 2)).astype("f4"), np.arange(30) % 3
    rivals = np.tile(np.arange(3, dtype=np.int32), (30, 1))
    rivals[:10] = -1
    found(feed(X, y, 3), rivals, most=1)
    monkeypatch.setattr(class_centers, "_STEPS", 50)
    found(feed(X, y, 3), rivals, most=1)
    monkeypatch.setattr(class_centers, "_STEPS", 5)
    found(feed(X, y, 3), rivals, most=1)
    assert calls == [20] * (8 + 2 + 1)


def test_weights_count_and_all_rows_may_be_alike():
    X, y = np.array([[0], [1], [4]], np.float32), np.zeros(3, int)
    weighted = found(feed(X, y, 1, np.array([1, 1, 2], np.float32)), most=1)
    assert centers_of(weighted)[0, 0] == pytest.approx(9 / 4, abs=0.02)
    alike = found(feed(np.ones((8, 3), np.float32), np.arange(8) % 2, 2), most=3)
    assert np.isfinite(alike.bias).all()
    assert alike.space.is_sound
    nothing = found(feed(np.zeros((8, 3), np.float32), np.arange(8) % 2, 2), most=3)
    assert (nothing.space.factor == 1).all()


def test_a_class_without_rows_is_never_the_nearest():
    X, y = np.random.default_rng(3).normal(size=(30, 3)).astype("f4"), np.arange(30) % 2
    vectors = found(feed(X, y, 3), most=2)
    own = vectors.of_class(2)
    assert vectors.bias[own].tolist() == [-1e9]
    assert (vectors.bias[: own.start] > -1e6).all()


@pytest.mark.parametrize("size", [1e-30, 1e-18, 1e12, 1e25])
def test_where_distances_cannot_be_told_there_are_no_centers(size):
    X = (np.random.default_rng(5).normal(size=(40, 3)) * size).astype("f4")
    with np.errstate(over="ignore"):
        assert found(feed(X, np.arange(40) % 4, 4), most=2) is None


def test_rows_that_are_nearly_alike_have_finite_margins():
    X = np.ones((40, 3), np.float32)
    X[3] = np.nextafter(X[3], np.float32(2))
    vectors = found(feed(X, np.arange(40) % 2, 2), most=2)
    assert np.abs(vectors.bias).max() < 1e12


def test_sparse_rows_that_are_scaled_have_the_same_centers():
    rng = np.random.default_rng(4)
    X, y = rng.random((50, 6)).astype("f4"), rng.integers(0, 4, 50)
    scaling = Scaling(shift=X.mean(axis=0), factor=1 / X.std(axis=0))
    dense, sparse = (
        found(feed(rows, y, 4, scaling=scaling), most=3) for rows in (X, sp.csr_array(X))
    )
    assert (dense.weights == sparse.weights).all()


def test_what_a_report_raises_ends_the_work():
    def stop():
        raise KeyboardInterrupt

    X, y = np.ones((9, 2), np.float32), np.arange(9) % 3
    with pytest.raises(KeyboardInterrupt):
        found(feed(X, y, 3), most=2, report=stop)
