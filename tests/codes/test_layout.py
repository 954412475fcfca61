import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_index import WIDTHS, cloud, pairs

import oracles
from dsnc.codes import PackedCodes
from dsnc.codes._kernels.changing import nearest_keys
from dsnc.codes._kernels.nearest import FREE, ROW_BITS
from dsnc.codes._kernels.scan import BLOCK
from dsnc.codes._kernels.tools import kernel
from dsnc.codes.layout import Layout, scratch
from dsnc.codes.scan import CodeScan, octets_of


@kernel
def search(planes, gone, holes, first, last, n_bits, octets, keys, sums, lows, notes):
    nearest_keys(planes, gone, holes, first, last, n_bits, octets, keys, sums, lows, notes)


@kernel
def search_alone(planes, gone, holes, first, last, n_bits, octets, keys, sums, lows, notes):
    """Search for each code alone, as a training kernel does."""
    for i in range(octets.shape[0]):
        one, mine = octets[i : i + 1], keys[i : i + 1]
        nearest_keys(planes, gone, holes, first, last, n_bits, one, mine, sums, lows, notes)


def search_all(layout, queries, keys):
    space = scratch(queries.n_bits, *keys.shape)
    search(*layout, 0, len(layout.planes), queries.n_bits, octets_of(queries), keys, *space)


def parts_of(keys):
    return keys >> ROW_BITS, keys & ((1 << ROW_BITS) - 1)


def test_queries_may_come_one_by_one():
    codes, queries = cloud(0, 1300, 64)
    layout, asked = Layout.of(PackedCodes.from_bits(codes)), PackedCodes.from_bits(queries)
    keys = np.empty((len(queries), 32), dtype=np.int64)
    search_alone(*layout, 0, 3, 64, octets_of(asked), keys, *scratch(64, 1, 32))
    assert pairs(*parts_of(keys)) == oracles.neighbors(codes, queries, 32)
    assert layout.holes.tolist() == [0, 0, 3 * BLOCK - 1300]


@given(st.integers(0, 2**32), WIDTHS, st.integers(0, 4), st.integers(0, 4))
def test_a_window_is_all_there_is(seed, n_bits, first, last):
    codes, queries = cloud(seed, 2000, n_bits)
    layout, asked = Layout.of(PackedCodes.from_bits(codes)), PackedCodes.from_bits(queries)
    keys = np.empty((len(queries), 5), dtype=np.int64)
    space = scratch(n_bits, *keys.shape)
    search(*layout, first, last, n_bits, octets_of(asked), keys, *space)
    if last <= first:
        assert (keys == FREE).all()
        return
    distances, rows = parts_of(keys)
    window = codes[first * BLOCK : last * BLOCK]
    assert pairs(distances, rows - first * BLOCK) == oracles.neighbors(window, queries, 5)


@pytest.mark.parametrize("k", [1, 3, 700])
@pytest.mark.parametrize("nearest_last", [True, False])
def test_each_code_may_be_nearer_than_all_before(k, nearest_last):
    codes = np.tri(1500, 1500, dtype=bool)  # 1 bit set, 2 bits, ...
    codes = codes[::-1] if nearest_last else codes
    query = np.zeros((1, 1500), dtype=bool)
    keys = np.empty((1, k), dtype=np.int64)
    layout = Layout.of(PackedCodes.from_bits(codes))
    search_all(layout, PackedCodes.from_bits(query), keys)
    assert pairs(*parts_of(keys)) == oracles.neighbors(codes, query, k)


def test_all_codes_may_be_the_same():
    codes = PackedCodes.from_bits(np.ones((5000, 64), dtype=bool))
    keys = np.empty((2, 600), dtype=np.int64)
    search_all(Layout.of(codes), codes.take([0, 1]), keys)
    assert np.array_equal(keys, np.tile(np.arange(600), (2, 1)))


@given(st.integers(0, 2**32), WIDTHS)
def test_planes_are_those_of_the_scan(seed, n_bits):
    codes = PackedCodes.from_bits(cloud(seed, 700, n_bits)[0])
    assert np.array_equal(Layout.of(codes).planes, CodeScan(codes).planes)
