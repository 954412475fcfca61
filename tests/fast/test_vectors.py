"""Operations on rows against numpy: of any width, in arrays of two and of three dimensions."""

import numpy as np
import pytest
import vector_kernels as kernels

import oracles
from dsnc.fast._kernels.lanes import LANES
from dsnc.fast._kernels.vectors import TOGETHER

SHAPES = [(3, 16), (3, 32), (5, 208), (2, 3, 16), (2, 2, 208)]
pytestmark = pytest.mark.parametrize("shape", SHAPES, ids=str)


def numbers(shape, seed=0, scale=1.0):
    return (scale * np.random.default_rng(seed).normal(size=shape)).astype(np.float32)


def chances(shape, seed=0):
    return np.random.default_rng(seed).random(shape, dtype=np.float32)


def flat(array):
    """The rows that kernels count, as a view."""
    return array.reshape(-1, array.shape[-1])


def changed(array, row, values):
    """The array with one row replaced: a kernel must leave all others alone."""
    result = array.copy()
    flat(result)[row] = values
    return result


def assert_is_exp(found, of, exact):
    """Within a few units of float32: the exponent, rounded, is multiplied by log2(e)."""
    assert (np.abs(found - exact) <= exact * (3e-7 + 1.2e-7 * np.abs(of))).all()


def test_set_row_and_clear(shape):
    out, x = numbers(shape), numbers((4, shape[-1]), 1)
    expected = changed(out, 2, x[3])
    kernels.set_row(out, 2, x, 3)
    assert np.array_equal(out, expected)
    kernels.clear(out, 1)
    assert np.array_equal(out, changed(expected, 1, 0))


def test_add_scaled(shape):
    out, x = numbers(shape), numbers((4, shape[-1]), 1)
    expected = changed(out, 2, flat(out)[2] + np.float32(-0.3) * x[1])
    kernels.add_scaled(out, 2, x, 1, np.float32(-0.3))
    np.testing.assert_allclose(out, expected, rtol=1e-6, atol=1e-6)


def test_move_tells_whether_a_sign_has_changed(shape):
    out, x = np.abs(numbers(shape)), np.zeros((4, shape[-1]), np.float32)
    moves = [(1, -2, True), (-1, 2, True), (0, 1, True), (1, -1, True)]
    moves += [(2, -1, False), (-1, -1, False), (0, -1, False)]
    for place in range(shape[-1]):
        for value, step, flips in moves:
            flat(out)[2, place], x[1, place] = value, 2 * step
            expected = changed(out, 2, flat(out)[2] + np.float32(0.5) * x[1])
            assert kernels.move(out, 2, x, 1, np.float32(0.5)) == flips
            assert np.array_equal(out, expected)
        flat(out)[2, place], x[1, place] = 1, 0


def test_dot(shape):
    x, y = numbers(shape), numbers((4, shape[-1]), 1)
    exact = flat(x)[1].astype(float) @ y[3]
    assert kernels.dot(x, 1, y, 3) == pytest.approx(exact, abs=1e-5)
    assert kernels.dot(x, 1, x, 1) == pytest.approx(np.square(flat(x)[1], dtype=float).sum(), 1e-6)


def test_dots_and_mix(shape):
    x, y = numbers(shape), numbers((2, TOGETHER, shape[-1]), 1)
    rows = flat(y)[1 : TOGETHER + 1].astype(float)
    assert kernels.dots(x, 1, y, 1) == pytest.approx(rows @ flat(x)[1], abs=1e-5)
    shares = tuple(numbers(TOGETHER, 2))
    mixed = np.array(shares) @ rows
    expected = changed(x, 2, mixed)
    assert kernels.mix(x, 2, y, 1, shares) == pytest.approx(mixed @ mixed, rel=1e-5)
    np.testing.assert_allclose(x, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sharpness", [1.0, 0.25])
def test_probabilities(shape, sharpness):
    out, logits = numbers(shape), numbers((2, shape[-1]), 1, scale=6)
    logits[1, :7] = [0, 80, -80, 1e-20, 3e38, -3e38, -np.inf]
    x = np.clip(sharpness * logits[1].astype(float), -80, 80)
    others = changed(out, 2, 0)
    kernels.probabilities(out, 2, logits, 1, np.float32(sharpness))
    assert_is_exp(flat(out)[2], x, 1 / (1 + np.exp(-x)))
    assert np.array_equal(changed(out, 2, 0), others)


def test_expect_is_the_mean_of_a_bit(shape):
    out, some = numbers(shape), chances((3, shape[-1]))
    expected = changed(out, 0, 2 * some[1] - 1)
    kernels.expect(out, 0, some, 1)
    np.testing.assert_allclose(out, expected, atol=1e-6)


def test_pass_through_is_the_slope_of_that_mean(shape):
    out, x, logits = numbers(shape), numbers((3, shape[-1]), 1), numbers((1, shape[-1]), 2)
    some = (1 / (1 + np.exp(-logits.astype(float)))).astype(np.float32)
    kernels.pass_through(out, 1, x, 2, some, 0)
    mean, step = (lambda z: np.tanh(z / 2)), 1e-4
    z = logits[0].astype(float)
    slope = (mean(z + step) - mean(z - step)) / (2 * step)
    np.testing.assert_allclose(flat(out)[1], x[2] * slope, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("whole", [True, False])
def test_largest_exponentials_and_scale_of_the_first_numbers(shape, whole):
    n = shape[-1] if whole else LANES
    x = numbers(shape, scale=10)
    row = flat(x)[1].copy()
    top = kernels.largest(x, 1, n)
    assert top == row[:n].max()
    exact, others = np.exp(row[:n].astype(float) - top), changed(x, 1, 0)
    assert kernels.exponentials(x, 1, n, top) == pytest.approx(exact.sum(), rel=1e-6)
    assert_is_exp(flat(x)[1, :n], row[:n].astype(float) - top, exact)
    assert np.array_equal(flat(x)[1, n:], row[n:])
    assert np.array_equal(changed(x, 1, 0), others)
    before = x.copy()
    kernels.scale(x, 1, n, np.float32(0.7))
    flat(before)[1, :n] *= np.float32(0.7)
    assert np.array_equal(x, before)


def test_exponentials_of_no_class_are_next_to_nothing(shape):
    x = np.full(shape, -1e30, np.float32)
    flat(x)[0, 0] = 5
    assert kernels.exponentials(x, 0, shape[-1], np.float32(5)) == 1
    assert 0 <= flat(x)[0, 1:].max() < 1e-30


def test_bits_are_packed_lowest_first(shape):
    x = numbers(shape)
    flat(x)[1, ::5] = 0  # not above 0
    octets = np.full((3, shape[-1] // 8 + 2), 255, np.uint8)
    kernels.pack(octets, 1, x, 1)
    assert np.array_equal(octets[1, :-2], np.packbits(flat(x)[1] > 0, bitorder="little"))
    octets[1, :-2] = 255
    assert (octets == 255).all()


def test_bits_are_drawn_by_the_noise_of_their_places(shape):
    out, some = numbers(shape), chances((2, shape[-1]))
    some[1, :2] = [0, 1]
    noise = oracles.noise(12345, 3 * 65536 + np.arange(shape[-1]))
    expected = changed(out, 1, np.where(noise < some[1], 1, -1))
    kernels.draw(out, 1, some, 1, np.uint32(12345), 3 * 65536)
    assert np.array_equal(out, expected)
    assert flat(out)[1, :2].tolist() == [-1, 1]
    assert kernels.chance(np.uint32(12345), 3 * 65536) == noise[0]


def test_draws_are_as_likely_as_they_should_be_and_independent(shape):
    n, width = 20_000, shape[-1]
    some, seeds = chances((1, width)), np.array([oracles.row_seed(7, i) for i in range(n)])
    out = np.empty((n, width), np.float32)
    kernels.draw_many(out, some, np.array(seeds, np.uint32))
    deviation = np.sqrt(some[0] * (1 - some[0]) / n)
    assert (np.abs((out > 0).mean(axis=0) - some[0]) < 5 * deviation + 1e-7).all()
    together = np.corrcoef(out.T) - np.eye(width)  # of two bits
    assert np.abs(together).max() < 6 / np.sqrt(n)
    bits = (out - (2 * some - 1)) / np.sqrt(4 * some * (1 - some))
    assert abs((bits[1:] * bits[:-1]).mean()) < 6 / np.sqrt(out.size)  # of two rows


def test_streams_and_seeds_draw_something_else(shape):
    some = np.full((1, shape[-1]), 0.5, np.float32)
    drawn = {}
    for seed, stream in ((1, 0), (1, 0), (1, 65536), (1, 2 * 65536), (2, 0)):
        out = np.zeros((1, shape[-1]), np.float32)
        kernels.draw(out, 0, some, 0, np.uint32(seed), stream)
        drawn.setdefault((seed, stream), out.tobytes())
        assert drawn[seed, stream] == out.tobytes()
    assert len(set(drawn.values())) == 4
