import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dsnc.errors import InputError
from dsnc.rows import as_rows, draw_rows, far_means, row_blocks, unit_rows, without_means

FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


@pytest.mark.parametrize("X", [np.eye(3, dtype=np.int8), sp.csr_array(np.eye(3))])
def test_what_is_as_it_should_be_is_given_back(X):
    assert as_rows(X, 3) is X


@pytest.mark.parametrize("kind", FORMATS)
def test_any_sparse_format_becomes_csr(kind):
    X = np.arange(12).reshape(3, 4)
    rows = as_rows(sp.csr_array(X).asformat(kind), 4)
    assert rows.format == "csr"
    assert np.array_equal(rows.toarray(), X)


def test_lists_become_arrays():
    rows = as_rows([[1, 2], [3, 4]], 2)
    assert isinstance(rows, np.ndarray)
    assert rows.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("period", [2, 3, 5, 8, 100])
@pytest.mark.parametrize("n", [500, 800, 1000, 4000, 10_000, 100_000])
def test_rows_are_drawn_from_all_kinds_that_alternate(n, period):
    rows = draw_rows(n, 400)
    assert len(np.unique(rows)) == 400 and (np.diff(rows) > 0).all() and rows[-1] < n
    counts = np.bincount(rows % period, minlength=period)
    sigma = np.sqrt(400 / period * (1 - 1 / period) * (n - 400) / (n - 1))
    assert np.abs(counts - 400 / period).max() < 5 * sigma
    assert np.array_equal(rows, draw_rows(n, 400))


@pytest.mark.parametrize("n", [0, 1, 400])
def test_few_rows_are_all_taken(n):
    assert draw_rows(n, 400).tolist() == list(range(n))


@pytest.mark.parametrize("make_rows", [np.asarray, sp.csr_array])
def test_the_wrong_width_is_named(make_rows):
    with pytest.raises(InputError, match="X has 11 features; the model was made for 12"):
        as_rows(make_rows(np.zeros((2, 11))), 12)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(12), r"shape \(12,\)"),
        (np.zeros((1, 2, 12)), r"shape \(1, 2, 12\)"),
        (sp.coo_array(np.zeros(12)), r"shape \(12,\)"),
        (np.zeros((1, 12), dtype=complex), "complex"),
        (np.full((1, 12), "a"), "type <U1"),
        (np.full((1, 12), None), "type object"),
    ],
)
def test_rows_that_are_none_are_refused(X, message):
    with pytest.raises(InputError, match=message):
        as_rows(X, 12)


@pytest.mark.parametrize("make_rows", [np.asarray, sp.csr_array])
@given(
    st.integers(0, 40), st.integers(0, 40), st.integers(1, 9), st.integers(1, 9), st.integers(1, 60)
)
def test_blocks_are_all_rows_in_order_and_within_the_budget(
    make_rows, first, n, own, width, budget
):
    X = make_rows(np.ones((first + n, own)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dsnc.rows._BLOCK", budget)
        patch.setattr("dsnc.rows._MAX_ROWS", 7)
        blocks = row_blocks(X, width, slice(first, first + n))
    assert [i for b in blocks for i in range(b.start, b.stop)] == list(range(first, first + n))
    sizes = [b.stop - b.start for b in blocks]
    assert all(size <= 7 and (size <= 1 or size * max(own, width) <= budget) for size in sizes)
    assert len(blocks) >= 1  # no rows are one block, too


@given(hnp.arrays(np.float32, (4, 3), elements=st.integers(-3, 3)))
def test_unit_rows_have_length_one_or_are_zeros(X):
    norms = np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)
    expected = X / np.where(norms == 0, 1, norms)
    for rows in (unit_rows(X), unit_rows(sp.csr_array(X)).toarray()):
        assert rows.dtype == np.float32
        np.testing.assert_allclose(rows, expected, rtol=1e-6)


@pytest.mark.parametrize("make_rows", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_no_square_overflows_or_vanishes(make_rows, scale):
    rows = unit_rows(make_rows(np.array([[3, 4]], dtype=np.float32) * np.float32(scale)))
    rows = rows.toarray() if sp.issparse(rows) else rows
    np.testing.assert_allclose(rows, [[0.6, 0.8]], rtol=1e-6)


def test_an_entry_in_two_pieces_counts_as_their_sum():
    data = np.array([1, 2, 4], dtype=np.float32)
    pieces = sp.csr_array((data, [0, 0, 1], [0, 3]), shape=(1, 2))
    np.testing.assert_allclose(unit_rows(pieces).toarray(), [[0.6, 0.8]], rtol=1e-6)
    assert pieces.nnz == 3  # the caller's matrix is as it was


def test_means_that_are_far_from_0_are_found_and_subtracted_in_double_precision():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    assert far_means(X) is None and far_means(X.astype(np.float32) + 1e9) is None
    assert far_means(sp.csr_array(X + 1e9)) is None
    X[:, 2] = 0.1  # which no feature that never varies needs
    moved = X + [1e9, 0, 0]
    means = far_means(moved)
    assert means[1] == means[2] == 0 and means[0] == pytest.approx(1e9)
    near = without_means(moved, means)
    assert near.dtype == np.float32
    assert near == pytest.approx(X - [X[:, 0].mean(), 0, 0], abs=1e-6)
    assert np.array_equal(without_means(sp.csr_array(moved), means), near)
    assert without_means(X, None) is X
