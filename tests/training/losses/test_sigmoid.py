import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from made_layers import (
    assert_close,
    gain_matrix,
    make_gains,
    make_layer,
    make_sets,
    results,
)

import oracles
from dsnc.training.losses import base
from dsnc.training.losses.sigmoid import SigmoidLoss

DOUBLE = torch.float64


def plain(inputs, weight, bias, y, row_weight, gains=None):
    """Binary cross-entropy of each class, those that a row has by their gain."""
    scores = F.linear(inputs, weight, bias)
    own = gain_matrix(y, len(weight), gains)
    terms = F.binary_cross_entropy_with_logits(scores, (own > 0).to(scores), reduction="none")
    each = (terms * torch.where(own > 0, own, 1)).sum(dim=1)
    return (each * row_weight).sum(), each.detach()


@given(
    n=st.integers(1, 9),
    n_classes=st.integers(1, 7),
    gained=st.booleans(),
    sets=st.booleans(),
    block=st.integers(1, 60),
    seed=st.integers(0, 1000),
)
def test_equals_the_plain_way(n, n_classes, gained, sets, block, seed):
    *layer, row_weight = make_layer(n, n_classes, seed=seed)
    y = make_sets(n, n_classes, seed=seed) if sets else torch.arange(n) % n_classes
    gains = make_gains(n_classes) if gained else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "_CPU_BLOCK", block)  # from one row at a time to all at once
        ours = results(SigmoidLoss().for_run(0.0, DOUBLE, gains), *layer, y, row_weight)
    assert_close(ours, results(lambda *a: plain(*a, gains), *layer, y, row_weight))
    assert not ours[1].requires_grad


def test_equals_the_fast_trainers_twin():
    inputs, weight, bias, row_weight = make_layer(6, 9)
    y, gains = make_sets(6, 9, seed=3), make_gains(9)
    loss = SigmoidLoss().for_run(0.0, DOUBLE, gains)
    own = gain_matrix(y, 9, gains).numpy()
    scores = (inputs @ weight.T + bias).detach().numpy()
    for row in range(6):
        one = slice(row, row + 1)
        _, each, _, _, of_bias = results(
            loss, inputs[one], weight, bias, y[one], torch.ones(1).double()
        )
        value, gradient = oracles.sigmoid_loss(scores[row], own[row], np.ones(9))
        assert each.item() == pytest.approx(value)
        np.testing.assert_allclose(of_bias, 3 * gradient, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # a processor without bfloat16
def test_bfloat16_is_close():
    *layer, row_weight = make_layer(60, 40, dtype=torch.float32, size=0.5)
    y = make_sets(60, 40)
    ours, exact = (
        results(SigmoidLoss().for_run(precision=kind), *layer, y, row_weight)
        for kind in (torch.bfloat16, torch.float32)
    )
    for a, b in zip(ours, exact, strict=True):
        assert a.dtype == torch.float32
        assert (a - b).norm() < 0.02 * b.norm()


def test_huge_scores_do_not_overflow():
    inputs = torch.tensor([[1e4, -1e4]], requires_grad=True)
    weight = torch.tensor([[1e4, 0.0], [0.0, 1e4]], requires_grad=True)
    bias = torch.zeros(2, requires_grad=True)
    total, each = SigmoidLoss()(inputs, weight, bias, torch.tensor([[1, -1]]), torch.ones(1))
    total.backward()
    assert each.item() == pytest.approx(2e8)
    assert bias.grad.tolist() == [1, -1]


@pytest.mark.parametrize("y", [torch.empty(0, 3, dtype=torch.int64), torch.empty(0).long()])
def test_no_rows_cost_nothing(y):  # a process's part of a short batch
    *layer, row_weight = make_layer(0, 5)
    total, each, of_inputs, of_weight, of_bias = results(
        SigmoidLoss().for_run(precision=DOUBLE), *layer, y, row_weight
    )
    assert total == 0 and each.shape == (0,) and of_inputs.shape == (0, 6)
    assert not of_weight.any() and not of_bias.any()


def test_rows_without_a_class_hold_all_classes_down():
    *layer, row_weight = make_layer(3, 5)
    nothing = torch.full((3, 1), -1)  # a batch in which no row has any
    of_bias = results(SigmoidLoss().for_run(precision=DOUBLE), *layer, nothing, row_weight)[-1]
    assert (of_bias > 0).all()
