"""Whole training steps of a linear encoder and its class vectors, without the GIL.

A step is a small batch of rows. First each thread takes its share of the rows: features to logits,
drawn and soft bits, a few classes to score, softmax, gradients. Then each takes its share of the
classes and of the features and moves those, row by row in their order. So the same numbers come out
whatever the number of threads.

A row's classes are its own, the nearest by code, and some at random, whose scores are raised by the
logarithm of how many classes each stands for. Steps are those of AdaGrad with one size for all
numbers of a vector: the sum of squared gradients of a class or feature fades a little whenever it
is moved.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from dsnc.codes._kernels.changing import nearest_keys
from dsnc.codes._kernels.nearest import FREE, ROW_BITS
from dsnc.codes._kernels.scan import BLOCK
from dsnc.codes._kernels.tools import kernel, part
from dsnc.fast._kernels.meeting import meet
from dsnc.fast._kernels.vectors import (
    LANES,
    add_scaled,
    chance,
    claim,
    clear,
    dot,
    draw,
    expect,
    exponentials,
    fetch,
    largest,
    pack,
    pass_through,
    probabilities,
    scale,
    set_row,
)

_ROW_MASK = (1 << ROW_BITS) - 1
_ZERO, _ONE = np.float32(0), np.float32(1)
_NEVER = np.float32(-1e30)  # the score of no class
_TINY = np.float32(1e-5)  # a gradient that is not worth a step
_LEAST = np.float32(1e-10)  # in square roots
_STREAM = 1 << 16  # places of noise apart; no code is longer
_APART = 6  # bits: what shares a cache line belongs to one thread
_AHEAD = 4  # vectors that are on their way from memory


class Rows(NamedTuple):
    """Some thousand rows to learn from, in the order in which they come."""

    indptr: Any
    indices: Any
    values: Any
    y: Any
    weight: Any


class Weights(NamedTuple):
    """What is learned, or the sums of squared gradients of that, one for each vector."""

    encoder: Any  # (n_features, width)
    bias: Any  # (1, width)
    classes: Any  # (n_classes, width)
    class_bias: Any  # (n_classes,)


class Batch(NamedTuple):
    """What all threads know of the rows of a batch."""

    logits: Any  # (size, width)
    chances: Any  # of the bits
    gradient: Any  # of the logits
    octets: Any  # (size, n_octets): the codes
    inputs: Any  # (size, n_inputs, width): drawn bits, then soft ones
    classes: Any  # (size, most): which are scored
    n_classes: Any  # (size,)
    scores: Any  # (size, n_inputs, most): then their gradients


class Space(NamedTuple):
    """What one thread needs for itself."""

    keys: Any  # (size, n_nearest)
    sums: Any  # and these of `nearest_keys`
    lows: Any
    notes: Any
    vector: Any  # (1, width)
    octets: Any  # (1, n_octets)


class Plan(NamedTuple):
    """Numbers that stay the same."""

    n_bits: Any
    n_draws: Any
    soft_share: Any  # of the loss; where it is 0, no soft bits are looked at
    sharpness: Any  # of the soft bits
    n_uniform: Any
    window: Any  # blocks of classes in which the nearest are looked for
    smoothing: Any
    fading: Any  # what is left of a sum of squares after a step
    bias_rate: Any  # as a share of that of the class vectors
    moves_encoder: Any


@kernel
def run(rows, weights, squares, layout, batch, space, plan, rates, seed, place, who, gate, losses):
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
    gate, losses
        See `meet`; the losses are summed for each place in the batch, whoever's it is.
    """
    thread, n_threads = who
    n_rows, size = rows.y.shape[0], batch.logits.shape[0]
    for first in range(0, n_rows, size):
        n = min(size, n_rows - first)
        begin, end = n * thread // n_threads, n * (thread + 1) // n_threads
        _encode(rows, first, begin, end, weights, batch, plan)
        window = _hash(seed ^ np.uint64(0x5851F42D4C957F2D), place + first)
        _find(layout, batch, begin, end, space, plan, window)
        for slot in range(begin, end):
            noise = _hash(seed, place + first + slot)
            losses[slot] += _score(rows, first + slot, slot, weights, batch, space, plan, noise)
        meet(gate, n_threads)
        passed = np.float32(first) / np.float32(n_rows)
        _move_classes(n, weights, squares, layout, batch, space, plan, _rate(rates[1], passed), who)
        if plan.moves_encoder:
            rate = _rate(rates[0], passed)
            _move_features(rows, first, n, weights, squares, batch, plan, rate, who)
        meet(gate, n_threads)


@part
def _hash(seed, place):
    """Return 32 random bits."""
    x = seed + np.uint64(place) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint32(x >> np.uint64(32))


@part
def _rate(rates, passed):
    return rates[0] + (rates[1] - rates[0]) * passed


@part
def _encode(rows, first, begin, end, weights, batch, plan):
    """Rows to logits, chances of the bits, and codes."""
    last = rows.indptr[first + end] - 1
    for slot in range(begin, end):
        set_row(batch.logits, slot, weights.bias, 0)
        for p in range(rows.indptr[first + slot], rows.indptr[first + slot + 1]):
            fetch(weights.encoder, rows.indices[min(p + _AHEAD, last)])
            add_scaled(batch.logits, slot, weights.encoder, rows.indices[p], rows.values[p])
        pack(batch.octets, slot, batch.logits, slot)
        probabilities(batch.chances, slot, batch.logits, slot, plan.sharpness)


@part
def _find(layout, batch, begin, end, space, plan, noise):
    """Find the nearest classes by code, within a window of all classes where these are many."""
    planes, gone, holes = layout
    n_blocks = planes.shape[0]
    size, first = min(n_blocks, plan.window), 0
    if size < n_blocks:
        first = min(np.int64(chance(noise, 0) * np.float32(n_blocks - size + 1)), n_blocks - size)
    nearest_keys(
        planes,
        gone,
        holes,
        first,
        first + size,
        plan.n_bits,
        batch.octets[begin:end],
        space.keys,
        space.sums,
        space.lows,
        space.notes,
    )
    for slot in range(begin, end):
        keys, classes = space.keys[slot - begin], batch.classes[slot]
        n = 1  # the first is the row's own class
        for entry in range(keys.shape[0]):
            if keys[entry] != FREE:
                classes[n] = keys[entry] & _ROW_MASK
                n += 1
        batch.n_classes[slot] = n


@part
def _choose(y, slot, weights, batch, plan, noise):
    """List the classes to score: the row's own, the nearest, some at random.

    Return how many are not random, and what is added to the scores of those that are.
    """
    classes, n_all = batch.classes[slot], weights.classes.shape[0]
    near = 1
    for m in range(1, batch.n_classes[slot]):
        if classes[m] != y:
            classes[near] = classes[m]
            near += 1
    classes[0] = y
    n = near
    for u in range(plan.n_uniform if near < n_all else 0):
        drawn = chance(noise, _STREAM * (plan.n_draws + 1) + LANES * u)
        k = np.int32(min(np.int64(drawn * np.float32(n_all)), n_all - 1))
        known = 0
        for m in range(near):
            known += np.int64(classes[m] == k)
        if known == 0:
            classes[n] = k
            n += 1
    batch.n_classes[slot] = n
    stands_for = np.float32(n_all - near) / np.float32(max(n - near, 1))
    return near, stands_for


@part
def _score(rows, row, slot, weights, batch, space, plan, noise):
    """Write the gradients of a row's scores and of its logits; return its loss."""
    near, stands_for = _choose(rows.y[row], slot, weights, batch, plan, noise)
    n, n_inputs = batch.n_classes[slot], batch.inputs.shape[1]
    classes, scores = batch.classes[slot], batch.scores[slot]
    for s in range(plan.n_draws):
        draw(batch.inputs, slot * n_inputs + s, batch.chances, slot, noise, s * _STREAM)
    if plan.soft_share > 0:
        expect(batch.inputs, slot * n_inputs + plan.n_draws, batch.chances, slot)
    for s in range(n_inputs):
        for j in range(plan.n_bits, batch.inputs.shape[2]):  # what fills up the row is no bit
            batch.inputs[slot, s, j] = _ZERO
    raised = math.log(stands_for)
    for m in range(n):
        fetch(weights.classes, classes[min(m + _AHEAD, n - 1)])
        offset = weights.class_bias[classes[m]] + (raised if m >= near else _ZERO)
        for s in range(n_inputs):
            scores[s, m] = offset + dot(
                weights.classes, classes[m], batch.inputs, slot * n_inputs + s
            )
    loss = _ZERO
    for s in range(n_inputs):
        share = plan.soft_share
        if s < plan.n_draws:
            share = (_ONE - plan.soft_share) / np.float32(plan.n_draws)
        loss += share * _softmax(
            batch.scores, slot * n_inputs + s, scores[s], n, near, stands_for, plan, weights
        )
        scale(batch.scores, slot * n_inputs + s, _padded(n), share * rows.weight[row])
    if plan.moves_encoder:
        _to_logits(slot, n, weights, batch, space)
    return loss * rows.weight[row]


@part
def _padded(n):
    return (n + LANES - 1) // LANES * LANES


@part
def _softmax(all_scores, which, scores, n, near, stands_for, plan, weights):
    """Turn scores into the gradient of their loss; return the loss.

    Smoothing spreads a share of the target over all classes, of which a random one stands for many.
    """
    spread = plan.smoothing / np.float32(weights.classes.shape[0])
    for m in range(n, _padded(n)):
        scores[m] = _NEVER
    top = largest(all_scores, which, _padded(n))
    wanted = (_ONE - plan.smoothing) * scores[0]
    if plan.smoothing > 0:
        for m in range(n):
            wanted += scores[m] * spread * (stands_for if m >= near else _ONE)
    total = exponentials(all_scores, which, _padded(n), top)
    scale(all_scores, which, _padded(n), _ONE / total)
    scores[0] -= _ONE - plan.smoothing
    if plan.smoothing > 0:
        for m in range(n):
            scores[m] -= spread * (stands_for if m >= near else _ONE)
    return math.log(total) + top - wanted


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
def _move_classes(n_rows, weights, squares, layout, batch, space, plan, rate, who):
    """Move this thread's share of the classes that were scored, and their codes."""
    thread, n_threads = who
    planes = layout[0]
    n_inputs, n_bits = batch.inputs.shape[1], np.float32(plan.n_bits)
    for slot in range(n_rows):
        scores = batch.scores[slot]
        for m in range(batch.n_classes[slot]):
            k = batch.classes[slot, m]
            if n_threads > 1 and _owner(k, n_threads) != thread:
                continue
            later = batch.classes[slot, min(m + _AHEAD, batch.n_classes[slot] - 1)]
            if n_threads > 1 and _owner(later, n_threads) == thread:
                claim(weights.classes, later)
            total, most = _ZERO, _ZERO
            for s in range(n_inputs):
                total += scores[s, m]
                most = max(most, abs(scores[s, m]))
            if most < _TINY:
                continue
            clear(space.vector, 0)
            for s in range(n_inputs):
                add_scaled(space.vector, 0, batch.inputs, slot * n_inputs + s, scores[s, m])
            square = dot(space.vector, 0, space.vector, 0) / n_bits
            squares.classes[k] = plan.fading * squares.classes[k] + square
            step = -rate / math.sqrt(squares.classes[k] + _LEAST)
            add_scaled(weights.classes, k, space.vector, 0, step)
            pack(space.octets, 0, weights.classes, k)
            for p in range(planes.shape[1]):
                if planes[k // BLOCK, p, k % BLOCK] != space.octets[0, p]:  # others read it, too
                    planes[k // BLOCK, p, k % BLOCK] = space.octets[0, p]
            squares.class_bias[k] += total * total
            step = rate * plan.bias_rate / math.sqrt(squares.class_bias[k] + _LEAST)
            weights.class_bias[k] -= step * total


@part
def _move_features(rows, first, n_rows, weights, squares, batch, plan, rate, who):
    """Move this thread's share of the features that the rows have; the first moves the bias."""
    thread, n_threads = who
    for slot in range(n_rows):
        square = dot(batch.gradient, slot, batch.gradient, slot) / np.float32(plan.n_bits)
        if square == 0:
            continue
        if thread == 0:
            squares.bias[0] += square
            step = -rate / math.sqrt(squares.bias[0] + _LEAST)
            add_scaled(weights.bias, 0, batch.gradient, slot, step)
        for p in range(rows.indptr[first + slot], rows.indptr[first + slot + 1]):
            feature, value = rows.indices[p], rows.values[p]
            later = rows.indices[min(p + _AHEAD, rows.indptr[first + slot + 1] - 1)]
            if n_threads > 1 and _owner(later, n_threads) == thread:
                claim(weights.encoder, later)
            if n_threads > 1 and _owner(feature, n_threads) != thread:
                continue
            squares.encoder[feature] = (
                plan.fading * squares.encoder[feature] + square * value * value
            )
            step = -rate * value / math.sqrt(squares.encoder[feature] + _LEAST)
            add_scaled(weights.encoder, feature, batch.gradient, slot, step)
