import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_index import WIDTHS, cloud, pairs

import oracles
from dsnc.codes import HammingIndex, PackedCodes
from dsnc.codes import multi_index as multi_indexes
from dsnc.codes._kernels import multi_index as probe
from dsnc.codes._kernels.nearest import NO_LABELS, ROW_BITS, empty_lists
from dsnc.codes.multi_index import MultiIndex


@given(st.integers(0, 2**32), WIDTHS, st.sampled_from([1, 40, 700]), st.sampled_from([1, 4]))
def test_a_complete_list_is_the_right_one(seed, n_bits, n, k):
    codes, queries = cloud(seed, n, n_bits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multi_indexes, "_BYTE_COST", 1e9)  # it never gives up
        index = MultiIndex(PackedCodes.from_bits(codes))
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


def test_the_same_queries_are_looked_up_however_slow_the_machine(monkeypatch):
    codes, queries = cloud(2, 20_000, 64, n_centers=2000, noise=0.1)
    codes, queries = map(PackedCodes.from_bits, (codes, np.concatenate([codes[:500], queries])))
    found = []
    for speed in (0, 1, 50):
        clock = iter(np.cumsum(np.random.default_rng(speed).random(1 << 16) * speed).tolist())
        for name in ("perf_counter", "process_time", "thread_time", "monotonic"):
            monkeypatch.setattr(time, name, lambda clock=clock: next(clock))
        index = HammingIndex(codes, method="multi_index")
        done = index._update(queries, NO_LABELS, *empty_lists(len(queries), 1))
        found.append((done.tolist(), [np.asarray(table).tolist() for table in index._tables[-2:]]))
    assert found[0] == found[1] == found[2]
    assert 0 < sum(found[0][0]) < len(queries)


def test_what_is_hopeless_is_left_to_the_scan():
    generator = np.random.default_rng(0)
    codes = PackedCodes.from_bits(generator.random((20_000, 128)) < 0.5)
    index = MultiIndex(codes)
    queries = PackedCodes.from_bits(generator.random((500, 128)) < 0.5)
    done, counts = index.update(queries, NO_LABELS, *empty_lists(500, 1))
    assert not done.any()
    assert counts[0] < 500 * 100
