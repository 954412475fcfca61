import pytest
import torch
import torch.nn.functional as F
from made_layers import assert_close, make_gains, make_layer, make_sets, results_of_batch

from dsnc.training.losses import MANY, base, few
from dsnc.training.losses.making import make_loss
from dsnc.training.losses.sampled_sigmoid import SampledSigmoidLoss
from dsnc.training.losses.sampled_softmax import SampledSoftmaxLoss
from dsnc.training.losses.sigmoid import SigmoidLoss

DOUBLE = torch.float64


def both(inputs, weight, bias, y, row_weight, gains=None):
    layer = inputs, weight, bias, y, row_weight
    return [
        results_of_batch(kind().for_run(0.0, inputs.dtype, gains), *layer)
        for kind in (SampledSigmoidLoss, SigmoidLoss)
    ]


def make_y(n_rows, n_classes, sets):
    return make_sets(n_rows, n_classes) if sets else torch.arange(n_rows) * 7 % n_classes


@pytest.mark.parametrize("sets", [True, False])
@pytest.mark.parametrize("block", [1, 1 << 22])
@pytest.mark.parametrize(("n_rows", "n_classes"), [(1, 1), (7, 5), (40, 31), (9, 32)])
def test_is_exact_where_all_classes_are_near(monkeypatch, n_rows, n_classes, sets, block):
    monkeypatch.setattr(base, "_CPU_BLOCK", block)  # draw by draw, or at once
    _, weight, bias, row_weight = make_layer(n_rows, n_classes)
    inputs = make_layer(3 * n_rows, n_classes, seed=1)[0]
    y = make_y(n_rows, n_classes, sets)
    assert_close(*both(inputs, weight, bias, y, row_weight, make_gains(n_classes)))


@pytest.mark.parametrize("sets", [True, False])
@pytest.mark.parametrize("n_classes", [33, 64, 99, 1000])
def test_is_exact_where_all_classes_are_looked_at(n_classes, sets):
    *layer, row_weight = make_layer(8, n_classes)
    ours, exact = both(*layer, make_y(8, n_classes, sets), row_weight, make_gains(n_classes))
    assert_close(ours, exact)
    assert not ours[1].requires_grad


def test_a_batch_without_any_class_is_exact_too():
    *layer, row_weight = make_layer(3, 70)
    assert_close(*both(*layer, torch.full((3, 1), -1), row_weight))


class Anywhere:
    """Numbers of a step that let the run of classes begin at each class in turn."""

    def __init__(self, n_classes, monkeypatch):
        self.begins = iter((torch.arange(n_classes) + 0.5) / n_classes)
        monkeypatch.setattr("dsnc.training.batches.Batch.random", lambda batch, n: self.next())

    def next(self):
        return next(self.begins)[None]


def test_the_mean_over_all_runs_is_the_sum_but_for_the_nearest(monkeypatch):
    n_rows, n_classes, n_looked_at, n_near = 5, 40, 12, 2
    monkeypatch.setattr(few, "_CPU_SEARCHED", n_rows * n_looked_at)
    monkeypatch.setattr(few, "NEAREST", n_near)
    Anywhere(n_classes, monkeypatch)
    *layer, row_weight = make_layer(n_rows, n_classes)
    y, loss = make_sets(n_rows, n_classes, most=3), SampledSigmoidLoss().for_run(precision=DOUBLE)
    parts = [results_of_batch(loss, *layer, y, row_weight) for _ in range(n_classes)]
    ours = [torch.stack(part).mean(dim=0) for part in zip(*parts, strict=True)]
    assert torch.stack([part[0] for part in parts]).std() > 0

    inputs, weight, bias = layer
    scores, shared = F.linear(inputs, weight, bias), y[y >= 0].unique()
    # Each near class counts once, where others count for several: that much is taken away.
    taken = torch.zeros(n_rows, dtype=DOUBLE)
    more = n_classes / n_looked_at - 1
    for begin in range(n_classes):
        run = (torch.arange(n_looked_at) + begin) % n_classes
        for part in range(n_near):
            mine = run[part::n_near]
            mine = mine[~torch.isin(mine, shared)]
            if len(mine):
                taken = taken + more * F.softplus(scores[:, mine].amax(dim=1)) / n_classes
    exact = SigmoidLoss().for_run(precision=DOUBLE)(inputs, weight, bias, y, row_weight)
    total, each = exact[0] - (taken * row_weight).sum(), exact[1] - taken.detach()
    gradients = torch.autograd.grad(3 * total, layer)
    assert_close(ours, [total.detach(), each, *gradients])


def test_no_class_moves_that_was_not_looked_at(monkeypatch):
    monkeypatch.setattr(few, "_CPU_SEARCHED", 4 * 320)
    *layer, row_weight = make_layer(4, 3000)
    y = make_sets(4, 3000)
    of_weight = results_of_batch(
        SampledSigmoidLoss().for_run(precision=DOUBLE), *layer, y, row_weight
    )[3]
    moved = of_weight.abs().sum(dim=1).nonzero()[:, 0]
    assert set(y[y >= 0].tolist()) <= set(moved.tolist())
    assert 320 <= len(moved) <= 320 + (y >= 0).sum()


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # a processor without bfloat16
def test_bfloat16_is_close():
    *layer, row_weight = make_layer(20, 100, dtype=torch.float32, size=0.5)
    y = make_sets(20, 100)
    low = results_of_batch(
        SampledSigmoidLoss().for_run(precision=torch.bfloat16), *layer, y, row_weight
    )
    exact = results_of_batch(SigmoidLoss(), *layer, y, row_weight)
    for a, b in zip(low, exact, strict=True):
        assert a.dtype == torch.float32
        assert (a - b).norm() < 0.02 * b.norm()


def test_the_classes_of_other_processes_count_and_no_rows_cost_nothing():
    inputs, weight, bias, row_weight = make_layer(6, 40)
    y, loss = make_sets(6, 40), SampledSigmoidLoss().for_run(precision=DOUBLE)
    whole = results_of_batch(loss, inputs, weight, bias, y, row_weight)
    for rows in (slice(0, 4), slice(4, 4)):
        part = results_of_batch(
            loss, inputs[rows], weight, bias, y[rows], row_weight[rows], all_y=y
        )
        torch.testing.assert_close(part[1], whole[1][rows])
        assert part[3].any() == (len(part[1]) > 0)


def test_auto_takes_sigmoids_for_sets_unless_there_are_very_many_classes():
    for name, n_classes, sets, kind in [
        ("auto", MANY - 1, True, SigmoidLoss),
        ("auto", MANY, True, SampledSoftmaxLoss),
        ("sigmoid", MANY, False, SigmoidLoss),
        ("sampled_sigmoid", 2, False, SampledSigmoidLoss),
    ]:
        gains = torch.ones(n_classes)
        loss = make_loss(name, torch.empty(n_classes, 2), 0, "auto", sets=sets, gains=gains)
        assert type(loss) is kind and loss.gains is gains and loss.precision == torch.float32
