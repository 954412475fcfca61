"""A sigmoid for each class, over few of very many classes.

To the sum over all classes, those of the batch and each row's nearest come as they are (`few`). The
rest of the classes that were looked at stands for all others, each for as many as there are classes
for one that is looked at: so the mean over the steps is the sum over all classes, but for the
nearest, which stand for themselves alone. Where all classes are looked at that is nothing: the loss
is the exact one for the code that was drawn to look with, and with no more than `few.NEAREST`
classes for all.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from dsnc.training.batches import Batch
from dsnc.training.losses import few
from dsnc.training.losses.base import LossOfInputs, own_classes
from dsnc.training.losses.sigmoid import SigmoidLoss, to_gradient


class SampledSigmoidLoss(SigmoidLoss):
    """The sigmoids' loss; scored are the classes of the batch and each row's nearest."""

    few = True

    def of_batch(
        self, weight: Tensor, bias: Tensor, batch: Batch, probe: Callable[[], Tensor]
    ) -> LossOfInputs:
        """Choose the classes of a step; return what the layer's inputs cost with them."""
        n_classes = len(weight)
        with torch.no_grad():
            step = few.choose(batch, n_classes, to_the_last=True)
            own, gain = own_classes(batch.y, self.gains, weight.dtype)
            target = torch.searchsorted(step.shared, own)
            looked_at = step.looked_at
            known = step.is_shared(looked_at)
            known[n_classes:] = True  # what only fills up
            inputs = probe()
        vectors = weight.index_select(0, looked_at)
        offsets = bias.index_select(0, looked_at).masked_fill(known, -math.inf)
        stands_for = max(1.0, n_classes / len(looked_at))
        rest = _rest(stands_for, inputs.dtype)
        best, others, pull = few.Search.apply(vectors, offsets, inputs, rest)
        near = torch.where(known[best], step.shared[0], looked_at[best])
        parts = few.gather(weight, bias, step, near, others, pull)

        def turn(scores: Tensor, n_draws: int, row_weight: Tensor) -> Tensor:
            of_others = scores[:, len(step.shared)]
            cost = of_others.clone()
            of_others.fill_(-math.inf)
            losses = to_gradient(
                scores, target.repeat(n_draws, 1), gain.repeat(n_draws, 1), row_weight
            )
            of_others.copy_(row_weight[:, 0])
            return losses + cost

        def loss(inputs: Tensor, y: Tensor, row_weight: Tensor) -> tuple[Tensor, Tensor]:
            return few.few_loss(inputs, parts, row_weight, turn, self.precision)

        return loss


def _rest(stands_for: float, dtype: torch.dtype) -> few.Rest:
    """Return what adds up the costs of classes that are not near, each for so many."""

    def rest(scores: Tensor, top: Tensor, best: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        scores.scatter_(1, best, -math.inf)
        cost = stands_for * F.softplus(scores).sum(dim=1, dtype=dtype)
        return scores.sigmoid_(), torch.full_like(cost, 1 / stands_for), cost

    return rest
