"""Answers that are right."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dsnc.errors import InputError
from dsnc.targets import Targets

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
