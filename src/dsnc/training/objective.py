"""What training minimizes: one module, so that DDP wraps exactly one thing.

    (1 - s) E_b[ -log P(y | b) ]  -  s log P(y | phi)  +  beta * f * intra  -  gamma * f * inter

b are the sampled bits of x, phi their probabilities, P the linear decoder's softmax, intra and
inter the mean squared distances of the bits' probabilities within and between classes, f the
adaptive factor. The paper has s = 0; a share s for the soft bits trains what the decoders that
weigh bits by their certainty will see. Other models keep the frame, `BaseObjective`, and put a loss
of their own into it.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dsnc.decoders import LinearDecoder
from dsnc.encoders.torch import LinearEncoder, MLPEncoder
from dsnc.gradients import make_gradient, sample_bits
from dsnc.training.base_objective import BaseObjective
from dsnc.training.batches import Batch
from dsnc.training.class_sets import repeat_rows
from dsnc.training.losses.base import Loss, LossOfInputs
from dsnc.training.losses.making import make_loss
from dsnc.training.settings import Settings, SoftmaxSettings

_UNSEEN = 0.5  # rows that have a class, and rows that do not, before any is seen


class OutputObjective(BaseObjective):
    """An encoder under a linear layer over the classes, and a loss of that layer.

    Parameters
    ----------
    settings : SoftmaxSettings
        Among them the loss.
    encoder : nn.Module
        Rows to logits.
    n_classes : int
        Number of classes.
    generator : torch.Generator
        For the layer's first weights.

    Attributes
    ----------
    has_sets : bool
        Whether rows have sets of classes: decides what loss="auto" is.
    gains : Tensor, optional
        How much a row that has a class counts for it; see `Loss`.
    """

    takes_sets = True

    def __init__(
        self,
        settings: SoftmaxSettings,
        encoder: nn.Module,
        n_classes: int,
        generator: torch.Generator,
    ) -> None:
        super().__init__(settings, encoder)
        self.settings: SoftmaxSettings = settings
        self.weight = nn.Parameter(torch.empty(n_classes, settings.n_bits))
        self.bias = nn.Parameter(torch.zeros(n_classes))
        bound = 1 / math.sqrt(settings.n_bits)
        nn.init.uniform_(self.weight, -bound, bound, generator=generator)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.weight)

    @property
    def loss_of(self) -> Loss:
        """The loss: which one it is may depend on where the layer is."""
        how = self.settings
        return make_loss(
            how.loss,
            self.weight,
            how.label_smoothing,
            how.precision,
            sets=self.has_sets,
            gains=self.gains,
        )

    @abstractmethod
    def hidden(self, logits: Tensor) -> Tensor:
        """Return what the layer sees in prediction."""

    @property
    def scores_few(self) -> bool:
        """Whether a step scores few of the classes."""
        return self.loss_of.few

    def output_loss(self, batch: Batch, probe: Callable[[], Tensor]) -> LossOfInputs:
        """Return the loss of the layer's inputs for a batch; see `Loss.of_batch`."""
        return self.loss_of.of_batch(self.weight, self.bias, batch, probe)

    def loss(self, logits: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the loss of what the layer sees in prediction."""
        inputs = self.hidden(logits)
        mean, _ = self.output_loss(batch, lambda: inputs)(inputs, batch.y, batch.weight)
        return mean, mean.detach()

    def scores(self, logits: Tensor) -> Tensor:
        """Return the layer's outputs."""
        return torch.addmm(self.bias, self.hidden(logits), self.weight.T)

    def expect(self, class_weight: Tensor, total: float) -> None:
        """Start the biases at the log of the classes' frequencies, or at their log-odds.

        Training need not spend its first steps on learning which classes are rare.
        """
        if self.loss_of.each_alone:
            self._expect_each(class_weight, total)
            return
        if not class_weight.any():  # no row has a class
            return
        smoothed = class_weight + class_weight.sum() / len(class_weight) ** 2
        with torch.no_grad():
            self.bias.copy_(torch.log(smoothed / smoothed.mean()))

    def _expect_each(self, class_weight: Tensor, total: float) -> None:
        having = class_weight if self.gains is None else class_weight * self.gains.cpu()
        others = (total - class_weight).clamp(min=0)
        with torch.no_grad():
            self.bias.copy_(torch.log(having + _UNSEEN) - torch.log(others + _UNSEEN))

    def take_over(self, decoder: Any) -> None:
        """Go on from the weights of a decoder."""
        self.load_decoder(decoder.weight, decoder.bias)

    def load_decoder(self, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> None:
        """Take over the layer."""
        with torch.no_grad():
            self.weight.copy_(torch.tensor(weight))
            self.bias.copy_(torch.tensor(bias))


class Objective(OutputObjective):
    """Encoder, gradient, linear decoder and regularizer: the model of the paper.

    The settings have the gradient, the values of bits, the share of soft bits, and which codes
    validation sees; the rest is as of `OutputObjective`.
    """

    settings: Settings

    def __init__(
        self, settings: Settings, encoder: nn.Module, n_classes: int, generator: torch.Generator
    ) -> None:
        super().__init__(settings, encoder, n_classes, generator)
        self.gradient = make_gradient(settings.gradient)
        self.signs = settings.code_values == "signs"
        self._validation_seed = generator.initial_seed()
        self._draws = torch.Generator()

    def loss(self, logits: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the gradient's surrogate, and the mean loss of the codes that were drawn."""

        def soft_inputs() -> Tensor:
            return self.decoder_input(torch.sigmoid(logits))

        def drawn_inputs() -> Tensor:
            drawn = sample_bits(torch.sigmoid(logits), batch.uniform, 1)
            return self.decoder_input(drawn[0])

        output_loss, share = self.output_loss(batch, drawn_inputs), self.settings.soft_share
        if share and self.gradient.uses_only_mean:
            return self._loss_at_once(logits, batch, soft_inputs(), output_loss)

        def loss_of_code(code: Tensor) -> tuple[Tensor, Tensor]:
            n_draws, n_rows, n_bits = code.shape
            weight = (batch.weight / n_draws).repeat(n_draws)
            inputs = self.decoder_input(code).reshape(-1, n_bits)
            mean, each = output_loss(inputs, repeat_rows(batch.y, n_draws), weight)
            return mean, each.view(n_draws, n_rows) * batch.weight

        total, loss = self.gradient(logits, loss_of_code, batch.uniform)
        if share:
            soft, _ = output_loss(soft_inputs(), batch.y, batch.weight)
            total = torch.lerp(total, soft, share)
        return total, loss

    def _loss_at_once(
        self, logits: Tensor, batch: Batch, soft: Tensor, output_loss: LossOfInputs
    ) -> tuple[Tensor, Tensor]:
        """Return the same as `loss`, with drawn bits and soft bits in one call of the layer."""
        share, n_rows = self.settings.soft_share, len(soft)
        reported = logits.new_zeros(())

        def loss_of_code(code: Tensor) -> tuple[Tensor, Tensor]:
            nonlocal reported
            n_draws = len(code)
            hard = self.decoder_input(code).flatten(0, 1)
            parts = [batch.weight * ((1 - share) / n_draws)] * n_draws
            weight = torch.cat([*parts, batch.weight * share])
            y = repeat_rows(batch.y, n_draws + 1)
            mean, each = output_loss(torch.cat([hard, soft]), y, weight)
            each = each[: n_draws * n_rows].view(n_draws, n_rows) * batch.weight
            reported = each.sum(dim=1).mean()
            return mean, each

        total, _ = self.gradient(logits, loss_of_code, batch.uniform)
        return total, reported

    @property
    def is_steady(self) -> bool:
        """Whether every step does the same but for its rows, its noise and its learning rate."""
        is_steady = self.gradient.is_steady and is_steady_encoder(self.encoder)
        return is_steady and not self.is_regularized

    def decoder_input(self, code: Tensor) -> Tensor:
        """Return bits as the decoder sees them."""
        return 2 * code - 1 if self.signs else code

    def hidden(self, logits: Tensor) -> Tensor:
        """Return the most probable code, or one that is drawn, as the decoder sees it."""
        if self.settings.validation_codes == "hard":
            bits = logits > 0
        else:
            uniform = torch.rand(logits.shape, generator=self._draws).to(logits.device)
            bits = uniform < torch.sigmoid(logits)
        return self.decoder_input(bits.to(self.weight.dtype))

    def make_decoder(self) -> LinearDecoder:
        """Return the decoder for codes of -1 and +1."""
        return LinearDecoder(*self.decoder_for_signs())

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
        super().load_decoder(factor * weight, bias - shift)

    def start_epoch(self, epoch: int) -> None:
        """Tell the gradient which epoch starts; its validation draws the same codes every time."""
        self.gradient.start_epoch(epoch)
        self._draws.manual_seed(self._validation_seed + epoch)

    def get_extra_state(self) -> dict[str, Any]:
        """Return what a checkpoint needs besides the weights."""
        return {**super().get_extra_state(), "gradient": self.gradient.state_dict()}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Take back what `get_extra_state` gave."""
        super().set_extra_state(state)
        self.gradient.load_state_dict(state["gradient"])


def is_steady_encoder(encoder: Any) -> bool:
    """Tell whether an encoder is one of ours: what others do, nobody knows."""
    return isinstance(encoder, LinearEncoder | MLPEncoder)
