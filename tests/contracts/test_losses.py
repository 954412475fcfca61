"""Every loss keeps what training relies on, whatever it is."""

import json
from collections.abc import Mapping

import pytest
import torch

from dsnc.errors import InputError
from dsnc.families import make_part
from dsnc.training.batches import Batch
from dsnc.training.losses import LOSSES
from dsnc.training.losses.base import Loss
from dsnc.training.losses.making import make_loss
from outside.focal import FocalLoss

FAMILY: Mapping[str, object] = {**LOSSES, "focal": FocalLoss}
VARIANTS = [*FAMILY, {"name": "focal", "focus": 0.5}]
N_ROWS, N_CLASSES, N_BITS = 7, 9, 4
DOUBLE = torch.float64

of_all = pytest.mark.parametrize("choice", VARIANTS, ids=str)


def made(choice, **run):
    return make_part("loss", choice, FAMILY, Loss).for_run(**{"precision": DOUBLE, **run})


def make_problem(dtype=DOUBLE, *, size=1.0, seed=0):
    """Inputs, weight and bias."""
    generator = torch.Generator().manual_seed(seed)
    shapes = (N_ROWS, N_BITS), (N_CLASSES, N_BITS), (N_CLASSES,)
    return [
        size * torch.randn(shape, generator=generator, dtype=DOUBLE).to(dtype) for shape in shapes
    ]


Y = torch.tensor([0, 1, 2, 3, 4, 5, 5])
SETS = torch.tensor([[0, -1], [1, 2], [2, 5], [-1, -1], [4, 8], [5, 6], [7, -1]])
WEIGHT = torch.linspace(0.2, 1.4, N_ROWS, dtype=DOUBLE)
TARGETS = pytest.mark.parametrize("y", [Y, SETS], ids=["single", "sets"])


def cost(loss, inputs, weight, bias, y=Y, row_weight=WEIGHT):
    """The total and each row's loss, asked for as a step of training does; noise is the same."""
    noise = torch.Generator().manual_seed(1)
    batch = Batch(torch.empty(0), y, row_weight, (0, len(y), len(y)), noise)
    of_inputs = loss.of_batch(weight, bias, batch, lambda: inputs.detach())
    return of_inputs(inputs, y, row_weight)


def gradients(loss, *problem, **options):
    leaves = [part.clone().requires_grad_() for part in problem]
    total, _ = cost(loss, *leaves, **options)
    return torch.autograd.grad(total, leaves)


@of_all
@TARGETS
def test_the_total_is_the_weighted_sum_of_each(choice, y):
    inputs, weight, bias = make_problem()
    total, each = cost(made(choice), inputs.requires_grad_(), weight, bias, y)
    assert total.shape == () and each.shape == (N_ROWS,)
    assert total.requires_grad and not each.requires_grad
    torch.testing.assert_close(total.detach(), (each * WEIGHT).sum())
    assert (each >= 0).all()


@of_all
@TARGETS
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_gradients_are_finite_differences(choice, y, smoothing):
    kind = type(made(choice))
    if smoothing and not kind.smooths:
        return
    loss, problem, h = made(choice, smoothing=smoothing), make_problem(), 1e-6
    for gradient, part in zip(gradients(loss, *problem, y=y), problem, strict=True):
        flat = part.view(-1)
        for place in range(0, len(flat), 3):
            before, values = flat[place].item(), []
            for step in (h, -h):
                flat[place] = before + step
                values.append(cost(loss, *problem, y)[0].item())
            flat[place] = before
            slope = (values[0] - values[1]) / (2 * h)
            assert gradient.view(-1)[place].item() == pytest.approx(slope, rel=1e-5, abs=1e-6)


@of_all
@TARGETS
def test_a_row_of_weight_2_is_that_row_twice_and_one_of_weight_0_is_none(choice, y):
    loss, (inputs, weight, bias) = made(choice), make_problem()
    times = torch.tensor([2, 0, 1, 1, 3, 1, 0])
    weighted = gradients(loss, inputs, weight, bias, y=y, row_weight=times.to(DOUBLE))
    rows = torch.arange(N_ROWS).repeat_interleave(times)
    ones = torch.ones(len(rows), dtype=DOUBLE)
    repeated = gradients(loss, inputs[rows], weight, bias, y=y[rows], row_weight=ones)
    torch.testing.assert_close(weighted[1:], repeated[1:])
    assert not weighted[0][times == 0].any()


@of_all
def test_a_gain_of_2_is_more_of_the_class_that_a_row_has(choice):
    (inputs, weight, bias), gains = make_problem(), torch.ones(N_CLASSES, dtype=DOUBLE)
    plain = cost(made(choice, gains=gains), inputs, weight, bias, SETS)
    torch.testing.assert_close(plain, cost(made(choice), inputs, weight, bias, SETS))
    gains[2] = 2.0
    more = cost(made(choice, gains=gains), inputs, weight, bias, SETS)[1]
    has = (SETS == 2).any(dim=1)
    assert (more[has] != plain[1][has]).all() and (more[~has] == plain[1][~has]).all()


@of_all
def test_classes_with_equal_scores_cost_the_same(choice):
    inputs, weight, bias = make_problem()
    weight[:], bias[:] = weight[0], bias[0]
    _, each = cost(made(choice), inputs[:1].repeat(N_ROWS, 1), weight, bias, torch.arange(N_ROWS))
    torch.testing.assert_close(each, each[:1].repeat(N_ROWS))


@of_all
def test_the_right_class_costs_least(choice):
    (inputs, weight, bias), loss = make_problem(), made(choice)
    weight[3], bias[3] = 0.0, 20.0
    _, right = cost(loss, inputs, weight, bias, torch.full_like(Y, 3))
    _, wrong = cost(loss, inputs, weight, bias, torch.full_like(Y, 4))
    assert (right < wrong).all()


@of_all
def test_extreme_scores_stay_finite(choice):
    for size in (0.0, 30.0, 1000.0):
        problem = make_problem(torch.float32, size=size)
        row_weight, loss = WEIGHT.float(), made(choice, precision=torch.float32)
        total, each = cost(loss, *problem, row_weight=row_weight)
        assert total.isfinite() and each.isfinite().all() and each.dtype == torch.float32
        for gradient in gradients(loss, *problem, row_weight=row_weight):
            assert gradient.isfinite().all()


@of_all
def test_label_smoothing_is_honored_or_refused(choice):
    problem = make_problem()
    if not type(made(choice)).smooths:
        with pytest.raises(InputError, match=r"label_smoothing=0\.2 is not supported by the loss"):
            made(choice, smoothing=0.2)
        return
    smooth = cost(made(choice, smoothing=0.2), *problem)[1]
    sharp = [cost(made(choice), *problem, torch.full_like(Y, k))[1] for k in range(N_CLASSES)]
    expected = 0.8 * cost(made(choice), *problem)[1] + 0.2 * torch.stack(sharp).mean(dim=0)
    torch.testing.assert_close(smooth, expected)


@of_all
def test_a_loss_knows_how_it_was_made(choice):
    loss = made(choice)
    twin = type(loss)(**json.loads(json.dumps(loss.settings())))
    assert repr(twin) == repr(loss) and twin.settings() == loss.settings()
    assert loss.for_run(gains=WEIGHT) is not loss and loss.gains is None


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("softmx", r"loss='softmx' is not known. Did you mean 'softmax'\?"),
        ({"name": "softmax", "focus": 1}, r"loss='softmax': setting='focus' is not known"),
        (5, "must be a name, a mapping with one, or an instance of dsnc.training.losses.base.Loss"),
    ],
    ids=str,
)
def test_what_is_no_loss_is_refused(choice, message):
    with pytest.raises(InputError, match=message):
        make_loss(choice, torch.empty(3, 2), 0.0, "auto")
