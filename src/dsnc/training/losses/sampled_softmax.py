"""Softmax cross-entropy over few of very many classes.

Of a softmax over all classes only those with high scores matter to a row. So a step scores

    the classes of the batch    shared by all rows: classes as random as the rows are
    the row's nearest classes   of each row alone: its rivals
    all others                  as one score of the row, the logarithm of what they sum up to

where all classes would be scored for every code that is drawn, here it is a few. Each row looks for
its nearest with one more code, roughly (on a GPU in bfloat16), among so many consecutive classes as
there is time for, others in each step: in `NEAREST` parts side by side, one class in each, which
takes one pass and no sorting. The rest of these classes tells what all others sum up to (times
classes / classes looked at), and takes its part of the gradient. Both are needed where there are
very many classes: without others, rows would learn from their rivals alone, also while hardly any
class is one; without their gradient, nothing would hold the scores down. With no more than
`NEAREST` classes the loss is the exact one.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from dsnc.training.batches import Batch
from dsnc.training.losses.base import LossOfInputs, rows_at_once
from dsnc.training.losses.softmax import SoftmaxLoss, to_gradient

NEAREST = 32
_NOTHING = 1e-20  # beside the row's best class
# Scores looked at for the nearest: rows of a batch x classes.
_CPU_SEARCHED, _GPU_SEARCHED = 1 << 25, 1 << 29


class SampledSoftmaxLoss(SoftmaxLoss):
    """The softmax's loss; scored are the classes of the batch and each row's nearest."""

    few = True

    def of_batch(
        self, weight: Tensor, bias: Tensor, batch: Batch, probe: Callable[[], Tensor]
    ) -> LossOfInputs:
        """Choose the classes of a step; return what the layer's inputs cost with them."""
        with torch.no_grad():
            shared = batch.whole_y.sort().values
            repeated = F.pad(shared[1:] == shared[:-1], (1, 0))
            target = torch.searchsorted(shared, batch.y)
            looked_at = _run_of_classes(len(weight), len(batch.y), batch.random)
            inputs = probe()
        layer = weight.index_select(0, looked_at), bias.index_select(0, looked_at)
        best, others, pull = _Search.apply(*layer, inputs, (batch.y - looked_at[0]) % len(weight))
        own = looked_at[best]
        others = others + math.log(max(1, len(weight) - len(shared)) / len(looked_at))
        place = torch.searchsorted(shared, own).clamp_(max=len(shared) - 1)
        known = torch.cat([repeated, (shared[place] == own).flatten()])  # counted already
        classes = torch.cat([shared, own.flatten()]).int()  # half the work of sorting them
        n_shared, (n_rows, n_own) = len(shared), own.shape
        vectors = F.embedding(classes, weight)
        offsets = F.embedding(classes, bias[:, None])[:, 0].masked_fill(known, -math.inf)
        parts = (
            vectors[:n_shared],
            offsets[:n_shared],
            vectors[n_shared:].view(n_rows, n_own, weight.shape[1]),
            offsets[n_shared:].view(n_rows, n_own),
            others,
            pull,
            target,
        )

        def loss(inputs: Tensor, y: Tensor, row_weight: Tensor) -> tuple[Tensor, Tensor]:
            n_draws = len(inputs) // n_rows if n_rows else 1
            by_draw = inputs.view(n_draws, n_rows, inputs.shape[1])
            total, each = _FewCrossEntropy.apply(by_draw, *parts, row_weight, self.precision)
            if self.smoothing:  # lse - (1 - e) s_y - e mean(s) = lse - s_y + e (s_y - mean(s))
                difference = F.embedding(y, weight) - weight.mean(dim=0)
                above = (inputs * difference).sum(dim=1) + bias[y] - bias.mean()
                total = total + self.smoothing * (row_weight * above).sum()
                each = each + self.smoothing * above.detach()
            return total, each

        return loss


def _run_of_classes(n_classes: int, n_rows: int, random: Callable[[int], Tensor]) -> Tensor:
    """Return some consecutive classes, beginning anywhere; a multiple of the nearest of a row."""
    begin = random(1)
    most = (_GPU_SEARCHED if begin.device.type == "cuda" else _CPU_SEARCHED) // max(1, n_rows)
    n_own = min(NEAREST, n_classes)
    n = max(n_own, min(n_classes, most) // n_own * n_own)
    first = (begin * n_classes).long()
    return (torch.arange(n, device=begin.device) + first) % n_classes


class _Search(torch.autograd.Function):
    """Finds near classes of rows, and what the others that were looked at sum up to."""

    @staticmethod
    def forward(
        ctx: Any, vectors: Tensor, bias: Tensor, inputs: Tensor, place_of_y: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        (n_rows, n_classes), n_own = (len(inputs), len(vectors)), min(NEAREST, len(vectors))
        # On a GPU in bfloat16: neither what is near nor a sum need be known exactly.
        kind = torch.bfloat16 if inputs.device.type == "cuda" else inputs.dtype
        low_vectors, low_inputs = vectors.to(kind), inputs.to(kind)
        scores = torch.addmm(bias.to(kind), low_inputs, low_vectors.T)
        top, best = scores.view(n_rows, n_classes // n_own, n_own).max(dim=1)
        best = best * n_own + torch.arange(n_own, device=best.device)
        highest = top.amax(dim=1, keepdim=True)
        mass = scores.sub_(highest).exp_().scatter_(1, best, 0.0)
        y = torch.where(place_of_y < n_classes, place_of_y, best[:, 0])
        mass.scatter_(1, y[:, None], 0.0)
        total = mass.sum(dim=1, dtype=inputs.dtype).clamp_(min=_NOTHING)
        others = total.log() + highest[:, 0]
        pull = (mass @ low_vectors).to(inputs.dtype) / total[:, None]
        ctx.save_for_backward(mass, total, inputs)
        ctx.mark_non_differentiable(best, pull)
        return best, others, pull

    @staticmethod
    def backward(
        ctx: Any, grad_best: Tensor, grad_others: Tensor, grad_pull: Tensor
    ) -> tuple[Any, ...]:
        mass, total, inputs = ctx.saved_tensors
        share = grad_others / total
        grad_vectors = mass.T @ (inputs * share[:, None]).to(mass.dtype)
        grad_bias = mass.T @ share.to(mass.dtype)
        return grad_vectors.to(inputs.dtype), grad_bias.to(inputs.dtype), None, None


class _FewCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,  # (draws, rows, bits)
        shared: Tensor,  # (s, bits)
        shared_offset: Tensor,  # (s,)
        own: Tensor,  # (rows, own, bits)
        own_offset: Tensor,  # (rows, own)
        others: Tensor,  # (rows,)
        pull: Tensor,  # (rows, bits): how they change with the inputs
        target: Tensor,  # (rows,): of shared
        row_weight: Tensor,  # (draws * rows,)
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
            weights = row_weight[block].reshape(-1, 1)
            losses = to_gradient(scores, target.repeat(len(low))[:, None], weights, 0.0)
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
