import pytest
import torch

from dsnc.training.batches import Batch
from dsnc.training.losses import MANY, few
from dsnc.training.losses.making import make_loss
from dsnc.training.losses.sampled_softmax import SampledSoftmaxLoss, without
from dsnc.training.losses.softmax import SoftmaxLoss

N_BITS = 6


def make_problem(n_rows, n_classes, n_draws=3, *, seed=0, dtype=torch.float64):
    """Inputs of some draws, a layer, and the batch that they belong to."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator).to(dtype).requires_grad_()

    y = torch.randint(n_classes, (n_rows,), generator=generator)
    weight = torch.rand(n_rows, generator=generator).to(dtype)
    place = (0, n_rows, n_rows)
    batch = Batch(torch.empty(0), y, weight, place, torch.Generator().manual_seed(seed))
    return normal(n_draws * n_rows, N_BITS), normal(n_classes, N_BITS), normal(n_classes), batch


def results(loss, inputs, weight, bias, batch):
    """Total, losses and gradients behind a factor of 3; the first draw looks for the nearest."""
    n_draws = len(inputs) // max(1, len(batch.y))
    probe = inputs.detach()[: len(batch.y)]
    of_inputs = loss.of_batch(weight, bias, batch, lambda: probe)
    total, each = of_inputs(inputs, batch.y.repeat(n_draws), batch.weight.repeat(n_draws))
    return [total.detach(), each, *torch.autograd.grad(3 * total, (inputs, weight, bias))]


@pytest.mark.parametrize("block", [1, 1 << 22])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize(("n_rows", "n_classes"), [(1, 2), (7, 5), (40, 31), (9, 32)])
def test_is_exact_where_all_classes_are_near(monkeypatch, n_rows, n_classes, smoothing, block):
    monkeypatch.setattr("dsnc.training.losses.base._CPU_BLOCK", block)  # draw by draw, or at once
    problem = make_problem(n_rows, n_classes)
    ours = results(SampledSoftmaxLoss().for_run(smoothing, torch.float64), *problem)
    exact = results(SoftmaxLoss().for_run(smoothing, torch.float64), *problem)
    for a, b in zip(ours, exact, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11)
    assert not ours[1].requires_grad


def test_with_one_near_class_of_each_part_the_loss_is_about_the_exact_one():
    problem = make_problem(60, 1000, n_draws=1)
    ours = results(SampledSoftmaxLoss().for_run(precision=torch.float64), *problem)
    exact = results(SoftmaxLoss().for_run(precision=torch.float64), *problem)
    assert ours[0].item() == pytest.approx(exact[0].item(), rel=0.01)
    assert (ours[1] - exact[1]).abs().max() < 0.05
    for a, b in zip(ours[2:], exact[2:], strict=True):
        assert (a - b).norm() < 0.05 * b.norm()


def test_a_run_of_classes_stands_for_all(monkeypatch):
    monkeypatch.setattr(few, "_CPU_SEARCHED", 30 * 300)
    monkeypatch.setattr(few, "NEAREST", 2)
    problem = make_problem(30, 1000, n_draws=1)
    loss = SampledSoftmaxLoss().for_run(precision=torch.float64)
    totals = torch.stack([results(loss, *problem)[0] for _ in range(60)])  # the noise goes on
    exact = results(SoftmaxLoss().for_run(precision=torch.float64), *problem)[0]
    assert totals.std() > 0
    assert totals.mean().item() == pytest.approx(exact.item(), rel=0.1)


def test_the_best_of_each_part_are_near_and_the_rest_is_summed_up():
    inputs, weight, bias, batch = make_problem(8, 96, n_draws=1)
    rest = without(batch.y[:, None], torch.float64)
    best, others, pull = few.Search.apply(weight, bias, inputs.detach(), rest)
    scores = inputs.detach() @ weight.T + bias
    assert torch.equal(best, scores.view(8, 3, 32).argmax(dim=1) * 32 + torch.arange(32))
    left = scores.scatter(1, best, -torch.inf).scatter(1, batch.y[:, None], -torch.inf)
    torch.testing.assert_close(others, left.logsumexp(dim=1))
    torch.testing.assert_close(pull, left.softmax(dim=1) @ weight)
    ours = torch.autograd.grad(others.square().sum(), (weight, bias))
    plain = torch.autograd.grad(left.logsumexp(dim=1).square().sum(), (weight, bias))
    for a, b in zip(ours, plain, strict=True):
        torch.testing.assert_close(a, b)


def test_no_class_moves_that_was_not_looked_at(monkeypatch):
    monkeypatch.setattr(few, "_CPU_SEARCHED", 4 * 320)
    inputs, weight, bias, batch = make_problem(4, 3000)
    loss = SampledSoftmaxLoss().for_run(precision=torch.float64)
    _, _, _, of_weight, of_bias = results(loss, inputs, weight, bias, batch)
    moved = of_weight.abs().sum(dim=1).nonzero()[:, 0]
    assert set(batch.y.tolist()) <= set(moved.tolist())
    assert len(moved) <= 4 + 320
    assert torch.equal(moved, of_bias.nonzero()[:, 0])


def test_other_classes_hold_rows_back_from_their_rivals():
    inputs, weight, bias, batch = make_problem(5, 4000, n_draws=1)
    with torch.no_grad():
        weight *= 0.01  # no class is a rival yet
    _, each, *_ = results(
        SampledSoftmaxLoss().for_run(precision=torch.float64), inputs, weight, bias, batch
    )
    _, exact, *_ = results(
        SoftmaxLoss().for_run(precision=torch.float64), inputs, weight, bias, batch
    )
    torch.testing.assert_close(each, exact, rtol=0.02, atol=0.0)


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # a processor without bfloat16
def test_bfloat16_is_close():
    problem = make_problem(20, 30, dtype=torch.float32)
    ours = results(SampledSoftmaxLoss().for_run(precision=torch.bfloat16), *problem)
    for a, b in zip(ours, results(SoftmaxLoss(), *problem), strict=True):
        assert a.dtype == torch.float32
        assert (a - b).norm() < 0.02 * b.norm()


def test_the_classes_of_other_processes_count_and_no_rows_cost_nothing():
    inputs, weight, bias, batch = make_problem(6, 20, n_draws=1)
    whole = results(
        SampledSoftmaxLoss().for_run(precision=torch.float64), inputs, weight, bias, batch
    )
    parts = []
    for rows in (slice(0, 6), slice(6, 6)):
        y, row_weight, noise = batch.y[rows], batch.weight[rows], torch.Generator().manual_seed(0)
        place = (rows.start, rows.stop, 6)
        mine = Batch(torch.empty(0), y, row_weight, place, noise, all_y=batch.y)
        loss = SampledSoftmaxLoss().for_run(precision=torch.float64)
        parts.append(results(loss, inputs[rows], weight, bias, mine))
    for a, b in zip(whole, parts[0], strict=True):
        torch.testing.assert_close(a, b)
    assert parts[1][0] == 0 and not parts[1][3].any()


def test_auto_takes_few_classes_of_very_many():
    for name, n_classes, kind in [
        ("auto", MANY - 1, SoftmaxLoss),
        ("auto", MANY, SampledSoftmaxLoss),
        ("softmax", MANY, SoftmaxLoss),
        ("sampled_softmax", 2, SampledSoftmaxLoss),
    ]:
        loss = make_loss(name, torch.empty(n_classes, 2), 0.1, "bfloat16")
        assert type(loss) is kind and loss.smoothing == 0.1 and loss.precision == torch.bfloat16
