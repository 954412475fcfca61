import time

import numpy as np
import pytest
from test_index import cloud, looked_up

import oracles
from dsnc import _native
from dsnc.codes import HammingIndex, PackedCodes


@pytest.mark.parametrize("n_bits", [1, 12, 64, 100, 1024])
@pytest.mark.parametrize("n", [1, 500, 70_000])
def test_chunks_cover_the_bits_once(n_bits, n):
    codes = PackedCodes.from_bits(np.zeros((n, n_bits), dtype=bool))
    chunks = _native.chunks(HammingIndex(codes).native)
    bits = np.concatenate([np.arange(s, s + w) for s, w, _ in chunks])
    assert len(np.unique(bits)) == len(bits) and bits.max() < n_bits
    assert len(bits) == n_bits or len(chunks) == 32
    assert max(width for _, width, _ in chunks) <= 24


@pytest.mark.parametrize("n_bits", [20, 100, 200])
def test_buckets_hold_the_rows_of_their_value(level, n_bits):
    bits = cloud(1, 300, n_bits)[0]
    index = HammingIndex(PackedCodes.from_bits(bits), method="multi_index")
    offsets, ids, _ = index.native.tables()
    for j, (start, width, base) in enumerate(_native.chunks(index.native)):
        values = oracles.as_ints(bits[:, start : start + width])
        for value in set(values):
            low, high = offsets[base + value : base + value + 2].tolist()
            rows = ids[j * 300 + low : j * 300 + high].tolist()
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
        found.append(looked_up(index, queries).tolist())
    assert found[0] == found[1] == found[2]
    assert 0 < sum(found[0]) < len(queries)


def test_what_is_hopeless_is_left_to_the_scan():
    generator = np.random.default_rng(0)
    codes = PackedCodes.from_bits(generator.random((20_000, 128)) < 0.5)
    index = HammingIndex(codes, method="multi_index")
    queries = PackedCodes.from_bits(generator.random((500, 128)) < 0.5)
    done = np.zeros(500, dtype=bool)
    lookups, _, _ = _native.probe(index.native, queries.words, done, 1)
    assert not done.any()
    assert lookups < 500 * 100
