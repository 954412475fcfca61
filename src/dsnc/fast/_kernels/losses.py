"""Losses of the few classes that a row is scored for, and their gradients."""

import math

import numpy as np

from dsnc.codes._kernels.tools import part
from dsnc.fast._kernels.lanes import LANES
from dsnc.fast._kernels.vectors import exponentials, largest, scale, sigmoids

_ZERO, _ONE = np.float32(0), np.float32(1)
_NEVER = np.float32(-1e30)  # the score of no class
_UNLIKELY, _SURE = np.float32(1e-18), np.float32(1 - 1e-6)  # probabilities, in logarithms


@part
def padded(n):
    return (n + LANES - 1) // LANES * LANES


@part
def softmax_loss(all_scores, which, scores, own, near, n, stands_for, plan, n_all):
    """Turn scores into the gradient of their loss; return the loss.

    The target is shared by the row's own classes. Smoothing spreads a share of it over all classes,
    of which a random one stands for many. A row that has no class says nothing.
    """
    gains = _ZERO
    for m in range(own.shape[0]):
        gains += own[m]
    if gains == 0:
        scale(all_scores, which, padded(n), _ZERO)
        return _ZERO
    target, spread = (_ONE - plan.smoothing) / gains, plan.smoothing / n_all
    for m in range(n, padded(n)):
        scores[m] = _NEVER
    top = largest(all_scores, which, padded(n))
    wanted = _ZERO
    for m in range(own.shape[0]):
        wanted += target * own[m] * scores[m]
    if plan.smoothing > 0:
        for m in range(n):
            wanted += scores[m] * spread * (stands_for if m >= near else _ONE)
    total = exponentials(all_scores, which, padded(n), top)
    scale(all_scores, which, padded(n), _ONE / total)
    for m in range(own.shape[0]):
        scores[m] -= target * own[m]
    if plan.smoothing > 0:
        for m in range(n):
            scores[m] -= spread * (stands_for if m >= near else _ONE)
    return math.log(total) + top - wanted


@part
def sigmoid_loss(all_scores, which, scores, own, near, n, stands_for):
    """Turn scores into gradients, each class with a loss of its own; return the sum of these."""
    sigmoids(all_scores, which, padded(n))
    loss, n_own = _ZERO, own.shape[0]
    for m in range(n_own):
        loss -= own[m] * np.float32(math.log(max(scores[m], _UNLIKELY)))
        scores[m] = own[m] * (scores[m] - _ONE)
    likely = 1.0  # that none of some classes is the row's: a logarithm of each would take longer
    for m in range(n_own, n):
        factor = stands_for if m >= near else _ONE
        likely *= 1.0 - min(scores[m], _SURE)
        scores[m] *= factor
        if m == near - 1 or m == n - 1 or m % LANES == 0:
            loss -= factor * np.float32(math.log(likely))
            likely = 1.0
    return loss
