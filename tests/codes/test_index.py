import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from dsnc import _native
from dsnc.codes import HammingIndex, PackedCodes
from dsnc.codes.index import METHODS
from dsnc.errors import InputError

WIDTHS = st.sampled_from(
    [1, 7, 8, 24, 36, 63, 64, 65, 100, 128, 129, 200, 255, 256, 257, 400, 1024]
)


def cloud(seed, n, n_bits, n_centers=20, noise=0.05):
    """Codes around a few centers, some of them equal, and queries near, far and opposite."""
    generator = np.random.default_rng(seed)
    centers = generator.random((n_centers, n_bits)) < 0.5

    def near(count, share):
        chosen = centers[generator.integers(0, n_centers, count)]
        return chosen ^ (generator.random(chosen.shape) < share)

    codes = near(n, noise)
    opposite = ~codes[:2]
    queries = [codes[:3], near(5, 0.1), generator.random((4, n_bits)) < 0.5, opposite]
    return codes, np.concatenate(queries)


def pairs(distances, rows):
    return [
        list(zip(d, r, strict=True)) for d, r in zip(distances.tolist(), rows.tolist(), strict=True)
    ]


def looked_up(index, queries, k=1):
    """Of which queries the lists are complete by lookups alone."""
    done = np.zeros(len(queries), dtype=bool)
    _native.probe(index.native, queries.words, done, k)
    return done


def found(index, queries, k):
    return pairs(*index.search(PackedCodes.from_bits(queries), k))


@given(
    st.integers(0, 2**32),
    WIDTHS,
    st.sampled_from([1, 2, 511, 512, 513, 1500]),
    st.sampled_from([1, 2, 10, 300]),
    st.sampled_from(METHODS),
)
def test_finds_what_the_naive_twin_finds(level, seed, n_bits, n, k, method):
    codes, queries = cloud(seed, n, n_bits)
    index = HammingIndex(PackedCodes.from_bits(codes), method=method)
    assert found(index, queries, k) == oracles.neighbors(codes, queries, k)


@given(st.integers(0, 2**32), WIDTHS, st.sampled_from([1, 3, 12]), st.sampled_from(METHODS))
def test_finds_the_nearest_classes(level, seed, n_bits, k, method):
    codes, queries = cloud(seed, 900, n_bits)
    labels = np.random.default_rng(seed).integers(0, 8, len(codes)) * 1000
    index = HammingIndex(PackedCodes.from_bits(codes), method=method)
    result = index.search_classes(PackedCodes.from_bits(queries), k, labels)
    expected = oracles.neighbors(codes, queries, k, labels)
    assert pairs(result.distances, result.rows) == expected
    assert np.array_equal(result.classes, labels[result.rows])


@given(st.integers(0, 2**32), st.sampled_from([24, 64, 128, 300]))
@settings(max_examples=10)
def test_many_codes_by_whichever_way(level, seed, n_bits):
    codes, queries = cloud(seed, 6000, n_bits, n_centers=300)
    index = HammingIndex(PackedCodes.from_bits(codes), method="multi_index")
    for k in (1, 5):
        assert found(index, queries, k) == oracles.neighbors(codes, queries, k)


def test_results_have_their_types_and_shapes():
    codes = PackedCodes.from_ints([1, 2, 3], n_bits=3)
    distances, rows = HammingIndex(codes).search(codes, k=2)
    assert (distances.dtype, rows.dtype) == (np.int32, np.int64)
    assert distances.shape == rows.shape == (3, 2)


@pytest.mark.parametrize("method", METHODS)
def test_more_neighbors_than_codes_are_all_of_them(method):
    codes = PackedCodes.from_ints([7, 0, 1], n_bits=3)
    distances, rows = HammingIndex(codes, method=method).search(codes.take([1]), k=50)
    assert (distances.tolist(), rows.tolist()) == ([[0, 1, 3]], [[1, 2, 0]])


def test_more_classes_than_there_are_gives_all_of_them():
    codes = PackedCodes.from_ints([0, 1, 3, 7], n_bits=3)
    result = HammingIndex(codes).search_classes(codes.take([0]), 50, [5, 9, 5, 9])
    assert result.classes.tolist() == [[5, 9]]
    assert result.rows.tolist() == [[0, 1]]


@pytest.mark.parametrize("method", METHODS)
def test_no_codes_and_no_queries(method):
    nothing = PackedCodes.from_bits(np.zeros((0, 70), dtype=bool))
    some = PackedCodes.from_bits(np.ones((3, 70), dtype=bool))
    for codes, queries, shape in ((nothing, some, (3, 0)), (some, nothing, (0, 2))):
        distances, rows = HammingIndex(codes, method=method).search(queries, k=2)
        assert distances.shape == rows.shape == shape


@pytest.mark.parametrize("n_bits", [256, 400, 575, 576, 1024])
def test_opposite_codes_are_as_far_as_they_are(n_bits):
    zeros = PackedCodes.from_bits(np.zeros((600, n_bits), dtype=bool))
    ones = PackedCodes.from_bits(np.ones((2, n_bits), dtype=bool))
    distances, rows = HammingIndex(zeros, method="scan").search(ones, k=2)
    assert distances.tolist() == [[n_bits, n_bits]] * 2
    assert rows.tolist() == [[0, 1]] * 2


def test_the_multi_index_is_made_when_it_pays():
    codes, queries = cloud(0, 5000, 64)
    index = HammingIndex(PackedCodes.from_bits(codes))
    packed = PackedCodes.from_bits(queries)
    index.search(packed)
    assert "offsets" not in index.arrays()
    many = packed.take(np.zeros(20_000, dtype=int))
    distances, rows = index.search(many)
    assert "offsets" in index.arrays()
    assert (distances == 0).all() and len(np.unique(rows)) == 1
    assert found(index, queries, 3) == oracles.neighbors(codes, queries, 3)


def test_few_codes_and_scans_need_no_multi_index():
    few = HammingIndex(PackedCodes.from_ints(np.arange(100), n_bits=10))
    scan = HammingIndex(PackedCodes.from_ints(np.arange(5000), n_bits=30), method="scan")
    for index in (few, scan):
        queries = index.codes.take(np.zeros(200_000, dtype=int))
        index.search(queries)
        assert "offsets" not in index.arrays()


def test_what_is_near_is_looked_up():
    codes, _ = cloud(1, 5000, 64)
    packed = PackedCodes.from_bits(codes)
    assert looked_up(HammingIndex(packed, method="multi_index"), packed).all()  # each finds itself
    assert not looked_up(HammingIndex(packed, method="scan"), packed).any()


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_threads_give_the_same(n_jobs):
    codes, _ = cloud(2, 3000, 40)
    packed = PackedCodes.from_bits(codes)
    index = HammingIndex(packed, method="multi_index")
    for one, several in zip(
        index.search(packed, k=3), index.search(packed, k=3, n_jobs=n_jobs), strict=True
    ):
        assert np.array_equal(one, several)


def test_many_threads_may_ask_at_once():
    codes, _ = cloud(3, 6000, 64)
    packed = PackedCodes.from_bits(codes)
    index = HammingIndex(packed)  # whoever comes first makes the multi-index
    expected = HammingIndex(packed, method="scan").search(packed.take(slice(0, 600)), k=2)
    parts = [packed.take(slice(start, start + 50)) for start in range(0, 600, 50)] * 4
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda part: index.search(part, k=2, n_jobs=2), parts))
    for round_ in range(4):
        for which in range(2):
            got = np.concatenate([answer[which] for answer in answers[12 * round_ :][:12]])
            assert np.array_equal(got, expected[which])


FORK = """
import os, numpy as np
from dsnc import _native
from dsnc.codes import HammingIndex, PackedCodes
codes = PackedCodes.from_ints(np.arange(5000), n_bits=20)
index = HammingIndex(codes, method="multi_index")
expected = index.search(codes, k=2, n_jobs=2)
child = os.fork()
if child == 0:
    answer = index.search(codes, k=2, n_jobs=2)
    same = all(np.array_equal(a, b) for a, b in zip(answer, expected))
    os._exit(0 if same else 1)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_may_search():
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=120)


@pytest.mark.parametrize("n_bits", [40, 100, 200])
def test_arrays_lead_back_also_from_a_memory_map(n_bits, tmp_path):
    codes, queries = cloud(4, 5000, n_bits)
    index = HammingIndex(PackedCodes.from_bits(codes), method="multi_index")
    mapped = {}
    for name, array in index.arrays().items():
        np.save(tmp_path / f"{name}.npy", array)
        mapped[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
    again = HammingIndex.from_arrays(mapped)
    assert np.shares_memory(again.arrays()["signatures"], mapped["signatures"])
    assert found(again, queries, 4) == oracles.neighbors(codes, queries, 4)


def test_arrays_of_a_scan_are_the_codes():
    codes = PackedCodes.from_ints([3, 1], n_bits=2)
    index = HammingIndex.from_arrays(HammingIndex(codes).arrays(), method="scan")
    assert index.codes == codes and index.method == "scan"


def test_a_pickled_index_searches(tmp_path):
    import pickle

    codes, queries = cloud(5, 5000, 64)
    index = HammingIndex(PackedCodes.from_bits(codes), method="multi_index")
    again = pickle.loads(pickle.dumps(index))
    assert found(again, queries, 2) == oracles.neighbors(codes, queries, 2)


def spoil(name, change):
    def apply(arrays):
        arrays = {key: array.copy() for key, array in arrays.items()}
        change(arrays)
        return arrays

    return pytest.param(apply, id=name)


@pytest.mark.parametrize(
    "damage",
    [
        spoil("descending", lambda a: a["offsets"].__setitem__(5, 4_000_000_000)),
        spoil("not from 0", lambda a: a["offsets"].__setitem__(0, 1)),
        spoil("not to the end", lambda a: a["offsets"].__setitem__(-1, 0)),
        spoil("foreign row", lambda a: a["ids"].__setitem__(7, 5000)),
        spoil("short", lambda a: a.update(ids=a["ids"][:-1])),
        spoil("type", lambda a: a.update(signatures=a["signatures"].astype(np.int64))),
        spoil("missing", lambda a: a.pop("ids")),
        spoil("unknown", lambda a: a.update(extra=np.zeros(1))),
        spoil("codes", lambda a: a.update(words=a["words"][:10])),
    ],
)
def test_spoiled_arrays_are_refused(damage):
    index = HammingIndex(PackedCodes.from_bits(cloud(6, 5000, 64)[0]), method="multi_index")
    with pytest.raises(InputError):
        HammingIndex.from_arrays(damage(index.arrays()))


@pytest.mark.parametrize("k", [0, -1, 1.5, True, None, "2"])
def test_refuses_a_k_that_is_none(k):
    codes = PackedCodes.from_ints([1], n_bits=4)
    with pytest.raises(InputError, match="k="):
        HammingIndex(codes).search(codes, k=k)


@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, True, "2"])
def test_refuses_n_jobs_that_are_none(n_jobs):
    codes = PackedCodes.from_ints([1], n_bits=4)
    with pytest.raises(InputError, match="n_jobs="):
        HammingIndex(codes).search(codes, n_jobs=n_jobs)


def test_refuses_codes_whose_distances_do_not_fit_two_bytes():
    index = HammingIndex(PackedCodes.from_bits(np.ones((3, 65_534), dtype=bool)))
    assert found(index, np.zeros((1, 65_534), dtype=bool), 2) == [[(65_534, 0), (65_534, 1)]]
    with pytest.raises(InputError, match="65,534 bits at most"):
        HammingIndex(PackedCodes.from_bits(np.ones((1, 65_535), dtype=bool)))


def test_an_index_of_more_codes_has_no_fewer():
    codes = PackedCodes.from_bits(cloud(0, 2000, 64)[0])
    index = HammingIndex(codes)
    with pytest.raises(InputError, match="600 codes; the index has 2,000 already"):
        index.with_more(codes.take(slice(0, 600)))


def test_refuses_other_widths_and_methods():
    index = HammingIndex(PackedCodes.from_ints([1], n_bits=4))
    with pytest.raises(InputError, match="queries have 5 bits"):
        index.search(PackedCodes.from_ints([1], n_bits=5))
    with pytest.raises(InputError, match="scan"):
        HammingIndex(index.codes, method="scam")


@pytest.mark.parametrize("labels", [[0], [0, 1, 2], [0.0, 1.0], [-1, 0], [[0, 1]], ["a", "b"]])
def test_refuses_labels_that_do_not_fit(labels):
    codes = PackedCodes.from_ints([1, 2], n_bits=4)
    with pytest.raises(InputError, match="labels"):
        HammingIndex(codes).search_classes(codes, 1, labels)


def test_says_what_it_is():
    index = HammingIndex(PackedCodes.from_ints([1, 2], n_bits=4))
    assert repr(index).startswith("HammingIndex(2 codes of 4 bits")
    assert len(index) == 2
