"""Rows of a linear decoder, trained further on soft bits under an encoder that stays as it is.

Training draws bits, so the rows it leaves expect bits of -1 and +1. Where codes are short, decoders
do better when they see how sure each bit is, and best with rows that have learned from such bits.
"""

from typing import Any

import torch
from torch import Tensor, nn

from dsnc.decoders import LinearDecoder
from dsnc.encoders.torch import Rows
from dsnc.training.batches import Batch
from dsnc.training.objective import SoftmaxObjective


class SoftRowsObjective(SoftmaxObjective):
    """Cross-entropy of the rows on ``tanh(sharpness * logit / 2)``.

    Parameters
    ----------
    encoder : nn.Module
        Trained; it is asked and not changed.
    decoder : LinearDecoder
        The rows to begin with.
    sharpness : float
        Of the bits; see `dsnc.decoders.scoring`.
    **options
        As of `SoftmaxObjective`.
    """

    def __init__(
        self, encoder: nn.Module, decoder: LinearDecoder, sharpness: float, **options: Any
    ) -> None:
        frozen: Any = _Frozen(encoder)
        super().__init__(frozen, decoder.n_bits, decoder.n_classes, torch.Generator(), **options)
        self.sharpness = sharpness
        self.load_decoder(decoder.weight, decoder.bias)

    def hidden(self, logits: Tensor) -> Tensor:
        """Return the soft bits."""
        return torch.tanh(logits * (self.sharpness / 2))

    def loss(self, logits: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the cross-entropy."""
        mean, _ = self.cross_entropy(self.hidden(logits), batch.y, batch.weight)
        return mean, mean.detach()

    def make_decoder(self) -> LinearDecoder:
        """Return the rows."""
        weight, bias = (p.detach().cpu().numpy() for p in (self.weight, self.bias))
        return LinearDecoder(weight, bias)


class _Frozen:
    """An encoder whose parameters are not the objective's: no optimizer, no DDP sees them."""

    def __init__(self, encoder: nn.Module) -> None:
        self._encoder = encoder.eval()

    @torch.no_grad()
    def __call__(self, rows: Rows) -> Tensor:
        logits: Tensor = self._encoder(rows)
        return logits
