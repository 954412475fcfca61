"""Softmax cross-entropy of a linear layer with very many classes.

Block by block of rows (`blocks`), or on a GPU, in bfloat16, by whole kernels: `fused`. The classes
of a set share the target, equally or in proportion to their gains.
"""

import importlib.util

import torch
from torch import Tensor

from dsnc.training.losses.base import Loss, own_classes
from dsnc.training.losses.blocks import LinearLoss

_FUSED_BITS = 256  # a block of class vectors must fit the memory of a multiprocessor


class SoftmaxLoss(Loss):
    """Minus the logarithm of the softmax's probability of the row's class.

    Of a set, the mean over its classes. A row without a class costs nothing.
    """

    smooths = True

    def __call__(
        self, inputs: Tensor, weight: Tensor, bias: Tensor, y: Tensor, row_weight: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the weighted sum of the rows' losses, and each row's loss; see `Loss`."""
        one_each = y.dim() == 1
        if one_each and self.precision == torch.bfloat16 and len(inputs) and is_fused(weight):
            from dsnc.training.losses.fused import FusedCrossEntropy

            total, each = FusedCrossEntropy.apply(
                inputs, weight, bias, y, row_weight, self.smoothing
            )
            return total, each
        target, share = shares(y, self.gains, inputs.dtype)

        def turn(scores: Tensor, block: slice) -> Tensor:
            part = None if share is None else share[block]
            return to_gradient(scores, target[block], row_weight[block, None], self.smoothing, part)

        total, each = LinearLoss.apply(inputs, weight, bias, row_weight, turn, self.precision)
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


def shares(y: Tensor, gains: Tensor | None, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
    """Return the classes of rows, (n, m), and their shares of the target: None where m is 1."""
    if y.dim() == 1:
        return y[:, None], None
    classes, gain = own_classes(y, gains, dtype)
    total = gain.sum(dim=1, keepdim=True)
    return classes, gain / torch.where(total > 0, total, 1)


def to_gradient(
    scores: Tensor,
    target: Tensor,
    row_weight: Tensor,
    smoothing: float,
    share: Tensor | None = None,
) -> Tensor:
    """Turn scores in place into the gradient of the weighted loss; return the losses.

    With shares, rows in which all of them are 0 have no loss.
    """
    n_classes = scores.shape[1]
    scores -= scores.amax(dim=1, keepdim=True)
    wanted = (1 - smoothing) * scores.gather(1, target)
    has_class: Tensor | None = None
    if share is not None:
        has_class = (share > 0).any(dim=1, keepdim=True)
        row_weight = row_weight * has_class
        wanted = (wanted * share).sum(dim=1, keepdim=True)
    if smoothing:
        wanted += smoothing * scores.mean(dim=1, keepdim=True)
    scores.exp_()
    total = scores.sum(dim=1, keepdim=True)
    scores *= row_weight / total
    if smoothing:
        scores -= row_weight * (smoothing / n_classes)
    of_target = row_weight * (smoothing - 1)
    scores.scatter_add_(1, target, of_target if share is None else of_target * share)
    losses = total.log() - wanted
    return (losses if has_class is None else losses * has_class)[:, 0]
