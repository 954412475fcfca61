"""An index whose codes become more finds them all, exactly."""

import numpy as np
import pytest

from dsnc.codes import HammingIndex, PackedCodes

RNG = np.random.default_rng(0)


def some(n, n_bits):
    return PackedCodes.from_bits(RNG.random((n, n_bits)) < 0.5)


@pytest.mark.parametrize("n_bits", [32, 64, 100, 200])
@pytest.mark.parametrize("method", ["auto", "multi_index", "scan"])
@pytest.mark.parametrize("k", [1, 5])
def test_nothing_is_lost(n_bits, method, k):
    base = some(5000, n_bits)
    index = HammingIndex(base, method=method)
    if method == "auto":
        index.prepare()
    codes, more = base, index
    for n in (1, 30, 300):
        codes = codes.with_more(some(n, n_bits))
        more = more.with_more(codes)
        bits = codes.take(RNG.integers(0, len(codes), 200)).to_bits()
        bits ^= RNG.random(bits.shape) < 0.03
        late = codes.take(slice(len(codes) - 20, len(codes)))
        queries = PackedCodes.concatenate([PackedCodes.from_bits(bits), late])
        expected = HammingIndex(codes, method="scan").search(queries, k)
        found = more.search(queries, k)
        assert np.array_equal(found[0], expected[0])
        assert np.array_equal(found[1], expected[1])
    labels = RNG.integers(0, 900, len(codes))
    expected = HammingIndex(codes, method="scan").search_classes(queries, k, labels)
    assert np.array_equal(more.search_classes(queries, k, labels).classes, expected.classes)
    assert len(index) == 5000
    assert index.search(base.take(slice(0, 3)), 1)[1].ravel().tolist() == [0, 1, 2]


def test_tables_are_made_anew_where_many_come():
    base = some(5000, 64)
    index = HammingIndex(base, method="multi_index")
    codes = base.with_more(some(2000, 64))
    more = index.with_more(codes)
    again = HammingIndex.from_arrays(more.arrays())
    assert np.array_equal(again.search(codes, 1)[1].ravel(), np.arange(len(codes)))


def test_a_file_has_whole_tables_or_none():
    base = some(5000, 64)
    codes = base.with_more(some(3, 64))
    more = HammingIndex(base, method="multi_index").with_more(codes)
    again = HammingIndex.from_arrays(more.arrays())
    assert np.array_equal(again.search(codes, 1)[1], more.search(codes, 1)[1])
