"""Hard bits forward, relaxed bits backward.

E. Jang, S. Gu, B. Poole, "Categorical Reparameterization with Gumbel-Softmax", ICLR 2017.

    soft = sigmoid((logits + log u - log(1 - u)) / temperature),   b = [soft > 1/2]
    d b / d logits  :=  d soft / d logits
"""

import torch

from dsnc.checks import real, whole
from dsnc.gradients import Gradient


class GumbelStraightThrough(Gradient):
    """Draws hard bits, and uses the derivative of the relaxed ones."""

    max_bias = 0.5
    uses_only_mean = True
    is_steady = True

    def __init__(self, *, n_draws=4, temperature=1.0):
        whole("n_draws", n_draws)
        real("temperature", temperature, above=True)
        self.n_draws, self.temperature = n_draws, temperature

    def __call__(self, logits, loss_of_code, noise):
        uniform = noise((self.n_draws, *logits.shape))
        limits = torch.finfo(uniform.dtype)
        noisy = logits + uniform.clamp(limits.tiny, 1 - limits.eps).logit()
        soft = (noisy / self.temperature).sigmoid()
        mean, _ = loss_of_code((noisy > 0).to(soft) + (soft - soft.detach()))
        return mean, mean.detach()
