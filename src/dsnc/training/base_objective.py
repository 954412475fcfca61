"""The frame of every objective: encode, lose, regularize, and be asked for the answer."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from dsnc.decoders import Decoder
from dsnc.encoders.torch import Rows, SparseRows
from dsnc.training.batches import Batch
from dsnc.training.losses.base import rows_at_once
from dsnc.training.regularizer import AdaptiveFactor, distance_sum
from dsnc.training.settings import RunSettings


class Terms(NamedTuple):
    """The parts of the objective for one batch; only `total` carries a gradient."""

    total: Tensor
    loss: Tensor
    intra: Tensor
    inter: Tensor


class BaseObjective(nn.Module, ABC):
    """What the loop trains: an encoder, a loss of its outputs, the regularizer.

    The settings have the weights of the intra- and the inter-class term, and the rule that adapts
    them. The encoder makes logits of rows.
    """

    takes_sets: ClassVar[bool] = False
    """Whether rows may have sets of classes."""

    def __init__(self, settings: RunSettings, encoder: nn.Module) -> None:
        super().__init__()
        self.settings, self.encoder = settings, encoder
        self.has_sets = False
        self.gains: Tensor | None = None
        self.factor = AdaptiveFactor(settings.adaptive)

    @abstractmethod
    def loss(self, logits: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the scalar to backpropagate, and the loss to report, detached."""

    @abstractmethod
    def scores(self, logits: Tensor) -> Tensor:
        """Return (rows, classes) numbers, the largest at the answer."""

    @abstractmethod
    def make_decoder(self) -> Decoder:
        """Return what reads classes off the encoder's outputs, without torch."""

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """Number of classes."""

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return next(self.parameters()).device

    @property
    def scores_few(self) -> bool:
        """Whether a step scores few of the classes: then validation looks at few rows."""
        return False

    @property
    def is_steady(self) -> bool:
        """Whether every step does the same but for its rows, its noise and its learning rate."""
        return False

    @property
    def is_regularized(self) -> bool:
        """Whether batches must come with partners."""
        return bool(self.settings.beta or self.settings.gamma)

    def phi(self, logits: Tensor) -> Tensor:
        """Return what the regularizer draws together and apart."""
        return torch.sigmoid(logits)

    def expect(self, class_weight: Tensor, total: float) -> None:  # noqa: B027 - a hook, not a duty
        """Prepare for classes that weigh this much in rows that weigh `total`."""

    def take_over(self, decoder: Any) -> None:  # noqa: B027
        """Go on from a decoder that `make_decoder` gave."""

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Return what moves the parameters: Adam. Rate and decay are set at every step."""
        return torch.optim.Adam(self.parameters(), fused=True)

    def forward(self, batch: Batch) -> Terms:
        """Return the terms of the objective for a batch."""
        logits, partner_logits = self._encode(batch)
        total, loss = self.loss(logits, batch)
        intra = inter = loss.new_zeros(())
        if batch.partners is not None and partner_logits is not None:
            phi = self.phi(logits)
            same, other = self.phi(partner_logits).chunk(2)
            intra = distance_sum(phi, same, batch.partners.same_weight)
            inter = distance_sum(phi, other, batch.partners.other_weight)
            weighted = self.settings.beta * intra - self.settings.gamma * inter
            total = total + self.factor.factor * weighted
        return Terms(total, loss, intra.detach(), inter.detach())

    @torch.no_grad()
    def best(self, rows: Rows, k: int) -> Tensor:
        """Return the classes of the highest scores for each row, best first."""

        def of_some(logits: Tensor) -> Tensor:
            scores = self.scores(logits)
            return scores.argmax(dim=1, keepdim=True) if k == 1 else scores.topk(k).indices

        logits = self.encoder(rows)
        step = rows_at_once(self.n_classes, logits.device)
        return torch.cat([of_some(part) for part in logits.split(step)])

    def start_epoch(self, epoch: int) -> None:  # noqa: B027
        """Prepare for an epoch."""

    def after_validation(self, accuracy: float) -> None:
        """Adapt the regularizer."""
        self.factor.update(accuracy)

    def get_extra_state(self) -> dict[str, Any]:
        """Return what a checkpoint needs besides the weights."""
        return {"factor": self.factor.factor, "reference": self.factor.reference}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Take back what `get_extra_state` gave."""
        self.factor.factor, self.factor.reference = state["factor"], state["reference"]

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
