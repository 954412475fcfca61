"""Softmax cross-entropy over few of very many classes.

Of a softmax over all classes only those with high scores matter to a row. So a step scores

    the classes of the batch    shared by all rows: classes as random as the rows are
    the row's nearest classes   of each row alone: its rivals
    all others                  as one score of the row, the logarithm of what they sum up to

Each row looks for its nearest with one code, among some consecutive classes, others in each step:
in `NEAREST` parts side by side, one class in each, which takes one pass and no sorting. The rest of
these classes tells what all others sum up to (times classes / classes looked at): a little less
than they do, since the best are left out, but steadily. Without it, rows would learn from their
rivals alone, also while hardly any class is one, and nothing would come of a million classes. With
no more than `NEAREST` classes the loss is the exact one.
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
# Scores looked at for the nearest: rows of a batch x classes.
_CPU_SEARCHED, _GPU_SEARCHED = 1 << 24, 1 << 27


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
            own, others = _nearest(probe(), weight, bias, len(shared), batch.random)
            place = torch.searchsorted(shared, own).clamp_(max=len(shared) - 1)
            known = torch.cat([repeated, (shared[place] == own).flatten()])  # counted already
            target = torch.searchsorted(shared, batch.y)
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


def _nearest(
    inputs: Tensor,
    weight: Tensor,
    bias: Tensor,
    n_shared: int,
    random: Callable[[int], Tensor],
) -> tuple[Tensor, Tensor]:
    """Return (rows, NEAREST) classes of high scores, among a run of classes that is drawn.

    And, for each row, the logarithm of what the exponentials of all other scores sum up to, less
    those of `n_shared` classes that are scored anyway.
    """
    (n_rows, _), n_classes = inputs.shape, len(weight)
    n_own = min(NEAREST, n_classes)
    on_gpu = inputs.device.type == "cuda"
    most = (_GPU_SEARCHED if on_gpu else _CPU_SEARCHED) // max(1, n_rows)
    n_searched = max(n_own, min(n_classes, most) // n_own * n_own)
    first = (random(1) * n_classes).long()
    run = torch.arange(n_searched, device=inputs.device)
    classes = (run + first) % n_classes
    kind = torch.bfloat16 if on_gpu else inputs.dtype  # which is near need not be known exactly
    vectors = weight.index_select(0, classes).to(kind)
    scores = torch.addmm(bias[classes].to(kind), inputs.to(kind), vectors.T)
    top, best = scores.view(n_rows, n_searched // n_own, n_own).max(dim=1)
    high = top.amax(dim=1, keepdim=True)
    sums = [part.sub_(high).exp_().sum(dim=1, dtype=inputs.dtype) for part in (scores, top)]
    rest = (sums[0] - sums[1]).clamp_(min=torch.finfo(inputs.dtype).tiny)
    others = rest.log() + high[:, 0] + math.log(max(1, n_classes - n_shared) / n_searched)
    return classes[best * n_own + run[:n_own]], others


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
            parts = (
                of_shared.T @ flat,
                scores[:, : len(shared)].T @ scores.new_ones(len(flat)),
                of_own.transpose(1, 2) @ by_row,
                scores[:, -n_own:].view(len(low), n_rows, n_own).sum(dim=0),
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
