"""Losses of a linear layer over the classes: one file each, and a line here."""

import torch
from torch import Tensor

from dsnc.training.losses.base import Loss
from dsnc.training.losses.sampled_softmax import SampledSoftmaxLoss
from dsnc.training.losses.softmax import SoftmaxLoss, is_fused

LOSSES: dict[str, type[Loss]] = {"softmax": SoftmaxLoss, "sampled_softmax": SampledSoftmaxLoss}
MANY = 8192  # classes; from here on a CPU is measured to be faster with few of them

__all__ = ["LOSSES", "MANY", "Loss", "SampledSoftmaxLoss", "SoftmaxLoss", "make_loss"]


def make_loss(name: str, weight: Tensor, smoothing: float, precision: str) -> Loss:
    """Return a loss by name, for a layer with this weight.

    "auto" is what is fast there: the softmax in bfloat16 on a GPU that has kernels for it;
    otherwise float32, and few classes where there are very many.
    """
    fused = is_fused(weight)
    if name == "auto":
        name = "softmax" if fused or len(weight) < MANY else "sampled_softmax"
    if precision == "auto":
        precision = "bfloat16" if fused else "float32"
    return LOSSES[name](smoothing, getattr(torch, precision))
