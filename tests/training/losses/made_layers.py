"""Layers, inputs and sets of classes of rows, made up: for tests of losses."""

import torch

from dsnc.training.batches import Batch

N_BITS = 6


def make_sets(n_rows, n_classes, *, most=4, seed=0):
    """Padded sets of no class up to `most`; the first row has none."""
    generator = torch.Generator().manual_seed(seed)
    most = min(most, n_classes)
    sizes = torch.randint(most + 1, (n_rows,), generator=generator)
    sizes[:1] = 0
    width = max(1, int(sizes.max()))
    y = torch.full((n_rows, width), -1)
    for row, size in enumerate(sizes.tolist()):
        drawn = torch.randperm(n_classes, generator=generator)[:size]
        y[row, :size] = drawn.sort().values
    return y


def make_layer(n_rows, n_classes, *, seed=0, dtype=torch.float64, size=1.0):
    """Inputs, weight, bias and row weights."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        values = size * torch.randn(*shape, generator=generator, dtype=torch.float64)
        return values.to(dtype).requires_grad_()

    row_weight = torch.rand(n_rows, generator=generator, dtype=torch.float64).to(dtype)
    return normal(n_rows, N_BITS), normal(n_classes, N_BITS), normal(n_classes), row_weight


def make_gains(n_classes, dtype=torch.float64):
    return torch.linspace(0.5, 3, n_classes, dtype=dtype)


def gain_matrix(y, n_classes, gains=None):
    """(rows, classes): how much each class counts that a row has, else 0."""
    y = y[:, None] if y.dim() == 1 else y
    matrix = torch.zeros(len(y), n_classes + 1, dtype=torch.float64)
    matrix.scatter_(1, torch.where(y < 0, n_classes, y), 1.0)
    return matrix[:, :-1] * (1 if gains is None else gains.double())


def results(loss, inputs, weight, bias, y, row_weight):
    """Total, losses and the gradients for inputs, weight and bias, behind a factor of 3."""
    total, each = loss(inputs, weight, bias, y, row_weight)
    return [total.detach(), each, *torch.autograd.grad(3 * total, (inputs, weight, bias))]


def results_of_batch(loss, inputs, weight, bias, y, row_weight, *, all_y=None, noise=None):
    """The same by way of a batch; inputs may be those of several draws, the first looks around."""
    n_rows = len(y)
    noise = noise or torch.Generator().manual_seed(0)
    batch = Batch(torch.empty(0), y, row_weight, (0, n_rows, n_rows), noise, all_y=all_y)
    probe = inputs.detach()[:n_rows]
    of_inputs = loss.of_batch(weight, bias, batch, lambda: probe)
    n_draws = len(inputs) // max(1, n_rows)
    y = y.repeat(n_draws, *(1 for _ in y.shape[1:]))
    total, each = of_inputs(inputs, y, row_weight.repeat(n_draws))
    return [total.detach(), each, *torch.autograd.grad(3 * total, (inputs, weight, bias))]


def assert_close(ours, theirs, **tolerance):
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, **{"rtol": 1e-9, "atol": 1e-11, **tolerance})
