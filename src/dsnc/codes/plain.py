"""Twins in numpy of the kernels that predict: slower, and there at once (see `dsnc.kernels`).

Each takes the arrays of its kernel and writes the same into them. Only scores may differ, in their
last digits: the kernel adds up in whatever order is fastest on a machine.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from dsnc.codes.packed import PackedCodes

FINE, NOT_A_NUMBER, SCATTERED, OUTSIDE = 0, 1, 2, 3  # what `encode_csr` may find
ROW_BITS = 40  # of a key, for the row: see `dsnc.codes._kernels.nearest`
FREE = (1 << 62) - 1  # the key of a place that nothing fills

# tanh(x) is x times a polynomial in x^2, of these coefficients, over another: as the Eigen library
# has it, within 4e-7, and exactly 1 from TANH_TOP on.
TANH_ABOVE = tuple(
    np.float32(a)
    for a in (
        -2.76076847742355e-16,
        2.00018790482477e-13,
        -8.60467152213735e-11,
        5.12229709037114e-08,
        1.48572235717979e-05,
        6.37261928875436e-04,
        4.89352455891786e-03,
    )
)
TANH_BELOW = tuple(
    np.float32(b)
    for b in (
        1.19825839466702e-06,
        1.18534705686654e-04,
        2.26843463243900e-03,
        4.89352518554385e-03,
    )
)
TANH_TOP = np.float32(7.90531110763549805)
SURE = np.float32(1e6)  # no bit counts for more, so that no score is infinite
STEP = np.float32(1e-5)  # a share of the score that roundings do not lose

_ENCODED, _PRODUCT, _RANKED, _SORTED = 3e-5, 5e-9, 1e-4, 7e-8  # seconds of one


def seconds_to_encode(n_rows: int, n_entries: int, n_bits: int) -> float:
    """Return how long `encode_csr` takes, about."""
    return _ENCODED * n_rows + _PRODUCT * n_entries * n_bits


def seconds_to_rank(n_rows: int, n_codes: int) -> float:
    """Return how long it takes to sort all codes and to `rerank` the nearest, about."""
    return n_rows * (_RANKED + _SORTED * n_codes)


@np.errstate(over="ignore", invalid="ignore")
def encode_csr(
    indptr: Any,
    indices: Any,
    data: Any,
    weight: Any,
    bias: Any,
    unit: bool,
    logits: Any,
    words: Any,
) -> int:
    """Do as `dsnc.codes._kernels.encode.encode_csr` does."""
    n_entries = min(len(indices), len(data))
    for i, (start, stop) in enumerate(pairwise(indptr.tolist())):
        if not 0 <= start <= stop <= n_entries:
            return OUTSIDE
        features, values = indices[start:stop], data[start:stop].astype(np.float32)
        if ((features < 0) | (features >= len(weight))).any():
            return OUTSIDE
        if unit:
            if (features[1:] <= features[:-1]).any():
                return SCATTERED
            total = _last_sum(np.append(0, values.astype(np.float64) ** 2))
            values = (values / np.sqrt(total if total > 0 else 1.0)).astype(np.float32)
        logits[i] = _last_sum(np.vstack([bias, values[:, None] * weight[features]]))
    words[:] = PackedCodes._pack(logits > 0).words
    return NOT_A_NUMBER if np.isnan(logits).any() else FINE


def rerank(
    keys: Any,
    owners: Any,
    size: int,
    slack: int,
    queries: Any,
    codes: Any,
    logits: Any,
    hard: bool,
    weight: Any,
    bias: Any,
    closeness: Any,
    half: Any,
    classes: Any,
    scores: Any,
    inside: Any,
    _: Any,
) -> None:
    """Do as `dsnc.codes._kernels.rerank.rerank` does."""
    k, n_bits = classes.shape[1], logits.shape[1]
    soft, sure = logits if hard else _tanh(half * logits), np.minimum(np.abs(logits), SURE)
    for i, key in enumerate(keys):
        limit = min((key[0] >> ROW_BITS) + slack, (FREE >> ROW_BITS) - 1)
        near = inside[i] = np.count_nonzero(key[:size] >> ROW_BITS <= limit)
        owner = owners[i, :near]
        score = bias[owner] + (soft[i] * weight[owner]).sum(axis=1)
        if closeness > 0:
            rows = key[:near] & ((1 << ROW_BITS) - 1)
            differing = PackedCodes._own(queries[i] ^ codes[rows], n_bits).to_bits()
            score -= closeness * (differing * sure[i]).sum(axis=1)
        order = np.lexsort([owner, -score])[:k]
        others = owners[i, near:][key[near:] != FREE][: k - len(order)]
        classes[i] = -1
        classes[i, : len(order) + len(others)] = [*owner[order], *others]
        scores[i, : len(order)] = score[order]
        for place in range(len(order), len(order) + len(others)):
            last = scores[i, place - 1]
            scores[i, place] = last - STEP * max(abs(last), np.float32(1))


def _last_sum(terms: Any) -> Any:
    """Add the terms one after the other, as a loop does; `sum` would take another order."""
    return np.add.accumulate(terms, axis=0)[-1]


def _tanh(x: Any) -> Any:
    x = np.clip(x, -TANH_TOP, TANH_TOP)
    s = x * x
    above, below = TANH_ABOVE[0], TANH_BELOW[0]
    for a in TANH_ABOVE[1:]:
        above = above * s + a
    for b in TANH_BELOW[1:]:
        below = below * s + b
    return x * above / below
