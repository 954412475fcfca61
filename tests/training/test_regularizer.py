import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dsnc.training.batches import Batches, DenseSource
from dsnc.training.regularizer import AdaptiveFactor, PartnerSampler, distance_sum

CPU = torch.device("cpu")
UNBALANCED = [2, 0, 0, 1, 0, 2, 0, 2, 0, 0]  # six, one and three rows


def make_phi(n, n_bits=3, seed=0):
    return torch.rand(n, n_bits, generator=torch.Generator().manual_seed(seed))


def literal(phi, y):
    """Mean squared distance over the ordered pairs within a class, and over all the others."""
    sums, counts = [0.0, 0.0], [0, 0]
    for i in range(len(y)):
        for j in range(len(y)):
            differ = int(y[i] != y[j])
            sums[differ] += float((phi[i] - phi[j]).double().square().sum())
            counts[differ] += 1
    return [total / max(count, 1) for total, count in zip(sums, counts, strict=True)]


def estimate(phi, rows, partners):
    """The two terms of a batch whose rows count alike."""
    share = 1 / len(rows)
    return [
        distance_sum(phi[rows], phi[partners.same], partners.same_weight * share).item(),
        distance_sum(phi[rows], phi[partners.other], partners.other_weight * share).item(),
    ]


def every_draw(sampler, y, monkeypatch):
    """Rows and partners such that each row meets each of its partners equally often."""
    _, counts = y.unique(return_counts=True)
    grid = math.lcm(len(y), *counts.tolist())
    uniform = (torch.arange(grid, dtype=torch.float64) + 0.5) / grid
    rows = torch.arange(len(y)).repeat_interleave(grid)
    monkeypatch.setattr(torch, "rand", lambda *_, **__: uniform.repeat(2, len(y)))
    partners = sampler.draw(rows, torch.Generator())
    monkeypatch.undo()
    return rows, partners


@given(st.lists(st.integers(0, 4), min_size=1, max_size=9))
def test_the_expectation_is_the_double_sum(labels):
    y, phi = torch.tensor(labels), make_phi(len(labels))
    with pytest.MonkeyPatch.context() as patch:
        rows, partners = every_draw(PartnerSampler(y, 5), y, patch)
    assert estimate(phi, rows, partners) == pytest.approx(literal(phi, y), rel=1e-5, abs=1e-7)


def test_a_row_alone_in_its_class_is_its_own_partner(monkeypatch):
    y = torch.tensor(UNBALANCED)
    rows, partners = every_draw(PartnerSampler(y, 3), y, monkeypatch)
    assert (y[partners.same] == y[rows]).all()
    assert set(partners.same[y[rows] == 1].tolist()) == {3}
    assert (partners.other_weight[y[partners.other] == y[rows]] == 0).all()
    assert set(partners.other.tolist()) == set(range(10))


def test_one_class_has_no_strangers():
    y = torch.zeros(5, dtype=torch.int64)
    partners = PartnerSampler(y, 1).draw(torch.arange(5), torch.Generator().manual_seed(0))
    assert partners.other_weight.tolist() == [0] * 5
    assert partners.same_weight.tolist() == [1] * 5


def within(samples, truth, n_errors=5):
    samples = torch.tensor(samples, dtype=torch.float64)
    error = samples.std(dim=0) / math.sqrt(len(samples))
    assert (error < 0.02 * torch.tensor(truth)).all()  # sharp enough to tell
    return bool(((samples.mean(dim=0) - torch.tensor(truth)).abs() <= n_errors * error).all())


def test_real_draws_agree_with_the_double_sum():
    y, phi, generator = torch.tensor(UNBALANCED), make_phi(10), torch.Generator().manual_seed(1)
    sampler, rows = PartnerSampler(y, 3), torch.arange(10)
    samples = [estimate(phi, rows, sampler.draw(rows, generator)) for _ in range(3000)]
    assert within(samples, literal(phi, y))
    assert not within([[b, a] for a, b in samples], literal(phi, y))


def test_the_batches_of_an_epoch_agree_with_the_double_sum():
    y, phi = torch.tensor(UNBALANCED), make_phi(10)
    batches = Batches(
        DenseSource(phi.numpy(), CPU, unit_rows=False),
        y,
        torch.ones(10),
        batch_size=4,  # the last of an epoch has two rows
        seed=0,
        partners=PartnerSampler(y, 3),
    )
    samples = []
    for number in range(700):
        terms = []
        for batch in batches.epoch(number):
            same, other = batch.partner_rows.chunk(2)
            terms.append(
                [
                    distance_sum(batch.rows, same, batch.partners.same_weight).item(),
                    distance_sum(batch.rows, other, batch.partners.other_weight).item(),
                ]
            )
        samples.append(torch.tensor(terms).mean(dim=0).tolist())
    assert within(samples, literal(phi, y))


def test_the_distance_of_two_codes_is_in_bits_and_the_sum_is_weighted():
    codes = torch.tensor([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    partners = torch.tensor([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])  # 2 bits and 1 bit apart
    assert distance_sum(codes, partners, torch.tensor([1.0, 1.0])).item() == 3
    assert distance_sum(codes, partners, torch.tensor([0.5, 4.0])).item() == 5


@pytest.mark.parametrize(
    ("rule", "factors"),
    [
        ("none", [1, 1, 1, 1, 1, 1, 1, 1, 1]),
        ("previous", [1, 2, 4, 4, 2, 1, 1, 2, 1]),
        ("best", [1, 2, 4, 4, 2, 1, 0.5, 0.25, 0.5]),
    ],
)
def test_the_factor_doubles_on_a_rise_and_halves_on_a_fall(rule, factors):
    factor = AdaptiveFactor(rule)
    accuracies = [0.5, 0.6, 0.7, 0.7, 0.6, 0.5, 0.5, 0.6, 0.55]
    if rule == "best":
        accuracies[-1] = 0.8
    assert [factor.update(accuracy) for accuracy in accuracies] == factors


@pytest.mark.parametrize("rule", ["previous", "best"])
def test_the_first_accuracy_changes_nothing(rule):
    assert AdaptiveFactor(rule).update(0.9) == 1
    assert AdaptiveFactor(rule).update(0.0) == 1
    assert AdaptiveFactor(rule, factor=8.0, reference=0.1).update(0.2) == 16
