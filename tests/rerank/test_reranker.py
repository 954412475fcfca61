import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from made_stages import Stages, margin, second_look

from dsnc.codes import Encoded
from dsnc.decoders.confidence import Confidence
from dsnc.errors import InputError
from dsnc.rerank import ClassVectors, FeatureReranker

SEEDS = st.integers(0, 2**32 - 1)
MIXES = st.sampled_from([0.0, 0.5, 1.0])
REACHES = st.sampled_from([0.0, 0.5, 2.0, 1e9])


@given(
    seed=SEEDS,
    dense=st.booleans(),
    unit=st.booleans(),
    several=st.booleans(),
    mix=MIXES,
    reach=REACHES,
)
def test_candidates_within_reach_are_ordered_by_both_scores(
    level, seed, dense, unit, several, mix, reach
):
    stages = Stages(seed, dense=dense, unit=unit, several=several)
    expected = second_look(stages.X, stages.classes, stages.scores, stages.vectors, mix, reach)
    found = stages.look(mix=mix, reach=reach)
    for row, (classes, scores, inside) in enumerate(zip(*found, strict=True)):
        order, values, near = expected[row]
        assert inside == near
        assert scores == pytest.approx(values, abs=1e-5)
        assert classes[near:].tolist() == order[near:]
        order, classes = order[:near], classes[:near].tolist()
        if unit:  # roundings may order equal ones
            order, classes = sorted(order), sorted(classes)
        assert classes == order


@given(seed=SEEDS, dense=st.booleans(), unit=st.booleans(), several=st.booleans())
def test_margins_are_products_with_the_vectors(level, seed, dense, unit, several):
    stages = Stages(seed, dense=dense, unit=unit, several=several)
    length = np.linalg.norm(stages.X, axis=1, keepdims=True)
    rows = stages.X / np.where(length > 0, length, 1) if unit else stages.X
    found = FeatureReranker(stages.vectors).margins(stages.encoded, stages.classes)
    for x, classes, margins in zip(rows, stages.classes.tolist(), found.tolist(), strict=True):
        wanted = [margin(stages.vectors, x, k) if k >= 0 else -np.inf for k in classes]
        assert margins == pytest.approx(wanted, abs=1e-5)


def test_rows_may_be_scattered_and_of_any_type():
    stages = Stages(3, unit=True)
    expected = stages.look()
    X = sp.csr_matrix(stages.X)
    halves = sp.csr_matrix(
        (np.repeat(X.data, 2) / 2, np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape
    )
    for rows in (halves, X.astype(np.float64), X.astype(np.int8), stages.X.astype(np.float16)):
        stages.encoded = Encoded(np.zeros((12, 4)), source=(rows, slice(0, 12)))
        _, scores, inside = stages.look()  # roundings may order equal ones
        np.testing.assert_allclose(scores, expected[1], rtol=1e-5, atol=1e-5)
        assert np.array_equal(inside, expected[2])
    some = np.array([5, 2])
    stages.encoded = stages.encoded.take(some)
    stages.classes, stages.scores = stages.classes[some], stages.scores[some]
    assert np.array_equal(stages.look()[0], expected[0][some])


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_an_entry_in_two_pieces_counts_as_their_sum(unit, dtype):
    stages = Stages(3, unit=unit)
    stages.scores = stages.scores - np.arange(5, dtype=np.float32) / 64  # no ties
    expected = stages.look()
    X = sp.csr_matrix(stages.X)
    data = np.stack([X.data + 1, np.full(X.nnz, -1)], axis=1).ravel().astype(dtype)
    pieces = sp.csr_matrix((data, np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)
    for which in (slice(0, 12), np.arange(12)):
        stages.encoded = Encoded(np.zeros((12, 4)), source=(pieces.copy(), which))
        for found, known in zip(stages.look(), expected, strict=True):
            np.testing.assert_allclose(found, known, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("first", [0, (1 << 24) - 300])  # features that are numbered in few bits
@pytest.mark.parametrize("share", [0.3, 1.0])
@given(seed=SEEDS)
def test_margins_of_many_features(level, first, share, seed):
    """So many that some groups of the table are full, and some rows are not."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(3, 600)) * (rng.random((3, 600)) < share)
    X = rng.normal(size=(4, 600)).astype(np.float32) * (rng.random((4, 1)) < 0.7)
    vectors = ClassVectors.from_matrix(weights, rng.normal(size=3))
    far = vectors.with_features(first + np.arange(600), first + 600)
    expected = X @ vectors.matrix().toarray().T + vectors.bias
    entries = sp.csr_matrix(X)
    shifted = (entries.data, entries.indices + first, entries.indptr)
    sparse = sp.csr_matrix(shifted, shape=(4, first + 600))
    classes = np.tile(np.arange(3), (4, 1))
    for some, rows in ((far, sparse), (far, sparse.astype(np.float64)), (vectors, X)):
        encoded = Encoded(np.zeros((4, 4)), source=(rows, slice(0, 4)))
        found = FeatureReranker(some).margins(encoded, classes)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_what_no_number_is_does_not_spread():
    vectors = ClassVectors.from_matrix([[0, 1.0, 0], [1, 0, 0]], [0, 0])
    rows = sp.csr_matrix(np.array([[np.inf, 2, 0]], np.float32))
    encoded = Encoded(np.zeros((1, 4)), source=(rows, slice(0, 1)))
    margins = FeatureReranker(vectors).margins(encoded, np.array([[0, 1]]))
    assert margins.tolist() == [[2, np.inf]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": np.zeros((2, 3), np.float32)}, "not as many features"),
        ({"rows": np.zeros((1, 2), np.float32)}, "not as many rows"),
        ({"indptr": np.array([0, 1])}, "not as many rows"),
        ({"indptr": np.array([0, 1, 9])}, "leads outside"),
        ({"indptr": np.array([-1, 1, 2])}, "leads outside"),
        ({"indptr": np.array([1, 0, 2])}, "does not ascend"),
        ({"classes": np.array([[0, 1], [0, 2]])}, "is no class"),
        ({"scores": np.zeros((2, 3), np.float32)}, "not as many scores"),
        ({"inside": np.zeros(1, np.int64)}, "not as many numbers"),
    ],
)
def test_the_core_refuses_what_leads_outside(change, message):
    vectors = ClassVectors.from_matrix(np.eye(2), [0, 0]).native
    given = {
        "rows": None,
        "indptr": np.array([0, 1, 2]),
        "classes": np.array([[0, 1], [0, 1]]),
        "scores": np.zeros((2, 2), np.float32),
        "inside": np.zeros(2, np.int64),
    } | change
    csr = given["indptr"], np.zeros(2, np.int32), np.ones(2, np.float32)
    rows = csr if given["rows"] is None else given["rows"]
    with pytest.raises(ValueError, match=message):
        vectors.look(rows, given["classes"], given["scores"], 1.0, 1.0, given["inside"])


def test_rows_that_are_not_known_are_asked_for():
    stages = Stages(0)
    with pytest.raises(InputError, match="rows are not available here"):
        FeatureReranker(stages.vectors).look(
            Encoded(np.zeros((12, 4))), stages.classes, stages.scores
        )


def test_threads_and_pickles_have_a_scratch_space_of_their_own():
    stages = Stages(1, n=200)
    reranker = pickle.loads(pickle.dumps(FeatureReranker(stages.vectors, mix=0.5)))
    expected = stages.look(mix=0.5)[0]

    def look(_):
        classes, scores = stages.classes.copy(), stages.scores.copy()
        reranker.look(stages.encoded, classes, scores)
        return classes

    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(found, expected) for found in pool.map(look, range(20)))


def test_arrays_bring_back_the_same_reranker():
    stages = Stages(2)
    reranker = FeatureReranker(
        stages.vectors, mix=0.3, reach=1.5, size=9, confidence=Confidence(2, -3, odds=0.5, offset=1)
    )
    again = FeatureReranker.from_arrays(reranker.arrays())
    assert again.chosen_settings() == reranker.chosen_settings()
    assert again.confidence == reranker.confidence
    assert again.cost() == reranker.cost()
    assert "within 1.5 of the best score" in str(again)
    for name in ("mix", "size"):
        arrays = reranker.arrays()
        del arrays[name]
        with pytest.raises(InputError, match=f"{name}.*is missing"):
            FeatureReranker.from_arrays(arrays)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("mix", -1),
        ("mix", np.nan),
        ("mix", 3e38),
        ("reach", -0.1),
        ("size", 0),
        ("size", 2.5),
        ("confidence", Confidence(temperature=0)),
    ],
)
def test_settings_that_cannot_work_are_refused(setting, value):
    vectors = ClassVectors.from_matrix(np.eye(2), [0, 0])
    with pytest.raises(InputError, match=setting):
        FeatureReranker(vectors, **{setting: value})
