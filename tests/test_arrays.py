"""Arrays that grow keep what they had, for everybody who has them."""

import copy
import pickle

import numpy as np
import pytest

from dsnc.arrays import appended


@pytest.mark.parametrize("shape", [(5,), (5, 3), (5, 0), (0, 2)])
def test_rows_come_behind(shape):
    first = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    more = np.ones((2, *shape[1:]), np.float32)
    both = appended(first, more)
    assert np.array_equal(both, np.concatenate([first, more]))
    assert not both.flags.writeable


def test_nothing_is_copied_where_there_is_room():
    one = appended(np.zeros(1000), np.ones(1))
    two = appended(one, np.full(1, 2.0))
    assert np.shares_memory(one, two)
    assert len(one) == 1001
    assert two[-2:].tolist() == [1, 2]


def test_two_that_grow_from_one_do_not_meet():
    start = appended(np.zeros(1000), np.ones(1))
    one, other = appended(start, np.full(3, 5.0)), appended(start, np.full(3, 6.0))
    assert not np.shares_memory(one, other)
    assert one[-3:].tolist() == [5, 5, 5]
    assert other[-3:].tolist() == [6, 6, 6]
    part = start[:500]
    assert appended(part, np.ones(1))[-1] == 1
    assert start[500] == 0


def test_copies_are_plain_arrays():
    grown = appended(np.zeros(1000), np.ones(1))
    for again in (copy.deepcopy(grown), pickle.loads(pickle.dumps(grown))):  # noqa: S301
        assert type(again) is np.ndarray
        assert len(appended(again, np.ones(2))) == 1003
    assert len(pickle.dumps(grown)) < 8 * 1100
