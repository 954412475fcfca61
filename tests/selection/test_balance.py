"""The balance between old and new: classes that are forgotten, and rows that are held back."""

import numpy as np
import pytest

from dsnc.codes.soft import SoftCodes
from dsnc.decoders import SoftDecoder
from dsnc.decoders.memory import Memory
from dsnc.selection import balance
from dsnc.selection.balance import DESCRIBED, OF_ATTRIBUTES, offset_by_rows
from dsnc.selection.lesson import Rows

N = 20_000
CLASSES = np.arange(N).repeat(2)
HELD_OUT = np.arange(0, N, 5)


@pytest.fixture(scope="module")
def memory():
    logits = np.random.default_rng(0).normal(size=(len(CLASSES), 8)).astype(np.float32)
    memory = (
        Memory.empty(8, N).with_rows(SoftCodes.from_logits(logits), CLASSES, 2, 0).counting(CLASSES)
    )
    memory = memory.with_held_out(SoftCodes.from_logits(logits[: len(HELD_OUT)]), HELD_OUT)
    memory = memory.with_descriptions(SoftCodes.from_logits(logits[:3000]), np.arange(3000))
    return memory.with_attributes(np.ones((500, 2)), np.arange(500))


@pytest.mark.parametrize(("n_new", "expected"), [(1, 1000), (1000, 1000), (4000, 3333), (N, 4000)])
def test_as_large_a_share_as_comes(memory, n_new, expected):
    again = balance._learned_again(memory, 2, n_new, seed=0)
    assert len(again) == expected
    judged = np.isin(HELD_OUT, again)
    assert 500 < judged.sum() <= len(HELD_OUT) // 2


def test_only_classes_that_have_what_they_are_learned_from(memory):
    again = balance._learned_again(memory, DESCRIBED, N, seed=0)
    assert again.max() < 3000
    assert len(again) == 1500  # the others stay
    again = balance._learned_again(memory, OF_ATTRIBUTES, N, seed=0)
    assert again.max() < 500
    assert len(again) == 250
    few = memory.with_attributes(np.full((496, 2), np.nan), np.arange(496))
    assert not len(balance._learned_again(few, OF_ATTRIBUTES, N, seed=0))


def test_descriptions_alone_or_rows_alone(memory):
    is_again = np.arange(N) < 10
    said = balance._rows_again(memory, memory, is_again, DESCRIBED, 0)
    assert said.classes.tolist() == list(range(10))
    rows = balance._rows_again(memory, memory, is_again, 1, 0)
    assert rows.classes.tolist() == list(range(10))
    assert (rows.logits != said.logits).any()


@pytest.mark.parametrize("too_much", [-1.5, 0.0, 1.0])
@pytest.mark.parametrize("n_rows", [100, 900])
def test_rows_that_were_held_back_tell_what_was_put_on_top_by_mistake(too_much, n_rows):
    rng = np.random.default_rng(0)
    centers, is_new = rng.normal(size=(40, 8)).astype(np.float32), np.arange(40) >= 30
    owners = np.concatenate([rng.integers(30, size=4000), rng.integers(30, 40, size=n_rows)])
    logits = centers[owners] + 2 * rng.normal(size=(len(owners), 8)).astype(np.float32)
    right = -np.square(np.tanh(centers / 2)).sum(axis=1)
    memory = Memory.empty(8, 40).counting(np.repeat(np.arange(30), 100))
    memory = memory.with_held_out(SoftCodes.from_logits(logits[:4000]), owners[:4000])
    judges = Rows(logits[4000:], owners[4000:])
    weight = 2 * np.tanh(centers / 2)
    asked = memory, judges, is_new, 10.0
    nothing = offset_by_rows(SoftDecoder(weight, right), *asked)
    trust = n_rows / (n_rows + 100)
    assert abs(nothing) < 0.5
    found = offset_by_rows(SoftDecoder(weight, right + too_much * is_new), *asked)
    assert found == pytest.approx(nothing - trust * too_much, abs=0.3)


def test_a_class_of_few_rows_counts_as_the_others_do():
    rng = np.random.default_rng(0)
    centers, owners = rng.normal(size=(10, 8)).astype(np.float32), np.arange(2000) % 10
    logits = centers[owners] + rng.normal(size=(2000, 8)).astype(np.float32)
    old = owners < 8
    memory = Memory.empty(8, 10).counting(np.repeat(np.arange(8), 50))
    memory = memory.with_held_out(SoftCodes.from_logits(logits[old]), owners[old])
    judges = Rows(logits[~old], owners[~old])
    decoder = SoftDecoder(centers, -np.square(centers).sum(axis=1) / 4)
    found = [offset_by_rows(decoder, memory, judges, np.arange(10) >= 8, n) for n in (9, 50, 5000)]
    assert found[0] == found[1] < found[2]
