"""Operations on rows of numbers, against numpy, at each level."""

import numpy as np
import pytest

import oracles
from dsnc import _native

pytestmark = [pytest.mark.parametrize("n", [16, 32, 208]), pytest.mark.usefixtures("level")]


def numbers(n, seed=0, scale=1.0):
    return (scale * np.random.default_rng(seed).normal(size=n)).astype(np.float32)


def assert_is_exp(found, of, exact):
    """Within a few units of float32: the exponent, rounded, is multiplied by log2(e)."""
    assert (np.abs(found - exact) <= exact * (3e-7 + 1.2e-7 * np.abs(of))).all()


def test_moving_tells_whether_a_sign_has_changed(n):
    out, x = np.abs(numbers(n)), np.zeros(n, np.float32)
    moves = [(1, -2, True), (-1, 2, True), (0, 1, True), (1, -1, True)]
    moves += [(2, -1, False), (-1, -1, False), (0, -1, False)]
    for place in range(n):
        for value, step, flips in moves:
            out[place], x[place] = value, 2 * step
            expected = out + np.float32(0.5) * x
            assert _native.move(out, x, 0.5) == flips
            assert np.array_equal(out, expected)
        out[place], x[place] = 1, 0


@pytest.mark.parametrize("sharpness", [1.0, 0.25])
def test_probabilities(n, sharpness):
    out, logits = numbers(n), numbers(n, 1, scale=6)
    logits[:7] = [0, 80, -80, 1e-20, 3e38, -3e38, -np.inf]
    x = np.clip(sharpness * logits.astype(float), -80, 80)
    _native.probabilities(out, logits, sharpness)
    assert_is_exp(out, x, 1 / (1 + np.exp(-x)))


def test_exponentials(n):
    x = numbers(n, scale=10)
    top = x.max()
    exact = np.exp(x.astype(float) - top)
    before = x.copy()
    assert _native.exponentials(x, top) == pytest.approx(exact.sum(), rel=1e-6)
    assert_is_exp(x, before.astype(float) - top, exact)


def test_exponentials_of_no_class_are_next_to_nothing(n):
    x = np.full(n, -1e30, np.float32)
    x[0] = 5
    assert _native.exponentials(x, 5) == 1
    assert 0 <= x[1:].max() < 1e-30


def test_bits_are_drawn_by_the_noise_of_their_places(n):
    out, chances = numbers(n), np.random.default_rng(0).random(n, dtype=np.float32)
    chances[:2] = [0, 1]
    noise = oracles.noise(12345, 3 * 65536 + np.arange(n))
    _native.draw(out, chances, 12345, 3 * 65536)
    assert np.array_equal(out, np.where(noise < chances, 1, -1))
    assert out[:2].tolist() == [-1, 1]


def test_draws_are_as_likely_as_they_should_be_and_independent(n):
    times, chances = 20_000, np.random.default_rng(0).random(n, dtype=np.float32)
    out = np.empty((times, n), np.float32)
    for i in range(times):
        _native.draw(out[i], chances, oracles.row_seed(7, i), 0)
    deviation = np.sqrt(chances * (1 - chances) / times)
    assert (np.abs((out > 0).mean(axis=0) - chances) < 5 * deviation + 1e-7).all()
    together = np.corrcoef(out.T) - np.eye(n)  # of two bits
    assert np.abs(together).max() < 6 / np.sqrt(times)
    bits = (out - (2 * chances - 1)) / np.sqrt(4 * chances * (1 - chances))
    assert abs((bits[1:] * bits[:-1]).mean()) < 6 / np.sqrt(out.size)  # of two rows


def test_streams_and_seeds_draw_something_else(n):
    drawn = set()
    for seed, stream in ((1, 0), (1, 65536), (1, 2 * 65536), (2, 0)):
        out = np.zeros(n, np.float32)
        _native.draw(out, np.full(n, 0.5, np.float32), seed, stream)
        drawn.add(out.tobytes())
    assert len(drawn) == 4
