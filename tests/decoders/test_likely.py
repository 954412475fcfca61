"""Likely codes: what is looked up, against the naive twin."""

import numpy as np
import pytest

import oracles
from dsnc import _native
from dsnc.codes import Encoded, HammingIndex, PackedCodes
from dsnc.decoders import LinearDecoder, ShortlistDecoder

N_CODES, N_CLASSES = 300, 120


def problem(n_bits, seed=0, n_rows=12):
    rng = np.random.default_rng(seed)
    bits = rng.random((N_CODES, n_bits)) < 0.5
    labels = np.append(np.arange(N_CLASSES), rng.integers(0, N_CLASSES, N_CODES - N_CLASSES))
    signs = np.where(bits[rng.integers(0, N_CODES, n_rows)], 1, -1)
    logits = (signs * rng.normal(1.5, 1, signs.shape)).astype(np.float32)
    weight = rng.normal(size=(N_CLASSES, n_bits)).astype(np.float32)
    return bits, labels, logits, LinearDecoder(weight, np.zeros(N_CLASSES))


def decoder_of(bits, labels, linear, **settings):
    return ShortlistDecoder(linear, PackedCodes.from_bits(bits), labels, **settings)


@pytest.mark.parametrize("n_bits", [6, 24, 64, 65, 128, 200])
@pytest.mark.parametrize("n_flips", [1, 7, 40])
def test_candidates_are_those_of_the_naive_twin(level, n_bits, n_flips):
    bits, labels, logits, linear = problem(n_bits)
    decoder = decoder_of(bits, labels, linear, size=N_CLASSES, flips=n_flips)
    chunks = _native.chunks(decoder._index.native)
    classes, _ = decoder.candidates(Encoded(logits))
    for row, (query, own) in enumerate(zip(logits > 0, logits, strict=True)):
        rows = oracles.likely_codes(bits, chunks, query, own, n_flips)
        found = set(classes[row][classes[row] >= 0].tolist())
        if rows:
            assert found == set(labels[list(rows)].tolist())
        else:  # the nearest are found exactly
            assert len(found) == N_CLASSES


@pytest.mark.parametrize("n_bits", [24, 200])
def test_classes_come_in_the_order_of_what_the_differing_bits_cost(level, n_bits):
    bits, labels, logits, linear = problem(n_bits)
    decoder = decoder_of(bits, labels, linear, flips=64)
    classes, costs = decoder.nearest(Encoded(logits), 10)
    expected = ((logits[:, None] > 0) != bits) * np.abs(logits)[:, None]
    of_codes = expected.sum(axis=2)
    for row in range(len(logits)):
        for owner, cost in zip(classes[row], costs[row], strict=True):
            of_class = of_codes[row, labels == owner]
            assert np.isclose(of_class, cost, rtol=1e-5).any()
    found = costs[:, :5]
    assert (np.diff(found, axis=1) > -1e-3 * np.abs(logits).sum(axis=1)[:, None]).all()


def test_the_likeliest_are_found_where_enough_is_looked_up():
    bits, labels, logits, linear = problem(32, n_rows=200)
    cost = (((logits[:, None] > 0) != bits) * np.abs(logits)[:, None]).sum(axis=2)
    best = labels[cost.argmin(axis=1)]
    shares = []
    for flips in (1, 8, 64):
        classes, _ = decoder_of(bits, labels, linear, flips=flips).nearest(Encoded(logits), 1)
        shares.append((classes[:, 0] == best).mean())
    assert shares == sorted(shares)
    assert shares[0] < shares[-1] > 0.98


@pytest.mark.parametrize("k", [1, 30, N_CLASSES])
def test_classes_behind_the_candidates_are_all_others(k):
    bits, labels, logits, linear = problem(24)
    decoder = decoder_of(bits, labels, linear, flips=4, size=8)
    classes, scores = decoder.top_k(Encoded(logits), k)
    assert np.array_equal(classes[:, 0], decoder.predict(Encoded(logits)))
    assert np.array_equal(classes, decoder.top_k(Encoded(logits), N_CLASSES)[0][:, :k])
    assert all(len(set(row)) == k for row in classes.tolist())
    assert (np.diff(scores, axis=1) <= 0).all()
    assert np.isfinite(scores).all()


def test_codes_that_came_later_are_found():
    bits, labels, logits, linear = problem(24)
    first = HammingIndex(PackedCodes.from_bits(bits[:200]), method="multi_index")
    decoder = decoder_of(bits, labels, linear, flips=16)
    grown = decoder_of(bits, labels, linear, flips=16)
    grown._index = first.with_more(PackedCodes.from_bits(bits))
    for mine, theirs in zip(
        decoder.nearest(Encoded(logits), 1), grown.nearest(Encoded(logits), 1), strict=True
    ):
        assert (mine == theirs).mean() > 0.9  # later ones are all compared: never fewer
