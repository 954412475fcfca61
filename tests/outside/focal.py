"""The focal loss: classes that a row is sure of count less.

T.-Y. Lin, P. Goyal, R. Girshick, K. He, P. Dollar, "Focal Loss for Dense Object Detection", ICCV
2017.

    loss = -(1 - p)^focus * log p,     p = softmax(scores)[class]
"""

from torch.nn.functional import linear

from dsnc.checks import real
from dsnc.training.losses.base import Loss, own_classes


class FocalLoss(Loss):
    """The cross-entropy, times how unsure the answer is."""

    def __init__(self, *, focus=2.0):
        real("focus", focus)
        self.focus = focus

    def __call__(self, inputs, weight, bias, y, row_weight):
        own, gain = own_classes(y, self.gains, inputs.dtype)
        low = [part.to(self.precision) for part in (inputs, weight, bias)]
        log_p = linear(*low).to(inputs.dtype).log_softmax(dim=1).gather(1, own)
        each = -(gain * (1 - log_p.exp()) ** self.focus * log_p).sum(dim=1)
        return (each * row_weight).sum(), each.detach()
