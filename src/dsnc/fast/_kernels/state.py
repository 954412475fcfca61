"""What the kernels of training are given: rows, weights, and room to work."""

from typing import Any, NamedTuple


class Rows(NamedTuple):
    """Some thousand rows to learn from, in the order in which they come."""

    indptr: Any
    indices: Any
    values: Any
    starts: Any  # where the classes of each row begin; one more at the end
    classes: Any  # of all rows, one row after the other
    gains: Any  # how much each of these counts
    weight: Any
    near: Any = None  # (n_rows, n_nearest): the nearest classes, -1 where there are no more


class Weights(NamedTuple):
    """What is learned, or the sums of squared gradients of that, one for each vector."""

    encoder: Any  # (n_features, width)
    bias: Any  # (1, width)
    classes: Any  # (n_classes, width)
    class_bias: Any  # (n_classes,)


class Batch(NamedTuple):
    """What all threads know of the rows of a batch, and of those of the next one."""

    logits: Any  # (size, width)
    chances: Any  # of the bits
    gradient: Any  # of the logits
    octets: Any  # (size, n_octets): the codes
    inputs: Any  # (size, n_inputs, width): drawn bits, then soft ones
    classes: Any  # (size, most): which are scored
    n_own: Any  # (size,): how many of these the row has
    n_near: Any  # how many are not random
    n_classes: Any  # and how many there are
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
    searches: Any  # whether the nearest classes are searched, or are those that the rows have
    window: Any  # blocks of classes in which the nearest are looked for
    smoothing: Any
    fading: Any  # what is left of a sum of squares after a step
    bias_rate: Any  # as a share of that of the class vectors
    moves_encoder: Any
    each_alone: Any  # whether classes are decided one by one, by sigmoids, and not by a softmax
