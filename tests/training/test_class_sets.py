import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dsnc.errors import InputError
from dsnc.targets import Targets
from dsnc.training.batches import Batches, make_source
from dsnc.training.class_sets import ClassSets, classes_on, repeat_rows
from dsnc.training.regularizer import make_sampler
from dsnc.training.world import World

CPU = torch.device("cpu")
K = 7
SETS = st.lists(st.sets(st.integers(0, K - 1)), min_size=1, max_size=9)


def make_targets(sets):
    flat = np.array([k for members in sets for k in sorted(members)], dtype=np.int64)
    return Targets.from_lists(flat, [len(members) for members in sets], K)


def as_sets(padded):
    rows = [[k for k in row if k >= 0] for row in padded.tolist()]
    assert all(row == sorted(row) for row in rows)
    return [set(row) for row in rows]


@given(SETS, st.lists(st.integers(0, 100), max_size=6))
def test_rows_are_padded_as_far_as_they_need(sets, rows):
    rows = [row % len(sets) for row in rows]
    taken = ClassSets.of(make_targets(sets))[torch.tensor(rows, dtype=torch.int64)]
    assert as_sets(taken) == [sets[row] for row in rows]
    assert taken.dtype == torch.int64
    assert taken.shape == (len(rows), max([1, *(len(sets[row]) for row in rows)]))


@given(SETS)
def test_membership_is_that_of_the_sets(sets):
    rows = torch.arange(len(sets))
    asked = torch.arange(-1, K).repeat(len(sets), 1)
    found = ClassSets.of(make_targets(sets)).contain(rows, asked)
    assert found.tolist() == [[k in members for k in range(-1, K)] for members in sets]


def test_one_class_a_row_stays_a_tensor():
    y = classes_on(Targets(np.array([3, 0], dtype=np.int32), K), CPU, one_each=True)
    assert y.dtype == torch.int64 and y.tolist() == [3, 0]


def test_sets_are_refused_where_each_row_must_have_one_class():
    targets = make_targets([{0, 1}, set()])
    assert isinstance(classes_on(targets, CPU, one_each=False), ClassSets)
    with pytest.raises(InputError, match="sets of classes"):
        classes_on(targets, CPU, one_each=True)


def test_rows_are_repeated_whole():
    assert repeat_rows(torch.tensor([3, 4]), 2).tolist() == [3, 4, 3, 4]
    assert repeat_rows(torch.tensor([[3, -1], [4, 5]]), 2).tolist() == [[3, -1], [4, 5]] * 2


def make_batches(sets, world=None, *, partners=False):
    y = ClassSets.of(make_targets(sets))
    X = np.arange(len(sets), dtype=np.float32)[:, None]
    return Batches(
        make_source(X, CPU, unit_rows=False),
        y,
        torch.ones(len(sets)),
        batch_size=4,
        seed=0,
        partners=make_sampler(y, K) if partners else None,
        world=world,
    )


MANY_SETS = [{0, 1, 2, 3, 4, 5, 6}, set(), {2}, {0, 2}, {5}, {1}, {2, 3}, set(), {6, 0}, {4}]


def test_batches_carry_the_sets_of_their_rows():
    batches = make_batches(MANY_SETS)
    widths = []
    for batch in batches.epoch(0):
        assert as_sets(batch.y) == [MANY_SETS[int(row)] for row in batch.rows[:, 0]]
        widths.append(batch.y.shape[1])
    assert sorted(widths)[-1] == 7 and sorted(widths)[0] <= 2  # the large set costs its batch alone
    assert not batches.is_on_device


def test_processes_share_what_one_would_have():
    alone = make_batches(MANY_SETS, partners=True).epoch(1)
    together = [
        make_batches(MANY_SETS, World(rank, 3), partners=True).epoch(1) for rank in range(3)
    ]
    for whole, *parts in zip(alone, *together, strict=True):
        assert sum((as_sets(part.y) for part in parts), []) == as_sets(whole.y)
        for part in parts:
            assert torch.equal(part.whole_y, whole.y)
        same = torch.cat([part.partners.same_weight for part in parts])
        torch.testing.assert_close(same, 3 * whole.partners.same_weight)
