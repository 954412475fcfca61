"""Centers of classes that come: they keep a distance from others, and few are given something."""

from itertools import combinations

import numpy as np
import pytest

from dsnc.decoders import LinearDecoder
from dsnc.fast.class_centers import find_class_centers
from dsnc.fast.new_classes import new_class_centers
from dsnc.fast.rows import Feed, Scaling
from dsnc.rerank import FeatureReranker, Space
from dsnc.selection import new_vectors
from dsnc.selection.new_vectors import Seen, _lags
from dsnc.targets import Targets
from dsnc.training.examples import Examples

RNG = np.random.default_rng(5)
SPACE = Space.of(3, shift=[1, -2, 0], factor=[2, 1, 0.5])


def vectors_of(centers, n_each):
    return SPACE.vectors(centers.astype(np.float32), np.concatenate([[0], np.cumsum(n_each)]))


def test_centers_are_found_in_vectors_again():
    centers = RNG.normal(size=(6, 3)).astype(np.float32)
    vectors = vectors_of(centers, [1, 2, 3])
    assert np.abs(SPACE.centers(vectors) - centers).max() < 0.05  # weights are octets
    assert vectors.n_each.tolist() == [1, 2, 3]
    rows = SPACE.rows(centers)
    assert np.allclose((rows - SPACE.shift) * SPACE.factor, centers, atol=1e-6)


def test_few_centers_are_farther_from_rows_than_many():
    centers = RNG.normal(size=(4 * 20, 3)).astype(np.float32)
    vectors = vectors_of(centers, [4] * 20)
    found = _lags(vectors)
    known = SPACE.centers(vectors).astype(np.float64).reshape(20, 4, 3)
    nearest: dict[int, list[float]] = {1: [], 2: [], 3: []}
    for own in known:
        for i in range(4):
            apart = [((own[i] - own[j]) ** 2).sum() for j in range(4) if j != i]
            for n, all_ in nearest.items():
                all_.append(np.mean([min(some) for some in combinations(apart, n)]))
    expected = [np.mean(nearest[n]) - np.mean(nearest[3]) for n in (1, 2, 3)]
    assert found.tolist() == pytest.approx([0, *expected, 0], abs=1e-3)
    assert (np.diff(found[1:]) <= 0).all() and found[1] > 0


@pytest.mark.parametrize("n_each", [1, 2])
def test_where_classes_have_few_centers_nothing_is_known_of_fewer(n_each):
    vectors = vectors_of(RNG.normal(size=(5 * n_each, 3)), [n_each] * 5)
    assert not _lags(vectors).any()
    assert len(_lags(vectors)) == n_each + 1


N_NEW, N_OLD, WIDTH = 20, 40, 50
MIDDLES = 0.6 * RNG.normal(size=(N_NEW + N_OLD, WIDTH))


def drawn(n, first, last):
    y = RNG.integers(first, last, n)
    noise = np.linspace(0.2, 1, WIDTH) * RNG.normal(size=(n, WIDTH))
    return (MIDDLES[y] + noise).astype(np.float32), y


def near(X):
    return ((X[:, None] - MIDDLES) ** 2).sum(axis=2).argsort(axis=1)[:, :20].astype(np.int32)


@pytest.fixture(scope="module")
def old():
    """Centers of old classes, which are numbered after the new ones."""
    X, y = drawn(100 * N_OLD, N_NEW, N_NEW + N_OLD)
    feed = Feed(Examples(X, Targets(y - N_NEW, N_OLD)), Scaling())
    return find_class_centers(feed, np.maximum(near(X) - N_NEW, -1), most=4)


def test_new_centers_are_moved_to_where_classes_are_told_apart(old):
    (come, new), (fresh, truth) = drawn(100 * N_NEW, 0, N_NEW), drawn(6000, 0, N_NEW + N_OLD)
    before, parts = old.weights.copy(), (Examples(come, Targets(new, N_NEW)), old)
    candidates = near(np.concatenate([come, MIDDLES[N_NEW:]]))
    alone, beside, again = (
        new_class_centers(*parts, others, candidates, seed=1, n_threads=n)
        for others, n in ((None, 1), (old, 1), (old, 2))
    )

    def right(vectors):
        both = vectors.with_classes(np.append(np.arange(N_NEW), [-1] * N_OLD), old)
        margins = fresh @ both.matrix().toarray().T + both.bias
        best = np.maximum.reduceat(margins, both.firsts[:-1], axis=1).argmax(axis=1)
        return (best == truth).mean()

    assert right(beside) > right(alone) + 0.003
    assert (beside.weights == again.weights).all() and (old.weights == before).all()


@pytest.mark.parametrize("loses", [False, True])
def test_rows_that_are_held_back_say_whether_centers_move(old, loses, monkeypatch):
    come, new = drawn(30 * N_NEW, 0, N_NEW)
    seen = Seen(come, come @ RNG.normal(size=(WIDTH, 16)).astype(np.float32), new)
    linear = LinearDecoder(RNG.normal(size=(N_NEW + N_OLD, 16)), np.zeros(N_NEW + N_OLD))
    before = np.append(np.full(N_NEW, -1), np.arange(N_OLD))
    answers = iter([np.ones(50, bool), np.full(50, not loses)])
    monkeypatch.setattr(new_vectors, "_told", lambda *_: next(answers))
    how = {"scaling": "auto", "seed": 0, "n_threads": 1}
    found = new_vectors.with_new_vectors(FeatureReranker(old), seen, before, linear, None, **how)
    alone = new_class_centers(Examples(come, Targets(new, N_NEW)), old, None, None, seed=0)
    mine = found.vectors.with_classes(np.arange(N_NEW))
    assert (mine.weights == alone.weights).all() == loses
    assert found.vectors.n_classes == N_NEW + N_OLD


def test_what_is_told_by_new_centers(old):
    come, new = drawn(400, 0, N_NEW)
    alone = new_class_centers(Examples(come, Targets(new, N_NEW)), old, None, None, seed=0)
    X = (come[:50] + 2 * RNG.normal(size=(50, WIDTH))).astype(np.float32)
    rows, candidates = Seen(X, np.zeros((50, 4), np.float32), new[:50]), near(X)
    told = new_vectors._told(alone, old, rows, candidates)
    both = alone.with_classes(np.append(np.arange(N_NEW), [-1] * N_OLD), old)
    margins = X @ both.matrix().toarray().T + both.bias
    says = np.maximum.reduceat(margins, both.firsts[:-1], axis=1)
    for i, own in enumerate(new[:50]):
        assert told[i] == (says[i, own] >= says[i, [*candidates[i], own]].max())
    assert 0 < told.sum() < 50
