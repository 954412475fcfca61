"""Codebooks: no two rows alike, columns that split, and rows farther apart than chance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsnc.baselines import codebooks
from dsnc.baselines.codebooks import (
    DECODINGS,
    codebook_decoder,
    codes_of,
    make_codebook,
    random_codebook,
)
from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders import LinearDecoder
from dsnc.errors import InputError


def least_distance(codes):
    distance = codes.distance(codes)
    return int(distance[~np.eye(len(codes), dtype=bool)].min())


@given(n_classes=st.integers(2, 70), spare=st.integers(0, 70), seed=st.integers(0, 99))
def test_every_class_has_its_own_code_and_every_bit_says_something(n_classes, spare, seed):
    n_bits = int(np.ceil(np.log2(n_classes))) + spare
    codes = make_codebook("random", n_classes, n_bits, seed)
    assert (len(codes), codes.n_bits) == (n_classes, n_bits)
    assert len(codes.unique().codes) == n_classes
    bits = codes.to_bits()
    assert bits.any(axis=0).all()
    assert not bits.all(axis=0).any()


@pytest.mark.parametrize("n_classes", [50, 64])
def test_random_columns_split_the_classes_in_halves(n_classes):
    bits = make_codebook("random", n_classes, 24, seed=0).to_bits()
    assert (bits.sum(axis=0) == n_classes // 2).all()


@pytest.mark.parametrize(("n_classes", "n_bits"), [(100, 24), (500, 60)])
def test_codes_are_farther_apart_than_a_plain_draw(n_classes, n_bits):
    rng = np.random.default_rng(0)
    plain = [PackedCodes.from_bits(rng.random((n_classes, n_bits)) < 0.5) for _ in range(20)]
    ours = least_distance(make_codebook("random", n_classes, n_bits, seed=0))
    assert ours >= 1 + max(map(least_distance, plain))


def test_very_many_classes_still_have_codes_of_their_own(monkeypatch):
    monkeypatch.setattr(codebooks, "_FEW", 10)
    for n_classes, n_bits in ((1000, 10), (1024, 10), (1000, 80), (999, 30)):
        codes = random_codebook(n_classes, n_bits, np.random.default_rng(0))
        assert len(codes.unique().codes) == n_classes
        halves = codes.to_bits().sum(axis=0)
        assert (np.abs(2 * halves - n_classes) <= n_classes % 2).all()


def test_the_seed_decides():
    first, twin, other = (make_codebook("random", 40, 20, seed) for seed in (0, 0, 1))
    assert first == twin
    assert first != other


def test_books_of_ones_own():
    bits = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0]])
    expected = PackedCodes.from_bits(bits)
    for given_as in (bits, bits.astype(bool), 2 * bits - 1, bits.tolist(), 2.0 * bits - 1):
        assert make_codebook(given_as, 3, 3, seed=0) == expected


@pytest.mark.parametrize(
    ("book", "n_bits", "message"),
    [
        ("random", 2, "n_bits=2: 5 classes need at least 3 bits"),
        ("hadamard", 4, "codebook='hadamard' is not known"),
        (np.eye(4), 4, r"codebook has shape \(4, 4\); 5 classes and n_bits=4 need \(5, 4\)"),
        (np.zeros((5, 4)), 4, "the code of row 0 more than once"),
        (np.arange(5)[:, None] >> np.arange(4) & 1, 4, "the same bit 3 in all rows"),
        (np.full((5, 4), 2), 4, "only 0 and 1"),
    ],
    ids=str,
)
def test_what_cannot_work_is_named(book, n_bits, message):
    with pytest.raises(InputError, match=message):
        make_codebook(book, 5, n_bits, seed=0)


@pytest.mark.parametrize("decoding", DECODINGS)
def test_a_decoder_gives_its_book_back(decoding):
    codes = make_codebook("random", 9, 12, seed=0)
    decoder = codebook_decoder(codes, decoding)
    assert codes_of(decoder) == codes
    logits = codes.to_signs(np.float32)
    assert decoder.predict(Encoded(logits, codes)).tolist() == list(range(9))
    with pytest.raises(InputError, match="decoder='linear' has no codebook"):
        codes_of(LinearDecoder([[1.0]], [0.0]))
