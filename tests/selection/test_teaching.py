"""Rows of classes that come teach a linear encoder what rare features mean."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import dsnc
from dsnc.encoders.numpy import Layer, NumpyEncoder
from dsnc.selection.teaching import can_be_taught

N_CLASSES, N_OLD, WORDS, COMMON = 60, 48, 4, 40
RNG = np.random.default_rng(0)


def _rows(n_each):
    """Return rows of words: some that many classes have, and a few that one class has mostly."""
    y = np.arange(N_CLASSES).repeat(n_each)
    own = COMMON + WORDS * y[:, None] + RNG.integers(WORDS, size=(len(y), 2))
    shared = (y[:, None] * 7 + RNG.integers(12, size=(len(y), 6))) % COMMON
    words = np.concatenate([own, shared], axis=1)
    counts = np.zeros((len(y), COMMON + WORDS * N_CLASSES), np.float32)
    np.add.at(counts, (np.arange(len(y))[:, None], words), 1)
    return sp.csr_array(counts), y


X, Y = _rows(30)
TEST, Y_TEST = _rows(10)
OLD, NEW = np.flatnonzero(Y < N_OLD), np.flatnonzero(Y >= N_OLD)


@pytest.fixture(scope="module")
def base():
    model = dsnc.DSNCClassifier(n_bits=16, reranker=None, random_state=0)
    return model.fit(X[OLD], Y[OLD])


def come(model, rows=NEW):
    model = copy.deepcopy(model)
    return model.add_classes(X[rows], Y[rows])


def weights(model):
    return model.predictor_.encoder.layers[0].weight


def forgetful(model):
    """Return a model that has not counted its features."""
    model = copy.deepcopy(model)
    model._memory = replace(model._memory, seen=np.zeros(0, np.uint32))
    return model


def test_features_that_training_has_seen_are_counted(base):
    n_learned = base._memory.counts.sum()
    seen = base._memory.seen
    assert len(seen) == X.shape[1]
    assert not seen[COMMON + WORDS * N_OLD :].any()
    assert 0 < seen[:COMMON].min() < seen[:COMMON].max() <= n_learned
    more = come(base)._memory.seen.astype(int) - seen
    assert (more == (X[NEW].toarray() > 0).sum(axis=0)).all()


def test_rare_features_move_and_others_stay(base):
    moved = np.abs(weights(come(base)) - weights(base)).max(axis=1)
    own = COMMON + WORDS * N_OLD
    assert (moved[own:] > 0.1).all()
    assert moved[:COMMON].max() < 0.1 * moved[own:].mean()
    assert not moved[COMMON:own].any()  # no new row has them


def test_new_classes_are_found_more_often(base):
    plain, taught = come(forgetful(base)), come(base)
    is_new = Y_TEST >= N_OLD
    gain = taught.score(TEST[is_new], Y_TEST[is_new]) - plain.score(TEST[is_new], Y_TEST[is_new])
    assert gain > 0.1
    loss = plain.score(TEST[~is_new], Y_TEST[~is_new]) - taught.score(
        TEST[~is_new], Y_TEST[~is_new]
    )
    assert loss < 0.02


def test_few_rows_teach_nothing(base):
    few = np.concatenate([np.flatnonzero(Y == k)[:3] for k in range(N_OLD, N_CLASSES)])
    assert np.array_equal(weights(come(base, few)), weights(base))
    assert np.array_equal(weights(come(forgetful(base))), weights(base))


def test_one_class_teaches_as_well(base):
    one = np.flatnonzero(Y == N_OLD)
    grown = come(base, one)
    assert not np.array_equal(weights(grown), weights(base))
    assert grown.score(TEST[Y_TEST == N_OLD], Y_TEST[Y_TEST == N_OLD]) == 1


def test_any_number_of_threads_and_a_file_teach_the_same(base, tmp_path):
    expected = come(base)
    several = copy.deepcopy(base).set_params(n_jobs=3)
    assert np.array_equal(weights(come(several)), weights(expected))
    base.save(tmp_path / "model")
    again = come(dsnc.load(tmp_path / "model"))
    assert np.array_equal(weights(again), weights(expected))
    assert np.array_equal(again.predict(TEST), expected.predict(TEST))


def test_a_memory_that_has_not_counted_from_the_first_row_never_does(base):
    without = copy.deepcopy(base)
    without._memory = None
    for before in (forgetful(base), without):
        later = before.partial_fit(X[OLD[:100]], Y[OLD[:100]])
        assert not len(later._memory.seen)
    fresh = dsnc.DSNCClassifier(n_bits=16).partial_fit(X[OLD], Y[OLD], classes=range(N_OLD))
    assert fresh._memory.seen.sum() == X[OLD].nnz
    counted = copy.deepcopy(base).partial_fit(X[OLD[:100]], Y[OLD[:100]])
    assert counted._memory.seen.sum() == base._memory.seen.sum() + X[OLD[:100]].nnz


def test_only_linear_encoders_of_rows_of_length_1():
    layer = Layer(np.eye(3), np.zeros(3))
    assert can_be_taught(NumpyEncoder([layer], row_normalize=True))
    assert not can_be_taught(NumpyEncoder([layer]))
    assert not can_be_taught(NumpyEncoder([layer, layer], row_normalize=True))
    assert not can_be_taught(object())
