import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import oracles
from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders import LinearDecoder
from dsnc.decoders.confidence import Confidence
from dsnc.decoders.linear import best_classes
from dsnc.errors import InputError

SMALL = st.integers(-2, 2)


@st.composite
def decoders_and_bits(draw, max_classes=40):
    n_classes, n_bits = draw(st.integers(1, max_classes)), draw(st.integers(1, 6))
    weight = draw(hnp.arrays(np.float32, (n_classes, n_bits), elements=SMALL))
    bias = draw(hnp.arrays(np.float32, n_classes, elements=SMALL))
    bits = draw(hnp.arrays(np.bool_, (draw(st.integers(1, 12)), n_bits)))
    return weight, bias, bits


@given(decoders_and_bits(), st.data())
def test_top_k_equals_the_naive_twin(case, data):
    weight, bias, bits = case
    k = data.draw(st.integers(1, len(weight)))
    classes, scores = LinearDecoder(weight, bias).top_k(
        Encoded(codes=PackedCodes.from_bits(bits)), k
    )
    expected_classes, expected_scores = oracles.linear_top_k(weight, bias, bits, k)
    assert classes.tolist() == expected_classes
    assert scores.tolist() == expected_scores


@given(decoders_and_bits(), st.data())
def test_blocks_of_any_size_change_nothing(case, data):
    weight, bias, bits = case
    k = data.draw(st.integers(1, len(weight)))
    expected, expected_scores = oracles.linear_top_k(weight, bias, bits, k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dsnc.decoders.linear._BLOCK", data.draw(st.integers(1, 60)))
        patch.setattr("dsnc.decoders.linear._MIN_ROWS", data.draw(st.integers(1, 5)))
        decoder, codes = LinearDecoder(weight, bias), PackedCodes.from_bits(bits)
        for find in (decoder.top_k, decoder.candidates):
            classes, scores = find(Encoded(codes=codes), k)
            assert classes.tolist() == expected
            assert scores.tolist() == expected_scores
        assert decoder.predict(Encoded(codes=codes)).tolist() == [row[0] for row in expected]
        assert decoder.proba(Encoded(codes=codes)).argmax(axis=1).tolist() == [
            row[0] for row in expected
        ]


@pytest.mark.parametrize("n_classes", [1_000, 30_000])
@pytest.mark.parametrize("k", [1, 2, 5, 100])
@pytest.mark.parametrize("name", ["top_k", "candidates"])
def test_the_best_of_many_classes_are_exact(n_classes, k, name):
    rng = np.random.default_rng(k)
    decoder = LinearDecoder(rng.integers(-3, 4, size=(n_classes, 20)), np.zeros(n_classes))
    codes = PackedCodes.from_bits(rng.random((40, 20)) > 0.5)
    scores = codes.to_signs(np.float32) @ decoder.weight.T
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    classes, found = getattr(decoder, name)(Encoded(codes=codes), k)
    assert np.array_equal(classes, expected)
    assert np.array_equal(found, np.take_along_axis(scores, expected, axis=1))


def test_real_weights_give_the_scores():
    rng = np.random.default_rng(0)
    decoder = LinearDecoder(rng.normal(size=(500, 32)), rng.normal(size=500))
    codes = PackedCodes.from_bits(rng.random((50, 32)) > 0.5)
    scores = codes.to_signs(float) @ decoder.weight.T.astype(float) + decoder.bias
    classes, found = decoder.top_k(Encoded(codes=codes), 7)
    np.testing.assert_allclose(found, -np.sort(-scores, axis=1)[:, :7], rtol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(scores, classes, axis=1), found, rtol=1e-5)


def test_negative_zero_is_zero():
    decoder = LinearDecoder([[0.0], [-0.0], [0.0]], [-0.0, 0.0, -0.0])
    classes, scores = decoder.top_k(Encoded(codes=PackedCodes.from_bits([[0], [1]])), 3)
    assert classes.tolist() == [[0, 1, 2], [0, 1, 2]]
    assert not scores.any()


def test_temperature_flattens_and_sharpens():
    codes = PackedCodes.from_bits([[1]])
    arguments = [[1.0], [0.0]], [0.0, 0.0]
    for temperature in (0.5, 1.0, 4.0):
        decoder = LinearDecoder(*arguments).with_confidence(Confidence(temperature))
        proba = decoder.proba(Encoded(codes=codes))
        odds = np.exp(1 / temperature)
        np.testing.assert_allclose(proba, [[odds / (1 + odds), 1 / (1 + odds)]], rtol=1e-6)
    certain = LinearDecoder(*arguments).with_confidence(Confidence(1e-40))
    assert certain.proba(Encoded(codes=codes)).tolist() == [[1.0, 0.0]]


def test_the_best_stays_first_when_probabilities_round_to_the_same():
    decoder = LinearDecoder([[0.0], [0.0], [0.0]], [0.0, 1e-12, 1e-13])
    decoder = decoder.with_confidence(Confidence(temperature=100.0))
    codes = PackedCodes.from_bits([[1], [0]])
    assert decoder.predict(Encoded(codes=codes)).tolist() == [1, 1]
    assert decoder.proba(Encoded(codes=codes)).argmax(axis=1).tolist() == [1, 1]


def test_many_classes_need_little_memory():
    rng = np.random.default_rng(0)
    decoder = LinearDecoder(rng.normal(size=(50_000, 16)), np.zeros(50_000))
    codes = PackedCodes.from_bits(rng.random((1_000, 16)) > 0.5)
    tracemalloc.start()
    decoder.top_k(Encoded(codes=codes), 5)
    decoder.predict(Encoded(codes=codes))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16e6  # all scores would take 200 MB


def test_the_weights_cannot_change_behind_our_back():
    weight = np.ones((2, 3), dtype=np.float32)
    decoder = LinearDecoder(weight, [0, 0])
    weight[:] = 5
    assert (decoder.weight == 1).all()
    assert not decoder.weight.flags.writeable
    assert np.shares_memory(LinearDecoder.from_arrays(decoder.arrays()).weight, decoder.weight)


def test_cost_is_the_formula_of_the_paper():
    decoder = LinearDecoder(np.zeros((1000, 64)), np.zeros(1000))
    assert decoder.cost() == (64_000, 4 * 65_000)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [1.0]), r"weight has shape \(1,\)"),
        ((np.zeros((0, 3)), []), r"weight has shape \(0, 3\)"),
        ((np.zeros((2, 0)), [0, 0]), r"weight has shape \(2, 0\)"),
        (([[1.0]], [1.0, 2.0]), r"bias has shape \(2,\)"),
        (([[np.nan]], [1.0]), "weight has values from nan"),
        (([[np.inf]], [1.0]), "weight has values from inf"),
        (([[1.0]], [-np.inf]), "bias has values from -inf"),
        (([[3e38]], [3e38]), "weight has values from 3e"),
        (([["a"]], [1.0]), "weight has type"),
    ],
)
def test_wrong_weights_are_named(arguments, message):
    with pytest.raises(InputError, match=message):
        LinearDecoder(*arguments)


def test_large_weights_do_not_overflow():
    largest = float(np.finfo(np.float32).max) / 8
    decoder = LinearDecoder(np.full((2, 3), largest * 0.99), [0, 0])
    codes = PackedCodes.from_bits([[1, 1, 1], [0, 0, 0]])
    assert np.isfinite(decoder.top_k(Encoded(codes=codes), 2)[1]).all()
    assert np.isfinite(decoder.proba(Encoded(codes=codes))).all()


@pytest.mark.parametrize("k", [2, 64, 65, 200, 300])
def test_blocks_of_classes_come_in_the_order_of_all(k):
    scores = np.random.default_rng(0).integers(0, 9, (5, 300)).astype(np.float32)
    edges = (0, 100, 101, 300)
    blocks = ((a, scores[:, a:b]) for a, b in itertools.pairwise(edges))
    classes, best = best_classes(blocks, k)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    assert np.array_equal(classes, expected)
    assert np.array_equal(best, np.take_along_axis(scores, expected, axis=1))
