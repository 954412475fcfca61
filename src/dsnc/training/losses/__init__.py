"""Losses of a linear layer over the classes: one file each, and a line here."""

import torch
from torch import Tensor

from dsnc.training.losses.base import Loss
from dsnc.training.losses.sampled_sigmoid import SampledSigmoidLoss
from dsnc.training.losses.sampled_softmax import SampledSoftmaxLoss
from dsnc.training.losses.sigmoid import SigmoidLoss
from dsnc.training.losses.softmax import SoftmaxLoss, is_fused
from dsnc.training.settings import MANY

LOSSES: dict[str, type[Loss]] = {
    "softmax": SoftmaxLoss,
    "sampled_softmax": SampledSoftmaxLoss,
    "sigmoid": SigmoidLoss,
    "sampled_sigmoid": SampledSigmoidLoss,
}

__all__ = [
    "LOSSES",
    "MANY",
    "Loss",
    "SampledSigmoidLoss",
    "SampledSoftmaxLoss",
    "SigmoidLoss",
    "SoftmaxLoss",
    "make_loss",
]


def make_loss(
    name: str,
    weight: Tensor,
    smoothing: float,
    precision: str,
    *,
    sets: bool = False,
    gains: Tensor | None = None,
) -> Loss:
    """Return a loss by name, for a layer with this weight.

    "auto" is a sigmoid for each class where rows have `sets` of not too many, otherwise a softmax;
    and what is fast there: in bfloat16 on a GPU that has kernels for it, otherwise over few classes
    where there are very many. Precision "auto" is bfloat16 on such a GPU, and float32 elsewhere.
    """
    fused = is_fused(weight)
    if name == "auto":
        many = len(weight) >= MANY
        name = "sigmoid" if sets and not many else "softmax"
        name = f"sampled_{name}" if many and (sets or not fused) else name
    if precision == "auto":
        precision = "bfloat16" if fused else "float32"
    return LOSSES[name](smoothing, getattr(torch, precision), gains)
