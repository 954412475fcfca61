"""Straight-through: pretends that drawing the bits is the identity.

Y. Bengio, N. Leonard, A. Courville, "Estimating or Propagating Gradients Through Stochastic Neurons
for Conditional Computation", arXiv:1308.3432, 2013.

    forward    b ~ Bernoulli(phi),   phi = sigmoid(slope * logits)
    backward   d loss / d logits  :=  d loss / d b  *  d phi / d logits

One evaluation of the loss, little variance, and a bias: it is exact only where the loss is linear
in each bit. The decoder's own gradient is exact on average, because it sees real codes. A slope
that grows over the epochs makes the bits more and more certain.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from dsnc.checks import real, whole
from dsnc.errors import InputError
from dsnc.gradients.base import Gradient, LossOfCode, Noise, sample_bits

if TYPE_CHECKING:
    from torch import Tensor

_MAX_SLOPE = 1e4  # bits are certain long before; more would only overflow


class StraightThrough(Gradient):
    """Hard bits forward, the sigmoid's derivative backward.

    Parameters
    ----------
    n_draws : int, default 4
        Codes drawn for each example; also the number of evaluations of the loss.
    slope_growth : float, default 1.0
        The logits are multiplied by ``slope_growth ** epoch``; 1 leaves them alone.
    """

    max_bias: ClassVar[float] = 0.4
    uses_only_mean: ClassVar[bool] = True

    def __init__(self, *, n_draws: int = 4, slope_growth: float = 1.0) -> None:
        whole("n_draws", n_draws)
        real("slope_growth", slope_growth, above=True)
        self.n_draws = n_draws
        self.slope_growth = slope_growth
        self.is_steady = slope_growth == 1
        self._slope = 1.0

    def start_epoch(self, epoch: int) -> None:
        """Set the slope of this epoch."""
        too_steep = epoch * math.log(self.slope_growth) > math.log(_MAX_SLOPE)
        self._slope = _MAX_SLOPE if too_steep else float(self.slope_growth) ** epoch

    def __call__(
        self, logits: "Tensor", loss_of_code: LossOfCode, noise: Noise
    ) -> "tuple[Tensor, Tensor]":
        """Evaluate the loss of hard bits, with the gradient of soft bits."""
        phi = (self._slope * logits).sigmoid()
        # the bracket is exactly zero, so that the code stays exactly 0 or 1
        code = sample_bits(phi, noise, self.n_draws) + (phi - phi.detach())
        mean, _ = loss_of_code(code)
        return mean, mean.detach()

    def state_dict(self) -> dict[str, float]:
        """Return the slope."""
        return {"slope": self._slope}

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        """Restore the slope."""
        if set(state) != {"slope"}:
            raise InputError(f"state={dict(state)!r} must have exactly the key 'slope'.")
        self._slope = float(state["slope"])
