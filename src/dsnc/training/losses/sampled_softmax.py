"""Softmax cross-entropy over few of very many classes.

Of a softmax over all classes only those with high scores matter to a row. So a step scores

    the classes of the batch           exact, shared by all rows
    the row's nearest classes          exact, of each row alone
    a few drawn uniformly              each for as many as it was drawn from, shared

and its sum of exponentials is, in the mean over the draws, that over all classes. What a class that
was drawn stands for is added to its score as a logarithm (Y. Bengio, J.-S. Senecal, "Adaptive
Importance Sampling to Accelerate Training of a Neural Probabilistic Language Model", 2008).

The nearest are the best scores of the row's mean code among some consecutive classes, another run
of them in each step. They are looked for in `NEAREST` parts side by side, one class in each: that
takes one pass and no sorting. With as few classes as are scored anyway, the loss is the exact one.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from dsnc.training.batches import Batch
from dsnc.training.losses.base import LossOfInputs, rows_at_once
from dsnc.training.losses.softmax import SoftmaxLoss, to_gradient

NEAREST, UNIFORM = 32, 512  # classes of each row, and drawn for all rows
# Scores looked at for the nearest: rows of a batch x classes.
_CPU_SEARCHED, _GPU_SEARCHED = 1 << 24, 1 << 27


class SampledSoftmaxLoss(SoftmaxLoss):
    """The softmax's loss, estimated from the classes of the batch, near ones and random ones."""

    few = True

    def of_batch(
        self, weight: Tensor, bias: Tensor, batch: Batch, mean_inputs: Callable[[], Tensor]
    ) -> LossOfInputs:
        """Choose the classes of a step; return what the layer's inputs cost with them."""
        with torch.no_grad():
            own = _nearest(mean_inputs(), weight, bias, batch.random)
            uniform, drawn_from = _uniform(len(weight), batch)
            chosen = _Chosen.of(batch.whole_y, uniform, drawn_from, own)
            wanted = torch.searchsorted(chosen.of_batch, batch.y)
        classes = torch.cat([chosen.shared, own.flatten()])
        vectors = F.embedding(classes, weight)
        offsets = F.embedding(classes, bias[:, None])[:, 0] + chosen.correction
        n_shared, (n_rows, n_own) = len(chosen.shared), own.shape
        parts = (
            vectors[:n_shared],
            offsets[:n_shared],
            vectors[n_shared:].view(n_rows, n_own, -1),
            offsets[n_shared:].view(n_rows, n_own),
        )

        def loss(inputs: Tensor, y: Tensor, row_weight: Tensor) -> tuple[Tensor, Tensor]:
            shape = (-1, n_rows, inputs.shape[1]) if n_rows else (1, 0, inputs.shape[1])
            total, each = _FewCrossEntropy.apply(
                inputs.view(shape), *parts, chosen.hits, wanted, row_weight, self.precision
            )
            if self.smoothing:  # lse - (1 - e) s_y - e mean(s) = lse - s_y + e (s_y - mean(s))
                scores = F.embedding(y, weight) - weight.mean(dim=0)
                above = (inputs * scores).sum(dim=1) + bias[y] - bias.mean()
                total = total + self.smoothing * (row_weight * above).sum()
                each = each + self.smoothing * above.detach()
            return total, each

        return loss


class _Chosen(NamedTuple):
    """The classes of a step."""

    of_batch: Tensor  # (b,) sorted
    shared: Tensor  # (s,): of the batch, drawn ones, and one column more that counts nothing
    correction: Tensor  # (s + rows * own,): what is added to scores; -inf where one counts nothing
    hits: Tensor  # (rows, own): the column of shared that is the same class; the last if none is

    @classmethod
    def of(cls, y: Tensor, uniform: Tensor, drawn_from: Tensor, own: Tensor) -> "_Chosen":
        """Put classes together, so that none counts twice for a row."""
        of_batch = y.sort().values
        repeated = F.pad(of_batch[1:] == of_batch[:-1], (1, 0))[: len(y)]
        nothing = uniform.new_zeros(1)
        masks = [repeated, _place(of_batch, uniform)[1], nothing == 0]
        logs = torch.cat([repeated.new_zeros(len(y), dtype=drawn_from.dtype), drawn_from.log()])
        of_shared = F.pad(logs, (0, 1)).masked_fill(torch.cat(masks), -math.inf)
        place, is_drawn = _place(uniform, own)
        hits = torch.where(is_drawn, len(y) + place, len(y) + len(uniform))
        of_own = torch.zeros_like(own, dtype=logs.dtype)
        of_own = of_own.masked_fill(_place(of_batch, own)[1], -math.inf)
        shared = torch.cat([of_batch, uniform, nothing])
        return cls(of_batch, shared, torch.cat([of_shared, of_own.flatten()]), hits)


def _place(ordered: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
    """Return where classes stand in sorted ones, and whether they do."""
    if not len(ordered):  # a process's part of a short batch
        return torch.zeros_like(classes), torch.zeros_like(classes, dtype=torch.bool)
    place = torch.searchsorted(ordered, classes).clamp_(max=len(ordered) - 1)
    return place, ordered[place] == classes


def _uniform(n_classes: int, batch: Batch) -> tuple[Tensor, Tensor]:
    """Draw a class from each of some equal parts; return them and the sizes of the parts."""
    n = min(UNIFORM, n_classes)
    bounds = torch.arange(n + 1, device=batch.y.device) * n_classes // n
    sizes = bounds[1:] - bounds[:-1]
    within = (batch.random(n) * sizes).long().clamp_(max=sizes - 1)
    return bounds[:-1] + within, sizes.to(batch.weight.dtype)


def _nearest(
    inputs: Tensor, weight: Tensor, bias: Tensor, random: Callable[[int], Tensor]
) -> Tensor:
    """Return (rows, NEAREST) classes of high scores, among a run of classes that is drawn."""
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
    best = scores.view(n_rows, n_searched // n_own, n_own).argmax(dim=1)
    return classes[best * n_own + run[:n_own]]


class _FewCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,  # (draws, rows, bits)
        shared: Tensor,
        shared_offset: Tensor,
        own: Tensor,
        own_offset: Tensor,
        hits: Tensor,
        wanted: Tensor,
        row_weight: Tensor,  # (draws * rows,)
        precision: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        n_draws, n_rows, n_bits = inputs.shape
        width, n_own = len(shared) + own.shape[1], own.shape[1]
        low_shared, low_own = shared.to(precision), own.to(precision)
        gradients = [torch.zeros_like(part) for part in (shared, shared_offset, own, own_offset)]
        grad_inputs, each = torch.empty_like(inputs), inputs.new_empty(n_draws, n_rows)
        row_weight = row_weight.view(n_draws, n_rows)
        step = max(1, rows_at_once(width, inputs.device) // max(1, n_rows))
        for start in range(0, n_draws, step):
            block = slice(start, start + step)
            low = inputs[block].to(precision)
            flat, by_row = low.reshape(-1, n_bits), low.transpose(0, 1)
            of_shared = (flat @ low_shared.T).to(inputs.dtype) + shared_offset
            of_shared = of_shared.view(len(low), n_rows, -1)
            of_shared.scatter_(2, hits.expand(len(low), -1, -1), -math.inf)
            of_own = (by_row @ low_own.transpose(1, 2)).to(inputs.dtype) + own_offset[:, None]
            scores = torch.cat([of_shared, of_own.transpose(0, 1)], dim=2).view(-1, width)
            weights, target = row_weight[block].reshape(-1, 1), wanted.repeat(len(low))[:, None]
            each[block] = to_gradient(scores, target, weights, 0.0).view(-1, n_rows)
            low_scores = scores.to(precision)
            grad_shared = low_scores[:, :-n_own]
            grad_own = low_scores[:, -n_own:].view(-1, n_rows, n_own).transpose(0, 1)
            grad_inputs[block] = (grad_shared @ low_shared).view(low.shape)
            grad_inputs[block] += (grad_own @ low_own).transpose(0, 1)
            gradients[0] += grad_shared.T @ flat
            gradients[1] += scores[:, :-n_own].sum(dim=0)
            gradients[2] += grad_own.transpose(1, 2) @ by_row
            gradients[3] += scores[:, -n_own:].view(-1, n_rows, n_own).sum(dim=0)
        ctx.save_for_backward(grad_inputs, *gradients)
        ctx.mark_non_differentiable(each)
        return (each * row_weight).sum(), each.flatten()

    @staticmethod
    def backward(ctx: Any, grad_total: Tensor, grad_each: Tensor) -> tuple[Any, ...]:
        gradients = (gradient.mul_(grad_total) for gradient in ctx.saved_tensors)
        return (*gradients, None, None, None, None)
