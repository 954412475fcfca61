"""A linear layer under a loss, without the score matrix.

The scores of a batch are rows x classes numbers: for 4,000 codes and 12,000 classes 200 MB, and as
much again for their gradient. Here a block of rows is scored, turned into its loss and at once into
its part of the gradients, and forgotten. The arithmetic is that of the plain way; what is saved is
the traffic to memory, so it is also faster.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from dsnc.training.losses.base import rows_at_once

Turn = Callable[[Tensor, slice], Tensor]
"""(scores of a block of rows, which rows these are) to their losses, (n,); the scores are turned in
place into the gradient of the weighted sum of the losses."""


class LinearLoss(torch.autograd.Function):
    """The weighted sum of the rows' losses, and each; what they are, `turn` decides."""

    @staticmethod
    def forward(
        ctx: Any,
        rows: Tensor,
        weight: Tensor,
        bias: Tensor,
        row_weight: Tensor,
        turn: Turn,
        precision: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        """Return the sum and each, with the gradients made already."""
        n = len(rows)
        step = rows_at_once(len(weight), rows.device)
        low_weight = weight.to(precision)
        grad_rows = torch.empty_like(rows)
        grad_weight, grad_bias = torch.zeros_like(weight), torch.zeros_like(bias)
        each = rows.new_empty(n)
        for start in range(0, n, step):
            block = slice(start, start + step)
            low_rows = rows[block].to(precision)
            scores = torch.addmm(bias.to(precision), low_rows, low_weight.T).to(rows.dtype)
            each[block] = turn(scores, block)
            low_scores = scores.to(precision)
            grad_rows[block] = low_scores @ low_weight
            grad_weight += (low_scores.T @ low_rows).to(weight.dtype)
            grad_bias += scores.sum(dim=0)
        ctx.save_for_backward(grad_rows, grad_weight, grad_bias)
        ctx.mark_non_differentiable(each)
        return (each * row_weight).sum(), each

    @staticmethod
    def backward(ctx: Any, grad_total: Tensor, grad_each: Tensor) -> tuple[Any, ...]:
        """Return the gradients of rows, weight and bias."""
        gradients = (gradient.mul_(grad_total) for gradient in ctx.saved_tensors)
        return (*gradients, None, None, None)
