"""Losses of a linear layer over the classes: one file each, and a line here."""

import torch

from dsnc.training.losses.base import Loss
from dsnc.training.losses.sampled_softmax import SampledSoftmaxLoss
from dsnc.training.losses.softmax import SoftmaxLoss

LOSSES: dict[str, type[Loss]] = {"softmax": SoftmaxLoss, "sampled_softmax": SampledSoftmaxLoss}
MANY = 8192  # classes; from here on it is measured to be faster to score few of them

__all__ = ["LOSSES", "MANY", "Loss", "SampledSoftmaxLoss", "SoftmaxLoss", "make_loss"]


def make_loss(name: str, n_classes: int, smoothing: float, precision: torch.dtype) -> Loss:
    """Return a loss by name; "auto" scores few classes where there are very many."""
    if name == "auto":
        name = "softmax" if n_classes < MANY else "sampled_softmax"
    return LOSSES[name](smoothing, precision)
