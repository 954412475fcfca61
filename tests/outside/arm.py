"""ARM: compares two opposite draws, at every bit.

M. Yin, M. Zhou, "ARM: Augment-REINFORCE-Merge Gradient for Stochastic Binary Networks", ICLR 2019.

    b = [u > sigmoid(-logits)],  b' = [u < sigmoid(logits)],  u ~ Uniform(0, 1)
    d / d logits  :=  (loss(b) - loss(b')) * (u - 1/2)
"""

import torch

from dsnc.checks import whole
from dsnc.gradients import Gradient


class ARM(Gradient):
    """Pairs of opposite draws: unbiased, with more variance than DisARM, which came of it."""

    max_bias = 0.0
    is_steady = True

    def __init__(self, *, n_draws=4):
        whole("n_draws", n_draws, least=2)
        self.n_draws = n_draws

    def __call__(self, logits, loss_of_code, noise):
        n_pairs = self.n_draws // 2
        uniform = noise((n_pairs, *logits.shape))
        bits = (uniform > (-logits).sigmoid()).to(logits.dtype)
        opposite = (uniform < logits.sigmoid()).to(logits.dtype)
        mean, each = loss_of_code(torch.cat([bits, opposite]))
        difference = (each[:n_pairs] - each[n_pairs:]).unsqueeze(-1)
        estimate = (difference * (uniform - 0.5)).mean(dim=0).to(logits.dtype)
        return mean + (estimate.detach() * logits).sum(), mean.detach()
