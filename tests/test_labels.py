"""Labels and numbers in both directions."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsnc.errors import InputError
from dsnc.labels import Labels, UnknownLabelError, object_array


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
    with pytest.raises(
        UnknownLabelError, match=r"y\[1\] is 'x', which is not one of the 2 cl"
    ) as e:
        Labels(["a", "b"]).numbers(["a", "x", "x"], "y")
    assert (e.value.position, e.value.label) == (1, "x")
    copy = pickle.loads(pickle.dumps(e.value))
    assert (str(copy), copy.position) == (str(e.value), 1)


def test_the_row_of_an_unknown_label_is_found():
    errors = [UnknownLabelError("Y", position, "x", 2) for position in range(4)]
    assert [error.row(np.array([2, 0, 1, 1])) for error in errors] == [0, 0, 2, 3]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1.0, float("nan")], r"labels\[1\] is NaN"),
        ([1, "a"], "mixes types"),
        ([None, "a"], "mixes types"),
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


@pytest.mark.parametrize(
    ("known", "new"),
    [([1, 2], 3.0), ([1, 2], True), ([True, False], 2), ([0.5, 2.0], True), ([2**63, 5], 0.5)],
)
def test_numbers_of_another_kind_do_not_come(known, new):
    labels = Labels(known)
    if new in known:  # it equals one, and would come back in its place
        labels = labels.removing([new])[0]
    with pytest.raises(InputError, match="use one type"):
        labels.adding([new], "y")


@pytest.mark.parametrize(
    ("known", "new"),
    [
        (np.array([7, 2**53, 2**53 + 1]), 2**63),
        (np.array([7, 8]), 2**64 + 1),
        (np.array([2**63], np.uint64), -1),
        (np.array([0.5, 2.0]), 2**53 + 1),
        (np.array(["a", "b"]), "a\0"),
        (np.array([7, 8], np.int32), 2**40),
        (np.array([0.5]), 3),
        (np.array(["a", "b"]), "longer"),
    ],
)
def test_labels_that_come_change_no_others(known, new):
    both = [*known.tolist(), new]
    labels = Labels(known).adding([new])[0]
    again = labels.removing([new])[0].adding([new])[0]
    for found in (labels, again):
        assert sorted(found.names.tolist()) == sorted(both)
        assert found.find(object_array(found.names.tolist())).tolist() == list(range(len(both)))
        stayed = [label for label in found.names.tolist() if label != new]
        assert {type(label) for label in stayed} == {type(known.tolist()[0])}


def test_a_long_text_does_not_widen_the_others():
    labels = Labels(np.array([f"class {i}" for i in range(1000)]))
    more = labels.adding(["x" * 100_000])[0]
    assert more.names.dtype == object
    assert more.removing(["class 7"])[0].names.nbytes < 10_000
    assert labels.adding(["class of a long name"])[0].names.dtype.kind == "U"


def test_labels_that_grow_apart_do_not_know_each_other():
    labels = Labels(["a", "b"])
    one, _ = labels.adding(["c", "d"])
    other, _ = labels.adding(["d"])
    assert labels.find(["a", "c", "d"]).tolist() == [0, -1, -1]
    assert one.find(["b", "c", "d"]).tolist() == [1, 2, 3]
    assert other.find(["b", "c", "d"]).tolist() == [1, -1, 2]
    assert one.adding(["e"])[0].names.tolist() == ["a", "b", "c", "d", "e"]
    assert other.names.tolist() == ["a", "b", "d"]
