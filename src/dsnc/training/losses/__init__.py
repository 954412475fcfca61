"""Losses of a linear layer over the classes: one file each, and a line here.

A line is a class, or where to import it from: names can be checked without torch.
"""

from typing import Any, NoReturn

from dsnc.errors import InputError

LOSSES: dict[str, Any] = {
    "softmax": "dsnc.training.losses.softmax:SoftmaxLoss",
    "sampled_softmax": "dsnc.training.losses.sampled_softmax:SampledSoftmaxLoss",
    "sigmoid": "dsnc.training.losses.sigmoid:SigmoidLoss",
    "sampled_sigmoid": "dsnc.training.losses.sampled_sigmoid:SampledSigmoidLoss",
}
# Classes; from here on a CPU is measured to be faster with few of them, and sets of classes are
# learned better by a softmax: the few that stand for so many others make sigmoids noisy.
MANY = 8192


def refuse_smoothing(smoothing: float, loss: str) -> NoReturn:
    """Refuse a share of the target for all classes, where a loss has no target to share."""
    raise InputError(
        f"label_smoothing={smoothing} is not supported by the loss {loss}; use loss='softmax' or "
        "'sampled_softmax', or leave label_smoothing out."
    )
