"""A linear layer that scores few of very many classes in a step.

    the classes of the batch    shared by all rows: classes as random as the rows are
    the row's nearest classes   of each row alone: its rivals
    all others                  as one number of the row

Where all classes would be scored for every code that is drawn, here it is a few. Each row looks for
its nearest with one more code, roughly (on a GPU in bfloat16), among so many consecutive classes as
there is time for, others in each step: in `NEAREST` parts side by side, one class in each, which
takes one pass and no sorting. The rest of these classes tells what all others come to, and takes
its part of the gradient. What these things are, the loss says: `sampled_softmax`,
`sampled_sigmoid`.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from dsnc.training.batches import Batch
from dsnc.training.losses.base import rows_at_once

NEAREST = 32
# Scores looked at for the nearest: rows of a batch x classes.
_CPU_SEARCHED, _GPU_SEARCHED = 1 << 25, 1 << 29

Rest = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]
"""(scores of what was looked at, those of the nearest, which these are) to a mass of each class,
what it is to be divided by to be the gradient of the number of all others, and that number. The
scores may be changed."""

TurnFew = Callable[[Tensor, int, Tensor], Tensor]
"""(scores, how often the rows of the batch are repeated, row weights) to the losses; the scores, of
shared classes, of all others and of nearest classes, are turned in place into the gradient."""


class Step(NamedTuple):
    """Classes that the rows of a batch have, and those that they look at for their nearest."""

    shared: Tensor  # ascending
    repeated: Tensor  # which of them stand there already
    looked_at: Tensor  # consecutive, beginning anywhere

    def is_shared(self, classes: Tensor) -> Tensor:
        """Tell which classes are shared."""
        place = torch.searchsorted(self.shared, classes).clamp_(max=len(self.shared) - 1)
        return self.shared[place] == classes


def choose(batch: Batch, n_classes: int, *, to_the_last: bool = False) -> Step:
    """Choose the classes of a step; see `run_of_classes`."""
    shared = batch.whole_y
    if shared.dim() > 1:
        shared = shared[shared >= 0].unique()
        shared = shared if len(shared) else shared.new_zeros(1)  # any will do
    else:  # on a GPU steps are recorded: how many there are must not depend on the rows
        shared = shared.sort().values
    repeated = F.pad(shared[1:] == shared[:-1], (1, 0))
    n_rows = len(batch.y)
    looked_at = run_of_classes(n_classes, n_rows, batch.random, to_the_last=to_the_last)
    return Step(shared, repeated, looked_at)


def run_of_classes(
    n_classes: int, n_rows: int, random: Callable[[int], Tensor], *, to_the_last: bool = False
) -> Tensor:
    """Return some consecutive classes, beginning anywhere; a multiple of the nearest of a row.

    Where there is time for all but a few, these are left out, or `to_the_last` all are there, and
    the first again to fill up.
    """
    begin = random(1)
    most = (_GPU_SEARCHED if begin.device.type == "cuda" else _CPU_SEARCHED) // max(1, n_rows)
    n_own = min(NEAREST, n_classes)
    n = max(n_own, min(n_classes, most) // n_own * n_own)
    if to_the_last and most >= n_classes:
        n = -(-n_classes // n_own) * n_own
    first = (begin * n_classes).long()
    return (torch.arange(n, device=begin.device) + first) % n_classes


class Search(torch.autograd.Function):
    """Finds near classes of rows, and a number for the others that were looked at."""

    @staticmethod
    def forward(
        ctx: Any, vectors: Tensor, bias: Tensor, inputs: Tensor, rest: Rest
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the near classes, the number, and how it changes with the inputs."""
        (n_rows, n_classes), n_own = (len(inputs), len(vectors)), min(NEAREST, len(vectors))
        # On a GPU in bfloat16: neither what is near nor a sum need be known exactly.
        kind = torch.bfloat16 if inputs.device.type == "cuda" else inputs.dtype
        low_vectors, low_inputs = vectors.to(kind), inputs.to(kind)
        scores = torch.addmm(bias.to(kind), low_inputs, low_vectors.T)
        top, best = scores.view(n_rows, n_classes // n_own, n_own).max(dim=1)
        best = best * n_own + torch.arange(n_own, device=best.device)
        mass, divisor, others = rest(scores, top, best)
        pull = (mass @ low_vectors).to(inputs.dtype) / divisor[:, None]
        ctx.save_for_backward(mass, divisor, inputs)
        ctx.mark_non_differentiable(best, pull)
        return best, others, pull

    @staticmethod
    def backward(
        ctx: Any, grad_best: Tensor, grad_others: Tensor, grad_pull: Tensor
    ) -> tuple[Any, ...]:
        """Return the gradients of vectors and bias; inputs get theirs by `pull`."""
        mass, divisor, inputs = ctx.saved_tensors
        share = grad_others / divisor
        grad_vectors = mass.T @ (inputs * share[:, None]).to(mass.dtype)
        grad_bias = mass.T @ share.to(mass.dtype)
        return grad_vectors.to(inputs.dtype), grad_bias.to(inputs.dtype), None, None


class Parts(NamedTuple):
    """The layer's classes that a step scores, for s shared ones and k nearest of each row."""

    shared: Tensor  # (s, bits)
    shared_offset: Tensor  # (s,)
    own: Tensor  # (rows, k, bits)
    own_offset: Tensor  # (rows, k)
    others: Tensor  # (rows,)
    pull: Tensor  # (rows, bits): how they change with the inputs


def gather(
    weight: Tensor, bias: Tensor, step: Step, own: Tensor, others: Tensor, pull: Tensor
) -> Parts:
    """Return the parts of a layer that belong to a step; what is counted already gets -inf."""
    shared = step.shared
    known = torch.cat([step.repeated, step.is_shared(own).flatten()])
    classes = torch.cat([shared, own.flatten()]).int()  # half the work of sorting them
    n_shared, (n_rows, n_own) = len(shared), own.shape
    vectors = F.embedding(classes, weight)
    offsets = F.embedding(classes, bias[:, None])[:, 0].masked_fill(known, -math.inf)
    return Parts(
        vectors[:n_shared],
        offsets[:n_shared],
        vectors[n_shared:].view(n_rows, n_own, weight.shape[1]),
        offsets[n_shared:].view(n_rows, n_own),
        others,
        pull,
    )


def few_loss(
    inputs: Tensor, parts: Parts, row_weight: Tensor, turn: TurnFew, precision: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Return the weighted sum of the losses of (draws * rows, bits) inputs, and each."""
    n_rows = len(parts.own)
    n_draws = len(inputs) // n_rows if n_rows else 1
    by_draw = inputs.view(n_draws, n_rows, inputs.shape[1])
    total, each = _FewLoss.apply(by_draw, *parts, row_weight, turn, precision)
    return total, each


class _FewLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,  # (draws, rows, bits)
        shared: Tensor,
        shared_offset: Tensor,
        own: Tensor,
        own_offset: Tensor,
        others: Tensor,
        pull: Tensor,
        row_weight: Tensor,  # (draws * rows,)
        turn: TurnFew,
        precision: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        (n_draws, n_rows, n_bits), n_own = inputs.shape, own.shape[1]
        width = len(shared) + 1 + n_own
        low_shared, low_own = shared.to(precision), own.to(precision)
        grad_inputs, each = torch.empty_like(inputs), inputs.new_empty(n_draws, n_rows)
        gradients: list[Tensor] = []
        row_weight = row_weight.view(n_draws, n_rows)
        step = max(1, rows_at_once(width, inputs.device) // max(1, n_rows))
        for start in range(0, n_draws, step):
            block = slice(start, start + step)
            low = inputs[block].to(precision)
            flat, by_row = low.reshape(-1, n_bits), low.transpose(0, 1)
            scores = inputs.new_empty(len(flat), width)
            scores[:, : len(shared)] = torch.addmm(shared_offset.to(precision), flat, low_shared.T)
            scores[:, len(shared)] = others.repeat(len(low))
            of_own = (by_row @ low_own.transpose(1, 2)).to(inputs.dtype) + own_offset[:, None]
            scores.view(len(low), n_rows, width)[:, :, -n_own:] = of_own.transpose(0, 1)
            losses = turn(scores, len(low), row_weight[block].reshape(-1, 1))
            each[block] = losses.view(len(low), n_rows)
            low_scores = scores.to(precision)
            of_shared, of_own = low_scores[:, : len(shared)], low_scores[:, -n_own:]
            of_own = of_own.view(len(low), n_rows, n_own).transpose(0, 1)
            grad_inputs[block] = (of_shared @ low_shared).view(low.shape)
            grad_inputs[block] += (of_own @ low_own).transpose(0, 1)
            of_others = scores[:, len(shared)].view(len(low), n_rows)
            grad_inputs[block] += of_others[:, :, None] * pull
            parts = (
                of_shared.T @ flat,
                scores[:, : len(shared)].T @ scores.new_ones(len(flat)),
                of_own.transpose(1, 2) @ by_row,
                scores[:, -n_own:].view(len(low), n_rows, n_own).sum(dim=0),
                of_others.sum(dim=0),
            )
            if gradients:
                gradients = [a.add_(b) for a, b in zip(gradients, parts, strict=True)]
            else:
                gradients = [part.to(inputs.dtype) for part in parts]
        ctx.save_for_backward(grad_inputs, *gradients)
        total, each = (each * row_weight).sum(), each.flatten()
        ctx.mark_non_differentiable(each)
        return total, each

    @staticmethod
    def backward(ctx: Any, grad_total: Tensor, grad_each: Tensor) -> tuple[Any, ...]:
        gradients = (gradient.mul_(grad_total) for gradient in ctx.saved_tensors)
        return (*gradients, None, None, None, None)
