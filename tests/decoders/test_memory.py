"""What a model remembers, in its arrays and back; a file may be hostile."""

import numpy as np
import pytest
import scipy.sparse as sp

from dsnc.codes.soft import SoftCodes
from dsnc.decoders.changes import Change
from dsnc.decoders.memory import Memory, one_in_each, some_of_each
from dsnc.decoders.novelty import Novelty
from dsnc.errors import InputError

RNG = np.random.default_rng(0)
LOGITS, CLASSES = RNG.normal(size=(60, 5)).astype(np.float32) * 3, np.arange(60) % 6


@pytest.fixture
def memory():
    full = (
        Memory.empty(5, 6).with_rows(SoftCodes.from_logits(LOGITS), CLASSES, 4, 0).counting(CLASSES)
    )
    return full.with_held_out(SoftCodes.from_logits(LOGITS[:12]), CLASSES[:12])


@pytest.mark.parametrize("n_bits", [1, 5, 64])
def test_soft_codes_keep_signs_and_nearly_keep_numbers(n_bits):
    logits = RNG.normal(size=(20, n_bits)).astype(np.float32) * 2
    back = SoftCodes.from_logits(logits).logits()
    assert ((back > 0) == (logits > 0)).all()
    assert np.abs(np.tanh(back / 4) - np.tanh(logits / 4)).max() < 1 / 15
    assert not (SoftCodes.from_logits(np.zeros((1, n_bits))).logits() > 0).any()


def test_some_of_each_class():
    rows = some_of_each(CLASSES, 3, seed=1)
    assert (np.bincount(CLASSES[rows]) == 3).all()
    assert len(np.unique(rows)) == 18


def test_rows_are_drawn_from_everywhere_in_their_class():
    """Of a class of 300 rows in the order of a file, as many from each third, within 5 sigma."""
    classes = np.repeat(np.arange(4), 300)
    for drawn in (some_of_each(classes, 60, seed=1), one_in_each(classes, 5, seed=1)):
        assert (np.bincount(classes[drawn]) == 60).all()
        thirds = np.bincount(drawn // 100, minlength=12)
        sigma = np.sqrt(60 * 1 / 3 * 2 / 3 * 240 / 299)
        assert (np.abs(thirds - 20) < 5 * sigma).all()


def test_only_so_many_are_remembered_and_all_are_counted(memory):
    assert (np.bincount(memory.classes) == 4).all()
    assert (memory.counts == 10).all()


def test_codes_are_in_the_order_of_their_classes(memory):
    grown = memory.changed(Change(np.append(np.arange(6), [-1] * 4)))
    more = grown.with_rows(SoftCodes.from_logits(LOGITS[:3]), np.array([9, 2, 2]), 4, 0)
    said = more.with_descriptions(SoftCodes.from_logits(LOGITS[:2]), np.array([7, 1]))
    changed = said.changed(Change(np.array([5, 3, -1, 2])))
    for known in (memory, more, said, changed):
        assert (np.diff(known.classes) >= 0).all()
    some = more.of_classes(np.array([2, 9]), 3, 0)
    assert some.classes.tolist() == [0, 0, 0, 1]
    assert (some.codes.octets[-1] == SoftCodes.from_logits(LOGITS[:1]).octets).all()


def test_classes_come_and_go(memory):
    changed = memory.changed(Change(np.array([0, -1, 5, 4])))
    assert np.bincount(changed.classes, minlength=4).tolist() == [4, 0, 4, 4]
    assert changed.counts.tolist() == [10, 0, 10, 10]
    of_five = memory.codes.take(memory.classes == 5).octets
    assert (changed.codes.take(changed.classes == 2).octets == of_five).all()


def test_arrays_and_back(memory):
    again = Memory.from_arrays(memory.arrays(), 5, 6, 7)
    assert (again.codes.octets == memory.codes.octets).all()
    assert (again.held_out_classes == memory.held_out_classes).all()


def test_descriptions_stay_beside_rows(memory):
    said = memory.with_descriptions(SoftCodes.from_logits(LOGITS[:2]), np.array([1, 4]))
    assert said.classes[said.described].tolist() == [1, 4]
    assert (said.counts == memory.counts).all()
    more = said.with_rows(SoftCodes.from_logits(LOGITS), CLASSES, 2, 0)
    assert (np.bincount(more.classes[~more.described]) == 2).all()
    assert more.described.sum() == 2
    again = more.with_descriptions(SoftCodes.from_logits(LOGITS[5:6]), np.array([4]))
    assert again.described.sum() == 2
    gone = again.changed(Change(np.array([0, 4, -1])))
    assert gone.classes[gone.described].tolist() == [1]


def test_attributes_of_some_classes(memory):
    said = memory.with_attributes(np.ones((2, 3)), np.array([0, 5]))
    assert said.has_attributes.tolist() == [True, False, False, False, False, True]
    assert not memory.has_attributes.any()
    changed = said.changed(Change(np.array([5, -1])))
    assert changed.has_attributes.tolist() == [True, False]
    again = Memory.from_arrays(said.arrays(), 5, 6, 7)
    assert np.array_equal(again.attributes, said.attributes, equal_nan=True)


def test_features_of_rows_are_counted(memory):
    rows = np.zeros((3, 7))
    rows[:, 2], rows[1, 5] = 0.5, -1
    counted = memory.seeing(rows).seeing(sp.csr_array(rows[:2]))
    assert counted.seen.tolist() == [0, 0, 5, 0, 0, 2, 0]
    again = Memory.from_arrays(counted.arrays(), 5, 6, 7)
    assert (again.seen == counted.seen).all()
    wider = counted.with_features(np.array([0, 1, 2, 3, 4, 6, 8]), 9)
    assert wider.seen.tolist() == [0, 0, 5, 0, 0, 0, 2, 0, 0]
    assert not len(memory.with_features(np.arange(7), 9).seen)  # nobody has counted


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("described", np.zeros(3, np.bool_)),
        ("described", np.zeros(24, np.int8)),
        ("attributes", np.zeros((5, 2), np.float32)),
        ("attributes", np.full((6, 2), np.inf, np.float32)),
        ("codes", np.zeros((24, 2), np.uint8)),
        ("classes", np.full(24, 6, np.uint32)),
        ("classes", np.arange(24, dtype=np.uint32)[::-1] // 4),
        ("classes", np.zeros(3, np.uint32)),
        ("counts", np.zeros(5, np.float32)),
        ("counts", np.full(6, np.nan, np.float32)),
        ("offsets", np.full(6, np.inf, np.float32)),
        ("balance", np.zeros((1, 3), np.float32)),
        ("balance", np.full((1, 2), np.inf, np.float32)),
        ("held_out", np.zeros((12, 3), np.int8)),
        ("seen", np.zeros(6, np.uint32)),
        ("seen", np.zeros(7, np.int64)),
    ],
)
def test_hostile_arrays_are_refused(memory, name, array):
    with pytest.raises(InputError, match="memory|soft codes"):
        Memory.from_arrays({**memory.arrays(), name: array}, 5, 6, 7)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("signs", np.zeros((4, 3), np.float32)),
        ("signs", np.ones((2, 2), np.float32)),
        ("quantiles", np.zeros(5, np.float32)),
        ("quantiles", np.full(1001, np.nan, np.float32)),
        ("hidden", np.zeros(2, np.float32)),
        ("hidden", np.float32([0, 1.5, 0])),
        ("hidden", np.float32([0, np.nan, 0])),
    ],
)
def test_hostile_novelty_is_refused(name, array):
    arrays = Novelty.of(*RNG.normal(size=(2, 100, 4))).arrays()
    assert (Novelty.from_arrays(arrays).quantiles == arrays["quantiles"]).all()
    with pytest.raises(InputError, match="novelty"):
        Novelty.from_arrays({**arrays, name: array})
