import pickle

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from test_index import WIDTHS, cloud, pairs

import oracles
from dsnc.codes import ChangingIndex, HammingIndex, PackedCodes
from dsnc.errors import InputError

SEEDS = st.integers(0, 2**32)


class Changes(RuleBasedStateMachine):
    """Codes come, change and go; whatever is found, a fresh index finds too."""

    def start(self, seed, n, n_bits):
        self.bits = dict(enumerate(cloud(seed, n, n_bits)[0]))
        self.n_bits, self.n_rows = n_bits, n
        self.index = ChangingIndex(PackedCodes.from_bits(self.codes_of(self.bits)))

    @initialize(seed=SEEDS, n=st.sampled_from([0, 1, 511, 512, 1100]), n_bits=WIDTHS)
    def few(self, seed, n, n_bits):
        self.start(seed, n, n_bits)

    def codes_of(self, rows):
        some = [self.bits[row] for row in rows]
        return np.array(some, dtype=bool).reshape(len(some), self.n_bits)

    def some_rows(self, generator, n):
        rows = np.array(sorted(self.bits), dtype=int)
        return generator.choice(rows, min(n, len(rows)), replace=False) if len(rows) else rows

    @rule(seed=SEEDS, n=st.sampled_from([0, 1, 3, 600]))
    def add(self, seed, n):
        codes = cloud(seed, n, self.n_bits)[0]
        rows = self.index.add(PackedCodes.from_bits(codes))
        assert rows.tolist() == list(range(self.n_rows, self.n_rows + n))
        self.n_rows += n
        self.bits |= dict(zip(rows.tolist(), codes, strict=True))

    @rule(seed=SEEDS, n=st.sampled_from([0, 1, 40]))
    def change(self, seed, n):
        rows = self.some_rows(np.random.default_rng(seed), n)
        codes = cloud(seed, len(rows), self.n_bits)[0]
        self.index.change(rows, PackedCodes.from_bits(codes))
        self.bits |= dict(zip(rows.tolist(), codes, strict=True))

    @rule(seed=SEEDS, n=st.sampled_from([0, 1, 30, 700]))
    def remove(self, seed, n):
        rows = self.some_rows(np.random.default_rng(seed), n)
        self.index.remove(rows)
        for row in rows.tolist():
            del self.bits[row]

    @rule(seed=SEEDS, k=st.sampled_from([1, 2, 7, 40, 600]), n=st.integers(0, 14))
    def search(self, seed, k, n):
        codes = self.codes_of(sorted(self.bits)[:3])
        queries = cloud(seed, 9, self.n_bits)[1]
        queries[: len(codes)] = codes  # something near
        self.check(queries[:n], k)

    def check(self, queries, k):
        rows = np.array(sorted(self.bits), dtype=int)
        codes = self.codes_of(rows)
        found, packed = self.index.search(PackedCodes.from_bits(queries), k), PackedCodes.from_bits
        assert pairs(*found) == [
            [(distance, rows[place]) for distance, place in one]
            for one in oracles.neighbors(codes, queries, k)
        ]
        distances, places = HammingIndex(packed(codes)).search(packed(queries), k)
        assert np.array_equal(found[0], distances) and np.array_equal(found[1], rows[places])

    @rule()
    def read(self):
        assert len(self.index) == len(self.bits)
        assert self.index.rows.tolist() == sorted(self.bits)
        assert self.index.codes == PackedCodes.from_bits(self.codes_of(sorted(self.bits)))


class ChangesOfMany(Changes):
    """The same where so many queries come that they are looked up."""

    @initialize(seed=SEEDS, n_bits=st.sampled_from([30, 64, 100, 260]))
    def few(self, seed, n_bits):
        self.start(seed, 6000, n_bits)
        self.many_queries(seed, True)
        self.many_queries(seed, True)

    @precondition(lambda self: len(self.bits) > 4096)
    @rule(seed=SEEDS, k=st.integers(1, 2), act=st.sampled_from(["add", "change", "remove"]))
    def search_near_changes(self, seed, k, act):
        before = dict(self.bits)
        getattr(self, act)(seed, 30)
        ways = (before, self.bits), (self.bits, before)
        near = [a[row] for a, b in ways for row in a if a[row] is not b.get(row)]
        self.check(np.array(near), k)

    @precondition(lambda self: len(self.bits) > 4096)
    @rule(seed=SEEDS, are_near=st.booleans())
    def many_queries(self, seed, are_near):
        generator = np.random.default_rng(seed)
        bits = generator.random((2100, self.n_bits)) < 0.5
        if are_near:
            bits = self.codes_of(generator.choice(list(self.bits), 2100))
        self.index.search(PackedCodes.from_bits(bits))


TestChanges = Changes.TestCase
TestChanges.settings = settings(max_examples=30, stateful_step_count=12, deadline=None)
TestChangesOfMany = ChangesOfMany.TestCase
TestChangesOfMany.settings = settings(  # not shrunk: that would take minutes
    max_examples=8, stateful_step_count=12, deadline=None, phases=[Phase.generate]
)


def many(n=5000, n_bits=64, seed=0):
    codes, queries = cloud(seed, n, n_bits)
    return PackedCodes.from_bits(codes), PackedCodes.from_bits(queries)


def with_snapshot(codes):
    """Return an index that looks queries up."""
    index = ChangingIndex(codes)
    for _ in range(2):
        index.search(codes.take(np.arange(2100)))
    assert index._snapshot is not None
    return index


def test_few_changes_are_searched_beside_what_was_there():
    codes, _ = many()
    index = with_snapshot(codes)
    index.change([4], codes.take([9]))
    index.remove([5])
    row = index.add(codes.take([5]))
    before = index._scanned
    distances, rows = index.search(codes.take([9, 5, 100]), 1)
    expected = HammingIndex(index.codes).search(codes.take([9, 5, 100]), 1)
    assert np.array_equal(distances, expected[0])
    assert np.array_equal(rows, index.rows[expected[1]])
    assert rows[0, 0] <= 9 and row.tolist() == [5000]
    assert index._scanned - before < 2 * 5000  # only what met a touched row compared all codes


def test_a_snapshot_is_made_anew_when_much_was_scanned_beside_it():
    codes, _ = many(n_bits=100)
    far = PackedCodes.from_bits(np.random.default_rng(1).random((2100, 100)) < 0.5)
    index = with_snapshot(codes)
    first = index._snapshot
    index.change([4], codes.take([9]))
    index.search(codes.take([4]))
    index.search(far)
    assert index.search(codes.take([9]))[1].tolist() == [[4]]
    assert index._snapshot is not first and not len(index._snapshot.fresh)


def test_a_snapshot_that_helps_nobody_is_given_up():
    codes, _ = many(n_bits=100)
    far = PackedCodes.from_bits(np.random.default_rng(1).random((2100, 100)) < 0.5)
    index = with_snapshot(codes)
    for _ in range(4):  # the first one has helped; that made after it does not
        index.search(far, k=2)
    assert index._snapshot is None and index._patience > 2048


def test_few_codes_are_always_scanned():
    codes, _ = many(1000)
    index = ChangingIndex(codes)
    for _ in range(2):
        index.search(codes.take(np.arange(5000) % 1000))
    assert index._snapshot is None


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_give_the_same(n_jobs):
    codes, _ = many(3000, 40)
    for index in (ChangingIndex(codes), with_snapshot(many()[0])):
        index.remove([1, 3])
        queries = index.codes
        for one, several in zip(
            index.search(queries, 3), index.search(queries, 3, n_jobs=n_jobs), strict=True
        ):
            assert np.array_equal(one, several)


def test_of_a_row_that_comes_twice_the_last_code_counts():
    index = ChangingIndex(PackedCodes.from_ints([0, 0], n_bits=4))
    index.change([1, 1], PackedCodes.from_ints([3, 7], n_bits=4))
    assert index.codes.to_ints().tolist() == [0, 7]
    index.remove([1, 1])
    assert len(index) == 1


@pytest.mark.parametrize(("k", "n_equal"), [(1, 1), (7, 3), (20, 9)])
def test_whatever_code_is_the_last_that_is_near(k, n_equal):
    distances = 1500 - np.arange(1500) // n_equal
    bits, query = np.arange(1500) < distances[:, None], PackedCodes.from_bits(np.zeros((1, 1500)))
    index = ChangingIndex(PackedCodes.from_bits(bits))
    for last in range(1499, 1000, -1):  # each is nearer than most before it, and much is noted down
        order = np.lexsort([np.arange(last + 1), distances[: last + 1]])[:k]
        found = index.search(query, k)
        assert (found[0][0].tolist(), found[1][0].tolist()) == (
            distances[order].tolist(),
            order.tolist(),
        )
        index.remove([last])


def test_long_codes_are_as_far_as_they_are():
    zeros, ones = np.zeros((3, 4096), dtype=bool), np.ones((1, 4096), dtype=bool)
    index = ChangingIndex(PackedCodes.from_bits(zeros))
    index.remove([0])
    distances, rows = index.search(PackedCodes.from_bits(ones), 5)
    assert (distances.tolist(), rows.tolist()) == ([[4096, 4096]], [[1, 2]])


def test_a_pickled_index_goes_on():
    codes, queries = many()
    index = with_snapshot(codes)
    index.remove([0])
    again = pickle.loads(pickle.dumps(index))
    assert again.add(codes.take([0])).tolist() == [5000]
    index.add(codes.take([0]))
    assert pairs(*again.search(queries, 2)) == pairs(*index.search(queries, 2))


@pytest.mark.parametrize("k", [0, -1, 1.5, True, None, "2"])
def test_refuses_a_k_that_is_none(k):
    codes = PackedCodes.from_ints([1], n_bits=4)
    with pytest.raises(InputError, match="k="):
        ChangingIndex(codes).search(codes, k=k)


def test_refuses_other_widths():
    index, other = ChangingIndex(PackedCodes.from_ints([1], 4)), PackedCodes.from_ints([1], 5)
    for act in (index.add, index.search, lambda codes: index.change([0], codes)):
        with pytest.raises(InputError, match="have 5 bits; the index was built for 4"):
            act(other)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0, 3], r"rows\[1\] is 3; the rows of this index are 0 to 2"),
        ([-1], r"rows\[0\] is -1"),
        ([0, 1], r"rows\[1\] is 1, which was removed"),
        ([0.0], "list of row numbers"),
        (0, "list of row numbers"),
        ([True], "list of row numbers"),
    ],
)
def test_refuses_rows_that_are_not_there_and_changes_nothing(rows, message):
    codes = PackedCodes.from_ints([1, 2, 3], n_bits=4)
    index = ChangingIndex(codes)
    index.remove([1])
    for act in (index.remove, lambda rows: index.change(rows, codes.take(slice(0, 1)))):
        with pytest.raises(InputError, match=message):
            act(rows)
    assert index.rows.tolist() == [0, 2] and index.codes == codes.take([0, 2])


def test_refuses_more_rows_than_codes():
    index = ChangingIndex(PackedCodes.from_ints([1, 2], n_bits=4))
    with pytest.raises(InputError, match="rows has 2 rows and codes 1 codes"):
        index.change([0, 1], PackedCodes.from_ints([1], n_bits=4))


def test_says_what_it_is():
    index = ChangingIndex(PackedCodes.from_ints([1, 2], n_bits=4))
    assert repr(index).startswith("ChangingIndex(2 codes of 4 bits")
