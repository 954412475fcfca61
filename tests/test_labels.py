"""Labels and numbers in both directions; answers that are right."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dsnc.errors import InputError
from dsnc.labels import Labels, Targets, UnknownLabelError, object_array


@given(st.lists(st.text(max_size=5)) | st.lists(st.integers()) | st.lists(st.booleans()))
def test_labels_are_numbered_in_sorted_order_and_come_back(labels):
    known, y = Labels.fit(labels)
    assert known.names.tolist() == sorted(set(labels))
    assert known.of(y).tolist() == labels if labels else len(y) == 0
    assert y.dtype == np.int32
    assert np.array_equal(known.numbers(labels), y)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 1, 3]),
        np.array(["x", "yy", "x"]),
        np.array(["x", "yy", "x"], dtype=object),
        np.array([0.5, -1.0, 0.5]),
        np.array([3, 1, 3], dtype=object),
        (True, False, True),
    ],
)
def test_any_kind_of_label(labels):
    known, y = Labels.fit(labels)
    assert known.of(y).tolist() == list(labels)
    assert known.names.dtype == np.asarray(labels).dtype
    assert known.of(y[:, None]).shape == (3, 1)


@given(data=st.data())
def test_numbers_are_positions_in_any_order(data):
    kind = data.draw(st.sampled_from([st.text(max_size=4), st.integers(-9, 9)]))
    names = data.draw(st.lists(kind, min_size=1, max_size=20, unique=True))
    labels = data.draw(st.lists(st.sampled_from(names), max_size=30))
    known = Labels(object_array(names))
    for numbers in (known.numbers(labels), known.numbers(object_array(labels))):
        assert numbers.dtype == np.int32
        assert [names[i] for i in numbers] == labels
    assert len(known) == len(names)


def test_what_is_not_known_is_found_nowhere():
    known = Labels(["b", "c", "a"])
    assert known.find(np.array([["b", "a"], ["x", "c"]])).tolist() == [[0, 2], [-1, 1]]
    assert Labels([1, 2]).find(["1", 2.0, None, float("nan")]).tolist() == [-1, 1, -1, -1]


def test_an_unknown_label_is_named():
    with pytest.raises(UnknownLabelError, match=r"y\[1\] is 'x', which is none of the 2 cl") as e:
        Labels(["a", "b"]).numbers(["a", "x", "x"], "y")
    assert (e.value.position, e.value.label) == (1, "x")
    copy = pickle.loads(pickle.dumps(e.value))
    assert (str(copy), copy.position) == (str(e.value), 1)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1.0, float("nan")], r"labels\[1\] is NaN"),
        ([1, "a"], "mixes kinds"),
        ([None, "a"], "mixes kinds"),
        (np.zeros((2, 2)), r"shape \(2, 2\)"),
    ],
)
def test_impossible_labels_are_named(labels, message):
    with pytest.raises(InputError, match=message):
        Labels.fit(labels)


def test_a_class_has_one_label_and_a_label_one_class():
    with pytest.raises(InputError, match="twice"):
        Labels(["a", "a"]).numbers(["a"])
    with pytest.raises(InputError, match=r"shape \(1, 1\)"):
        Labels(["a"]).numbers(np.array([["a"]]))


def test_a_pickle_holds_the_names_alone():
    known = Labels(np.arange(1000))
    before = pickle.dumps(known)
    known.numbers([7])
    assert pickle.dumps(known) == before
    assert pickle.loads(before).numbers([7]).tolist() == [7]


# Targets

SETS = st.lists(st.lists(st.integers(0, 4), max_size=6), min_size=1, max_size=8)
ANSWERS = st.integers(-2, 6)


def made(rows):
    flat = np.array([k for row in rows for k in row], dtype=np.int32)
    return Targets.from_lists(flat, [len(row) for row in rows], 5)


@given(SETS, st.data())
def test_sets_say_what_is_right(rows, data):
    n = len(rows)
    answers = data.draw(st.lists(st.lists(ANSWERS, min_size=3, max_size=3), min_size=n, max_size=n))
    targets = made(rows)
    expected = [[a in row for a in given] for row, given in zip(rows, answers, strict=True)]
    assert targets.contains(answers).tolist() == expected
    assert targets.contains(np.array(answers)[:, 0]).tolist() == [row[0] for row in expected]
    assert len(targets) == n
    assert targets.counts().tolist() == [sum(k in row for row in rows) for k in range(5)]
    weight = np.arange(1.0, n + 1)
    weighed = [sum(w for w, row in zip(weight, rows, strict=True) if k in row) for k in range(5)]
    assert targets.counts(weight).tolist() == weighed
    some = targets.take(slice(None, None, -1))
    assert some.contains(answers[::-1]).tolist() == expected[::-1]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.data())
def test_one_class_a_row_is_a_set_of_one(y, data):
    n = len(y)
    one, sets = Targets(np.array(y), 5), made([[k] for k in y])
    answers = np.array(data.draw(st.lists(ANSWERS, min_size=n, max_size=n)))
    for given_answers in (answers, answers[:, None], np.tile(answers[:, None], 3)):
        right = one.contains(given_answers)
        assert right.shape == given_answers.shape
        assert np.array_equal(right, sets.contains(given_answers))
    weight = np.linspace(0.5, 2, n)
    assert np.array_equal(one.counts(), sets.counts())
    assert np.allclose(one.counts(weight), sets.counts(weight))
    rows = np.arange(n)[::2]
    assert np.array_equal(one.take(rows).y, np.array(y)[rows])
    assert (one.is_single, sets.is_single) == (True, False)
    with pytest.raises(InputError, match="sets of classes; one class a row is needed"):
        _ = sets.y


def test_sets_are_brought_into_one_form_and_the_caller_keeps_theirs():
    messy = sp.csr_array((np.array([1, 0, 1, 1], np.int8), [2, 1, 0, 0], [0, 3, 4]), shape=(2, 3))
    targets = Targets(messy, 3)
    assert [array.tolist() for array in targets.arrays()] == [[0, 2, 3], [0, 2, 0]]
    assert messy.indices.tolist() == [2, 1, 0, 0]
    assert Targets(sp.csc_array(messy.toarray()), 3).counts().tolist() == [2, 0, 1]


def test_no_sets_contain_nothing():
    assert made([[], []]).contains([0, -1]).tolist() == [False, False]


def test_labels_come_and_go_and_come_back():
    labels = Labels(np.array([10, 20, 30, 40]))
    fewer, before = labels.removing([40, 20])
    assert fewer.names.tolist() == [10, 30]
    assert before.tolist() == [0, 2]
    assert fewer.removed == {1: 20, 3: 40}
    more, before = fewer.adding([50, 20, 10, 45])
    assert more.names.tolist() == [10, 20, 30, 45, 50]
    assert before.tolist() == [0, -1, 1, -1, -1]
    assert more.removed == {3: 40}
    again, _ = more.adding([40])
    assert again.names.tolist() == [10, 20, 30, 40, 45, 50]
    assert pickle.loads(pickle.dumps(more)).removed == {3: 40}


def test_labels_of_another_kind_do_not_come():
    with pytest.raises(InputError, match="use one type"):
        Labels(np.array([1, 2])).adding(["a"], "y")
    with pytest.raises(UnknownLabelError):
        Labels(["a", "b"]).removing(["c"])
    assert Labels(["a", "b"]).adding(["longer"])[0].names.tolist() == ["a", "b", "longer"]


def test_labels_that_grow_apart_do_not_know_each_other():
    labels = Labels(["a", "b"])
    one, _ = labels.adding(["c", "d"])
    other, _ = labels.adding(["d"])
    assert labels.find(["a", "c", "d"]).tolist() == [0, -1, -1]
    assert one.find(["b", "c", "d"]).tolist() == [1, 2, 3]
    assert other.find(["b", "c", "d"]).tolist() == [1, -1, 2]
    assert one.adding(["e"])[0].names.tolist() == ["a", "b", "c", "d", "e"]
    assert other.names.tolist() == ["a", "b", "d"]
