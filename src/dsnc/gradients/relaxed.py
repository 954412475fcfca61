"""Relaxed bits: replaces the step of the draw by a steep sigmoid, and differentiates that.

C. J. Maddison, A. Mnih, Y. W. Teh, "The Concrete Distribution", ICLR 2017; E. Jang, S. Gu, B.
Poole, "Categorical Reparameterization with Gumbel-Softmax", ICLR 2017.

    code = sigmoid((logits + log u - log(1 - u)) / temperature),     u ~ Uniform(0, 1)

As the temperature goes to 0, the code becomes a Bernoulli(sigmoid(logits)) bit and the bias
vanishes, while the variance grows without bound. The decoder is trained on codes between 0 and 1,
which it will not see again: its gradient is biased, too.
"""

from typing import TYPE_CHECKING, ClassVar

from dsnc.checks import real, whole
from dsnc.errors import require
from dsnc.gradients.base import Gradient, LossOfCode, Noise

if TYPE_CHECKING:
    from torch import Tensor


class Relaxed(Gradient):
    """The binary concrete distribution in place of bits.

    Parameters
    ----------
    n_draws : int, default 4
        Codes drawn for each example; also the number of evaluations of the loss.
    temperature : float, default 2/3
        How soft the bits are, above 0: near 0 almost hard, at 1 and above hardly bits any more. The
        default is what Maddison et al. found to work well for two values.
    """

    max_bias: ClassVar[float] = 0.4
    uses_only_mean: ClassVar[bool] = True
    is_steady = True

    def __init__(self, *, n_draws: int = 4, temperature: float = 2 / 3) -> None:
        whole("n_draws", n_draws)
        real("temperature", temperature, above=True)
        self.n_draws = n_draws
        self.temperature = temperature

    def __call__(
        self, logits: "Tensor", loss_of_code: LossOfCode, noise: Noise
    ) -> "tuple[Tensor, Tensor]":
        """Evaluate the loss of codes between 0 and 1."""
        torch = require("torch", extra="torch", caller="dsnc.gradients.Relaxed")
        uniform = noise((self.n_draws, *logits.shape))
        # zero is a possible draw, and rounding could bring a one: neither has a finite logit
        limits = torch.finfo(uniform.dtype)
        uniform = uniform.clamp(limits.tiny, 1 - limits.eps)
        code = ((logits + uniform.logit().to(logits)) / self.temperature).sigmoid()
        mean, _ = loss_of_code(code)
        return mean, mean.detach()
