import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import oracles
from dsnc import _native
from dsnc.codes import PackedCodes
from dsnc.codes.table import CodeTable
from dsnc.errors import InputError

MAX_LABEL = 2**27 - 1


def all_codes(n_bits):
    return PackedCodes.from_ints(np.arange(2**n_bits, dtype=np.uint64), n_bits)


def random_codes(n, n_bits, seed=0):
    values = np.random.default_rng(seed).integers(0, 2**n_bits, n, dtype=np.uint64)
    return PackedCodes.from_ints(values, n_bits)


@st.composite
def labeled_bits(draw, max_bits=10, max_rows=8):
    """Codes with repeated rows and labels, so that ties and duplicates occur."""
    shape = (draw(st.integers(1, max_rows)), draw(st.integers(1, max_bits)))
    bits = draw(hnp.arrays(np.bool_, shape, elements=st.booleans()))
    bits = bits[draw(st.lists(st.integers(0, len(bits) - 1), min_size=1, max_size=max_rows))]
    label = st.one_of(st.integers(0, 3), st.sampled_from([255, 256, 65535, 65536, MAX_LABEL]))
    return bits, draw(st.lists(label, min_size=len(bits), max_size=len(bits)))


@given(case=labeled_bits())
def test_answers_as_the_naive_twin(level, case):
    bits, labels = case
    table = CodeTable.build(PackedCodes.from_bits(bits), labels)
    _, nearest = oracles.code_table(bits, labels)
    codes = all_codes(bits.shape[1])
    assert np.array_equal(table.labels, nearest)
    assert np.array_equal(table.lookup(codes), nearest)
    assert table.lookup(codes).dtype == np.int64
    assert table.max_label == max(nearest)
    assert table.n_bits == bits.shape[1]


# From 15 bits on, the table is worked on in two passes over memory; from 21 in three.
@pytest.mark.parametrize("n_bits", [*range(11, 21), 23])
def test_every_width_is_exact(level, n_bits):
    known, labels = random_codes(5, n_bits), np.array([3, 1, 70_000, 2, 1])
    table = CodeTable.build(known, labels)
    queries = all_codes(n_bits)
    step = 2**16
    for start in range(0, len(queries), step):
        rows = slice(start, start + step)
        distances = queries.take(rows).distance(known).astype(np.int64)
        best = (distances << 27 | labels).min(axis=1)
        assert np.array_equal(table.labels[rows], best & MAX_LABEL)


def test_twenty_bits_against_a_search_among_many_codes():
    known, queries = random_codes(5_000, 20), random_codes(500, 20, seed=1)
    labels = np.random.default_rng(2).integers(0, 900, len(known))
    best = (queries.distance(known).astype(np.int64) << 27 | labels).min(axis=1)
    table = CodeTable.build(known, labels)
    assert np.array_equal(table.lookup(queries), best & MAX_LABEL)


@pytest.mark.slow  # all 2^28 codes: 2 GB of memory, and seconds
def test_the_widest_table_reaches_the_farthest_code():
    table = CodeTable.build(PackedCodes.from_ints([0], 28), [MAX_LABEL])
    assert table.labels.min() == MAX_LABEL


def test_ties_go_to_the_smallest_label_wherever_it_stands():
    codes = PackedCodes.from_bits([[1, 1, 0], [0, 0, 0], [1, 1, 0]])
    middle = PackedCodes.from_bits([[1, 0, 0]])
    for labels, answer in (([4, 2, 9], 2), ([4, 7, 9], 4), ([9, 7, 4], 4)):
        table = CodeTable.build(codes, labels)
        assert table.lookup(middle).tolist() == [answer]
        assert table.lookup(codes).tolist() == [min(labels[0], labels[2]), labels[1]] + [
            min(labels[0], labels[2])
        ]


def test_one_code_answers_everything():
    table = CodeTable.build(PackedCodes.from_ints([77], 12), [5])
    assert set(table.labels.tolist()) == {5}


def test_all_codes_answer_for_themselves():
    labels = np.random.default_rng(0).permutation(2**12)
    table = CodeTable.build(all_codes(12), labels)
    assert np.array_equal(table.labels, labels)


@pytest.mark.parametrize(
    ("largest", "kind"),
    [(0, "uint8"), (255, "uint8"), (256, "uint16"), (65535, "uint16"), (65536, "uint32")],
)
def test_labels_take_the_smallest_type(largest, kind):
    codes = random_codes(3, 9)
    built = CodeTable.build(codes, [0, largest, 0])
    kept = CodeTable.from_answers(np.full(2**9, largest), 9)
    asked = CodeTable.from_function(lambda block: np.full(len(block), largest), 9)
    for table in (built, kept, asked):
        assert table.labels.dtype == kind
        assert table.max_label == largest
        assert table.nbytes == table.labels.nbytes == 2**9 * table.labels.itemsize


@pytest.mark.parametrize("n_bits", [1, 10, 17])
def test_a_function_is_asked_block_by_block(n_bits):
    answers = np.random.default_rng(0).integers(0, 1000, 2**n_bits)
    asked = []

    def function(codes):
        asked.append(len(codes))
        return answers[codes.to_ints().astype(np.int64)]

    table = CodeTable.from_function(function, n_bits)
    assert np.array_equal(table.labels, answers)
    assert np.array_equal(table.labels, CodeTable.from_answers(answers, n_bits).labels)
    assert table.lookup(all_codes(n_bits)).tolist() == answers.tolist()
    assert max(asked) <= 2**16


def test_building_takes_the_memory_that_it_says():
    codes, labels = random_codes(100, 22), np.arange(100) * 600
    for n_classes in (1, 600, 59_401, 70_000):
        expected = CodeTable.memory(22, n_classes)
        kept = np.minimum(labels * 2, n_classes - 1)
        tracemalloc.start()
        CodeTable.build(codes, kept, max_bytes=expected)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert 0.99 * expected < peak < 1.05 * expected + 1e6


@pytest.mark.parametrize(
    "make",
    [
        lambda **limit: CodeTable.build(random_codes(2, 20), [1, 300], **limit),
        lambda **limit: CodeTable.from_function(lambda codes: codes.to_ints(), 20, **limit),
    ],
)
def test_a_table_that_does_not_fit_is_refused(make, monkeypatch):
    message = "n_bits=20: .* needs 6,291,456 bytes of memory, and 6,291,455 are available. .*fewer"
    with pytest.raises(InputError, match=message):
        make(max_bytes=6 * 2**20 - 1)
    make(max_bytes=6 * 2**20)
    monkeypatch.setattr("dsnc.codes.table._available_bytes", lambda: 6 * 2**20 - 1)
    with pytest.raises(InputError, match=message):
        make()
    monkeypatch.setattr("dsnc.codes.table._available_bytes", lambda: None)
    make()


def test_available_memory_is_found_with_and_without_meminfo(monkeypatch):
    from dsnc.codes import table

    def missing(*arguments, **options):
        raise FileNotFoundError

    assert table._available_bytes() > 2**20
    monkeypatch.setattr("builtins.open", missing)
    assert table._available_bytes() > 2**20
    monkeypatch.delattr("os.sysconf_names")
    assert table._available_bytes() is None


def test_a_table_never_changes():
    answers = np.arange(8, dtype=np.uint8)
    table = CodeTable.from_answers(answers, 3)
    answers[0] = 9
    assert table.labels.tolist() == list(range(8))
    built = CodeTable.build(random_codes(2, 3), [1, 70_000])
    for array in (table.labels, built.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError, match="immutable"):
        table.n_bits = 4
    copy = pickle.loads(pickle.dumps(built))
    assert np.array_equal(copy.labels, built.labels)


def test_a_memory_map_is_shared_not_copied(tmp_path):
    table = CodeTable.build(random_codes(9, 10), np.arange(9) * 100)
    np.save(tmp_path / "labels.npy", table.labels)
    labels = np.load(tmp_path / "labels.npy", mmap_mode="r")
    mapped = CodeTable(labels, 10)
    assert np.shares_memory(mapped.labels, labels)
    assert np.array_equal(mapped.lookup(all_codes(10)), table.lookup(all_codes(10)))
    assert np.shares_memory(CodeTable.from_answers(labels, 10).labels, labels)


def test_labels_at_an_odd_place_of_a_file_work():
    table = CodeTable.build(random_codes(9, 6), np.arange(9) * 100)
    labels = np.frombuffer(b"x" + table.labels.tobytes(), dtype=np.uint16, offset=1)
    moved = CodeTable(labels, 6)
    assert np.array_equal(moved.lookup(all_codes(6)), table.labels)


@pytest.mark.parametrize(
    ("labels", "n_bits", "message"),
    [
        (np.zeros(8, dtype=np.int64), 3, "int64; 3 bits need uint8 or uint16 or uint32"),
        (np.zeros(8, dtype=np.float32), 3, "float32"),
        (np.zeros(8, dtype=">u2"), 3, ">u2"),
        (np.zeros(7, dtype=np.uint8), 3, r"shape \(7,\)"),
        (np.zeros((8, 1), dtype=np.uint8), 3, r"shape \(8, 1\)"),
        (np.full(8, 2**27, dtype=np.uint32), 3, "134217728; the largest allowed is 134217727"),
        (None, 3, "type object"),
        (np.zeros(8, dtype=np.uint8), 4, r"\(16,\)"),
        (np.zeros(8, dtype=np.uint8), 0, "n_bits=0"),
        (np.zeros(8, dtype=np.uint8), -1, "n_bits=-1"),
        (np.zeros(8, dtype=np.uint8), 2**40, "1 to 28"),
        (np.zeros(8, dtype=np.uint8), 3.0, "n_bits=3.0 must be a whole number"),
        (np.zeros(8, dtype=np.uint8), True, "n_bits=True"),
    ],
)
def test_hostile_labels_are_refused(labels, n_bits, message):
    with pytest.raises(InputError, match=message):
        CodeTable(labels, n_bits)


@pytest.mark.parametrize(
    ("codes", "labels", "size", "message"),
    [
        ([64], [0], 64, "too large"),
        ([0], [2**27], 64, "too large"),
        ([0, 1], [0], 64, "not as many labels"),
        ([0], [0], 8, "power of two"),
        ([0], [0], 100, "power of two"),
    ],
)
def test_the_core_refuses_what_leads_outside(codes, labels, size, message):
    codes, labels = np.array(codes, np.uint64), np.array(labels, np.uint32)
    with pytest.raises(ValueError, match=message):
        _native.make_table(codes, labels, np.empty(size, np.uint32))


TWO = PackedCodes.from_ints([1, 2], 3)
TABLE = CodeTable.from_answers(np.zeros(8, dtype=int), 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CodeTable.build(PackedCodes.from_ints(np.zeros(0, int), 3), []), "codes is empty"),
        (lambda: CodeTable.build(TWO, [0, -1]), r"labels\[1\] is -1; a class is 0 to 134217727"),
        (lambda: CodeTable.build(TWO, [2**27, 0]), r"labels\[0\] is 134217728"),
        (lambda: CodeTable.build(TWO, np.array([0, 2**64 - 1], dtype=np.uint64)), r"labels\[1\]"),
        (lambda: CodeTable.build(TWO, [0.0, 1.0]), "float64; expected whole numbers"),
        (lambda: CodeTable.build(TWO, [False, True]), "bool"),
        (lambda: CodeTable.build(TWO, [0]), r"shape \(1,\) .* \(2,\)"),
        (lambda: CodeTable.build(TWO, [[0, 1]]), r"shape \(1, 2\)"),
        (lambda: CodeTable.build(random_codes(2, 29), [0, 1]), "n_bits=29.*1 to 28.*fewer bits"),
        (lambda: CodeTable.from_answers([0, 1, 2], 2), r"answers has shape \(3,\)"),
        (lambda: CodeTable.from_answers([0, -1], 1), r"answers\[1\] is -1"),
        (lambda: CodeTable.from_answers([0], 0), "n_bits=0"),
        (lambda: CodeTable.from_answers([0], 2**62), "1 to 28"),
        (lambda: CodeTable.from_function(lambda codes: [0], 2), "for codes 0 to 3 has shape"),
        (lambda: CodeTable.from_function(lambda codes: codes.words[:, 0] / 2, 2), "float64"),
        (lambda: CodeTable.from_function(len, 36), "n_bits=36.*nearest or shortlist"),
        (lambda: CodeTable.memory(3, 0), "n_classes=0"),
        (lambda: CodeTable.memory(3, 2**27 + 1), "n_classes=134217729"),
        (lambda: TABLE.lookup(PackedCodes.from_ints([1], 4)), "codes have 4 bits.*for 3"),
    ],
)
def test_wrong_input_is_named(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_no_codes_have_no_labels():
    assert TABLE.lookup(PackedCodes.from_ints(np.zeros(0, dtype=int), 3)).tolist() == []


def test_lookup_and_build_from_many_threads():
    known, labels = random_codes(50, 14), np.arange(50)
    queries = [random_codes(20_000, 14, seed) for seed in range(16)]
    table = CodeTable.build(known, labels)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(table.lookup, queries))
        built = list(pool.map(lambda _: CodeTable.build(known, labels).labels, range(8)))
    assert all(np.array_equal(found, table.labels) for found in built)
    for part, found in zip(queries, answers, strict=True):
        assert np.array_equal(found, table.labels[part.to_ints().astype(np.int64)])


def test_repr_shows_width_labels_and_size():
    table = CodeTable.build(PackedCodes.from_ints([1, 2], 10), [3, 300])
    assert repr(table) == "CodeTable(10 bits, uint16 labels up to 300, 2,048 bytes)"
