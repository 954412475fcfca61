"""REINFORCE: makes codes more probable that did better than expected.

R. J. Williams, "Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement
Learning", Machine Learning 8, 1992. The baseline from the other samples: W. Kool, H. van Hoof, M.
Welling, "Buy 4 REINFORCE Samples, Get a Baseline for Free!", ICLR workshop 2019.

    1/M sum_m  (loss(b_m) - baseline_m) * d log P(b_m)  +  d loss(b_m),     b_m ~ P

The first term moves the encoder, the second the decoder. As E[d log P] = 0, any baseline that does
not depend on b_m leaves the mean unchanged; a good one removes most of the variance.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from dsnc.checks import whole
from dsnc.errors import InputError, require, unknown_name
from dsnc.gradients.base import Gradient, LossOfCode, Noise, sample_bits

if TYPE_CHECKING:
    from torch import Tensor

_BASELINES = ("none", "running", "leave_one_out")
_DECAY = 0.9  # of the running baseline: it remembers some ten batches


class Reinforce(Gradient):
    """The score-function gradient: unbiased; uses only the value of the loss.

    Parameters
    ----------
    n_draws : int, default 4
        Codes drawn for each example (M); also the number of evaluations of the loss. At least 2 for
        the baseline "leave_one_out".
    baseline : {"leave_one_out", "running", "none"}, default "leave_one_out"
        What a loss is compared with: the mean over the example's other samples, an exponential
        average over past batches, or nothing, as in the paper.
    """

    max_bias: ClassVar[float] = 0.0

    def __init__(
        self,
        *,
        n_draws: int = 4,
        baseline: Literal["none", "running", "leave_one_out"] = "leave_one_out",
    ) -> None:
        if baseline not in _BASELINES:
            raise unknown_name("baseline", baseline, _BASELINES)
        whole("n_draws", n_draws, least=2 if baseline == "leave_one_out" else 1)
        self.n_draws = n_draws
        self.baseline = baseline
        self._average: Tensor | None = None  # of the batches' losses; a tensor: no wait for a GPU

    def __call__(
        self, logits: "Tensor", loss_of_code: LossOfCode, noise: Noise
    ) -> "tuple[Tensor, Tensor]":
        """Add the score term to the loss of hard bits."""
        torch = require("torch", extra="torch", caller="dsnc.gradients.Reinforce")
        bits = sample_bits(logits.sigmoid(), noise, self.n_draws)
        mean, each = loss_of_code(bits)
        # of the whole code: the sum over its bits of log phi where it is 1, log (1 - phi) where 0
        log_probability = torch.nn.functional.logsigmoid((2 * bits - 1) * logits).sum(dim=-1)
        advantage = (each - self._baseline_of(each)).detach()
        score = (advantage * log_probability).sum(dim=1).mean(dim=0)
        self._remember(mean.detach())  # after use: a baseline must not know its own sample
        return mean + score, mean.detach()

    def _baseline_of(self, each: "Tensor") -> "Tensor | float":
        n_draws, n_examples = each.shape
        if self.baseline == "leave_one_out":
            return (each.sum(dim=0) - each) / (n_draws - 1)
        if self.baseline == "none" or self._average is None:
            return 0.0
        # a batch's loss is the sum over its examples, and the last batch may be a short one
        return self._average.to(each) / n_examples

    def _remember(self, loss: "Tensor") -> None:
        if self.baseline == "running":
            old = loss if self._average is None else self._average.to(loss)
            self._average = _DECAY * old + (1 - _DECAY) * loss

    def state_dict(self) -> dict[str, float]:
        """Return the running average, once there is one."""
        return {} if self._average is None else {"average": self._average.item()}

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        """Restore the running average."""
        if not set(state) <= ({"average"} if self.baseline == "running" else set()):
            raise InputError(f"state={dict(state)!r} does not belong to {self!r}.")
        # float64 holds every float32 exactly: the resumed run rounds as the uninterrupted one
        average = state.get("average")
        torch = require("torch", extra="torch", caller="dsnc.gradients.Reinforce")
        self._average = None if average is None else torch.tensor(average, dtype=torch.float64)
