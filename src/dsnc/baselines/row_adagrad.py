"""An optimizer for wide linear layers on sparse rows: what a batch does not mention stays as it is.

A layer of features x classes weights has tens of millions of them, and a batch of sparse rows says
something about a few thousand features. Adam reads and writes all weights and two moments in every
step, and moves each by about the learning rate, however little its gradient. Here the gradient has
the rows of the mentioned features only, and each feature has one step size for all classes,

    step[j] = lr / sqrt(sum over the past of |gradient[j]|^2),

Adagrad (J. Duchi, E. Hazan, Y. Singer, JMLR 2011) with one accumulator a row.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from dsnc.encoders.torch import SparseRows

_TINY = 1e-12


class RowAdagrad(torch.optim.Optimizer):
    """Adagrad with one step size for each row of a matrix; a vector is a matrix of one row.

    Gradients are dense, or sparse ones that hold whole rows. A row that is rarely mentioned makes
    up for the weight decay when it is: it is divided by the share of steps that mentioned the row.
    """

    def __init__(
        self, parameters: Iterable[Any], lr: float = 1.0, weight_decay: float = 0.0
    ) -> None:
        super().__init__(parameters, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Take one step."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._move(parameter, group["lr"], group["weight_decay"])

    def _move(self, parameter: Tensor, lr: float, weight_decay: float) -> None:
        matrix = parameter if parameter.dim() == 2 else parameter[None]
        state = self.state[parameter]
        if not state:
            state["squares"] = matrix.new_zeros(len(matrix))
            state["mentions"] = matrix.new_zeros(len(matrix))
            state["steps"] = torch.zeros(())
        state["steps"] += 1
        gradient: Any = parameter.grad
        rows: Any = slice(None)
        values, touched = gradient, matrix
        if gradient.is_sparse:
            rows, values = gradient._indices()[0], gradient._values()
            touched = matrix.index_select(0, rows)
        values = values.view_as(touched)
        state["squares"][rows] += torch.linalg.vector_norm(values, dim=1).square_()
        state["mentions"][rows] += 1
        size = lr / (state["squares"][rows].sqrt() + _TINY)
        if weight_decay:
            share = state["mentions"][rows] / state["steps"].to(size.device)
            touched.mul_((1 - (size * weight_decay / share).clamp_(max=1))[:, None])
        touched.addcmul_(values, size[:, None], value=-1)
        if gradient.is_sparse:
            matrix.index_copy_(0, rows, touched)


def row_sparse_bag(rows: SparseRows, weight: Tensor) -> Tensor:
    """Multiply sparse rows by a matrix; its gradient holds the rows that they mention."""
    result: Tensor = _RowSparseBag.apply(rows.indices, rows.offsets, rows.values, weight)
    return result


class _RowSparseBag(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, indices: Tensor, offsets: Tensor, values: Tensor, weight: Tensor
    ) -> Tensor:
        ctx.save_for_backward(indices, offsets, values)
        ctx.shape = weight.shape
        return F.embedding_bag(
            indices, weight, offsets, mode="sum", per_sample_weights=values.to(weight.dtype)
        )

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        indices, offsets, values = ctx.saved_tensors
        order = torch.argsort(indices, stable=True)
        features, counts = torch.unique_consecutive(indices[order], return_counts=True)
        ends = torch.cat([offsets[1:], offsets.new_tensor([len(indices)])])
        owner = torch.repeat_interleave(ends - offsets)[order]
        # Transposed, it is a product of the same kind: a feature is a bag of the rows that have it.
        product = F.embedding_bag(
            owner,
            gradient.contiguous(),
            torch.cumsum(counts, dim=0) - counts,
            mode="sum",
            per_sample_weights=values[order].to(gradient.dtype),
        )
        sparse = torch.sparse_coo_tensor(
            features[None].long(), product, ctx.shape, is_coalesced=True, check_invariants=False
        )
        return None, None, None, sparse
