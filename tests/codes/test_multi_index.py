import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_index import WIDTHS, cloud, pairs

import oracles
from dsnc.codes import PackedCodes
from dsnc.codes._kernels import multi_index as probe
from dsnc.codes._kernels.nearest import NO_LABELS, ROW_BITS, empty_lists
from dsnc.codes.multi_index import MultiIndex
from dsnc.codes.scan import CodeScan


@given(st.integers(0, 2**32), WIDTHS, st.sampled_from([1, 40, 700]), st.sampled_from([1, 4]))
def test_a_complete_list_is_the_right_one(seed, n_bits, n, k):
    codes, queries = cloud(seed, n, n_bits)
    index = MultiIndex(PackedCodes.from_bits(codes))  # not calibrated: it never gives up
    keys, owners = empty_lists(len(queries), k)
    done, counts = index.update(PackedCodes.from_bits(queries), NO_LABELS, keys, owners)
    assert done[: min(3, n)].all() or k > 1  # a code finds itself at once
    distances, rows = keys >> ROW_BITS, keys & ((1 << ROW_BITS) - 1)
    expected = oracles.neighbors(codes, queries, k)
    complete = np.flatnonzero(done)
    assert pairs(distances[complete], rows[complete]) == [expected[i] for i in complete]
    assert counts[0] >= len(queries)


@pytest.mark.parametrize("n_bits", [1, 12, 64, 100, 1024])
@pytest.mark.parametrize("n", [1, 500, 70_000])
def test_chunks_cover_the_bits_once(n_bits, n):
    codes = PackedCodes.from_bits(np.zeros((n, n_bits), dtype=bool))
    chunks = MultiIndex(codes).chunks
    bits = np.concatenate([np.arange(s, s + w) for s, w, _ in chunks.tolist()])
    assert len(np.unique(bits)) == len(bits) and bits.max() < n_bits
    assert len(bits) == n_bits or len(chunks) == 32
    assert chunks[:, probe.WIDTH].max() <= 24


@pytest.mark.parametrize("n_bits", [20, 100, 200])
def test_buckets_hold_the_rows_of_their_value(n_bits):
    bits = cloud(1, 300, n_bits)[0]
    codes = PackedCodes.from_bits(bits)
    index = MultiIndex(codes)
    for j, (start, width, base) in enumerate(index.chunks.tolist()):
        values = oracles.as_ints(bits[:, start : start + width])
        for value in set(values):
            low, high = index.offsets[base + value : base + value + 2].tolist()
            rows = index.ids[j * 300 + low : j * 300 + high].tolist()
            assert rows == [row for row, v in enumerate(values) if v == value]


def test_calibration_measures_something():
    codes = PackedCodes.from_bits(cloud(2, 5000, 64)[0])
    index = MultiIndex(codes)
    index.calibrate(CodeScan(codes))
    assert np.isfinite(index._costs).all() and (index._costs > 0).all()
    assert index._costs[probe.SCAN] > index._costs[probe.LOOKUP]


def test_what_is_hopeless_is_left_to_the_scan():
    generator = np.random.default_rng(0)
    codes = PackedCodes.from_bits(generator.random((20_000, 128)) < 0.5)
    index = MultiIndex(codes)
    index.calibrate(CodeScan(codes))
    queries = PackedCodes.from_bits(generator.random((500, 128)) < 0.5)
    done, counts = index.update(queries, NO_LABELS, *empty_lists(500, 1))
    assert not done.any()
    assert counts[0] < 500 * 100
