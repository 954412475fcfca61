"""Softmax cross-entropy over few of very many classes.

Of a softmax over all classes only those with high scores matter to a row: those of the batch and
its nearest are scored (`few`). The others are one score of the row, the logarithm of what they sum
up to, which is known from the rest of the classes that were looked at (times classes / classes
looked at). Both are needed where there are very many classes: without others, rows would learn from
their rivals alone, also while hardly any class is one; without their gradient, nothing would hold
the scores down. With no more than `few.NEAREST` classes the loss is the exact one.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from dsnc.training.batches import Batch
from dsnc.training.losses import few
from dsnc.training.losses.base import LossOfInputs
from dsnc.training.losses.softmax import SoftmaxLoss, shares, to_gradient

_NOTHING = 1e-20  # beside the row's best class


class SampledSoftmaxLoss(SoftmaxLoss):
    """The softmax's loss; scored are the classes of the batch and each row's nearest."""

    few = True

    def of_batch(
        self, weight: Tensor, bias: Tensor, batch: Batch, probe: Callable[[], Tensor]
    ) -> LossOfInputs:
        """Choose the classes of a step; return what the layer's inputs cost with them."""
        n_classes = len(weight)
        with torch.no_grad():
            step = few.choose(batch, n_classes)
            classes, share = shares(batch.y, self.gains, weight.dtype)
            target = torch.searchsorted(step.shared, classes)
            place = (classes - step.looked_at[0]) % n_classes
            if share is not None:
                place = torch.where(share > 0, place, n_classes)
            inputs = probe()
        looked_at = step.looked_at
        layer = weight.index_select(0, looked_at), bias.index_select(0, looked_at)
        best, others, pull = few.Search.apply(*layer, inputs, without(place, inputs.dtype))
        others = others + math.log(max(1, n_classes - len(step.shared)) / len(looked_at))
        parts = few.gather(weight, bias, step, looked_at[best], others, pull)

        def turn(scores: Tensor, n_draws: int, row_weight: Tensor) -> Tensor:
            part = None if share is None else share.repeat(n_draws, 1)
            return to_gradient(scores, target.repeat(n_draws, 1), row_weight, 0.0, part)

        def loss(inputs: Tensor, y: Tensor, row_weight: Tensor) -> tuple[Tensor, Tensor]:
            total, each = few.few_loss(inputs, parts, row_weight, turn, self.precision)
            if self.smoothing:  # lse - (1 - e) s_y - e mean(s) = lse - s_y + e (s_y - mean(s))
                above = self._above_the_mean(inputs, weight, bias, y)
                total = total + self.smoothing * (row_weight * above).sum()
                each = each + self.smoothing * above.detach()
            return total, each

        return loss

    def _above_the_mean(self, inputs: Tensor, weight: Tensor, bias: Tensor, y: Tensor) -> Tensor:
        """Return how far the score of each row's class is above the mean of all."""
        classes, share = shares(y, self.gains, weight.dtype)
        if share is None:
            difference = F.embedding(y, weight) - weight.mean(dim=0)
            return (inputs * difference).sum(dim=1) + bias[y] - bias.mean()
        wanted = F.embedding_bag(classes, weight, per_sample_weights=share, mode="sum")
        above = (inputs * (wanted - weight.mean(dim=0))).sum(dim=1)
        return torch.where(
            (share > 0).any(dim=1), above + (bias[classes] * share).sum(dim=1) - bias.mean(), 0
        )


def without(place: Tensor, dtype: torch.dtype) -> few.Rest:
    """Return what sums up the classes that are neither near nor in these places, (n, m)."""

    def rest(scores: Tensor, top: Tensor, best: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        highest = top.amax(dim=1, keepdim=True)
        mass = scores.sub_(highest).exp_().scatter_(1, best, 0.0)
        own = torch.where(place < scores.shape[1], place, best[:, :1])
        mass.scatter_(1, own, 0.0)
        total = mass.sum(dim=1, dtype=dtype).clamp_(min=_NOTHING)
        return mass, total, total.log() + highest[:, 0]

    return rest
