"""What the baselines minimize, in the frame that the training loop knows. Needs torch."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dsnc.baselines.codebooks import codebook_decoder, codes_of
from dsnc.baselines.linear import LINKS
from dsnc.baselines.row_adagrad import RowAdagrad, row_sparse_bag
from dsnc.codes import PackedCodes
from dsnc.decoders import Decoder, ScoresDecoder, SoftDecoder
from dsnc.training.base_objective import BaseObjective
from dsnc.training.batches import Batch
from dsnc.training.losses.base import own_classes
from dsnc.training.losses.sigmoid import to_gradient
from dsnc.training.objective import OutputObjective
from dsnc.training.settings import RunSettings

# Activation of a hidden layer to (what the next layer sees, what the regularizer sees). Sigmoid
# units are shown as 2 s - 1 = tanh(x / 2): centered numbers train better, and the next layer's
# weights and biases make up for it.
Activation = Callable[[Tensor], Tensor]
ACTIVATIONS: dict[str, tuple[Activation, Activation]] = {
    "sigmoid": (lambda x: torch.tanh(x / 2), torch.sigmoid),
    "tanh": (torch.tanh, torch.tanh),
    "relu": (F.relu, F.relu),
}


class MLPObjective(OutputObjective):
    """Cross-entropy of a softmax layer on a hidden layer, and the regularizer on the latter."""

    def __init__(self, *frame: Any, activation: str) -> None:
        super().__init__(*frame)
        self.activation = activation

    def hidden(self, logits: Tensor) -> Tensor:
        """Return the hidden layer."""
        return ACTIVATIONS[self.activation][0](logits)

    def expect(self, class_weight: Tensor, total: float) -> None:
        """Start the biases at 0: with few rows a class, frequencies make it sure of the wrong.

        Where rows have sets, they start at the odds of each class: most rows do not have it.
        """
        if self.has_sets:
            super().expect(class_weight, total)

    def phi(self, logits: Tensor) -> Tensor:
        """Return the hidden layer as the regularizer sees it."""
        return ACTIVATIONS[self.activation][1](logits)

    def make_decoder(self) -> SoftDecoder:
        """Return the softmax layer."""
        weight, bias = (p.detach().cpu().numpy() for p in (self.weight, self.bias))
        inputs = "soft_signs" if self.activation == "sigmoid" else self.activation
        return SoftDecoder(weight, bias, inputs=inputs)


class LinearObjective(BaseObjective):
    """Linear classifiers: the encoder's outputs, each with a loss of its own.

    Where rows are `sparse`, the layer is so wide that only what they mention should be touched.
    """

    def __init__(
        self,
        settings: RunSettings,
        encoder: nn.Module,
        n_classes: int,
        generator: torch.Generator,
        *,
        loss: str,
        sparse: bool,
    ) -> None:
        super().__init__(settings, encoder)
        self.binary_loss, self.sparse, self._n_classes = loss, sparse, n_classes
        layer: Any = encoder.input
        nn.init.zeros_(layer.weight)  # no two outputs have to be told apart by their first weights
        # Gradients of several processes are added up by torch, which wants them dense.
        if sparse and os.environ.get("WORLD_SIZE", "1") == "1":
            layer.bag = row_sparse_bag

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self._n_classes

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Return Adam, or for sparse rows Adagrad with one step size for each feature."""
        return RowAdagrad(self.parameters()) if self.sparse else super().make_optimizer()


class CodebookObjective(LinearObjective):
    """As many binary problems as bits: whether the bit of the row's class is set."""

    signs: Tensor

    def __init__(self, *frame: Any, codes: PackedCodes, decoding: str, **options: Any) -> None:
        super().__init__(*frame, **options)
        self.decoding = decoding
        self._use(codes)

    def _use(self, codes: PackedCodes) -> None:
        self.codes = codes
        # int8: a book of a million classes should not weigh more than the model
        self.register_buffer("signs", torch.from_numpy(codes.to_signs(np.int8)), persistent=False)

    def take_over(self, decoder: Any) -> None:
        """Go on with the codebook of a decoder."""
        self._use(codes_of(decoder))

    def loss(self, logits: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the sum of the bits' losses."""
        margins = self.signs[batch.y] * logits
        if self.binary_loss == "logistic":
            each = F.softplus(-margins)
        else:
            each = F.relu(1 - margins).square()
        mean = (each.sum(dim=1) * batch.weight).sum()
        return mean, mean.detach()

    def scores(self, logits: Tensor) -> Tensor:
        """Return the agreement of the bits, or of the logits, with each class's code."""
        seen = torch.sign(logits) if self.decoding == "hamming" else logits
        return seen @ self.signs.to(logits.dtype).T

    def make_decoder(self) -> Decoder:
        """Return the decoder by Hamming distance, or by the loss."""
        return codebook_decoder(self.codes, self.decoding)


class OneVsRestObjective(LinearObjective):
    """As many binary problems as classes: whether it is this one."""

    takes_sets = True

    def expect(self, class_weight: Tensor, total: float) -> None:
        """Start the biases at what the classes' frequencies alone would make them."""
        share = (class_weight + 1e-3) / (total + 2e-3)
        best = torch.logit(share) if self.binary_loss == "logistic" else 2 * share - 1
        with torch.no_grad():
            self.encoder.input.bias.copy_(best)  # type: ignore[union-attr,operator]

    def loss(self, logits: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the sum of the classes' losses."""
        own, gain = own_classes(batch.y, self.gains, logits.dtype)
        mean: Tensor = _OneVsRestLoss.apply(logits, own, gain, batch.weight, self.binary_loss)
        return mean, mean.detach()

    def scores(self, logits: Tensor) -> Tensor:
        """Return the outputs as they are."""
        return logits

    def make_decoder(self) -> ScoresDecoder:
        """Return the decoder that takes the outputs as scores."""
        return ScoresDecoder(self.n_classes, link=LINKS[self.binary_loss])


class _OneVsRestLoss(torch.autograd.Function):
    """Loss and gradient of rows x classes binary problems with two matrices of that size."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, own: Tensor, gain: Tensor, weight: Tensor, loss: str
    ) -> Tensor:
        if loss == "logistic":
            gradient = logits.clone()
            each = to_gradient(gradient, own, gain, weight[:, None])
        else:
            gradient, of_own, has = (logits + 1).relu_(), logits.gather(1, own), gain > 0
            miss, over = F.relu(1 - of_own), F.relu(1 + of_own)
            more = torch.where(has, gain * miss.square() - over.square(), 0)
            each = gradient.square().sum(dim=1) + more.sum(dim=1)
            gradient.scatter_add_(1, own, torch.where(has, -gain * miss - over, 0))
            gradient *= 2 * weight[:, None]
        ctx.save_for_backward(gradient)
        total: Tensor = (each * weight).sum()
        return total

    @staticmethod
    def backward(ctx: Any, grad_mean: Tensor) -> tuple[Any, ...]:
        (gradient,) = ctx.saved_tensors
        return gradient.mul_(grad_mean), None, None, None, None
