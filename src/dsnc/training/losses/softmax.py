"""Softmax cross-entropy of a linear layer with very many classes, without the score matrix.

The scores of a batch are rows x classes numbers: for 4,000 codes and 12,000 classes 200 MB, and as
much again for their gradient. Here a block of rows is scored, turned into its loss and at once into
its part of the gradients, and forgotten. The arithmetic is that of the plain way; what is saved is
the traffic to memory, so it is also faster. On a GPU, in bfloat16, whole kernels do that: `fused`.
"""

import importlib.util
from typing import Any

import torch
from torch import Tensor

from dsnc.training.losses.base import Loss, rows_at_once

_FUSED_BITS = 256  # a block of class vectors must fit the memory of a multiprocessor


class SoftmaxLoss(Loss):
    """Minus the logarithm of the softmax's probability of the row's class."""

    def __call__(
        self, inputs: Tensor, weight: Tensor, bias: Tensor, y: Tensor, row_weight: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the weighted sum of the rows' losses, and each row's loss; see `Loss`."""
        layer = inputs, weight, bias, y, row_weight, self.smoothing
        if self.precision == torch.bfloat16 and len(inputs) and is_fused(weight):
            from dsnc.training.losses.fused import FusedCrossEntropy

            total, each = FusedCrossEntropy.apply(*layer)
        else:
            total, each = _LinearCrossEntropy.apply(*layer, self.precision)
        return total, each


def is_fused(weight: Tensor) -> bool:
    """Tell whether the kernels of `fused` take a layer: on a GPU with bfloat16, and narrow."""
    return (
        weight.device.type == "cuda"
        and weight.dtype == torch.float32
        and weight.shape[1] <= _FUSED_BITS
        and torch.cuda.get_device_capability(weight.device) >= (8, 0)
        and importlib.util.find_spec("triton") is not None
    )


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        rows: Tensor,
        weight: Tensor,
        bias: Tensor,
        y: Tensor,
        row_weight: Tensor,
        smoothing: float,
        precision: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        n = len(rows)
        step = rows_at_once(len(weight), rows.device)
        low_weight = weight.to(precision)
        grad_rows = torch.empty_like(rows)
        grad_weight, grad_bias = torch.zeros_like(weight), torch.zeros_like(bias)
        each = rows.new_empty(n)
        for start in range(0, n, step):
            block = slice(start, start + step)
            low_rows, target = rows[block].to(precision), y[block, None]
            scores = torch.addmm(bias.to(precision), low_rows, low_weight.T).to(rows.dtype)
            each[block] = to_gradient(scores, target, row_weight[block, None], smoothing)
            low_scores = scores.to(precision)
            grad_rows[block] = low_scores @ low_weight
            grad_weight += (low_scores.T @ low_rows).to(weight.dtype)
            grad_bias += scores.sum(dim=0)
        ctx.save_for_backward(grad_rows, grad_weight, grad_bias)
        ctx.mark_non_differentiable(each)
        return (each * row_weight).sum(), each

    @staticmethod
    def backward(ctx: Any, grad_total: Tensor, grad_each: Tensor) -> tuple[Any, ...]:
        gradients = (gradient.mul_(grad_total) for gradient in ctx.saved_tensors)
        return (*gradients, None, None, None, None)


def to_gradient(scores: Tensor, target: Tensor, row_weight: Tensor, smoothing: float) -> Tensor:
    """Turn scores in place into the gradient of the weighted loss; return the losses."""
    n_classes = scores.shape[1]
    scores -= scores.amax(dim=1, keepdim=True)
    wanted = (1 - smoothing) * scores.gather(1, target)
    if smoothing:
        wanted += smoothing * scores.mean(dim=1, keepdim=True)
    scores.exp_()
    total = scores.sum(dim=1, keepdim=True)
    scores *= row_weight / total
    if smoothing:
        scores -= row_weight * (smoothing / n_classes)
    scores.scatter_add_(1, target, row_weight * (smoothing - 1))
    return (total.log() - wanted)[:, 0]
