"""The row-wise optimizer against the formula, and its sparse gradients against dense ones."""

import numpy as np
import scipy.sparse as sp
import torch

from dsnc.baselines.row_adagrad import RowAdagrad, row_sparse_bag
from dsnc.encoders.torch import as_batch, embedding_bag

CPU = torch.device("cpu")


def make_rows(n=7, d=20, seed=0):
    dense = np.random.default_rng(seed).normal(size=(n, d)).astype("f4")
    dense[np.random.default_rng(seed + 1).random((n, d)) < 0.8] = 0
    dense[3] = 0  # an empty row
    return as_batch(sp.csr_array(dense), CPU), torch.from_numpy(dense)


def test_the_product_and_its_gradient_are_those_of_the_dense_one():
    rows, dense = make_rows()
    weight = torch.randn(20, 5, generator=torch.Generator().manual_seed(0), requires_grad=True)
    twin = weight.detach().clone().requires_grad_()
    product = row_sparse_bag(rows, weight)
    torch.testing.assert_close(product, dense @ twin)
    torch.testing.assert_close(product, embedding_bag(rows, weight))
    (product.square().sum()).backward()
    ((dense @ twin).square().sum()).backward()
    assert weight.grad.is_sparse
    assert weight.grad._values().shape[0] == int((dense != 0).any(dim=0).sum())
    torch.testing.assert_close(weight.grad.to_dense(), twin.grad)


def by_hand(weight, gradients, lr, decay):
    """Adagrad with one accumulator a row; rows without gradient are not there."""
    weight = weight.clone()
    squares, mentions = torch.zeros(len(weight)), torch.zeros(len(weight))
    for step, gradient in enumerate(gradients, 1):
        for j in range(len(weight)):
            if not gradient[j].any():
                continue
            squares[j] += float((gradient[j] ** 2).sum())
            mentions[j] += 1
            size = lr / squares[j].sqrt()
            weight[j] *= 1 - size * decay * step / mentions[j]
            weight[j] -= size * gradient[j]
    return weight


def test_steps_are_the_formula_for_sparse_and_dense_gradients():
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(20, 5, generator=generator)
    gradients = [torch.randn(20, 5, generator=generator) for _ in range(6)]
    for gradient in gradients:
        gradient[torch.rand(20, generator=generator) < 0.6] = 0
    parameter = torch.nn.Parameter(start.clone())
    optimizer = RowAdagrad([parameter], lr=0.3, weight_decay=0.1)
    for gradient in gradients:
        rows = gradient.any(dim=1).nonzero()[:, 0]
        parameter.grad = torch.sparse_coo_tensor(
            rows[None], gradient[rows], start.shape, is_coalesced=True, check_invariants=True
        )
        optimizer.step()
    torch.testing.assert_close(parameter.detach(), by_hand(start, gradients, 0.3, 0.1))

    full = [torch.randn(20, 5, generator=generator) for _ in range(4)]
    dense = torch.nn.Parameter(start.clone())
    optimizer = RowAdagrad([dense], lr=0.3, weight_decay=0.1)
    for gradient in full:
        dense.grad = gradient
        optimizer.step()
    torch.testing.assert_close(dense.detach(), by_hand(start, full, 0.3, 0.1))


def test_a_vector_is_one_row():
    bias = torch.nn.Parameter(torch.zeros(4))
    optimizer = RowAdagrad([bias], lr=1.0)
    bias.grad = torch.tensor([3.0, 0.0, 4.0, 0.0])
    optimizer.step()
    torch.testing.assert_close(bias.detach(), torch.tensor([-0.6, 0.0, -0.8, 0.0]))


def test_its_state_goes_into_a_checkpoint():
    def run(optimizer, parameter, gradients):
        for gradient in gradients:
            parameter.grad = gradient
            optimizer.step()

    gradients = [torch.randn(3, 2, generator=torch.Generator().manual_seed(i)) for i in range(4)]
    whole = torch.nn.Parameter(torch.zeros(3, 2))
    run(RowAdagrad([whole], weight_decay=0.1), whole, gradients)
    part = torch.nn.Parameter(torch.zeros(3, 2))
    first = RowAdagrad([part], weight_decay=0.1)
    run(first, part, gradients[:2])
    second = RowAdagrad([part], weight_decay=0.1)
    second.load_state_dict(first.state_dict())
    run(second, part, gradients[2:])
    assert torch.equal(whole.detach(), part.detach())
