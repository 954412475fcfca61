import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import oracles
from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders import LinearDecoder, ShortlistDecoder
from dsnc.encoders import Layer, NumpyEncoder
from dsnc.errors import InputError
from dsnc.predictor import Predictor

SMALL = st.integers(-2, 2)
FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


def make(seed=0, n_features=12, n_bits=9, n_classes=7, hidden=(), row_normalize=False):
    """Whole numbers, so that every way to the answer rounds alike (here: not at all)."""
    rng = np.random.default_rng(seed)
    widths = [n_features, *hidden, n_bits]
    layers = [
        Layer(
            rng.integers(-3, 4, size=(a, b)),
            rng.integers(-3, 4, size=b),
            "relu" if b != n_bits else "none",
        )
        for a, b in zip(widths, widths[1:], strict=False)
    ]
    weight = rng.integers(-3, 4, size=(n_classes, n_bits))
    decoder = LinearDecoder(weight, rng.integers(-3, 4, size=n_classes))
    return Predictor(NumpyEncoder(layers, row_normalize=row_normalize), decoder)


def rows(n=20, n_features=12, seed=1):
    rng = np.random.default_rng(seed)
    return rng.integers(-2, 3, size=(n, n_features)) * (rng.random((n, n_features)) < 0.5)


def answers(predictor, X):
    classes, scores = predictor.top_k(X, 3)
    return [
        predictor.logits(X),
        predictor.encode(X).words,
        predictor.predict(X),
        classes,
        scores,
        predictor.proba(X),
    ]


def assert_same(mine, other):
    for a, b in zip(mine, other, strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)


@given(st.data())
def test_logits_equal_the_naive_twin(data):
    widths = data.draw(st.lists(st.integers(1, 5), min_size=2, max_size=4))
    layers = [
        Layer(
            data.draw(hnp.arrays(np.float32, (a, b), elements=SMALL)),
            data.draw(hnp.arrays(np.float32, b, elements=SMALL)),
            data.draw(st.sampled_from(["none", "relu"])),
        )
        for a, b in zip(widths, widths[1:], strict=False)
    ]
    X = data.draw(hnp.arrays(np.float64, (data.draw(st.integers(0, 4)), widths[0]), elements=SMALL))
    row_normalize = data.draw(st.booleans())
    encoder = NumpyEncoder(layers, row_normalize=row_normalize)
    expected = oracles.forward(layers, X, row_normalize)
    for given_rows in (X, sp.csr_array(X)):
        logits = encoder.logits(given_rows)
        assert logits.dtype == np.float32
        np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("hidden", [(), (8,), (8, 5)])
def test_prediction_is_encoding_and_decoding(hidden):
    predictor, X = make(hidden=hidden), rows()
    logits, words, best, classes, scores, proba = answers(predictor, X)
    codes = PackedCodes.from_logits(logits)
    assert predictor.encode(X) == codes
    assert np.array_equal(best, predictor.decoder.predict(Encoded(logits, codes)))
    assert np.array_equal(best, classes[:, 0])
    assert np.array_equal(best, proba.argmax(axis=1))
    assert (best.dtype, words.dtype, scores.dtype) == (np.int64, np.uint64, np.float32)


@pytest.mark.parametrize("row_normalize", [False, True])
@pytest.mark.parametrize("kind", ["bool", "int8", "uint16", "int64", ">i4", "f2", "f4", "f8", "g"])
def test_any_numeric_type_gives_the_same(kind, row_normalize):
    predictor, X = make(row_normalize=row_normalize, hidden=(6,)), np.abs(rows()) % 2
    expected = answers(predictor, X.astype(np.float32))
    assert_same(answers(predictor, X.astype(kind)), expected)
    if kind not in ("f2", ">i4", "g"):  # scipy has no such sparse matrices
        X = sp.csr_array(X.astype(kind))
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
        np.testing.assert_allclose(predictor.logits(X), expected[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("make_sparse", [sp.csr_array, sp.csr_matrix])
def test_any_sparse_format_gives_the_same(kind, make_sparse):
    predictor, X = make(hidden=(6,)), rows()
    assert_same(answers(predictor, make_sparse(X).asformat(kind)), answers(predictor, X))


@pytest.mark.parametrize("order", ["C", "F"])
def test_lists_views_and_orders_give_the_same(order):
    predictor, X = make(), rows()
    expected = answers(predictor, X)
    assert_same(answers(predictor, np.asarray(X, order=order)), expected)
    assert_same(answers(predictor, np.repeat(X, 2, axis=0)[::2]), expected)
    assert_same(answers(predictor, X.tolist()), expected)


@pytest.mark.parametrize("hidden", [(), (8,)])
@pytest.mark.parametrize("block", [1, 30, 100])
@pytest.mark.parametrize("row_normalize", [False, True])
def test_blocks_change_nothing(monkeypatch, block, hidden, row_normalize):
    predictor, X = make(hidden=hidden, row_normalize=row_normalize), rows(50)
    dense, sparse = answers(predictor, X), answers(predictor, sp.csr_array(X))
    monkeypatch.setattr("dsnc.rows._BLOCK", block)
    for mine, other in zip(answers(predictor, X), dense, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-5)
    for mine, other in zip(answers(predictor, sp.csr_array(X)), sparse, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("make_rows", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("row_normalize", [False, True])
def test_no_rows_give_no_answers(make_rows, row_normalize):
    predictor = make(hidden=(4,), row_normalize=row_normalize)
    logits, words, best, classes, scores, proba = answers(predictor, make_rows(np.zeros((0, 12))))
    assert logits.shape == (0, 9)
    assert words.shape == (0, 1)
    assert best.shape == (0,)
    assert classes.shape == scores.shape == (0, 3)
    assert proba.shape == (0, 7)


def test_rows_of_zeros_stay_when_rows_are_normalized():
    predictor = make(row_normalize=True)
    X = np.zeros((2, 12))
    for given_rows in (X, sp.csr_array(X)):
        assert np.array_equal(
            predictor.logits(given_rows), np.tile(predictor.encoder.layers[0].bias, (2, 1))
        )


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_normalizing_neither_overflows_nor_vanishes(scale):
    predictor, X = make(row_normalize=True), rows() * scale
    expected = make(row_normalize=True).logits(rows())
    np.testing.assert_allclose(predictor.logits(X), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(predictor.logits(sp.csr_array(X)), expected, rtol=1e-5, atol=1e-5)


def test_an_entry_in_two_pieces_is_their_sum():
    whole = sp.csr_array(np.array([[3.0, 4.0]]))
    pieces = sp.csr_array((np.array([1.0, 2.0, 4.0]), [0, 0, 1], [0, 3]), shape=(1, 2))
    encoder = NumpyEncoder([Layer(np.eye(2), [0, 0])], row_normalize=True)
    np.testing.assert_allclose(encoder.logits(pieces), encoder.logits(whole))
    assert pieces.nnz == 3  # the caller's matrix is as it was


def test_a_memory_map_is_never_loaded_whole(tmp_path, monkeypatch):
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float64, (20_000, 100))
    X[:] = np.random.default_rng(0).normal(size=X.shape)
    X.flush()
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    predictor = make(n_features=100, hidden=(50,))
    monkeypatch.setattr("dsnc.rows._BLOCK", 50_000)
    tracemalloc.start()
    predictor.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3e6  # X is 16 MB, and 8 MB as float32


def test_sparse_rows_never_become_dense():
    n_features = 3_000_000
    layer = Layer(np.ones((n_features, 2), dtype=np.float32), [0, 0])
    predictor = Predictor(NumpyEncoder([layer]), LinearDecoder([[1, 1], [-1, -1]], [0, 0]))
    X = sp.csr_array(([1.0, -1.0], [5, n_features - 1], [0, 1, 2]), shape=(2, n_features))
    tracemalloc.start()
    assert predictor.predict(X).tolist() == [0, 1]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6


def test_arrays_bring_back_the_same_predictor():
    for hidden, row_normalize in [((), False), ((8, 5), True)]:
        predictor = make(hidden=hidden, row_normalize=row_normalize)
        arrays = predictor.arrays()
        assert all(key.startswith(("encoder.", "decoder.")) for key in arrays)
        twin = Predictor.from_arrays(arrays, decoder="linear")
        assert_same(answers(twin, rows()), answers(predictor, rows()))
        assert (twin.n_features, twin.n_bits, twin.n_classes) == (12, 9, 7)


def test_the_trained_decoder_travels_along_and_answers_nothing():
    predictor = make()
    trained = LinearDecoder(np.ones((7, 9)), np.zeros(7))
    both = predictor.with_decoder(predictor.decoder, trained)
    twin = Predictor.from_arrays(both.arrays(), decoder="linear")
    assert_same(answers(twin, rows()), answers(predictor, rows()))
    assert np.array_equal(twin.trained.weight, trained.weight)
    assert predictor.trained is None and not any("trained" in key for key in predictor.arrays())
    for shape in [(6, 9), (7, 8)]:
        with pytest.raises(InputError, match=f"has {shape[0]} classes and {shape[1]} bits, .* 7"):
            predictor.with_decoder(predictor.decoder, LinearDecoder(np.ones(shape), [0] * shape[0]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"encoder.activations": np.array([0, 0], dtype=np.int8)}, r"missing arrays \['1.bias'"),
        ({"encoder.activations": np.array([9], dtype=np.int8)}, r"unknown activations \[9\]"),
        ({"encoder.activations": np.array([-1], dtype=np.int8)}, r"unknown activations \[-1\]"),
        ({"encoder.activations": np.array([0])}, "'activations' is int64 1"),
        ({"encoder.activations": np.zeros((1, 1), dtype=np.int8)}, "shape"),
        ({"encoder.activations": np.zeros(10**6, dtype=np.int8)}, "shape"),
        ({"encoder.activations": np.zeros(0, dtype=np.int8)}, "unknown arrays"),
        ({"encoder.activations": None}, "activations"),
        ({"encoder.row_normalize": np.array([True, False])}, "not a single value"),
        ({"encoder.row_normalize": np.array([1])}, "'row_normalize' is int64 1"),
        ({"encoder.0.weight": np.zeros((12, 9))}, "'0.weight' is float64 2"),
        ({"encoder.0.weight": np.zeros((12, 8), dtype=np.float32)}, "bias has shape"),
        ({"encoder.0.weight": np.full((12, 9), np.nan, dtype=np.float32)}, "nan"),
        ({"encoder.0.bias": np.full(9, np.inf, dtype=np.float32)}, "inf"),
        ({"encoder.0.bias": "text"}, "'0.bias' is <class 'str'>"),
        ({"decoder.weight": np.zeros((7, 8), dtype=np.float32)}, "9 bits, but the decoder has 8"),
        ({"decoder.surplus": np.zeros(1)}, "surplus"),
        ({"trained.weight": np.zeros((7, 9), dtype=np.float32)}, "missing arrays .*'bias'"),
        ({"trained.surplus": np.zeros(1)}, "surplus"),
        ({"elsewhere": np.zeros(1)}, "'elsewhere' belongs to none of encoder, "),
    ],
)
def test_hostile_arrays_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        Predictor.from_arrays(make().arrays() | change, decoder="linear")


def test_an_unknown_decoder_is_named():
    with pytest.raises(InputError, match="Did you mean 'linear'"):
        Predictor.from_arrays({}, decoder="linaer")


def test_rows_that_do_not_fit_are_refused_at_every_door():
    predictor, X = make(), np.zeros((2, 11))
    for ask in (predictor.predict, predictor.encode, predictor.proba, predictor.encoder.logits):
        with pytest.raises(InputError, match="X has 11 features; the model was made for 12"):
            ask(X)


def test_numbers_too_large_still_have_bits_or_are_named(monkeypatch):
    encoder = NumpyEncoder([Layer([[1.0, 1.0], [1.0, -1.0]], [0, 0])])
    predictor = Predictor(encoder, LinearDecoder([[1, 1]], [0]))
    huge = np.array([[1e300, 1.0], [0.0, 1.0], [1e300, 1e300]])
    assert predictor.encode(huge[:2]).to_bits().tolist() == [[True, True], [True, False]]
    monkeypatch.setattr("dsnc.rows._BLOCK", 2)
    with pytest.raises(InputError, match=r"X\[2\] has a NaN logit"):
        predictor.predict(huge)


class Foreign:
    """Somebody's own encoder."""

    n_features, n_bits = 3, 2

    def __init__(self, width=2):
        self.width = width

    def logits(self, X):
        return np.ones((X.shape[0], self.width))


def test_any_encoder_will_do():
    predictor = Predictor(Foreign(), LinearDecoder([[-1, -1], [1, 1]], [0, 0]))
    assert predictor.predict(np.zeros((4, 3))).tolist() == [1, 1, 1, 1]
    assert predictor.logits(np.zeros((4, 3))).dtype == np.float32
    with pytest.raises(InputError, match="Foreign has no arrays"):
        predictor.arrays()
    with pytest.raises(InputError, match=r"returned logits of shape \(1, 5\) for 1 rows"):
        Predictor(Foreign(5), predictor.decoder).predict(np.zeros((1, 3)))


@pytest.mark.parametrize("make_rows", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("row_normalize", [False, True])
def test_the_short_way_of_a_few_rows_leads_to_the_same(make_rows, row_normalize):
    rng = np.random.default_rng(0)
    linear = LinearDecoder(rng.integers(-3, 4, size=(7, 9)), np.zeros(7))
    decoder = ShortlistDecoder(linear, PackedCodes.from_logits(linear.weight), np.arange(7))
    predictor = Predictor(make(row_normalize=row_normalize).encoder, decoder)
    X = make_rows(rows(40))
    expected = predictor.predict(X)
    assert np.array_equal(predictor.top_k(X, 1)[0][:, 0], expected)
    for n in (1, 3, 8):
        parts = [predictor.predict(X[start : start + n]) for start in range(0, 40, n)]
        assert np.array_equal(np.concatenate(parts), expected)


def test_the_short_way_names_what_is_no_number():
    linear = LinearDecoder(np.eye(2), np.zeros(2))
    decoder = ShortlistDecoder(linear, PackedCodes.from_logits(linear.weight), np.arange(2))
    predictor = Predictor(NumpyEncoder([Layer(np.eye(2), [0, 0])]), decoder)
    for X in (np.array([[0, 1], [np.nan, 0]]), sp.csr_array([[0, 1], [np.nan, 0]])):
        with pytest.raises(InputError, match=r"X\[1\] has a NaN logit"):
            predictor.predict(X)


def test_the_short_way_takes_logits_in_any_order():
    class Transposed(Foreign):
        def logits(self, X):
            return np.array([[-1.0] * len(X), [2.0] * len(X)], dtype=np.float32).T

    linear = LinearDecoder([[1, -1], [-1, 1]], [0, 0])
    decoder = ShortlistDecoder(linear, PackedCodes.from_logits(linear.weight), np.arange(2))
    assert Predictor(Transposed(), decoder).predict(np.zeros((3, 3))).tolist() == [1, 1, 1]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_index_outside_is_named_by_its_row(n_jobs):
    X = sp.csr_matrix(rows(300).astype(np.float32))
    X.indices[X.indptr[250]] = -3
    with pytest.raises(InputError, match=r"X\[250\] has the index -3; expected 0 to 11"):
        make().predict(X, n_jobs=n_jobs)


def test_rows_keep_their_order_whichever_thread_is_first(monkeypatch):
    predictor, X = make(), rows(19)
    classes, scores = predictor.top_k(X, 3)

    def last_first(work, n, n_jobs):
        for start in reversed(range(0, n, 10)):
            work(slice(start, min(start + 10, n)))

    monkeypatch.setattr("dsnc.predictor.in_threads", last_first)
    again = predictor.top_k(X, 3, n_jobs=2)
    assert np.array_equal(again[0], classes) and np.array_equal(again[1], scores)
    assert np.array_equal(predictor.predict(X, n_jobs=2), classes[:, 0])


@given(st.permutations(range(30)))
def test_the_order_of_rows_changes_no_answer(order):
    predictor, X = make(), rows(30)
    for found, expected in zip(answers(predictor, X[order]), answers(predictor, X), strict=True):
        assert np.array_equal(found, expected[order])
