"""What all gradients have in common.

A code is drawn, b ~ Bernoulli(sigmoid(logits)), and costs loss(b). Training follows

    d/d(logits, decoder)  E_b[ loss(b) ].

The expectation is smooth, although a single draw is not. A `Gradient` draws codes, asks for their
loss, and returns a scalar whose ordinary derivative estimates the above.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

from torch import Tensor

from dsnc.errors import InputError

Noise = Callable[[tuple[int, ...]], Tensor]
"""Returns uniform numbers in [0, 1) of the given shape: the only source of randomness."""


class LossOfCode(Protocol):
    """Computes what codes cost, for a batch of B examples and S codes of c bits for each."""

    def __call__(self, code: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss of `code`, of shape (S, B, c), as ``(mean, each)``.

        `mean` is the differentiable scalar that training minimizes. `each`, of shape (S, B), is
        detached and includes the weights of the examples: ``mean == each.sum(dim=1).mean(dim=0)``.
        """
        ...


class Gradient(ABC):
    """An estimate of the gradient of the expected loss of a random code.

    A subclass has keyword-only parameters, checks them, and stores them as given under their own
    names. To make runs repeatable, it must draw random numbers only from `noise`.
    """

    unbiased: ClassVar[bool]
    """Whether the mean of the estimate is the exact gradient, for every loss."""

    @abstractmethod
    def __call__(
        self, logits: Tensor, loss_of_code: LossOfCode, noise: Noise
    ) -> tuple[Tensor, Tensor]:
        """Return ``(surrogate, loss)`` for `logits` of shape (B, c).

        `surrogate` is the scalar to backpropagate: its gradient, not its value, is the estimate.
        `loss` is the mean loss of the codes that were drawn, detached, to be reported.
        """

    def start_epoch(self, epoch: int) -> None:  # noqa: B027 - a hook, not a duty
        """Prepare for epoch number `epoch`, counted from 0, for example to anneal a parameter."""

    def settings(self) -> dict[str, Any]:
        """Return the parameters as plain values: ``type(self)(**settings)`` makes an equal one."""
        values = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        # numpy's numbers are welcome as parameters, but are not JSON
        return {k: v.item() if hasattr(v, "item") else v for k, v in values.items()}

    def state_dict(self) -> dict[str, float]:
        """Return what the run has changed, for an exact resume. Most gradients have no state."""
        return {}

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        """Restore the `state` of another instance with the same settings."""
        if state:
            raise InputError(f"state={dict(state)!r}: {self!r} has no state to restore.")

    def __repr__(self) -> str:
        """Return the call that makes an equal instance."""
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings().items())
        return f"{type(self).__name__}({settings})"


def sample_bits(probabilities: Tensor, noise: Noise, n_draws: int) -> Tensor:
    """Draw codes of 0 and 1, (n_draws, B, c), from probabilities of shape (B, c)."""
    return (noise((n_draws, *probabilities.shape)) < probabilities).to(probabilities.dtype)
