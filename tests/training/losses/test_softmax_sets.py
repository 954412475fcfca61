"""The softmax over all classes, where rows have sets of them."""

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
    results_of_batch,
)

import oracles
from dsnc.training.losses import base
from dsnc.training.losses.sampled_softmax import SampledSoftmaxLoss
from dsnc.training.losses.softmax import SoftmaxLoss

DOUBLE = torch.float64


def plain(inputs, weight, bias, y, row_weight, smoothing=0.0, gains=None):
    """Cross-entropy with the target shared by the row's classes; nothing for a row without any."""
    own = gain_matrix(y, len(weight), gains)
    total = own.sum(dim=1, keepdim=True)
    target = (1 - smoothing) * own / total.clamp(min=1e-9) + smoothing / len(weight)
    logs = F.linear(inputs, weight, bias).log_softmax(dim=1)
    each = -(target * logs).sum(dim=1) * (total[:, 0] > 0)
    return (each * row_weight).sum(), each.detach()


@given(
    n=st.integers(1, 9),
    n_classes=st.integers(2, 7),
    smoothing=st.sampled_from([0.0, 0.1, 1.0]),
    gained=st.booleans(),
    block=st.integers(1, 60),
    seed=st.integers(0, 1000),
)
def test_equals_the_plain_way(n, n_classes, smoothing, gained, block, seed):
    *layer, row_weight = make_layer(n, n_classes, seed=seed)
    y, gains = make_sets(n, n_classes, seed=seed), make_gains(n_classes) if gained else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "_CPU_BLOCK", block)
        ours = results(SoftmaxLoss().for_run(smoothing, DOUBLE, gains), *layer, y, row_weight)
    theirs = results(lambda *a: plain(*a, smoothing, gains), *layer, y, row_weight)
    assert_close(ours, theirs)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_equals_the_fast_trainers_twin(smoothing):
    inputs, weight, bias, _ = make_layer(6, 9)
    y, gains = make_sets(6, 9, seed=3), make_gains(9)
    loss = SoftmaxLoss().for_run(smoothing, DOUBLE, gains)
    own = gain_matrix(y, 9, gains).numpy()
    scores = (inputs @ weight.T + bias).detach().numpy()
    for row in range(6):
        one = slice(row, row + 1)
        _, each, _, _, of_bias = results(
            loss, inputs[one], weight, bias, y[one], torch.ones(1).double()
        )
        value, gradient = oracles.softmax_loss(scores[row], own[row], np.ones(9), smoothing, 9)
        assert each.item() == pytest.approx(value)
        np.testing.assert_allclose(of_bias, 3 * gradient, rtol=1e-9, atol=1e-12)


def test_a_set_of_one_is_a_class():
    *layer, row_weight = make_layer(7, 5)
    y = torch.arange(7) % 5
    alone, padded = y, torch.stack([y, torch.full_like(y, -1)], dim=1)
    for smoothing in (0.0, 0.2):
        loss = SoftmaxLoss().for_run(smoothing, DOUBLE)
        parts = (results(loss, *layer, classes, row_weight) for classes in (alone, padded))
        assert_close(*parts)


@pytest.mark.parametrize("block", [1, 1 << 22])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize(("n_rows", "n_classes"), [(2, 2), (7, 5), (40, 31), (9, 32)])
def test_few_are_exact_where_all_are_near(monkeypatch, n_rows, n_classes, smoothing, block):
    monkeypatch.setattr(base, "_CPU_BLOCK", block)
    _, weight, bias, row_weight = make_layer(n_rows, n_classes)
    inputs = make_layer(3 * n_rows, n_classes, seed=1)[0]
    y, gains = make_sets(n_rows, n_classes), make_gains(n_classes)
    few, exact = (
        results_of_batch(
            kind().for_run(smoothing, DOUBLE, gains), inputs, weight, bias, y, row_weight
        )
        for kind in (SampledSoftmaxLoss, SoftmaxLoss)
    )
    assert_close(few, exact)


def test_few_are_about_exact_where_all_are_looked_at():
    *layer, row_weight = make_layer(60, 1000)
    y = make_sets(60, 1000)
    few, exact = (
        results_of_batch(kind().for_run(precision=DOUBLE), *layer, y, row_weight)
        for kind in (SampledSoftmaxLoss, SoftmaxLoss)
    )
    assert few[0].item() == pytest.approx(exact[0].item(), rel=0.02)
    for a, b in zip(few[2:], exact[2:], strict=True):
        assert (a - b).norm() < 0.05 * b.norm()


def test_a_batch_without_any_class_costs_nothing():
    *layer, row_weight = make_layer(3, 50)
    nothing = torch.full((3, 1), -1)
    for kind in (SoftmaxLoss, SampledSoftmaxLoss):
        loss = kind().for_run(0.1, DOUBLE)
        for part in results_of_batch(loss, *layer, nothing, row_weight):
            assert not part.any()
