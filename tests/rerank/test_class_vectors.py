import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dsnc.errors import InputError
from dsnc.rerank import ClassVectors, Space

SEEDS = st.integers(0, 2**32 - 1)


def random_vectors(seed, n_classes=6, n_features=20):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(n_classes, n_features)) * (rng.random((n_classes, n_features)) < 0.5)
    return matrix.astype(np.float32), ClassVectors.from_matrix(matrix, rng.normal(size=n_classes))


@given(SEEDS)
def test_weights_are_rounded_to_a_part_of_the_largest_of_their_class(seed):
    matrix, vectors = random_vectors(seed)
    largest = np.abs(matrix).max(axis=1, keepdims=True)
    assert (np.abs(vectors.matrix().toarray() - matrix) <= largest / 254 * 1.001).all()
    assert len(vectors) == vectors.matrix().nnz  # what is rounded to 0 is not kept
    assert (
        np.diff(vectors.features.astype(int))[
            np.diff(np.repeat(range(6), np.diff(vectors.starts))) == 0
        ]
        > 0
    ).all()


@given(SEEDS, st.integers(0, 80))
def test_pruning_keeps_the_largest(seed, most):
    _, vectors = random_vectors(seed)
    fewer, before = vectors.pruned(most), np.abs(vectors.matrix().data)
    kept = np.abs(fewer.matrix().data)
    assert len(kept) <= max(
        most, (before >= np.sort(before)[::-1][min(most, len(before)) - 1]).sum()
    )
    if len(kept) < len(before):
        assert np.sort(kept) == pytest.approx(np.sort(before)[len(before) - len(kept) :], rel=1e-5)
    assert np.array_equal(fewer.bias, vectors.bias)


@pytest.mark.parametrize("n_features", [20, 70_000])
def test_arrays_bring_back_the_same_vectors(n_features):
    matrix = sp.csr_array(([1.0, -2.0], ([0, 2], [0, n_features - 1])), shape=(3, n_features))
    vectors = ClassVectors.from_matrix(matrix, [1, 2, 3], unit_rows=True)
    arrays = vectors.arrays()
    assert arrays["features"].dtype == (np.uint16 if n_features <= 65_536 else np.uint32)
    again = ClassVectors.from_arrays(arrays)
    assert (again.matrix() != vectors.matrix()).nnz == 0
    assert (again.unit_rows, again.n_features, again.bias.tolist()) == (True, n_features, [1, 2, 3])
    assert vectors.nbytes > 0


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("features", np.array([7, 9], np.uint16), "features has 9; there are 9"),
        ("counts", np.array([1, 2], np.uint32), "do not fit starts"),
        ("weights", np.array([1], np.int8), "do not fit starts"),
        ("scales", np.array([1, np.nan], np.float32), "scales has values"),
        ("scales", np.array([1, 3e38], np.float32), "scales has values from .* of magnitude 1e"),
        ("bias", np.array([1], np.float32), "bias"),
        ("unit_rows", np.array([True, False]), "not a single value"),
        ("n_features", np.array([9.0]), "expected int64"),
        ("weights", None, "missing arrays"),
        ("features", None, "'features' is missing"),
        ("n_features", np.array([1 << 40]), "do not fit|missing"),
        ("of_class", np.array([1, 1], np.uint32), "'of_class' is for centers"),
        ("space", np.ones((2, 8), np.float32), r"space has shape \(2, 8\)"),
        ("space", np.zeros((2, 9), np.float32), "a factor is 0.0"),
        ("space", np.full((2, 9), np.nan, np.float32), "space has values"),
    ],
)
def test_hostile_arrays_are_refused(name, value, message):
    vectors = ClassVectors.from_matrix([[0] * 7 + [1, 0], [0] * 8 + [1]], [0, 0])
    arrays = vectors.arrays() | {name: value}
    if name == "n_features" and arrays[name].dtype == np.int64:
        del arrays["features"]  # as many as that are not made
    if value is None:
        del arrays[name]
    with pytest.raises(InputError, match=message):
        ClassVectors.from_arrays(arrays)


@pytest.mark.parametrize("counts", [[1, 1], [2, 0, 1], [], [4], [2**32 - 1, 4]])
def test_vectors_that_nobody_has_are_refused(counts):
    arrays = Space.of(2).vectors(np.eye(3, 2, dtype=np.float32), np.array([0, 1, 3])).arrays()
    arrays["of_class"] = np.array(counts, np.uint32)
    with pytest.raises(InputError, match="firsts does not ascend"):
        ClassVectors.from_arrays(arrays)


def test_a_file_without_vectors_is_not_made_large():
    arrays = ClassVectors.from_matrix(np.zeros((0, 3)), []).arrays()
    arrays["n_features"] = np.array([1 << 33])
    del arrays["features"]
    with pytest.raises(InputError, match="'features' is missing"):
        ClassVectors.from_arrays(arrays)


def test_several_vectors_of_a_class_are_in_the_arrays():
    space = Space.of(3, shift=[1, 2, 3], factor=[1, 1, 2])
    centers = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 9]], np.float32)
    vectors = space.vectors(centers, np.array([0, 1, 3]))
    arrays = vectors.arrays()
    assert "features" not in arrays  # all of them, in their order
    again = ClassVectors.from_arrays(arrays)
    assert (again.matrix().toarray() == vectors.matrix().toarray()).all()
    assert (again.firsts.tolist(), again.n_classes) == ([0, 1, 3], 2)
    assert [part.tolist() for part in again.space] == [[1, 2, 3], [1, 1, 2]]
    assert vectors.nbytes == sum(array.nbytes for array in arrays.values())


def test_a_space_has_the_features_of_its_vectors():
    vectors = Space.of(2, [1, 2], [3, 4]).vectors(np.eye(2, dtype=np.float32), np.arange(3))
    assert vectors.firsts.size == 0  # each class has one
    wide = vectors.with_features(np.array([2, 0]), 3)
    assert [part.tolist() for part in wide.space] == [[2, 0, 1], [4, 3.5, 3]]
    assert (wide.matrix().toarray()[:, [2, 0]] == vectors.matrix().toarray()).all()
    with pytest.raises(InputError, match="space has 2 features; there are 3"):
        ClassVectors.from_matrix(np.eye(3), np.zeros(3), space=vectors.space)


def test_where_distances_cannot_be_told():
    assert Space.of(2, [1, -1e5], [1, 2]).is_sound
    for shift, factor in ([[1e7, 0], [1, 1]], [[0, 0], [1, 1e10]], [[0, 0], [1e-10, 1]]):
        assert not Space.of(2, shift, factor).is_sound
    far = Space.of(2).vectors(np.array([[1e30, 0], [0, 1]], np.float32), np.arange(3))
    assert np.isfinite(far.bias).all()


@given(SEEDS)
def test_margins_of_centers_are_squared_distances(seed):
    rng = np.random.default_rng(seed)
    space = Space.of(5, rng.normal(size=5), rng.uniform(0.5, 2, 5)).stretched(np.float32(1.5))
    vectors = space.vectors(rng.normal(size=(4, 5)).astype(np.float32), np.arange(5))
    for some in (vectors, vectors.pruned(12)):  # rounded or left out, it is a center
        centers = some.matrix().toarray() / (2 * space.factor)
        x = rng.normal(size=5)
        z = (x - space.shift) * space.factor
        far = ((z - centers) ** 2).sum(axis=1)
        margins = some.matrix().toarray() @ x + some.bias
        assert margins - margins[0] == pytest.approx(far[0] - far, abs=1e-4)
