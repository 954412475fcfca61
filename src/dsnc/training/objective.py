"""What training minimizes: one module, so that DDP wraps exactly one thing.

    E_b[ -log P(y | b) ]  +  beta * f * intra  -  gamma * f * inter

b are the sampled bits of x, P the linear decoder's softmax, intra and inter the mean squared
distances of the bits' probabilities within and between classes, f the adaptive factor.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dsnc.encoders import Rows, SparseRows
from dsnc.gradients import Gradient
from dsnc.training.batches import Batch
from dsnc.training.cross_entropy import linear_cross_entropy, rows_at_once
from dsnc.training.regularizer import AdaptiveFactor, pair_distance


class Terms(NamedTuple):
    """The parts of the objective for one batch; only `total` carries a gradient."""

    total: Tensor
    loss: Tensor
    intra: Tensor
    inter: Tensor


class Objective(nn.Module):
    """Encoder, gradient, linear decoder and regularizer.

    Parameters
    ----------
    encoder : nn.Module
        Rows to logits.
    gradient : Gradient
        How the gradient passes the sampled bits.
    n_bits, n_classes : int
        Size of the decoder.
    generator : torch.Generator
        For its first weights.
    signs : bool
        Whether the decoder sees bits as -1 and +1, or as the paper's 0 and 1.
    beta, gamma : float
        Weights of the intra- and the inter-class term.
    adaptive : bool
        Whether validation accuracy scales both.
    smoothing : float
        Label smoothing.
    precision : dtype
        Of the decoder's matrix products.
    """

    def __init__(
        self,
        encoder: nn.Module,
        gradient: Gradient,
        n_bits: int,
        n_classes: int,
        generator: torch.Generator,
        *,
        signs: bool = True,
        beta: float = 0.0,
        gamma: float = 0.0,
        adaptive: bool = True,
        smoothing: float = 0.0,
        precision: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        self.encoder, self.gradient = encoder, gradient
        self.weight = nn.Parameter(torch.empty(n_classes, n_bits))
        self.bias = nn.Parameter(torch.zeros(n_classes))
        bound = 1 / math.sqrt(n_bits)
        nn.init.uniform_(self.weight, -bound, bound, generator=generator)
        self.signs, self.beta, self.gamma = signs, beta, gamma
        self.adaptive, self.factor = adaptive, AdaptiveFactor()
        self.smoothing, self.precision = smoothing, precision

    @property
    def is_regularized(self) -> bool:
        """Whether batches must come with partners."""
        return bool(self.beta or self.gamma)

    def forward(self, batch: Batch) -> Terms:
        """Return the terms of the objective for a batch."""
        logits, partner_logits = self._encode(batch)

        def loss_of_code(code: Tensor) -> tuple[Tensor, Tensor]:
            n_samples, n_rows, n_bits = code.shape
            weight = (batch.weight / n_samples).repeat(n_samples)
            mean, each = linear_cross_entropy(
                self.decoder_input(code).reshape(-1, n_bits),
                self.weight,
                self.bias,
                batch.y.repeat(n_samples),
                weight,
                smoothing=self.smoothing,
                precision=self.precision,
            )
            return mean, each.view(n_samples, n_rows) * batch.weight

        total, loss = self.gradient(logits, loss_of_code, batch.uniform)
        intra = inter = loss.new_zeros(())
        if batch.partners is not None and partner_logits is not None:
            phi = torch.sigmoid(logits)
            same, other = torch.sigmoid(partner_logits).chunk(2)
            intra = pair_distance(phi, same, batch.partners.same_weight)
            inter = pair_distance(phi, other, batch.partners.other_weight)
            total = total + self.factor.factor * (self.beta * intra - self.gamma * inter)
        return Terms(total, loss, intra.detach(), inter.detach())

    def decoder_input(self, code: Tensor) -> Tensor:
        """Return bits as the decoder sees them."""
        return 2 * code - 1 if self.signs else code

    def expect(self, class_weight: Tensor) -> None:
        """Start the decoder's biases at the log of the classes' frequencies.

        Training need not spend its first steps on learning which classes are rare.
        """
        smoothed = class_weight + class_weight.sum() / len(class_weight) ** 2
        with torch.no_grad():
            self.bias.copy_(torch.log(smoothed / smoothed.mean()))

    def decoder_for_signs(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return weight and bias of the decoder for codes of -1 and +1, whatever it was fed."""
        weight = self.weight.detach().cpu().numpy().astype(np.float64)
        bias = self.bias.detach().cpu().numpy().astype(np.float64)
        if not self.signs:  # w.b = w/2.s + sum(w)/2 for b = (s + 1) / 2
            weight /= 2
            bias += weight.sum(axis=1)
        return weight.astype(np.float32), bias.astype(np.float32)

    def load_decoder(self, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> None:
        """Take over a decoder for codes of -1 and +1."""
        factor = 1 if self.signs else 2
        shift = 0 if self.signs else weight.sum(axis=1)
        with torch.no_grad():
            self.weight.copy_(torch.tensor(factor * weight))
            self.bias.copy_(torch.tensor(bias - shift))

    @torch.no_grad()
    def is_correct(self, rows: Rows, y: Tensor) -> Tensor:
        """Tell for each row whether the linear decoder gives its most probable code its class."""
        inputs = self.decoder_input((self.encoder(rows) > 0).to(self.weight.dtype))
        step = rows_at_once(len(self.weight), inputs.device)
        answers = [
            torch.addmm(self.bias, part, self.weight.T).argmax(dim=1) for part in inputs.split(step)
        ]
        return torch.cat(answers) == y

    def start_epoch(self, epoch: int) -> None:
        """Tell the gradient which epoch begins."""
        self.gradient.start_epoch(epoch)

    def after_validation(self, accuracy: float) -> None:
        """Adapt the regularizer."""
        if self.adaptive:
            self.factor.update(accuracy)

    def get_extra_state(self) -> dict[str, Any]:
        """Return what a checkpoint needs besides the weights."""
        factor = {"factor": self.factor.factor, "previous": self.factor.previous}
        return {**factor, "gradient": self.gradient.state_dict()}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Take back what `get_extra_state` gave."""
        self.factor.factor, self.factor.previous = state["factor"], state["previous"]
        self.gradient.load_state_dict(state["gradient"])

    def _encode(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Encode rows and partners in one pass."""
        if batch.partner_rows is None:
            return self.encoder(batch.rows), None
        logits: Tensor = self.encoder(_join(batch.rows, batch.partner_rows))
        return logits[: len(batch.y)], logits[len(batch.y) :]


def _join(first: Rows, second: Rows) -> Rows:
    if isinstance(first, SparseRows) and isinstance(second, SparseRows):
        return SparseRows(
            torch.cat([first.indices, second.indices]),
            torch.cat([first.offsets, second.offsets + len(first.indices)]),
            torch.cat([first.values, second.values]),
        )
    dense: list[Any] = [first, second]
    return torch.cat(dense)
