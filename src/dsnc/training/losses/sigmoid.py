"""A sigmoid for each class: whether the row has it, whatever else it has."""

import torch
import torch.nn.functional as F
from torch import Tensor

from dsnc.training.losses.base import Loss, own_classes
from dsnc.training.losses.blocks import LinearLoss


class SigmoidLoss(Loss):
    """The sum over all classes of the binary cross-entropy of "the row has this class".

    A row may have one class, several or none.
    """

    each_alone = True

    def __call__(
        self, inputs: Tensor, weight: Tensor, bias: Tensor, y: Tensor, row_weight: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the weighted sum of the rows' losses, and each row's loss; see `Loss`."""
        own, gain = own_classes(y, self.gains, inputs.dtype)

        def turn(scores: Tensor, block: slice) -> Tensor:
            return to_gradient(scores, own[block], gain[block], row_weight[block, None])

        total, each = LinearLoss.apply(inputs, weight, bias, row_weight, turn, self.precision)
        return total, each


def to_gradient(scores: Tensor, own: Tensor, gain: Tensor, row_weight: Tensor) -> Tensor:
    """Turn scores in place into the gradient of the weighted loss; return the losses.

    A score of -inf costs nothing. `own` and `gain` (n, m) are the classes that a row has, and how
    much each counts: 0 for what only fills up.
    """
    of_own = scores.gather(1, own)
    has, probability = gain > 0, torch.sigmoid(of_own)
    # What own classes cost instead of what they would as classes that the row does not have.
    more = torch.where(has, gain * F.softplus(-of_own) - F.softplus(of_own), 0)
    losses = F.softplus(scores).sum(dim=1) + more.sum(dim=1)
    scores.sigmoid_()
    change = torch.where(has, gain * (probability - 1) - probability, 0)
    scores.scatter_add_(1, own, change)
    scores *= row_weight
    return losses
