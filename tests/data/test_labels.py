import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsnc.data.labels import UnknownLabelError, encode_label_lists, encode_labels
from dsnc.errors import InputError


@given(st.lists(st.text(max_size=5)) | st.lists(st.integers()) | st.lists(st.booleans()))
def test_classes_are_sorted_and_give_the_labels_back(labels):
    y, classes = encode_labels(labels)
    assert classes.tolist() == sorted(set(labels))
    assert classes[y].tolist() == labels if labels else len(y) == 0
    assert y.dtype == np.int32


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 1, 3]),
        np.array(["x", "yy", "x"]),
        np.array(["x", "yy", "x"], dtype=object),
        np.array([0.5, -1.0, 0.5]),
        (True, False, True),
    ],
)
def test_any_kind_of_label(labels):
    y, classes = encode_labels(labels)
    assert classes[y].tolist() == list(labels)


def test_given_classes_decide_the_numbers():
    y, classes = encode_labels(["b", "a"], ["b", "c", "a"])
    assert y.tolist() == [0, 2]
    assert classes.tolist() == ["b", "c", "a"]


def test_an_unknown_label_is_named():
    with pytest.raises(UnknownLabelError, match=r"labels\[1\] is 'x', which is none of the 2") as e:
        encode_labels(["a", "x", "x"], ["a", "b"])
    assert (e.value.position, e.value.label) == (1, "x")
    copy = pickle.loads(pickle.dumps(e.value))
    assert (str(copy), copy.position) == (str(e.value), 1)


@pytest.mark.parametrize(
    ("labels", "classes", "message"),
    [
        ([1.0, float("nan")], None, r"labels\[1\] is NaN"),
        ([1, "a"], None, "mixes kinds"),
        ([None, "a"], None, "mixes kinds"),
        (np.zeros((2, 2)), None, r"shape \(2, 2\)"),
        (["a"], ["a", "a"], "twice"),
    ],
)
def test_impossible_labels_are_named(labels, classes, message):
    with pytest.raises(InputError, match=message):
        encode_labels(labels, classes)


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=4), max_size=6))
def test_label_lists(rows):
    flat = [label for row in rows for label in row]
    Y, classes = encode_label_lists(flat, np.array([len(row) for row in rows], dtype=np.int64))
    assert Y.shape == (len(rows), len(set(flat)))
    found = [sorted(classes[np.flatnonzero(row)]) for row in Y.toarray()]
    assert found == [sorted(set(row)) for row in rows]
    assert set(Y.data) <= {1}
