"""Which loss a layer gets."""

from typing import Any

import torch
from torch import Tensor

from dsnc.families import make_part
from dsnc.training.losses import LOSSES, MANY
from dsnc.training.losses.base import Loss
from dsnc.training.losses.softmax import is_fused


def make_loss(
    choice: Any,
    weight: Tensor,
    smoothing: float,
    precision: str,
    *,
    sets: bool = False,
    gains: Tensor | None = None,
) -> Loss:
    """Return the loss that a user asks for, for a layer with this weight.

    "auto" is a sigmoid for each class where rows have `sets` of not too many, otherwise a softmax;
    and what is fast there: in bfloat16 on a GPU that has kernels for it, otherwise over few classes
    where there are very many. Precision "auto" is bfloat16 on such a GPU, and float32 elsewhere.
    """
    fused = is_fused(weight)
    if choice == "auto":
        many = len(weight) >= MANY
        name = "sigmoid" if sets and not many else "softmax"
        choice = f"sampled_{name}" if many and (sets or not fused) else name
    if precision == "auto":
        precision = "bfloat16" if fused else "float32"
    if not isinstance(choice, Loss):
        choice = make_part("loss", choice, LOSSES, Loss)
    loss: Loss = choice.for_run(smoothing, getattr(torch, precision), gains)
    return loss
