"""The softmax over all classes on a GPU in bfloat16, in kernels that keep scores in registers.

Scores of a block of rows and a block of classes are made by the tensor cores, used and forgotten:
no rows x classes numbers go to memory, which is what the plain way spends its time on. Going
forward, a pass over the classes gives each row the logarithm of its sum and the mean of the class
vectors under its softmax, as attention does; going backward, each block of classes passes over the
rows for its gradient. Passes are shared out among so many programs that all of the GPU works;
their parts are added up in a fixed order, so that the same steps give the same bits.
"""

from typing import Any

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor

_PROGRAMS = 512  # some for each multiprocessor
_LOWEST = -1e30
_OWN = 64  # rows of a program that passes over classes, and classes of one that passes over rows
_ROOM = 8192  # numbers of the vectors that it looks at at a time
_SIZE = {"num_warps": 4, "num_stages": 3}


class FusedCrossEntropy(torch.autograd.Function):
    """As `softmax._LinearCrossEntropy`, on a GPU, in bfloat16."""

    @staticmethod
    def forward(
        ctx: Any,
        rows: Tensor,
        weight: Tensor,
        bias: Tensor,
        y: Tensor,
        row_weight: Tensor,
        smoothing: float,
    ) -> tuple[Tensor, Tensor]:
        """Return the weighted sum of the rows' losses, and each row's loss."""
        width = max(16, triton.next_power_of_2(rows.shape[1]))
        low_rows, low_weight = (
            F.pad(part.to(torch.bfloat16), (0, width - part.shape[1])) for part in (rows, weight)
        )
        log_sum, pull = _pass_over_classes(low_rows, low_weight, bias)
        wanted = low_weight.index_select(0, y).float()
        score = (low_rows * wanted).sum(dim=1) + bias.index_select(0, y)
        wanted *= 1 - smoothing
        if smoothing:
            mean = low_weight.mean(dim=0, dtype=torch.float32)
            mean_score = (low_rows * mean).sum(dim=1) + bias.mean()
            score = torch.lerp(score, mean_score, smoothing)
            wanted += smoothing * mean
        grad_rows = (pull - wanted)[:, : rows.shape[1]]
        each = log_sum - score
        ctx.save_for_backward(low_rows, low_weight, bias, y, row_weight, log_sum, grad_rows)
        ctx.smoothing, ctx.n_bits = smoothing, rows.shape[1]
        ctx.mark_non_differentiable(each)
        return (each * row_weight).sum(), each

    @staticmethod
    def backward(ctx: Any, grad_total: Tensor, grad_each: Tensor) -> tuple[Any, ...]:
        """Return the gradients of rows, weight and bias."""
        low_rows, low_weight, bias, y, row_weight, log_sum, grad_rows = ctx.saved_tensors
        row_weight = row_weight * grad_total
        grad_weight, grad_bias = _pass_over_rows(
            low_rows, low_weight, bias, y, row_weight, log_sum, ctx.smoothing, ctx.n_bits
        )
        return grad_rows * row_weight[:, None], grad_weight, grad_bias, None, None, None


def _shares(n_own: int, n_other: int, width: int) -> tuple[tuple[int, int], int, int]:
    """Return the grid of programs, how far each passes, and by how many at a time."""
    at_a_time = min(128, _ROOM // width)
    n_blocks, n_steps = triton.cdiv(n_own, _OWN), triton.cdiv(n_other, at_a_time)
    n_parts = max(1, min(n_steps, triton.cdiv(_PROGRAMS, max(1, n_blocks))))
    length = triton.cdiv(n_steps, n_parts) * at_a_time
    return (n_blocks, triton.cdiv(n_other, length)), length, at_a_time


def _pass_over_classes(rows: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Return log sum exp of the scores of each row, and the mean of the vectors under them."""
    (n_rows, width), n_classes = rows.shape, len(weight)
    grid, length, at_a_time = _shares(n_rows, n_classes, width)
    pulls = bias.new_empty(grid[1], n_rows, width)
    sums = bias.new_empty(grid[1], n_rows)
    _look[grid](
        rows, weight, bias, sums, pulls, n_rows, n_classes, length,
        LOWEST=_LOWEST, BITS=width, ROWS=_OWN, CLASSES=at_a_time, **_SIZE,
    )  # fmt: skip
    log_sum = sums.logsumexp(dim=0)
    return log_sum, ((sums - log_sum).exp()[:, :, None] * pulls).sum(dim=0)


def _pass_over_rows(
    rows: Tensor,
    weight: Tensor,
    bias: Tensor,
    y: Tensor,
    row_weight: Tensor,
    log_sum: Tensor,
    smoothing: float,
    n_bits: int,
) -> tuple[Tensor, Tensor]:
    """Return the gradients of weight and bias."""
    (n_rows, width), n_classes = rows.shape, len(weight)
    grid, length, at_a_time = _shares(n_classes, n_rows, width)
    of_weight = bias.new_empty(grid[1], n_classes, n_bits)
    of_bias = bias.new_empty(grid[1], n_classes)
    _push[grid](
        rows, weight, bias, y, row_weight, log_sum, of_weight, of_bias, n_rows, n_classes, n_bits,
        length, 1 - smoothing, smoothing / n_classes,
        BITS=width, ROWS=at_a_time, CLASSES=_OWN, **_SIZE,
    )  # fmt: skip
    return (of_weight[0], of_bias[0]) if grid[1] == 1 else (of_weight.sum(0), of_bias.sum(0))


@triton.jit
def _look(
    rows, weight, bias, sums, pulls, n_rows, n_classes, length,
    LOWEST: tl.constexpr, BITS: tl.constexpr, ROWS: tl.constexpr, CLASSES: tl.constexpr,
):  # fmt: skip
    """Pass a block of rows over some classes: log sum exp of scores, the mean vector."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    bit = tl.arange(0, BITS)
    is_row = row < n_rows
    x = tl.load(rows + row[:, None] * BITS + bit[None, :], mask=is_row[:, None], other=0.0)
    highest = tl.full((ROWS,), LOWEST, tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    pull = tl.zeros((ROWS, BITS), tl.float32)
    begin = tl.program_id(1) * length
    for first in range(begin, tl.minimum(begin + length, n_classes), CLASSES):
        c = first + tl.arange(0, CLASSES)
        is_class = c < n_classes
        places = c[:, None].to(tl.int64) * BITS + bit[None, :]
        w = tl.load(weight + places, mask=is_class[:, None], other=0.0)
        b = tl.load(bias + c, mask=is_class, other=float("-inf"))
        scores = tl.dot(x, tl.trans(w)) + b[None, :]
        above = tl.maximum(highest, tl.max(scores, 1))
        p = tl.exp(scores - above[:, None])
        shrink = tl.exp(highest - above)
        total = total * shrink + tl.sum(p, 1)
        pull = tl.dot(p.to(w.dtype), w, pull * shrink[:, None])
        highest = above
    place = tl.program_id(1) * n_rows + row
    tl.store(sums + place, highest + tl.log(total), mask=is_row)
    tl.store(pulls + place[:, None] * BITS + bit[None, :], pull / total[:, None],
             mask=is_row[:, None])  # fmt: skip


@triton.jit
def _push(
    rows, weight, bias, y, row_weight, log_sum, of_weight, of_bias, n_rows, n_classes, n_bits,
    length, wanted, spread,
    BITS: tl.constexpr, ROWS: tl.constexpr, CLASSES: tl.constexpr,
):  # fmt: skip
    """Pass a block of classes over some rows: its gradient."""
    c = tl.program_id(0) * CLASSES + tl.arange(0, CLASSES)
    bit = tl.arange(0, BITS)
    is_class = c < n_classes
    places = c[:, None].to(tl.int64) * BITS + bit[None, :]
    w = tl.load(weight + places, mask=is_class[:, None], other=0.0)
    b = tl.load(bias + c, mask=is_class, other=float("-inf"))
    pushed = tl.zeros((CLASSES, BITS), tl.float32)
    lifted = tl.zeros((CLASSES,), tl.float32)
    begin = tl.program_id(1) * length
    for first in range(begin, tl.minimum(begin + length, n_rows), ROWS):
        row = first + tl.arange(0, ROWS)
        is_row = row < n_rows
        x = tl.load(rows + row[:, None] * BITS + bit[None, :], mask=is_row[:, None], other=0.0)
        own = tl.load(y + row, mask=is_row, other=-1)
        top = tl.load(log_sum + row, mask=is_row, other=float("inf"))
        counts = tl.load(row_weight + row, mask=is_row, other=0.0)
        scores = tl.dot(w, tl.trans(x)) + b[:, None]
        p = tl.exp(scores - top[None, :]) - spread
        p = tl.where(c[:, None] == own[None, :], p - wanted, p) * counts[None, :]
        lifted += tl.sum(p, 1)
        pushed = tl.dot(p.to(x.dtype), x, pushed)
    place = tl.program_id(1).to(tl.int64) * n_classes + c
    tl.store(of_bias + place, lifted, mask=is_class)
    is_number = is_class[:, None] & (bit < n_bits)[None, :]
    tl.store(of_weight + place[:, None] * n_bits + bit[None, :], pushed, mask=is_number)
