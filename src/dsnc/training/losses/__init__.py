"""Losses of a linear layer over the classes: one file each, and a line here."""

from dsnc.training.losses.base import Loss
from dsnc.training.losses.softmax import SoftmaxLoss

LOSSES: dict[str, type[Loss]] = {"softmax": SoftmaxLoss}

__all__ = ["LOSSES", "Loss", "SoftmaxLoss"]
