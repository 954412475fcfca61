from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dsnc.data import Dataset
from dsnc.errors import DsncWarning, InputError


@pytest.fixture
def dataset():
    """Ten rows, X[i] = i, of three classes."""
    labels = ["b", "a", "c", "a", "a", "b", "a", "c", "a", "a"]
    splits = {"train": np.arange(8), "test": np.array([8, 9])}
    return Dataset.from_labels(np.arange(10.0)[:, None], labels, splits=splits, name="ten")


@pytest.fixture
def multilabel():
    Y = sp.csr_array(np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.int8))
    return Dataset(sp.csr_array(np.eye(4)), None, np.array(["x", "y", "z"]), Y=Y)


def test_labels_are_mapped_once(dataset):
    assert dataset.classes.tolist() == ["a", "b", "c"]
    assert dataset.y.tolist() == [1, 0, 2, 0, 0, 1, 0, 2, 0, 0]
    assert dataset.y.dtype == np.int32
    assert dataset.labels.tolist() == ["b", "a", "c", "a", "a", "b", "a", "c", "a", "a"]


@pytest.mark.parametrize(
    "rows", [[3, 0, 3], np.array([True, False] * 5), slice(2, 5)], ids=["numbers", "mask", "slice"]
)
def test_take_keeps_rows_labels_and_classes_together(dataset, rows):
    part = dataset.take(rows)
    chosen = np.arange(10)[rows]
    assert part.X[:, 0].tolist() == chosen.tolist()
    assert part.labels.tolist() == dataset.labels[chosen].tolist()
    assert part.classes is dataset.classes


def test_a_slice_of_a_memory_map_stays_one(tmp_path):
    np.save(tmp_path / "X.npy", np.arange(20.0).reshape(10, 2))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    part = Dataset.from_labels(X, [0, 1] * 5).take(slice(2, 6))
    assert isinstance(part.X, np.memmap)
    assert np.shares_memory(part.X, X)


@given(n=st.integers(0, 200), seed=st.integers(0, 9))
def test_split_is_a_partition_in_the_shares_asked_for(n, seed):
    dataset = Dataset(np.arange(n)[:, None], np.zeros(n, dtype=int), np.array(["one"]))
    parts = dataset.split(0.8, 0.1, 0.1, random_state=seed)
    rows = np.concatenate([part.X[:, 0] for part in parts])
    assert sorted(rows.tolist()) == list(range(n))
    for part, share in zip(parts, (0.8, 0.1, 0.1), strict=True):
        assert abs(len(part) - share * n) <= 1


def test_split_is_drawn_by_the_seed(dataset):
    draws = [tuple(dataset.split(random_state=seed).train.X[:, 0]) for seed in (0, 0, 1, 2, 3)]
    assert draws[0] == draws[1]
    assert len(set(draws)) > 2


def test_split_draws_every_row_equally_often():
    dataset = Dataset(np.arange(20)[:, None], np.zeros(20, dtype=int), np.array(["one"]))
    counts = np.zeros(20)
    for seed in range(500):
        counts[dataset.split(random_state=seed).test.X[:, 0]] += 1
    # 500 draws of a tenth: 50 each, standard deviation 6.7; five of those are never exceeded.
    assert counts.sum() == 1000
    assert np.abs(counts - 50).max() < 5 * np.sqrt(500 * 0.1 * 0.9)


def test_split_may_leave_rows_out(dataset):
    assert [len(part) for part in dataset.split(0.5, 0.2, 0.0)] == [5, 2, 0]


@pytest.mark.parametrize(
    "shares", [(0.8, 0.3, 0.1), (-0.1, 0.5, 0.5), (0, 0, 0), (float("nan"), 0, 0)]
)
def test_impossible_shares_are_refused(dataset, shares):
    with pytest.raises(InputError, match="add up to at most 1"):
        dataset.split(*shares)


def test_predefined_split(dataset):
    train, validation, test = dataset.predefined_split()
    assert [len(train), len(validation), len(test)] == [8, 0, 2]
    assert test.X[:, 0].tolist() == [8, 9]
    with pytest.raises(InputError, match="no predefined split"):
        train.predefined_split()


def test_subset_classes_renumbers_and_keeps_the_split(dataset):
    subset = dataset.subset_classes(2, random_state=1)
    kept = dataset.classes[np.isin(dataset.classes, subset.classes)]
    assert subset.classes.tolist() == kept.tolist()
    rows = subset.X[:, 0].astype(int)
    assert subset.labels.tolist() == dataset.labels[rows].tolist()
    assert set(rows) == set(np.flatnonzero(np.isin(dataset.labels, kept)))
    assert rows[subset.splits["train"]].max() < 8 <= rows[subset.splits["test"]].min()


def test_subset_classes_of_label_sets(multilabel):
    for seed in range(5):
        subset = multilabel.subset_classes(1, random_state=seed)
        column = multilabel.classes.tolist().index(subset.classes[0])
        rows = np.flatnonzero(multilabel.Y.toarray()[:, column])
        assert subset.Y.toarray().tolist() == [[1]] * len(rows)
        assert np.array_equal(subset.X.toarray(), multilabel.X.toarray()[rows])


@pytest.mark.parametrize("n", [0, 4])
def test_subset_of_an_impossible_size_is_refused(dataset, n):
    with pytest.raises(InputError, match=f"n={n} is not a number of classes"):
        dataset.subset_classes(n)


def test_summary_counts(dataset, multilabel):
    summary = dataset.summary()
    assert (summary.rows, summary.features, summary.classes) == (10, 1, 3)
    assert (summary.per_class_min, summary.per_class_median, summary.per_class_max) == (2, 2, 6)
    assert summary.splits == {"train": 8, "test": 2}
    assert summary.density is None
    assert "2 / 2 / 6" in str(summary)
    summary = multilabel.summary()
    assert (summary.density, summary.labels_per_row) == (0.25, 1.0)
    assert multilabel.rows_per_class.tolist() == [1, 1, 2]


def test_summary_of_nothing():
    empty = Dataset(np.empty((0, 3)), np.empty(0, dtype=int), np.empty(0, dtype=object))
    assert empty.summary().rows == 0
    assert "0 rows" in repr(empty)


def test_repr_says_what_it_is(dataset, multilabel):
    assert repr(dataset) == "Dataset('ten': 10 rows x 1 features (ndarray float64), 3 classes)"
    assert "(CSR float64), label sets over 3 classes" in repr(multilabel)
    texts = Dataset.from_labels(["one", "two"], [1, 2])
    assert texts.is_text
    assert repr(texts) == "Dataset('data': 2 rows (text), 2 classes)"


def test_any_sparse_format_becomes_csr():
    dataset = Dataset.from_labels(sp.coo_matrix(np.eye(3)), [1, 2, 3])
    assert isinstance(dataset.X, sp.csr_array)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"y": [0, 1]}, "X has 3 rows, but there are labels for 2"),
        ({"y": [0, 1, 2]}, r"y\[2\]=2 is outside 0..1"),
        ({"y": [0, -1, 1]}, r"y\[1\]=-1 is outside"),
        ({"y": [0.0, 1.0, 1.0]}, "float64; expected class numbers"),
        ({"y": None}, "either y"),
        ({"Y": sp.csr_array((3, 2))}, "either y"),
        ({"y": None, "Y": sp.csr_array((3, 5))}, "Y has 5 columns for 2 classes"),
        ({"splits": {"dev": np.array([0])}}, "part 'dev'"),
        ({"splits": {"test": np.array([3])}}, "rows outside 0..2"),
        ({"image_shape": (2, 2)}, r"image_shape=\(2, 2\) does not fit 1 features"),
    ],
)
def test_parts_that_do_not_fit_are_named(fields, message):
    good = {"X": np.zeros((3, 1)), "y": [0, 1, 1], "classes": np.array(["a", "b"])}
    with pytest.raises(InputError, match=message):
        Dataset(**good | fields)


def test_label_sets_have_no_single_labels(multilabel):
    with pytest.raises(InputError, match="multi-label"):
        _ = multilabel.labels


def test_columns_follow_the_number_of_the_first_feature():
    X = sp.csr_array(np.array([[0, 2.0, 3], [0, 0, 1]]))
    zero = Dataset.from_labels(X, [0, 1], first_index=0, source="svmlight file a")
    one = zero.numbered_from(1)
    assert (one.X.toarray() == X.toarray()[:, 1:]).all()
    assert one.first_index == 1
    assert one.numbered_from(1) is one
    assert (one.numbered_from(0).X.toarray() == X.toarray()).all()
    with pytest.raises(InputError, match="svmlight file a has a feature 0.*first_index=0"):
        replace(one, first_index=0, source=zero.source).numbered_from(1)
    elsewhere = replace(zero, first_index=None)
    assert elsewhere.numbered_from(1) is elsewhere


def test_what_was_never_learned_is_left_out_with_a_warning():
    dataset = Dataset.from_labels(sp.csr_array(np.eye(3)), [0, 1, 2], name="eye")
    with pytest.warns(DsncWarning, match="eye has 1 values of features above the 2"):
        assert dataset.of_width(2).X.toarray().tolist() == [[1, 0], [0, 1], [0, 0]]
    assert dataset.of_width(5).X.shape == (3, 5)


PARTS = ("take", "split", "subset_classes", "predefined_split", "as_label_sets")


def numbered(n, labels, *, is_text=False, splits=None):
    """Return rows that carry their number in X, as line and as id; each label is known by it."""
    X = np.array([f"row {i}" for i in range(n)], dtype=object) if is_text else np.arange(n)[:, None]
    own = {"lines": np.arange(n) + 2, "ids": np.array([f"id {i}" for i in range(n)], dtype=object)}
    return Dataset.from_labels(X, labels, splits=splits, **own)


def part_of(data, operation, draw):
    """Return what an operation makes of a data set."""
    if operation == "take":
        return data.take(draw(st.permutations(range(len(data)))))
    if operation == "split":
        return data.split(0.5, 0.3, 0.2, random_state=draw(st.integers(0, 9))).train
    if operation == "subset_classes":
        n = draw(st.integers(1, data.n_classes))
        return data.subset_classes(n, random_state=draw(st.integers(0, 9)))
    if operation == "predefined_split":
        return data if data.splits is None else data.predefined_split().test
    return data.as_label_sets()


@given(data=st.data(), operations=st.lists(st.sampled_from(PARTS), max_size=5))
@settings(max_examples=60, deadline=None)
def test_every_part_keeps_what_belongs_to_a_row(data, operations):
    n = data.draw(st.integers(1, 12))
    labels = data.draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n))
    splits = {"test": np.array(data.draw(st.permutations(range(n)))[: n // 2], dtype=np.int64)}
    part = numbered(n, labels, is_text=data.draw(st.booleans()), splits=splits)
    for operation in operations:
        part = part_of(part, operation, data.draw)
    rows = [int(line) - 2 for line in part.lines]
    assert [str(x).split()[-1].strip("[]") for x in part.X] == [str(row) for row in rows]
    assert part.ids.tolist() == [f"id {row}" for row in rows]
    assert part.label_lists() == [[labels[row]] for row in rows]


@pytest.mark.parametrize("what", ["lines", "ids"])
def test_there_is_a_line_and_an_id_for_each_row(dataset, what):
    with pytest.raises(InputError, match=f"X has 10 rows, but there are {what} for 9"):
        replace(dataset, **{what: np.arange(9)})
