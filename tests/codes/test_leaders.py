import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from dsnc.codes import PackedCodes
from dsnc.codes.leaders import leading_rows


def draw(seed, n=None, n_bits=None):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 40)) if n is None else n
    n_bits = int(rng.choice([1, 5, 64, 70])) if n_bits is None else n_bits
    bits = (rng.random((n, n_bits)) < 0.5) & (rng.permutation(n_bits) < 5)
    return bits, rng.integers(0, 4, n), rng.integers(0, 3, n)


@given(st.integers(0, 2**32 - 1), st.integers(0, 6))
def test_equals_the_naive_twin(seed, radius):
    bits, labels, rank = draw(seed)
    found = leading_rows(PackedCodes.from_bits(bits), labels, rank, radius)
    assert found.tolist() == oracles.leaders(bits, labels, rank, radius)


@given(st.integers(0, 2**32 - 1), st.integers(0, 6))
def test_every_code_is_near_a_leader_and_leaders_are_apart(seed, radius):
    bits, labels, rank = draw(seed)
    rows = leading_rows(PackedCodes.from_bits(bits), labels, rank, radius)
    distances = oracles.distances(bits, bits[rows]) + 99 * (labels[:, None] != labels[rows])
    if len(bits):
        assert distances.min(axis=1).max() <= radius
    among = distances[rows]
    assert all(among[i, j] > radius for i in range(len(rows)) for j in range(i))


@pytest.mark.parametrize("radius", [0, 99])
def test_a_radius_of_nothing_and_of_everything(radius):
    bits, labels, rank = draw(0, n=40, n_bits=64)
    rows = leading_rows(PackedCodes.from_bits(bits), labels, rank, radius)
    distinct = {(int(k), tuple(code)) for k, code in zip(labels, bits.tolist(), strict=True)}
    assert len(rows) == (len(set(labels.tolist())) if radius else len(distinct))
