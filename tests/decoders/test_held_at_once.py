"""How much is held at a time does not depend on the settings of a model, and changes no answer."""

import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest

from dsnc.codes import Encoded, HammingIndex, PackedCodes
from dsnc.codes.soft import SoftCodes
from dsnc.decoders import LinearDecoder, NearestDecoder, ShortlistDecoder, base, nearest, novelty
from dsnc.decoders.memory import Memory
from dsnc.decoders.novelty import signs_of_novelty

RNG = np.random.default_rng(0)
N_BITS = 12


@contextmanager
def at_most(megabytes):
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * 1e6
    finally:
        tracemalloc.stop()


def codes(n):
    return PackedCodes.from_bits(RNG.random((n, N_BITS)) < 0.5)


def encoded(n):
    return Encoded(RNG.normal(size=(n, N_BITS)).astype(np.float32))


def linear(n):
    return LinearDecoder(RNG.normal(size=(n, N_BITS)), RNG.normal(size=n))


def test_a_list_is_no_longer_than_there_are_codes():
    index, queries = HammingIndex(codes(100)), codes(300)
    with at_most(10):
        distances, rows = index.search(queries, 10**6)
        owners = index.search_classes(queries, 10**6, np.arange(100) % 7).classes
    assert distances.shape == rows.shape == (300, 100)
    assert owners.shape == (300, 7)


@pytest.mark.parametrize("n_neighbors", [3, 100, 10**6])
def test_neighbors_that_vote(monkeypatch, n_neighbors):
    decoder = NearestDecoder(codes(100), np.arange(100) // 20, 5, n_neighbors=n_neighbors)
    rows = encoded(300)
    with at_most(10):
        expected = decoder.top_k(rows, 1)
    monkeypatch.setattr(nearest, "_BLOCK", 1000)
    for found, array in zip(decoder.top_k(rows, 1), expected, strict=True):
        assert np.array_equal(found, array)
    assert decoder.top_k(rows.take(slice(0)), 1)[0].shape == (0, 1)


def test_long_shortlists(monkeypatch):
    size = 2000
    decoder = ShortlistDecoder(linear(size), codes(size), np.arange(size), size=10**9)
    rows = encoded(200)
    expected = [*decoder.top_k(rows, 3), *decoder.candidates(rows), *decoder.answers(rows, 3)]
    monkeypatch.setattr(base, "_LISTED", 20 * size)
    decoder = decoder.with_settings()
    with at_most(12):
        answers = [*decoder.top_k(rows, 3), *decoder.answers(rows, 3)]
    for found, array in zip(answers, expected[:2] + expected[4:], strict=True):
        assert np.array_equal(found, array)
    for found, array in zip(decoder.candidates(rows), expected[2:4], strict=True):
        assert np.array_equal(found, array)


@pytest.mark.parametrize("n_codes", [30, 400, 3000])
def test_classes_of_which_much_is_remembered(monkeypatch, n_codes):
    owners = np.sort(np.append(np.zeros(n_codes, np.int64), np.arange(300) % 6))
    of_rows = SoftCodes.from_logits(RNG.normal(size=(len(owners), N_BITS)))
    memory = Memory.empty(N_BITS, 6).with_rows(of_rows, owners, 10**6, 0)
    decoder, rows = linear(6), encoded(600)
    with at_most(60):
        expected = signs_of_novelty(rows, decoder, memory)
    monkeypatch.setattr(novelty, "_NUMBERS", 1 << 18)
    assert np.allclose(signs_of_novelty(rows, decoder, memory), expected)
