"""Class vectors, trained further on soft bits under an encoder that stays as it is."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from dsnc.decoders import LinearDecoder
from dsnc.encoders.torch import Rows
from dsnc.training.objective import OutputObjective, is_steady_encoder
from dsnc.training.settings import SoftmaxSettings


class SoftVectorsObjective(OutputObjective):
    """The loss of class vectors that see ``tanh(sharpness * logit / 2)``.

    Settings are those of `OutputObjective`, but for the regularizer, which moves encoders only. The
    encoder is asked and not changed, the vectors begin with those of `decoder`, and `sharpness` is
    that of `dsnc.decoders.scoring`.
    """

    def __init__(
        self,
        settings: SoftmaxSettings,
        encoder: nn.Module,
        decoder: LinearDecoder,
        sharpness: float,
    ) -> None:
        frozen: Any = _Frozen(encoder)
        settings = replace(settings, beta=0.0, gamma=0.0)
        super().__init__(settings, frozen, decoder.n_classes, torch.Generator())
        self.sharpness = sharpness
        self.load_decoder(decoder.weight, decoder.bias)

    @property
    def is_steady(self) -> bool:
        """Whether every step does the same but for its rows and its learning rate."""
        frozen: Any = self.encoder
        return is_steady_encoder(frozen.encoder)

    def hidden(self, logits: Tensor) -> Tensor:
        """Return the soft bits."""
        return torch.tanh(logits * (self.sharpness / 2))

    def make_decoder(self) -> LinearDecoder:
        """Return the vectors."""
        weight, bias = (p.detach().cpu().numpy() for p in (self.weight, self.bias))
        return LinearDecoder(weight, bias)


class _Frozen:
    """An encoder whose parameters are not the objective's: no optimizer, no DDP sees them."""

    def __init__(self, encoder: nn.Module) -> None:
        self.encoder = encoder.eval()

    @torch.no_grad()
    def __call__(self, rows: Rows) -> Tensor:
        logits: Tensor = self.encoder(rows)
        return logits
