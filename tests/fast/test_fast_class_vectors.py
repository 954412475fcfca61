"""Vectors of the second stage: what they are, and what they do not depend on."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from made_vectors import (
    EVERYTHING,
    N_CLASSES,
    exactly,
    make_rows,
    margins,
    same_bits,
    shared_out,
    train,
)
from sklearn.svm import LinearSVC

from dsnc import _native
from dsnc.fast import class_vectors
from dsnc.fast.rows import Scaling
from dsnc.targets import Targets

CLOSE = {"rtol": 0.02, "atol": 0.02}  # weights have an octet each


@pytest.fixture
def exact(monkeypatch):
    exactly(monkeypatch)


@given(seed=st.integers(0, 2**31), n_classes=st.integers(1, 6), width=st.integers(0, 4))
def test_rows_are_shared_out_as_by_hand(seed, n_classes, width):
    rng = np.random.default_rng(seed)
    sets = Targets(sp.csr_array(rng.random((9, n_classes)) < 0.4), n_classes)
    own = sets.lists()
    candidates = rng.integers(-1, n_classes, (9, width)).astype(np.int32)
    expected = shared_out(sets.classes.toarray(), candidates, n_classes)
    starts, *shared = class_vectors._share_out(*own, candidates, n_classes)
    assert np.diff(starts).tolist() == [len(rows) for rows in expected]
    assert list(zip(*shared, strict=True)) == [row for problem in expected for row in problem]


# Against another solver


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_features", [12, 45])
def test_margins_are_those_of_a_support_vector_machine(level, exact, C, sparse, n_features):
    X, y = make_rows(n_features=n_features)
    length = float(np.square(X).sum(axis=1).mean())
    vectors = train(sp.csr_array(X) if sparse else X, y, C=C)
    settings = {"loss": "squared_hinge", "dual": True, "tol": 1e-8, "max_iter": 100_000}
    machine = LinearSVC(C=C / length, intercept_scaling=np.sqrt(length), **settings).fit(X, y)
    rounding = np.abs(X).sum(axis=1, keepdims=True) * vectors.scales / 2  # of weights to octets
    difference = np.abs(margins(vectors, X) - machine.decision_function(X))
    assert (difference <= rounding + 1e-3).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"starts": np.array([0, 3])}, "rows of problems lead outside"),
        ({"rows": np.array([0, 2])}, "what is no row"),
        ({"positive": np.ones(3, bool)}, "do not fit"),
        ({"indptr": np.array([0, 2, 1])}, "indptr does not ascend"),
        ({"indices": np.array([0, 3], "i4")}, "that vectors do not have"),
        ({"indptr": np.empty(0, int)}, "not as many features"),
        ({"least": 0.0}, "least is not above 0"),
        ({"room": 3}, "no room for the weights of a class"),
    ],
)
def test_the_core_refuses_problems_that_lead_outside(change, message):
    given = {
        "starts": np.array([0, 2]),
        "rows": np.array([0, 1]),
        "positive": np.array([True, False]),
        "indptr": np.array([0, 1, 2]),
        "indices": np.array([0, 1], "i4"),
        "least": 0.1,
        "room": 4,
    } | change
    problems = given["starts"], given["rows"], given["positive"]
    features = given["indptr"], given["indices"], np.ones(2, "f4")
    numbers = {"offset": 1.0, "tolerance": 0.1, "lean": 0.0, "n_passes": 1, "seed": 0}
    numbers |= {"least": given["least"]}
    ones, found = (
        np.ones(2, "f4"),
        tuple(np.empty(given["room"], kind) for kind in ("i4", "i4", "f4")),
    )
    with pytest.raises(ValueError, match=message):
        _native.solve(0, *problems, 0, features, ones, ones, 3, numbers, np.zeros(1, "f4"), found)


def test_a_weight_counts_like_so_many_rows(exact):
    X, y = make_rows(n=60)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    X[3] = X[4]  # all of length 1: cost does not change with what is repeated
    weight = np.where(np.arange(60) % 3 == 0, 2.0, 1.0).astype(np.float32)
    twice = np.repeat(np.arange(60), weight.astype(int))
    weighted = train(X, y, weight=weight, C=weight.mean())
    repeated = train(X[twice], y[twice])
    np.testing.assert_allclose(margins(weighted, X), margins(repeated, X), **CLOSE)
    assert not np.allclose(margins(train(X, y), X), margins(repeated, X), **CLOSE)


def test_rows_that_are_left_out_do_not_count():
    X, y = make_rows()
    rows = np.arange(0, 80, 2)
    weight = np.where(np.arange(80) % 2, 0, 1.5).astype(np.float32)
    some = train(X, y, weight=weight, rows=rows)
    alone = train(X[rows], y[rows], weight=weight[rows])
    assert same_bits(some, alone)


# Rows of any kind


def test_dense_and_sparse_rows_give_the_same_vectors(exact):
    X, y = make_rows()
    dense, sparse = train(X, y), train(sp.csr_array(X), y)
    np.testing.assert_allclose(margins(dense, X), margins(sparse, X), **CLOSE)
    again = train(sp.csr_array(X).astype(np.float64), y)
    assert same_bits(again, sparse)


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_of_length_1_are_those_divided_beforehand(exact, sparse):
    X, y = make_rows()
    length = np.linalg.norm(X, axis=1, keepdims=True)
    divided = X / np.where(length > 0, length, 1)
    kind = sp.csr_array if sparse else np.asarray
    unit = train(kind(X), y, scaling=Scaling(unit_rows=True))
    plain = train(kind(divided), y)
    assert (unit.unit_rows, plain.unit_rows) == (True, False)
    np.testing.assert_allclose(margins(unit, X), margins(plain, divided), **CLOSE)


def test_vectors_of_scaled_rows_take_rows_as_they_come(exact):
    X, y = make_rows()
    rng = np.random.default_rng(1)
    shift, factor = rng.normal(size=12).astype(np.float32), rng.uniform(0.5, 2, 12)
    factor = factor.astype(np.float32)
    scaling = Scaling(shift=shift, factor=factor)
    expected = margins(train((X - shift) * factor, y), (X - shift) * factor)
    for rows in (X, sp.csr_array(X)):
        np.testing.assert_allclose(margins(train(rows, y, scaling=scaling), X), expected, **CLOSE)


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_without_features_leave_a_bias(sparse):
    X, y = np.zeros((6, 4), np.float32), np.arange(6) % 2
    vectors = train(sp.csr_array(X) if sparse else X, y, n_classes=3)
    assert len(vectors) == 0
    assert vectors.bias[2] < vectors.bias[0]  # nobody has it


def test_a_block_of_rows_without_features_beside_others(monkeypatch):
    monkeypatch.setattr(class_vectors, "_PAIRS", 1)
    X = sp.csr_array(np.array([[0, 0], [0, 0], [1, 2], [2, 1]], np.float32))
    candidates = np.array([[1], [0], [3], [2]], np.int32)
    vectors = train(X, np.arange(4), candidates, n_classes=4)
    matrix = vectors.matrix().toarray()
    assert not matrix[:2].any()
    assert matrix[2:].any(axis=1).all()


# What they do not depend on


def problem(n=400, n_features=300, n_classes=60, seed=2):
    rng = np.random.default_rng(seed)
    X, y = make_rows(n, n_features, n_classes, seed)
    candidates = rng.integers(-1, n_classes, (n, 6)).astype(np.int32)
    return sp.csr_array(X), y, candidates


@pytest.fixture(params=["dense", "sparse"])
def many(request):
    X, y, candidates = problem()
    return (X.toarray() if request.param == "dense" else X), y, candidates


@pytest.mark.parametrize("n_weights", [200, EVERYTHING])
def test_the_same_bits_for_any_number_of_threads(many, monkeypatch, n_weights):
    monkeypatch.setattr(class_vectors, "_PAIRS", 300)
    settings = {"n_classes": 60, "n_weights": n_weights}
    expected = train(*many, **settings)
    assert len(expected)
    for n_threads in (2, 3, 4):
        assert same_bits(train(*many, **settings, n_threads=n_threads), expected)


@pytest.mark.parametrize(
    ("constant", "value"), [("_PAIRS", 1), ("_PAIRS", 700), ("_NUMBERS", 5000), ("_ROOM", 0)]
)
def test_blocks_do_not_matter(many, monkeypatch, constant, value):
    expected = train(*many, n_classes=60, n_weights=900)
    monkeypatch.setattr(class_vectors, constant, value)
    assert same_bits(train(*many, n_classes=60, n_weights=900), expected)


def test_the_seed_decides_the_order_of_rows(many):
    first, same, other = (train(*many, n_classes=60, seed=seed) for seed in (4, 4, 5))
    assert same_bits(first, same)
    assert not same_bits(first, other)


# Within a budget


@pytest.mark.parametrize("n_weights", [0, 1, 50, 1000])
def test_the_largest_weights_are_kept(many, n_weights):
    everything, few = (train(*many, n_classes=60, n_weights=n) for n in (EVERYTHING, n_weights))
    assert len(few) <= n_weights
    assert np.array_equal(few.bias, everything.bias)
    whole = np.abs(everything.matrix().toarray())
    kept = few.matrix().toarray() != 0
    if n_weights:
        least, scale = whole[kept].min(), whole.max() / 127  # of rounding
        assert len(few) >= n_weights - (np.abs(whole - least) <= scale).sum()
        assert whole[~kept].max() <= least + scale


def test_no_array_is_as_large_as_classes_times_features():
    n, n_features, n_classes = 4000, 50_000, 20_000
    rng = np.random.default_rng(0)
    columns = rng.integers(0, n_features, (n, 8))
    X = sp.csr_array(
        (rng.random(8 * n, np.float32), (np.repeat(np.arange(n), 8), columns.ravel())),
        shape=(n, n_features),
    )
    y, candidates = rng.integers(0, n_classes, n), rng.integers(0, n_classes, (n, 5))
    tracemalloc.start()
    vectors = train(X, y, candidates.astype(np.int32), n_classes=n_classes, n_weights=100_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 90_000 < len(vectors) <= 100_000
    assert peak < 80e6  # one such array has 4 GB


# Corners


def test_one_class_and_one_row():
    vectors = train(np.ones((1, 3), np.float32), [0], n_classes=1)
    assert margins(vectors, np.ones((1, 3)))[0, 0] > 0.5
    vectors = train(np.ones((1, 3), np.float32), [2], n_classes=4)
    assert margins(vectors, np.ones((1, 3)))[0].argmax() == 2


def test_classes_without_rows_have_no_weights():
    X, y = make_rows()
    nobody = np.full((80, 3), -1, np.int32)
    vectors = train(X, y, nobody, n_classes=N_CLASSES + 4)
    assert (np.diff(vectors.starts)[N_CLASSES:] == 0).all()
    assert (vectors.bias[N_CLASSES:] == 0).all()
    assert (margins(vectors, X)[np.arange(80), y] > 0).all()  # nothing speaks against


def test_what_the_report_raises_ends_training(monkeypatch):
    monkeypatch.setattr(class_vectors, "_PAIRS", 1)
    told = []

    def report(done):
        told.append(done)
        if len(told) == 3:
            raise KeyboardInterrupt

    X, y, candidates = problem()
    for n_threads in (1, 2):
        told.clear()
        with pytest.raises(KeyboardInterrupt):
            train(X, y, candidates, n_classes=60, n_threads=n_threads, report=report)
        assert len(told) < 60
    told = [0, 0, 0]
    train(X, y, candidates, n_classes=60, report=told.append)
    assert told[-1] == 60
