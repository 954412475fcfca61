import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from test_index import WIDTHS, cloud, pairs

import oracles
from dsnc.codes import PackedCodes
from dsnc.codes._kernels import scan as kernels
from dsnc.codes._kernels.nearest import NO_LABELS, ROW_BITS, empty_lists
from dsnc.codes.scan import CodeScan, octets_of


@given(st.integers(0, 2**32), WIDTHS, st.sampled_from([1, 2, 511, 512, 1100]), st.integers(1, 5))
def test_updates_the_chosen_lists_and_no_other(seed, n_bits, n, k):
    codes, queries = cloud(seed, n, n_bits)
    chosen = np.flatnonzero(np.random.default_rng(seed).random(len(queries)) < 0.6)
    keys, owners = empty_lists(len(queries), k)
    before = keys.copy()
    CodeScan(PackedCodes.from_bits(codes)).update(
        PackedCodes.from_bits(queries), chosen, NO_LABELS, keys, owners
    )
    others = np.setdiff1d(np.arange(len(queries)), chosen)
    assert np.array_equal(keys[others], before[others])
    filled = min(k, n)
    distances, rows = keys[:, :filled] >> ROW_BITS, keys[:, :filled] & ((1 << ROW_BITS) - 1)
    expected = oracles.neighbors(codes, queries, k)
    assert pairs(distances[chosen], rows[chosen]) == [expected[i] for i in chosen]


def test_planes_are_the_octets_turned():
    bits = cloud(0, 1000, 36)[0]
    codes = PackedCodes.from_bits(bits)
    planes = CodeScan(codes).planes
    assert planes.shape == (2, 8, kernels.BLOCK)  # five octets, in fours
    turned = planes.transpose(0, 2, 1).reshape(-1, 8)
    assert np.array_equal(turned[:1000], octets_of(codes))
    assert not turned[1000:].any()
