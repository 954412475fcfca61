import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_index import WIDTHS, cloud, pairs

import oracles
from dsnc.codes import PackedCodes
from dsnc.codes._kernels.changing import nearest_keys, search, set_code, set_gone
from dsnc.codes._kernels.nearest import FREE, ROW_BITS
from dsnc.codes._kernels.scan import BLOCK
from dsnc.codes._kernels.tools import kernel
from dsnc.codes.layout import Layout, scratch
from dsnc.codes.scan import CodeScan, octets_of


@kernel
def turn_and_search(planes, gone, holes, first, last, n_bits, words, octets, keys, space):
    """Write codes in reverse, then search for each of them alone: as a training kernel might."""
    sums, lows, notes = space
    n = words.shape[0]
    for row in range(n):
        set_code(planes, row, words, n - 1 - row)
        set_gone(gone, holes, row, False)
    for i in range(octets.shape[0]):
        one, mine = octets[i : i + 1], keys[i : i + 1]
        nearest_keys(planes, gone, holes, first, last, n_bits, one, mine, sums, lows, notes)


def parts_of(keys):
    return keys >> ROW_BITS, keys & ((1 << ROW_BITS) - 1)


def test_other_kernels_change_and_search():
    codes, queries = cloud(0, 1300, 64)
    packed, asked = PackedCodes.from_bits(codes), PackedCodes.from_bits(queries)
    layout = Layout.of(packed).grown(4)
    keys = np.empty((len(queries), 32), dtype=np.int64)
    space = scratch(64, 1, 32)
    turn_and_search(*layout, 0, 4, 64, packed.words, octets_of(asked), keys, space)
    assert pairs(*parts_of(keys)) == oracles.neighbors(codes[::-1], queries, 32)
    assert layout.holes.tolist() == [0, 0, 3 * BLOCK - 1300, BLOCK]


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
    layout.search(1500, PackedCodes.from_bits(query), keys)
    assert pairs(*parts_of(keys)) == oracles.neighbors(codes, query, k)


def test_all_codes_may_be_the_same():
    codes = PackedCodes.from_bits(np.ones((5000, 64), dtype=bool))
    keys = np.empty((2, 600), dtype=np.int64)
    Layout.of(codes).search(5000, codes.take([0, 1]), keys)
    assert np.array_equal(keys, np.tile(np.arange(600), (2, 1)))


@given(st.integers(0, 2**32), WIDTHS)
def test_codes_are_read_as_they_were_written(seed, n_bits):
    codes = PackedCodes.from_bits(cloud(seed, 700, n_bits)[0])
    layout = Layout.of(codes)
    assert np.array_equal(layout.planes, CodeScan(codes).planes)
    rows = np.array([699, 0, 512])
    octets = layout.octets(rows)
    assert np.array_equal(octets, octets_of(codes)[rows, : octets.shape[1]])


def test_what_grows_keeps_what_it_has():
    codes = PackedCodes.from_bits(cloud(0, 600, 40)[0])
    layout = Layout.of(codes)
    grown = layout.grown(5)
    for before, after in zip(layout, grown, strict=True):
        assert len(after) == 5 and np.array_equal(after[:2], before)
    assert grown.holes.tolist() == [0, 424, 512, 512, 512] and (grown.gone[2:] == 255).all()
