"""The nearest of codes that training changes, against their naive twin, at each level."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from dsnc import _native
from dsnc.fast.model import padded

WIDTHS = st.sampled_from([1, 7, 8, 24, 36, 63, 64, 65, 100, 128, 129, 254, 255, 257, 400, 1024])
BLOCK = 512
pytestmark = pytest.mark.usefixtures("level")


def cloud(seed, n, n_bits):
    """Codes around a few centers, some of them equal, and queries near and far."""
    rng = np.random.default_rng(seed)
    centers = rng.random((20, n_bits)) < 0.5

    def near(count, share):
        chosen = centers[rng.integers(0, 20, count)]
        return chosen ^ (rng.random(chosen.shape) < share)

    return near(n, 0.05), np.concatenate([near(4, 0.05), near(2, 0.3), near(1, 0.5)])


def signs(codes):
    return padded(np.where(codes, 1.0, -1.0))


def search(codes, queries, k, *, first=0, last=None, at_once=2):
    near = np.full((len(queries), k), -7, np.int32)
    last = -(-len(codes) // BLOCK) if last is None else last
    given = codes.shape[1], first, last, signs(queries), at_once, near
    _native.find_nearest_signs(signs(codes), *given)
    return near.tolist()


def expected(codes, queries, k, first=0):
    """The rows of the nearest, and -1 where there are no more."""
    found = oracles.neighbors(codes, queries, k)
    rows = [[first + row for _, row in each] for each in found]
    return [each + [-1] * (k - len(each)) for each in rows]


@pytest.mark.parametrize("at_once", [1, 2])
@pytest.mark.parametrize("n", [1, 511, 512, 513, 1300, 20_000])
def test_queries_may_come_in_pairs_or_one_by_one(n, at_once):
    codes, queries = cloud(0, n, 64)
    assert search(codes, queries, 32, at_once=at_once) == expected(codes, queries, 32)


@given(st.integers(0, 2**32), WIDTHS, st.integers(0, 3), st.integers(1, 4), st.sampled_from([1, 2]))
def test_a_window_is_all_there_is(seed, n_bits, first, last, at_once):
    last = max(first + 1, last)
    codes, queries = cloud(seed, 2000, n_bits)
    window = codes[first * BLOCK : last * BLOCK]
    found = search(codes, queries, 5, first=first, last=last, at_once=at_once)
    assert found == expected(window, queries, 5, first * BLOCK)


@pytest.mark.parametrize("k", [1, 3, 700])
@pytest.mark.parametrize("nearest_last", [True, False])
@pytest.mark.parametrize("n_bits", [240, 1500])
def test_each_code_may_be_nearer_than_all_before(k, nearest_last, n_bits):
    codes = np.tri(n_bits, n_bits, dtype=bool)  # 1 bit set, 2 bits, ...
    codes = codes[::-1] if nearest_last else codes
    queries = np.zeros((3, n_bits), dtype=bool)
    assert search(codes, queries, k) == expected(codes, queries, k)


def test_all_codes_may_be_the_same():
    codes = np.ones((5000, 64), dtype=bool)
    assert search(codes, codes[:3], 600) == [list(range(600))] * 3
