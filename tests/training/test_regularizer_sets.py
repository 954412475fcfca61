"""Partners of rows that have sets of classes."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dsnc.training import regularizer
from dsnc.training.class_sets import ClassSets
from dsnc.training.regularizer import (
    PartnerSampler,
    SetPartnerSampler,
    distance_sum,
    make_sampler,
)

K = 4
SETS = st.lists(st.sets(st.integers(0, K - 1)), min_size=1, max_size=5)
UNBALANCED = [{0}, {0, 1}, {0, 1, 2}, {0, 2}, set(), {0}, {3}, {1, 3}, {0}, set()]


def make_class_sets(sets):
    sizes = torch.tensor([0, *(len(members) for members in sets)])
    flat = [k for members in sets for k in sorted(members)]
    return ClassSets(sizes.cumsum(dim=0), torch.tensor(flat, dtype=torch.int32), K)


def make_phi(n, n_bits=3):
    return torch.rand(n, n_bits, generator=torch.Generator().manual_seed(0))


def literal(phi, sets):
    """Mean squared distance over ordered pairs that share a class, and over those that do not."""
    sums, counts = [0.0, 0.0], [0, 0]
    for i, j in itertools.product(range(len(sets)), repeat=2):
        if sets[i] and sets[j]:
            apart = int(not sets[i] & sets[j])
            sums[apart] += float((phi[i] - phi[j]).double().square().sum())
            counts[apart] += 1
    return [total / max(count, 1) for total, count in zip(sums, counts, strict=True)]


def estimate(phi, rows, partners):
    share = 1 / len(rows)
    return [
        distance_sum(phi[rows], phi[partners.same], partners.same_weight * share).item(),
        distance_sum(phi[rows], phi[partners.other], partners.other_weight * share).item(),
    ]


def middles(n):
    return (torch.arange(n, dtype=torch.float64) + 0.5) / n


def every_draw(sets, monkeypatch):
    """Rows and partners such that each row meets each of its partners as often as it should."""
    counts = [sum(k in members for members in sets) for k in range(K)]
    of_class = math.lcm(*(len(members) for members in sets if members))
    of_row = math.lcm(*(count for count in counts if count), len(sets))
    pairs = torch.cartesian_prod(middles(of_class), middles(of_row)).T
    uniform = torch.cat([pairs, pairs[1:]])  # strangers are drawn from all rows
    rows = torch.arange(len(sets)).repeat_interleave(uniform.shape[1])
    monkeypatch.setattr(torch, "rand", lambda *_, **__: uniform.repeat(1, len(sets)))
    partners = SetPartnerSampler(make_class_sets(sets)).draw(rows, torch.Generator())
    monkeypatch.undo()
    return rows, partners


@given(SETS)
def test_the_expectation_is_the_double_sum(sets):
    phi = make_phi(len(sets))
    with pytest.MonkeyPatch.context() as patch:
        rows, partners = every_draw(sets, patch)
    expected = literal(phi, sets)
    assert estimate(phi, rows, partners) == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_partners_share_a_class_and_strangers_none(monkeypatch):
    rows, partners = every_draw(UNBALANCED, monkeypatch)
    for row, same, same_weight, other, other_weight in zip(rows.tolist(), *partners, strict=True):
        own = UNBALANCED[row]
        assert (same_weight > 0) == bool(own & UNBALANCED[int(same)]) == bool(own)
        strangers = bool(own and UNBALANCED[int(other)] and not own & UNBALANCED[int(other)])
        assert (other_weight > 0) == strangers


def test_sets_of_one_are_classes():
    y = torch.tensor([2, 0, 0, 1, 0, 2, 0, 2])
    one_each = make_sampler(y, K)
    sets = make_sampler(make_class_sets([{int(k)} for k in y]), K)
    assert isinstance(one_each, PartnerSampler) and isinstance(sets, SetPartnerSampler)
    first, second = (
        sampler.draw(torch.arange(8), torch.Generator().manual_seed(0))
        for sampler in (one_each, sets)
    )
    torch.testing.assert_close(first.same_weight, second.same_weight)
    apart = first.other_weight.max()
    assert second.other_weight.unique().tolist() == pytest.approx([0, float(apart)])


def test_many_pairs_are_not_counted_one_by_one(monkeypatch):
    generator = torch.Generator().manual_seed(3)
    sets = [
        {k for k in range(K) if torch.rand((), generator=generator) < (k + 1) / 8}
        for _ in range(200)
    ]
    counted = SetPartnerSampler(make_class_sets(sets))._pairs()
    pairs = list(itertools.product(filter(None, sets), repeat=2))
    assert sum(counted) == len(pairs)
    assert counted[0] == sum(bool(a & b) for a, b in pairs)
    monkeypatch.setattr(regularizer, "_COUNTED", 0)
    monkeypatch.setattr(regularizer, "_DRAWN", 1 << 14)
    estimated = SetPartnerSampler(make_class_sets(sets))._pairs()
    assert estimated != counted
    assert estimated == pytest.approx(counted, rel=0.03)


@pytest.mark.parametrize("sets", [[set(), set()], [{1}], [{0, 1}, {1, 2}]])
@pytest.mark.parametrize("counted", [0, 1 << 20])
def test_nobody_to_meet(monkeypatch, sets, counted):
    monkeypatch.setattr(regularizer, "_COUNTED", counted)
    sampler = SetPartnerSampler(make_class_sets(sets))
    partners = sampler.draw(torch.arange(len(sets)), torch.Generator().manual_seed(0))
    assert not partners.other_weight.any()
    assert partners.same_weight.isfinite().all()
    assert partners.same_weight.any() == any(sets)
