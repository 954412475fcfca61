import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import oracles
from dsnc.codes.encode import encode_csr
from dsnc.errors import InputError

SEEDS = st.integers(0, 2**32 - 1)


def scattered(seed, n=6, d=7, entries=20, dtype=np.float64):
    """Rows of small whole numbers whose entries are in disorder, and in several pieces."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(entries, np.full(n, 1 / n))
    indptr = np.append(0, np.cumsum(counts))
    data = rng.integers(-2, 3, entries).astype(dtype)
    return sp.csr_matrix((data, rng.integers(0, d, entries), indptr), shape=(n, d))


def layer(seed, d, n_bits):
    rng = np.random.default_rng(seed)
    weight = rng.integers(-3, 4, (d, n_bits)).astype(np.float32)
    return weight, rng.integers(-3, 4, n_bits).astype(np.float32)


@given(SEEDS, st.sampled_from([1, 5, 64, 65, 130]), st.booleans())
def test_logits_and_bits_equal_the_naive_twin(level, seed, n_bits, unit):
    X, (weight, bias) = scattered(seed), layer(seed, 7, n_bits)
    codes, logits = encode_csr(X, slice(0, 6), weight, bias, unit=unit)
    expected = oracles.forward([(weight, bias, "none")], X.toarray(), unit)
    np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-5)
    assert np.array_equal(codes.words, oracles.pack(logits > 0))
    assert X.nnz == 20  # as it was


@pytest.mark.parametrize("unit", [False, True])
def test_each_row_is_the_same_alone(unit):
    X, (weight, bias) = scattered(1, n=9, entries=60), layer(1, 7, 20)
    codes, logits = encode_csr(X, slice(0, 9), weight, bias, unit=unit)
    for row in range(9):
        own, numbers = encode_csr(X, slice(row, row + 1), weight, bias, unit=unit)
        assert np.array_equal(own.words[0], codes.words[row])
        assert np.array_equal(numbers[0], logits[row])


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float32])
def test_any_type_of_numbers(dtype):
    X, (weight, bias) = abs(scattered(2)).astype(dtype), layer(2, 7, 9)
    expected = encode_csr(X.astype(np.float64), slice(2, 5), weight, bias)[1]
    assert np.array_equal(encode_csr(X, slice(2, 5), weight, bias)[1], expected)


def test_a_long_row_in_disorder_is_put_in_order():
    X, (weight, bias) = scattered(3, n=2, d=50, entries=2000), layer(3, 50, 9)
    logits = encode_csr(X, slice(0, 2), weight, bias, unit=True)[1]
    expected = oracles.forward([(weight, bias, "none")], X.toarray(), True)
    np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_without_numbers_there_are_no_codes(value):
    X = sp.csr_matrix([[1.0, 0.0], [value, 0.0]])
    codes, logits = encode_csr(X, slice(0, 2), np.eye(2, dtype="f4"), np.zeros(2, dtype="f4"))
    assert codes is None
    assert np.isnan(logits).any(axis=1).tolist() == [False, True]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("others", [0, 300])
def test_pieces_of_an_entry_are_summed_before_the_norm(dtype, others):
    """The norm of the pieces is 1e8 times that of the row."""
    d = 2 + others
    indices = [0, 0, *range(1, d)]
    data = np.array([1e4, -1e4, 1e-4, *np.zeros(others)], dtype=dtype)
    X = sp.csr_matrix((data, indices, [0, len(data)]), shape=(1, d))
    weight, bias = layer(4, d, 9)
    found = encode_csr(X, slice(0, 1), weight, bias, unit=True)[1]
    assert X.nnz == len(data)
    X.sum_duplicates()
    assert np.array_equal(found, encode_csr(X, slice(0, 1), weight, bias, unit=True)[1])
    np.testing.assert_allclose(found[0], bias + weight[1], rtol=1e-6)


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("index", [7, 12, -1, -3, 2**30, -(2**31)])
def test_an_index_outside_is_named(index, dtype, unit):
    X, (weight, bias) = scattered(5, dtype=dtype), layer(5, 7, 9)
    place = X.indptr[4]
    assert place < X.indptr[5]
    X.indices[place] = index
    message = rf"X\[4\] has the index {index}; expected 0 to 6"
    for rows in (slice(0, 6), slice(3, 6), slice(4, 5)):
        with pytest.raises(InputError, match=message):
            encode_csr(X, rows, weight, bias, unit=unit)
    expected = encode_csr(scattered(5), slice(0, 4), weight, bias, unit=unit)[1]
    np.testing.assert_allclose(
        encode_csr(X, slice(0, 4), weight, bias, unit=unit)[1], expected, rtol=1e-6
    )


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize(
    ("place", "value", "row"),
    [(6, 21, 5), (6, 2**30, 5), (3, 2**30, 2), (3, -5, 2), (3, 0, 2), (0, -1, 0)],
)
def test_rows_outside_the_entries_are_named(place, value, row, dtype, unit):
    X, (weight, bias) = scattered(5, dtype=dtype), layer(5, 7, 9)
    X.indptr[place] = value
    with pytest.raises(InputError, match=rf"X\[{row}\] has the entries .* within the 20"):
        encode_csr(X, slice(0, 6), weight, bias, unit=unit)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_arrays_that_are_too_short_are_refused(dtype):
    X, (weight, bias) = scattered(5, dtype=dtype), layer(5, 7, 9)
    for name in ("data", "indices"):
        short = X.copy()
        setattr(short, name, getattr(X, name)[:-1])
        with pytest.raises(
            InputError,
            match=r"X\[5\] has the entries \d+ to 20 according to X.indptr; .* within the 19",
        ):
            encode_csr(short, slice(0, 6), weight, bias)
    X.indptr = X.indptr[:-1]
    with pytest.raises(InputError, match=r"X.indptr has 6 numbers; expected 7"):
        encode_csr(X, slice(0, 6), weight, bias)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_long_indices_are_read_and_none_is_cut(dtype):
    X, (weight, bias) = scattered(5, dtype=dtype), layer(5, 7, 9)
    expected = encode_csr(X, slice(2, 6), weight, bias, unit=True)[1]
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    assert np.array_equal(encode_csr(X, slice(2, 6), weight, bias, unit=True)[1], expected)
    X.indices[X.indptr[4]] += 1 << 32  # in 32 bits it would be the same
    with pytest.raises(InputError, match=r"X\[4\] has the index 42949"):
        encode_csr(X, slice(2, 6), weight, bias)
