"""Whole training steps of a linear encoder and its class vectors, without the GIL.

A step is a small batch of rows. Some threads score its rows: softmax over a few classes, gradients.
Meanwhile others encode the rows of the next batch, find their drawn and soft bits and the classes
to score. Then the latter move the features, and the former the classes, row by row in their order.
Who is ready helps the others. So the same numbers come out whatever the number of threads, and few
vectors are read by one core and written by another. (The price: a row is encoded before the batch
in front of it has moved anything.)

A row's classes are its own, the nearest by code, and some at random, whose scores are raised by the
logarithm of how many classes each stands for. Steps are those of AdaGrad with one size for all
numbers of a vector: the sum of squared gradients of a class or feature fades a little whenever it
is moved.
"""

import math

import numpy as np

from dsnc.codes._kernels.scan import BLOCK
from dsnc.codes._kernels.tools import kernel, part
from dsnc.fast._kernels.candidates import prepare
from dsnc.fast._kernels.losses import padded, sigmoid_loss, softmax_loss
from dsnc.fast._kernels.meeting import await_work, meet, offer, report, take, take_end
from dsnc.fast._kernels.vectors import (
    TOGETHER,
    add_scaled,
    claim,
    clear,
    dot,
    dots,
    fetch,
    mix,
    move,
    pack,
    pass_through,
    probabilities,
    scale,
    set_row,
)

_ZERO, _ONE = np.float32(0), np.float32(1)
_TINY = np.float32(1e-4)  # a gradient that is not worth a step
_LEAST = np.float32(1e-10)  # in square roots
_APART = 6  # bits: what shares a cache line belongs to one thread
_PIECE = 2  # rows whose classes a thread finds before it looks for others
_SHARES = 2  # for each thread: who has time moves more of the classes
_AHEAD = 4  # vectors that are on their way from memory


@kernel
def run(rows, weights, squares, layout, batch, space, plan, rates, seed, place, who, gates, losses):
    """Take the steps of one thread over all rows.

    Parameters
    ----------
    rows : Rows
    weights, squares : Weights
    layout : (planes, gone, holes) of the class codes
    batch : Batch
    space : Space
        Of this thread.
    plan : Plan
    rates : float32 array of shape (2, 2)
        Of the encoder and of the classes, at the first row and after the last.
    seed : uint64
        Of all noise.
    place : int
        Of the first row among those of the seed.
    who : (int, int)
        Number of this thread, and of all threads.
    gates, losses
        See `meet`; at the second gate, rows to score are shared out. The losses are summed for each
        place in the batch, whoever's it is.
    """
    gate, to_score = gates
    n_rows, size, n_threads = rows.weight.shape[0], batch.logits.shape[0] // 2, who[1]
    scorers, finders = _roles(who)
    base, taken = 0, 0  # where the slots of the batch begin; pieces of work before it
    n_shares = _SHARES * n_threads if n_threads > 1 else 1  # of the classes to move
    for first in range(-size, n_rows, size):
        n, after, free = min(size, n_rows - first), first + size, size - base
        n_next = max(0, min(size, n_rows - after))
        if finders[1]:
            _encode(rows, after, free, n_next, weights, batch, plan, finders)
            report(
                gate, n_next * (finders[0] + 1) // finders[1] - n_next * finders[0] // finders[1]
            )
        if scorers[1] and first >= 0:
            _score(rows, first, base, n, weights, batch, space, plan, losses, to_score, False)
        await_work(gate, min(n_rows, after + size))
        piece = take(gate) - taken
        while piece * _PIECE < n_next:
            begin, end = piece * _PIECE, min(n_next, (piece + 1) * _PIECE)
            prepare(rows, after, free, begin, end, weights, layout, batch, space, plan, seed, place)
            piece = take(gate) - taken
        taken += (n_next + _PIECE - 1) // _PIECE + n_threads  # each took one that was not there
        if not scorers[1] and first >= 0:
            _score(rows, first, base, n, weights, batch, space, plan, losses, to_score, True)
        if who[0] == 0:
            offer(gate)
        meet(gate, n_threads)
        if first >= 0:
            passed = np.float32(first) / np.float32(n_rows)
            if finders[1] and plan.moves_encoder:
                rate = _rate(rates[0], passed)
                _move_features(rows, first, base, n, weights, squares, batch, plan, rate, finders)
            rate, share = _rate(rates[1], passed), take_end(gate, n_shares, not scorers[1])
            while share >= 0:
                mine = share, n_shares
                _move_classes(base, n, weights, squares, layout, batch, space, plan, rate, mine)
                share = take_end(gate, n_shares, not scorers[1])
        if who[0] == 0:
            offer(to_score)
        meet(gate, n_threads)
        base = free


@part
def _roles(who):
    """Return a thread's number among those that score and how many these are; the same of finders.

    Class vectors are the business of the former, the encoder that of the latter: most of what one
    core writes, no other has to read. One thread alone does both; 0 of 0 is none of it.
    """
    thread, n_threads = who
    if n_threads == 1:
        return (0, 1), (0, 1)
    n_scorers = (n_threads + 1) // 2
    if thread < n_scorers:
        return (thread, n_scorers), (0, 0)
    return (0, 0), (thread - n_scorers, n_threads - n_scorers)


@part
def _rate(rates, passed):
    return rates[0] + (rates[1] - rates[0]) * passed


@part
def _encode(rows, first, base, n_rows, weights, batch, plan, who):
    """Rows to logits, chances of the bits, and codes: this thread's share of them."""
    begin, end = n_rows * who[0] // who[1], n_rows * (who[0] + 1) // who[1]
    if begin == end:
        return  # behind the last batch there are no rows
    last = rows.indptr[first + end] - 1
    for place in range(begin, end):
        slot = base + place
        set_row(batch.logits, slot, weights.bias, 0)
        for p in range(rows.indptr[first + place], rows.indptr[first + place + 1]):
            fetch(weights.encoder, rows.indices[min(p + _AHEAD, last)])
            add_scaled(batch.logits, slot, weights.encoder, rows.indices[p], rows.values[p])
        pack(batch.octets, slot, batch.logits, slot)
        probabilities(batch.chances, slot, batch.logits, slot, plan.sharpness)


@part
def _score(rows, first, base, n, weights, batch, space, plan, losses, gate, from_back):
    """Score rows of a batch as long as there are some that no other thread has taken."""
    place = take_end(gate, n, from_back)
    while place >= 0:
        losses[place] += _score_row(rows, first + place, base + place, weights, batch, space, plan)
        place = take_end(gate, n, from_back)


@part
def _score_row(rows, row, slot, weights, batch, space, plan):
    """Write the gradients of a row's scores and of its logits; return its loss."""
    near, n, n_inputs = batch.n_near[slot], batch.n_classes[slot], batch.inputs.shape[1]
    stands_for = np.float32(weights.classes.shape[0] - near) / np.float32(max(n - near, 1))
    classes, scores = batch.classes[slot], batch.scores[slot]
    raised = _ZERO if plan.each_alone else np.float32(math.log(stands_for))
    for m in range(n):
        fetch(weights.classes, classes[min(m + _AHEAD, n - 1)])
        offset = weights.class_bias[classes[m]] + (raised if m >= near else _ZERO)
        first = slot * n_inputs
        if n_inputs == TOGETHER:
            products = dots(weights.classes, classes[m], batch.inputs, first)
            for s in range(TOGETHER):
                scores[s, m] = offset + products[s]
        else:
            for s in range(n_inputs):
                scores[s, m] = offset + dot(weights.classes, classes[m], batch.inputs, first + s)
    loss, own = _ZERO, rows.gains[rows.starts[row] : rows.starts[row + 1]]
    for s in range(n_inputs):
        share = plan.soft_share
        if s < plan.n_draws:
            share = (_ONE - plan.soft_share) / np.float32(plan.n_draws)
        which = slot * n_inputs + s
        if plan.each_alone:
            loss += share * sigmoid_loss(batch.scores, which, scores[s], own, near, n, stands_for)
        else:
            n_all = np.float32(weights.classes.shape[0])
            loss += share * softmax_loss(
                batch.scores, which, scores[s], own, near, n, stands_for, plan, n_all
            )
        scale(batch.scores, which, padded(n), share * rows.weight[row])
    if plan.moves_encoder:
        _to_logits(slot, n, weights, batch, space)
    return loss * rows.weight[row]


@part
def _to_logits(slot, n, weights, batch, space):
    """Write the gradient of a row's logits: that of its bits, straight through."""
    scores = batch.scores[slot]
    clear(space.vector, 0)
    for m in range(n):
        total = _ZERO
        for s in range(scores.shape[0]):
            total += scores[s, m]
        if abs(total) >= _TINY:
            add_scaled(space.vector, 0, weights.classes, batch.classes[slot, m], total)
    pass_through(batch.gradient, slot, space.vector, 0, batch.chances, slot)


@part
def _owner(number, n_threads):
    """Return the thread that moves a class or feature: by a hash, without a division."""
    mixed = (np.uint64(number >> _APART) * np.uint64(0x9E3779B1)) & np.uint64(0xFFFFFFFF)
    return np.int64((mixed * np.uint64(n_threads)) >> np.uint64(32))


@part
def _move_classes(base, n_rows, weights, squares, layout, batch, space, plan, rate, share):
    """Move a share of the classes that were scored, and their codes."""
    planes = layout[0]
    n_inputs, n_bits = batch.inputs.shape[1], np.float32(plan.n_bits)
    for slot in range(base, base + n_rows):
        scores = batch.scores[slot]
        for m in range(batch.n_classes[slot]):
            k = batch.classes[slot, m]
            if share[1] > 1 and _owner(k, share[1]) != share[0]:
                continue
            later = batch.classes[slot, min(m + _AHEAD, batch.n_classes[slot] - 1)]
            if share[1] > 1 and _owner(later, share[1]) == share[0]:
                claim(weights.classes, later)
            total, most = _ZERO, _ZERO
            for s in range(n_inputs):
                total += scores[s, m]
                most = max(most, abs(scores[s, m]))
            if most < _TINY:
                continue
            square = _mixed(space.vector, batch.inputs, slot * n_inputs, scores, m) / n_bits
            squares.classes[k] = plan.fading * squares.classes[k] + square
            step = -rate / math.sqrt(squares.classes[k] + _LEAST)
            if move(weights.classes, k, space.vector, 0, step):
                pack(space.octets, 0, weights.classes, k)
                for p in range(planes.shape[1]):
                    planes[k // BLOCK, p, k % BLOCK] = space.octets[0, p]
            squares.class_bias[k] += total * total
            step = rate * plan.bias_rate / math.sqrt(squares.class_bias[k] + _LEAST)
            weights.class_bias[k] -= step * total


@part
def _mixed(vector, inputs, first, scores, m):
    """Write the gradient of a class vector; return the sum of its squares."""
    n_inputs = scores.shape[0]
    if n_inputs == TOGETHER:
        shares = scores[0, m], scores[1, m], scores[2, m], scores[3, m], scores[4, m]
        return mix(vector, 0, inputs, first, shares)
    clear(vector, 0)
    for s in range(n_inputs):
        add_scaled(vector, 0, inputs, first + s, scores[s, m])
    return dot(vector, 0, vector, 0)


@part
def _move_features(rows, first, base, n_rows, weights, squares, batch, plan, rate, who):
    """Move this thread's share of the features that the rows have; the first moves the bias."""
    thread, n_threads = who
    for place in range(n_rows):
        slot = base + place
        square = dot(batch.gradient, slot, batch.gradient, slot) / np.float32(plan.n_bits)
        if square == 0:
            continue
        if thread == 0:
            squares.bias[0] += square
            step = -rate / math.sqrt(squares.bias[0] + _LEAST)
            add_scaled(weights.bias, 0, batch.gradient, slot, step)
        for p in range(rows.indptr[first + place], rows.indptr[first + place + 1]):
            feature, value = rows.indices[p], rows.values[p]
            later = rows.indices[min(p + _AHEAD, rows.indptr[first + place + 1] - 1)]
            if n_threads > 1 and _owner(later, n_threads) == thread:
                claim(weights.encoder, later)
            if n_threads > 1 and _owner(feature, n_threads) != thread:
                continue
            squares.encoder[feature] = (
                plan.fading * squares.encoder[feature] + square * value * value
            )
            step = -rate * value / math.sqrt(squares.encoder[feature] + _LEAST)
            add_scaled(weights.encoder, feature, batch.gradient, slot, step)
