import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_index import cloud, looked_up

import oracles
from dsnc.codes import HammingIndex, PackedCodes
from dsnc.codes.index import FREE, ROW_BITS

WIDTHS = st.sampled_from([1, 9, 24, 64, 100, 255, 256, 300, 500])


def lists(codes, queries, k, labels, method="scan"):
    index = HammingIndex(PackedCodes.from_bits(codes), method=method)
    return index.lists(PackedCodes.from_bits(queries), k, labels)


def naive(codes, queries, k, labels):
    k = min(k, len(codes))
    keys, owners = np.full((len(queries), k), FREE), np.full((len(queries), k), -1)
    for i, found in enumerate(oracles.neighbors(codes, queries, k, labels)):
        for entry, (distance, row) in enumerate(found):
            keys[i, entry] = (distance << ROW_BITS) + row
            owners[i, entry] = row if labels is None else labels[row]
    return keys, owners


@st.composite
def cases(draw):
    seed, n_bits = draw(st.integers(0, 2**32)), draw(WIDTHS)
    n = draw(st.sampled_from([1, 2, 63, 65, 511, 512, 513, 1100, 3000]))
    k = draw(st.one_of(st.integers(1, n + 3), st.sampled_from([1, 2, 64, n])))
    n_labels = draw(st.sampled_from([0, 1, 7, 300]))
    codes, queries = cloud(seed, n, n_bits, noise=draw(st.sampled_from([0.0, 0.05, 0.5])))
    labels = np.random.default_rng(seed).integers(0, n_labels, n) if n_labels else None
    return codes, queries[: draw(st.sampled_from([1, 2, 5, 20]))], k, labels


@given(cases())
def test_lists_equal_the_naive_twin(level, case):
    for got, wanted in zip(lists(*case), naive(*case), strict=True):
        assert np.array_equal(got, wanted)


@pytest.mark.parametrize("k", [2, 30])
@pytest.mark.parametrize("n_bits", [24, 36, 300])
def test_many_queries_at_once_find_what_each_finds_alone(n_bits, k):
    codes, queries = cloud(n_bits, 20_000, n_bits, n_centers=900, noise=0.1)
    labels = np.random.default_rng(0).integers(0, 1000, 20_000)
    for owned in (labels, None):
        together = lists(codes, np.repeat(queries, 40, axis=0), k, owned)
        for i, query in enumerate(queries):
            for got, wanted in zip(lists(codes, query[None], k, owned), together, strict=True):
                assert np.array_equal(got[0], wanted[40 * i])


@pytest.mark.parametrize("order", ["ascending", "descending"])
def test_the_order_of_the_rows_does_not_matter(order):
    codes, _ = cloud(3, 2000, 64, noise=0.3)
    query = np.zeros((1, 64), dtype=bool)
    sorted_codes = codes[np.argsort(codes.sum(axis=1), kind="stable")]
    codes = sorted_codes if order == "ascending" else sorted_codes[::-1]
    labels = np.arange(2000) % 150
    for k in (1, 100, 150, 200):
        found = lists(codes, query, k, labels)
        for got, wanted in zip(found, naive(codes, query, k, labels), strict=True):
            assert np.array_equal(got, wanted)


@pytest.mark.parametrize("n_bits", [24, 100, 300])
def test_what_lookups_have_found_changes_nothing(level, n_bits):
    codes, queries = cloud(n_bits, 1500, n_bits)
    labels = np.arange(1500) // 3
    for k in (1, 2, 30):
        found = lists(codes, queries, k, labels, "multi_index")
        for got, expected in zip(found, naive(codes, queries, k, labels), strict=True):
            assert np.array_equal(got, expected)


def test_long_lists_need_no_multi_index():
    codes, queries = cloud(5, 5000, 64)
    packed = PackedCodes.from_bits(queries)
    index = HammingIndex(PackedCodes.from_bits(codes))
    many = packed.take(np.zeros(8000, dtype=int))
    index.search(many, k=100)
    assert "offsets" not in index.arrays()
    index.prepare()
    for k, share in ((100, 0), (2, 1)):
        assert looked_up(index, packed.take(slice(0, 3)), k).mean() == share
    distances, rows = index.search(packed, k=100)
    wanted = oracles.neighbors(codes, queries, 100)
    assert [
        list(zip(d, r, strict=True)) for d, r in zip(distances.tolist(), rows.tolist(), strict=True)
    ] == wanted


def test_labels_may_be_any_numbers():
    codes, queries = cloud(6, 900, 64)
    labels = np.random.default_rng(0).integers(0, 40, 900) * 10**12
    found = HammingIndex(PackedCodes.from_bits(codes)).search_classes(
        PackedCodes.from_bits(queries), 30, labels
    )
    wanted = oracles.neighbors(codes, queries, 30, labels)
    assert found.rows.tolist() == [[row for _, row in each] for each in wanted]
    assert np.array_equal(found.classes, labels[found.rows])
