"""The contract of all gradients.

A code is drawn, b ~ Bernoulli(sigmoid(logits)), and costs loss(b). What training follows is

    d/d(logits, decoder)  E_b[ loss(b) ].

The expectation is smooth, although each draw is not. A `Gradient` draws codes, asks for their
loss, and returns a scalar whose ordinary derivative is an estimate of the above.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

from torch import Tensor

from dsnc.errors import InputError

Noise = Callable[[tuple[int, ...]], Tensor]
"""Uniform numbers in [0, 1) of the given shape: the only source of randomness."""


class LossOfCode(Protocol):
    """What a code costs, for a batch of B examples and S codes of c bits for each."""

    def __call__(self, code: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss of `code`, (S, B, c), as ``(mean, each)``.

        `mean` is the differentiable scalar that training minimizes. `each`, (S, B), is detached
        and contains the weights of the examples: ``mean == each.sum(dim=1).mean(dim=0)``.
        """
        ...


class Gradient(ABC):
    """An estimate of the gradient of the expected loss of a random code.

    A subclass takes keyword-only parameters, checks them, and stores them as given under their
    own names. Drawing nothing but from `noise` is what makes runs repeatable.
    """

    unbiased: ClassVar[bool]
    """Whether the estimate's mean is the exact gradient, for every loss."""

    @abstractmethod
    def __call__(
        self, logits: Tensor, loss_of_code: LossOfCode, noise: Noise
    ) -> tuple[Tensor, Tensor]:
        """Return ``(surrogate, loss)`` for `logits` of shape (B, c).

        `surrogate` is the scalar to backpropagate: its gradient, not its value, is the estimate.
        `loss` is the mean loss of the codes that were drawn, detached, to report.
        """

    def start_epoch(self, epoch: int) -> None:  # noqa: B027 - a hook, not a duty
        """Prepare for epoch number `epoch`, counted from 0; for annealing."""

    def settings(self) -> dict[str, Any]:
        """Return the parameters as plain values: ``type(self)(**settings)`` makes a twin."""
        values = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        # numpy's numbers are welcome as parameters, but are not JSON
        return {k: v.item() if hasattr(v, "item") else v for k, v in values.items()}

    def state_dict(self) -> dict[str, float]:
        """Return what the run has changed, for an exact resume. Most gradients have no state."""
        return {}

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        """Take up the `state` of another instance with the same settings."""
        if state:
            raise InputError(f"state={dict(state)!r}: {self!r} has no state to restore.")

    def __repr__(self) -> str:
        """Show the call that makes a twin."""
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings().items())
        return f"{type(self).__name__}({settings})"


def sample_bits(probabilities: Tensor, noise: Noise, n_draws: int) -> Tensor:
    """Draw `n_draws` codes per example: (B, c) probabilities -> (n_draws, B, c) of 0 and 1."""
    return (noise((n_draws, *probabilities.shape)) < probabilities).to(probabilities.dtype)
