import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_index import cloud

import oracles
from dsnc.codes import HammingIndex, PackedCodes
from dsnc.codes import multi_index as multi_indexes
from dsnc.codes import scan as scanning
from dsnc.codes._kernels.nearest import FREE, NO_LABELS, NO_SLACK, ROW_BITS, empty_lists
from dsnc.codes.index import check_labels
from dsnc.codes.multi_index import MultiIndex
from dsnc.codes.scan import CodeScan

NEVER = 1 << 40
WIDTHS = st.sampled_from([1, 9, 24, 64, 100, 255, 256, 300, 500])


def by(monkeypatch, way):
    """Have lists made by counting, whatever is faster, or by insertion."""
    monkeypatch.setattr(scanning, "_COUNTED", 1 if way == "counting" else NEVER)
    monkeypatch.setattr(scanning, "_PREPARED", 0)


def lists(codes, queries, k, labels, slack):
    scan = CodeScan(PackedCodes.from_bits(codes))
    keys, owners = empty_lists(len(queries), k)
    every = np.arange(len(queries))
    slack = NO_SLACK if slack is None else slack
    scan.update(PackedCodes.from_bits(queries), every, labels, keys, owners, slack)
    return keys, owners


def within(keys, owners, slack):
    """Free the entries beyond the slack, which may be there or not."""
    if slack is None:
        return keys, owners
    beyond = keys >> ROW_BITS > (keys[:, :1] >> ROW_BITS) + slack
    return np.where(beyond, FREE, keys), np.where(beyond, -1, owners)


def naive(codes, queries, k, labels, slack):
    keys, owners = empty_lists(len(queries), k)
    named = labels if len(labels) else None
    for i, found in enumerate(oracles.neighbors(codes, queries, k, named)):
        for entry, (distance, row) in enumerate(found):
            keys[i, entry] = (distance << ROW_BITS) + row
            owners[i, entry] = labels[row] if len(labels) else row
    return within(keys, owners, slack)


@st.composite
def cases(draw):
    seed, n_bits = draw(st.integers(0, 2**32)), draw(WIDTHS)
    n = draw(st.sampled_from([1, 2, 63, 65, 511, 512, 513, 1100, 3000]))
    k = draw(st.one_of(st.integers(1, n + 3), st.sampled_from([1, 2, 64, n])))
    slack = draw(st.one_of(st.none(), st.integers(0, n_bits)))
    n_labels, spread = draw(st.sampled_from([(0, 1), (1, 1), (7, 1), (300, 1), (40, 10**12)]))
    codes, queries = cloud(seed, n, n_bits, noise=draw(st.sampled_from([0.0, 0.05, 0.5])))
    labels = NO_LABELS
    if n_labels:
        drawn = np.random.default_rng(seed).integers(0, n_labels, n) * spread
        labels = check_labels(drawn, n)
    return codes, queries[: draw(st.sampled_from([1, 2, 5, 20]))], k, labels, slack


@given(cases())
def test_counting_equals_the_naive_twin(case):
    with pytest.MonkeyPatch.context() as patch:
        by(patch, "counting")
        found = within(*lists(*case), case[-1])
    for got, wanted in zip(found, naive(*case), strict=True):
        assert np.array_equal(got, wanted)


@pytest.mark.parametrize("slack", [None, 0, 3])
@pytest.mark.parametrize("k", [2, 64, 700])
@pytest.mark.parametrize("n_bits", [24, 36, 300])
def test_counting_equals_insertion_on_many_codes(n_bits, k, slack, monkeypatch):
    codes, queries = cloud(n_bits, 20_000, n_bits, n_centers=900, noise=0.1)
    owned = check_labels(np.random.default_rng(0).integers(0, 1000, 20_000), 20_000)
    for labels in (NO_LABELS, owned):
        found = {}
        for way in ("counting", "insertion"):
            by(monkeypatch, way)
            found[way] = within(*lists(codes, queries, k, labels, slack), slack)
        for got, wanted in zip(found["counting"], found["insertion"], strict=True):
            assert np.array_equal(got, wanted)


@pytest.mark.parametrize("order", ["ascending", "descending"])
def test_the_order_of_the_rows_does_not_matter(order, monkeypatch):
    by(monkeypatch, "counting")
    codes, _ = cloud(3, 2000, 64, noise=0.3)
    query = np.zeros((1, 64), dtype=bool)
    sorted_codes = codes[np.argsort(codes.sum(axis=1), kind="stable")]
    codes = sorted_codes if order == "ascending" else sorted_codes[::-1]
    labels = check_labels(np.arange(2000) % 150, 2000)
    for k in (1, 100, 150, 200):
        found = lists(codes, query, k, labels, None)
        for got, wanted in zip(found, naive(codes, query, k, labels, None), strict=True):
            assert np.array_equal(got, wanted)


@pytest.mark.parametrize("n_bits", [24, 100, 300])
def test_what_lookups_have_found_changes_nothing(n_bits, monkeypatch):
    by(monkeypatch, "counting")
    codes, queries = cloud(n_bits, 1500, n_bits)
    packed, asked = PackedCodes.from_bits(codes), PackedCodes.from_bits(queries)
    labels = check_labels(np.arange(1500) // 3, 1500)
    for k in (1, 2, 30):
        for slack in (NO_SLACK, 2):
            keys, owners = empty_lists(len(queries), k)
            monkeypatch.setattr(multi_indexes, "_BYTE_COST", 1e9)  # it never gives up,
            monkeypatch.setattr(multi_indexes, "_MAX_RADIUS", 1)  # and does not get far
            multi = MultiIndex(packed)
            multi.update(asked, labels, keys, owners, slack)
            CodeScan(packed).update(asked, np.arange(len(queries)), labels, keys, owners, slack)
            wanted = naive(codes, queries, k, labels, slack)
            for got, expected in zip(within(keys, owners, slack), wanted, strict=True):
                assert np.array_equal(got, expected)


def test_the_first_row_may_be_the_last_entry(monkeypatch):
    by(monkeypatch, "counting")
    codes = np.array([[1, 1, 1], [1, 0, 0], [1, 1, 1]], dtype=bool)
    query = np.zeros((1, 3), dtype=bool)
    keys, owners = lists(codes, query, 2, NO_LABELS, None)
    packed = PackedCodes.from_bits(codes), PackedCodes.from_bits(query)
    CodeScan(packed[0]).update(packed[1], np.arange(1), NO_LABELS, keys, owners)
    assert owners.tolist() == [[1, 0]]


def test_long_lists_need_no_multi_index():
    codes, queries = cloud(5, 5000, 64)
    packed = PackedCodes.from_bits(queries)
    index = HammingIndex(PackedCodes.from_bits(codes))
    many = packed.take(np.zeros(8000, dtype=int))
    index.search(many, k=100)
    assert "offsets" not in index.arrays()
    index.prepare()
    for k, share in ((100, 0), (2, 1)):
        few = packed.take(slice(0, 3))
        done = index._update(few, NO_LABELS, *empty_lists(3, k))
        assert done.mean() == share
    distances, rows = index.search(packed, k=100)
    wanted = oracles.neighbors(codes, queries, 100)
    assert [
        list(zip(d, r, strict=True)) for d, r in zip(distances.tolist(), rows.tolist(), strict=True)
    ] == wanted


def test_far_lists_of_few_codes_are_scanned():
    """Looking up pays where little is near: with many codes, and little slack."""
    rng = np.random.default_rng(0)
    codes = PackedCodes.from_bits(rng.random((5000, 32)) < 0.5)
    index, forced = HammingIndex(codes), HammingIndex(codes, method="multi_index")
    index.prepare()
    for slack, is_scanned in ((1, False), (3, False), (4, True), (32, True), (NO_SLACK, False)):
        assert index._is_wide(8, slack) is is_scanned
        assert not forced._is_wide(8, slack)
    queries = codes.take(slice(0, 50))
    for slack in (1, 4, 32):
        one, other = (each.lists(queries, 8, slack=slack)[0] for each in (index, forced))
        within = other >> ROW_BITS <= slack
        assert np.array_equal(np.where(within, one, 0), np.where(within, other, 0))
