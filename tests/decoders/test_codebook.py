import pickle

import numpy as np
import pytest

from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders import CodebookDecoder
from dsnc.decoders.confidence import Confidence
from dsnc.errors import InputError

RNG = np.random.default_rng(0)
BOOK = PackedCodes.from_bits(RNG.random((60, 20)) < 0.5)
CODES = PackedCodes.from_bits(RNG.random((50, 20)) < 0.5)


def test_the_nearest_code_wins_and_ties_go_to_the_smaller_class():
    distance = (CODES.to_bits()[:, None] != BOOK.to_bits()[None]).sum(axis=2)
    classes, scores = CodebookDecoder(BOOK).top_k(Encoded(codes=CODES), 60)
    assert np.array_equal(classes, np.argsort(distance, axis=1, kind="stable"))
    assert np.array_equal(scores, -np.sort(distance, axis=1))


def test_probabilities_are_those_of_bits_that_err_independently():
    error = 0.2
    confidence = Confidence(temperature=1 / np.log((1 - error) / error))
    decoder = CodebookDecoder(BOOK).with_confidence(confidence)
    wrong = (CODES.to_bits()[:, None] != BOOK.to_bits()[None]).sum(axis=2)
    likelihood = error**wrong * (1 - error) ** (20 - wrong)
    expected = likelihood / likelihood.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(decoder.proba(Encoded(codes=CODES)), expected, rtol=1e-4)


def test_wrong_bits_are_mended():
    """Codes at distance 5 and more survive two wrong bits."""
    book = PackedCodes.from_bits(np.repeat(np.eye(4, dtype=bool), 3, axis=1))
    bits = book.to_bits().copy()
    bits[:, [0, 7]] ^= True
    assert CodebookDecoder(book).predict(Encoded(codes=PackedCodes.from_bits(bits))).tolist() == [
        0,
        1,
        2,
        3,
    ]


def test_blocks_do_not_change_probabilities(monkeypatch):
    decoder = CodebookDecoder(BOOK)
    whole = decoder.proba(Encoded(codes=CODES))
    monkeypatch.setattr("dsnc.decoders.nearest._BLOCK", 130)
    assert np.array_equal(decoder.proba(Encoded(codes=CODES)), whole)


def test_it_can_be_pickled_after_use():
    decoder = CodebookDecoder(BOOK)
    before = decoder.predict(Encoded(codes=CODES))
    assert np.array_equal(pickle.loads(pickle.dumps(decoder)).predict(Encoded(codes=CODES)), before)


@pytest.mark.parametrize(("n_bits", "operations"), [(36, 294), (60, 489), (100, 816), (200, 1631)])
def test_it_costs_a_search_among_the_codes_of_the_classes(n_bits, operations):
    bits = np.random.default_rng(0).random((12_275, n_bits)) < 0.5
    cost = CodebookDecoder(PackedCodes.from_bits(bits)).cost()
    assert round(cost.operations) == operations  # c * sqrt(K) / log2(K)
    assert cost.bytes == 12_275 * 8 * -(-n_bits // 64)


def test_what_cannot_work_is_named():
    with pytest.raises(InputError, match="codes is empty"):
        CodebookDecoder(BOOK.take(slice(0)))
