"""DisARM: compares two opposite draws, in the bits where they differ.

Z. Dong, A. Mnih, G. Tucker, "DisARM: An Antithetic Gradient Estimator for Binary Latent Variables",
NeurIPS 2020; found independently as the unbiased uniform gradient (U2G) by M. Yin, N. Ho, B. Yan,
X. Qian, M. Zhou, "Probabilistic Best Subset Selection via Gradient-Based Optimization", 2020.

    b  = [u >= 1 - phi],   b' = [u < phi],   phi = sigmoid(logits),   u ~ Uniform(0, 1)
    d / d logits_i  :=  1/2 (loss(b) - loss(b')) * (b_i - b'_i) * sigmoid(|logits_i|)

Both draws have the right distribution and are as different as they can be. The factor is at most 1:
nothing is divided by a small probability. The decoder's gradient is the mean over both draws.
"""

from typing import TYPE_CHECKING, ClassVar

from dsnc.checks import whole
from dsnc.errors import InputError, require
from dsnc.gradients.base import Gradient, LossOfCode, Noise

if TYPE_CHECKING:
    from torch import Tensor


class DisARM(Gradient):
    """Pairs of opposite draws: unbiased, with little variance; uses only the value of the loss.

    Parameters
    ----------
    n_draws : int, default 4
        Codes drawn for each example, in opposite pairs: an even number. Also the number of
        evaluations of the loss.
    """

    max_bias: ClassVar[float] = 0.0
    is_steady = True

    def __init__(self, *, n_draws: int = 4) -> None:
        if whole("n_draws", n_draws, least=2) % 2:
            raise InputError(f"n_draws={n_draws} must be even: codes are drawn in opposite pairs.")
        self.n_draws = n_draws

    def __call__(
        self, logits: "Tensor", loss_of_code: LossOfCode, noise: Noise
    ) -> "tuple[Tensor, Tensor]":
        """Evaluate all pairs in one call, and give each logit its share of the difference."""
        torch = require("torch", extra="torch", caller="dsnc.gradients.DisARM")
        n_pairs = self.n_draws // 2
        uniform = noise((n_pairs, *logits.shape))
        # sigmoid(-x), not 1 - sigmoid(x): that one is rounded to 0 for large x
        bits = (uniform >= (-logits).sigmoid()).to(logits.dtype)
        opposite = (uniform < logits.sigmoid()).to(logits.dtype)
        mean, each = loss_of_code(torch.cat([bits, opposite]))
        difference = each[:n_pairs] - each[n_pairs:]
        direction = (bits - opposite) * logits.abs().sigmoid()
        estimate = (difference.unsqueeze(-1) * direction / 2).mean(dim=0).detach()
        return mean + (estimate * logits).sum(), mean.detach()
