"""What a loss of the output layer is."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Self

import torch
from torch import Tensor

from dsnc.families import Part
from dsnc.training.batches import Batch
from dsnc.training.losses import refuse_smoothing

_CPU_BLOCK = 1 << 22  # scores held at a time: 16 MB
_GPU_BLOCK = 1 << 27  # 512 MB: large products keep the device busy

LossOfInputs = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
"""(inputs, y, row_weight) to the weighted sum of the rows' losses and each; see `Loss`."""


class Loss(Part, ABC):
    """The loss of a linear layer with one output for each class.

    A subclass has parameters of its own, if any, and no state. What the run says is set by
    `for_run`: `smoothing`, the share of the target that is spread over all classes; `precision`, of
    the layer's matrix products (sums are always in the type of the inputs); and `gains`, (K,), how
    much a row that has a class counts for it, above 0, or None where all count 1.
    """

    smoothing: float = 0.0
    precision: torch.dtype = torch.float32
    gains: Tensor | None = None

    smooths: ClassVar[bool] = False
    """Whether it knows `smoothing`. A loss that does not refuses it."""
    few: ClassVar[bool] = False
    """Whether a step scores few of the classes."""
    each_alone: ClassVar[bool] = False
    """Whether scores are log-odds of each class by itself: rows may have any number of them."""

    def for_run(
        self,
        smoothing: float = 0.0,
        precision: torch.dtype = torch.float32,
        gains: Tensor | None = None,
    ) -> Self:
        """Return a copy for a run, or refuse what this loss does not know."""
        if smoothing and not self.smooths:
            refuse_smoothing(smoothing, repr(self))
        loss = copy.copy(self)
        loss.smoothing, loss.precision, loss.gains = smoothing, precision, gains
        return loss

    @abstractmethod
    def __call__(
        self, inputs: Tensor, weight: Tensor, bias: Tensor, y: Tensor, row_weight: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the weighted sum of the rows' losses, and each row's loss.

        Parameters
        ----------
        inputs : (n, c)
            What the layer sees.
        weight, bias : (K, c), (K,)
            The layer: scores = inputs @ weight.T + bias.
        y : (n,) or (n, m) of int64
            The class of each row; or its set, filled up with -1.
        row_weight : (n,)
            How much each row counts in the sum.

        Returns
        -------
        total : scalar, differentiable in inputs, weight and bias
        each : (n,), detached, not weighted
        """

    def of_batch(
        self, weight: Tensor, bias: Tensor, batch: Batch, probe: Callable[[], Tensor]
    ) -> LossOfInputs:
        """Return the loss of a layer for inputs that belong to the rows of a batch.

        Parameters
        ----------
        weight, bias : (K, c), (K,)
            The layer.
        batch : Batch
            Its rows, in their order, once or several times, are what inputs belong to.
        probe : function
            Returns (rows, c) inputs such as the layer will see, one for each row: for losses that
            look for the classes which matter.
        """
        return lambda inputs, y, row_weight: self(inputs, weight, bias, y, row_weight)


def rows_at_once(n_classes: int, device: torch.device) -> int:
    """Return how many rows may be scored at a time."""
    return max(1, (_GPU_BLOCK if device.type == "cuda" else _CPU_BLOCK) // n_classes)


def own_classes(y: Tensor, gains: Tensor | None, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return (n, m) classes of rows and how much each counts: 0 for what only fills up."""
    y = y[:, None] if y.dim() == 1 else y
    classes, is_class = y.clamp(min=0), (y >= 0).to(dtype)
    return classes, is_class if gains is None else is_class * gains.to(dtype)[classes]
