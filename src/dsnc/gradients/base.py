"""What all gradients have in common.

A code is drawn, b ~ Bernoulli(sigmoid(logits)), and costs loss(b). Training follows

    d/d(logits, decoder)  E_b[ loss(b) ].

The expectation is smooth, although a single draw is not. A `Gradient` draws codes, asks for their
loss, and returns a scalar whose ordinary derivative estimates the above.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, Protocol

from dsnc.errors import InputError
from dsnc.families import Part

if TYPE_CHECKING:
    from torch import Tensor

Noise = Callable[[tuple[int, ...]], "Tensor"]
"""Returns uniform numbers in [0, 1) of the given shape: the only source of randomness."""


class LossOfCode(Protocol):
    """Computes what codes cost, for a batch of B examples and S codes of c bits for each."""

    def __call__(self, code: "Tensor") -> "tuple[Tensor, Tensor]":
        """Return the loss of `code`, of shape (S, B, c), as ``(mean, each)``.

        `mean` is the differentiable scalar that training minimizes. `each`, of shape (S, B), is
        detached and includes the weights of the examples: ``mean == each.sum(dim=1).mean(dim=0)``.
        """
        ...


class Gradient(Part, ABC):
    """An estimate of the gradient of the expected loss of a random code.

    To make runs repeatable, a subclass must draw random numbers only from `noise`. One that may
    draw several codes for each example calls their number `n_draws`, by default 4, which is also
    how often the loss is evaluated.
    """

    max_bias: ClassVar[float]
    """How far the mean of the estimate may be from the exact gradient of the encoder, relative to
    the latter's norm, on the problems of the contract tests; 0 if it is exact for every loss."""
    uses_only_mean: ClassVar[bool] = False
    """Whether it asks for the loss once, and uses nothing of it but the mean. Training then scores
    drawn bits and soft bits together, in half the launches."""
    is_steady: bool = False
    """Whether every step does the same work on numbers of the same shapes, whatever the epoch: no
    state that changes, no branch, no number read off a device. On a GPU, training then records a
    step and replays it."""

    @abstractmethod
    def __call__(
        self, logits: "Tensor", loss_of_code: LossOfCode, noise: Noise
    ) -> "tuple[Tensor, Tensor]":
        """Return ``(surrogate, loss)`` for `logits` of shape (B, c).

        `surrogate` is the scalar to backpropagate: its gradient, not its value, is the estimate.
        `loss` is the mean loss of the codes that were drawn, detached, to be reported.
        """

    def start_epoch(self, epoch: int) -> None:  # noqa: B027 - a hook, not a duty
        """Prepare for epoch number `epoch`, counted from 0, for example to anneal a parameter."""

    def state_dict(self) -> dict[str, float]:
        """Return what the run has changed, for an exact resume. Most gradients have no state."""
        return {}

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        """Restore the `state` of another instance with the same settings."""
        if state:
            raise InputError(f"state={dict(state)!r}: {self!r} has no state to restore.")


def sample_bits(probabilities: "Tensor", noise: Noise, n_draws: int) -> "Tensor":
    """Draw codes of 0 and 1, (n_draws, B, c), from probabilities of shape (B, c)."""
    return (noise((n_draws, *probabilities.shape)) < probabilities).to(probabilities.dtype)
