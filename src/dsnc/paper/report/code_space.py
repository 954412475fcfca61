"""Numbers from the test rows: balance and correlation of bits, distances of pairs, mistakes."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import PackedCodes
from dsnc.paper.experiments import Record

PAIRS = 100_000  # that are drawn, of each kind
_BLOCK = 1 << 22  # bits unpacked at a time


class Distances(NamedTuple):
    """Numbers of pairs at each distance from 0 to n_bits, of one class and of different ones."""

    within: NDArray[np.int64]
    between: NDArray[np.int64]


class Confusion(NamedTuple):
    """Rows of one class that were given another one."""

    true: int
    predicted: int
    mistakes: int  # rows, over all runs
    rows: int  # of the true class, over all runs
    reverse: int  # rows of the other class that were given this one


def shares_of_ones(codes: PackedCodes) -> NDArray[np.float64]:
    """Return each bit's share of rows where it is set."""
    return np.diag(_moments(codes))


def correlations(codes: PackedCodes) -> NDArray[np.float64]:
    """Return the absolute correlation of each two bits over rows; 0 for a bit that never changes.

    With p the shares of ones, ``(P(i and j) - p_i p_j) / sqrt(p_i (1 - p_i) p_j (1 - p_j))``.

    Examples
    --------
    >>> codes = PackedCodes.from_bits([[0, 1, 1], [1, 0, 1], [0, 1, 1], [1, 0, 1]])
    >>> correlations(codes)[0].round(6)
    array([1., 1., 0.])
    """
    both = _moments(codes)
    share = np.diag(both)
    spread = np.sqrt(share * (1 - share))
    scale = np.outer(spread, spread)
    covariance = both - np.outer(share, share)
    found: NDArray[np.float64] = np.abs(covariance) / np.where(scale > 0, scale, 1)
    found[scale == 0] = 0
    return found


def class_histograms(codes: PackedCodes, y: NDArray[np.int32]) -> Distances:
    """Return histograms of the distances of `PAIRS` pairs of each kind, the same in every run.

    Pairs are drawn with replacement, each ordered pair of different rows as likely as the others
    of its kind. A kind that no pair is of has zeros only.
    """
    rng = np.random.default_rng(0)
    order = np.argsort(y, kind="stable")
    _, first, counts = np.unique(y[order], return_index=True, return_counts=True)
    size, start = np.repeat(counts, counts), np.repeat(first, counts)  # of each row in order
    within = between = np.zeros(codes.n_bits + 1, dtype=np.int64)
    if (size > 1).any():
        # A row with more mates is in more pairs.
        one = rng.choice(len(order), PAIRS, p=(size - 1) / (size - 1).sum())
        step = rng.integers(1, size[one])
        other = start[one] + (one - start[one] + step) % size[one]
        within = _histogram(codes, order[one], order[other])
    if len(counts) > 1:
        others = len(order) - size
        one = rng.choice(len(order), PAIRS, p=others / others.sum())
        step = rng.integers(0, others[one])
        other = (start[one] + size[one] + step) % len(order)
        between = _histogram(codes, order[one], order[other])
    return Distances(within, between)


def confusions(records: Iterable[Record], decoder: str, most: int = 12) -> list[Confusion]:
    """Return the most frequent mistakes of runs on the same test rows, ties by class number.

    Runs without answers of the decoder are left out.
    """
    runs = [r.arrays for r in records if len(r.arrays.get(f"top.{decoder}", ()))]
    if not runs:
        return []
    y = np.concatenate([arrays["y"] for arrays in runs]).astype(np.int64)
    answers = np.concatenate([arrays[f"top.{decoder}"][:, 0] for arrays in runs]).astype(np.int64)
    wrong = y != answers
    n = int(max(y.max(), answers.max())) + 1
    pairs, counts = np.unique(y[wrong] * n + answers[wrong], return_counts=True)
    number = dict(zip(pairs.tolist(), counts.tolist(), strict=True))
    rows = np.bincount(y, minlength=n)
    found = []
    for pair in pairs[np.argsort(-counts, kind="stable")[:most]].tolist():
        a, b = divmod(pair, n)
        found.append(Confusion(a, b, number[pair], int(rows[a]), number.get(b * n + a, 0)))
    return found


def _histogram(
    codes: PackedCodes, one: NDArray[np.int64], other: NDArray[np.int64]
) -> NDArray[np.int64]:
    words = codes.words
    distances = np.bitwise_count(words[one] ^ words[other]).sum(axis=1, dtype=np.int64)
    return np.bincount(distances, minlength=codes.n_bits + 1)


def _moments(codes: PackedCodes) -> NDArray[np.float64]:
    """Return the share of rows that have each two bits; on the diagonal, each bit."""
    both = np.zeros((codes.n_bits, codes.n_bits))
    step = max(1, _BLOCK // codes.n_bits)
    for start in range(0, len(codes), step):
        bits = codes.take(slice(start, start + step)).to_bits().astype(np.float32)
        both += bits.T @ bits  # whole numbers below 2**24: exact
    return both / max(1, len(codes))
