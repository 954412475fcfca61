"""What the space of codes looks like: how much bits tell, and how far apart classes are."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.codes import PackedCodes
from dsnc.errors import InputError

_BLOCK = 1 << 20  # bits unpacked at a time


class ClassDistances(NamedTuple):
    """Hamming distances between rows; NaN if there are no such pairs.

    Attributes
    ----------
    intra, intra_std : float
        Mean and standard deviation over all pairs of different rows of the same class.
    inter, inter_std : float
        Mean and standard deviation over all pairs of rows of different classes.
    intra_class_std, inter_class_std : float
        Standard deviation over classes of each class's mean distance.
    """

    intra: float  # mean over all pairs of different rows of one class
    intra_std: float  # standard deviation over these pairs
    inter: float  # mean over all pairs of rows of different classes
    inter_std: float
    intra_class_std: float  # standard deviation over classes of each one's mean distance
    inter_class_std: float


def bit_entropy(codes: PackedCodes) -> NDArray[np.float64]:
    """Return each bit's entropy: ``-p log2(p) - (1 - p) log2(1 - p)``, p the share of set bits.

    It is 1 for a bit that divides the rows into halves, and 0 for one that is the same in all rows
    and tells nothing.

    Examples
    --------
    >>> bit_entropy(PackedCodes.from_bits([[1, 0], [0, 0]]))
    array([1., 0.])
    """
    _require_rows(codes)
    set_bits = sum(block.to_bits().sum(axis=0) for block in _blocks(codes))
    share = np.stack([set_bits, len(codes) - set_bits]) / len(codes)
    entropy: NDArray[np.float64] = (share * np.log2(1 / np.where(share > 0, share, 1))).sum(axis=0)
    return entropy


def distinct_codes(codes: PackedCodes) -> int:
    """Return how many different codes there are.

    Examples
    --------
    >>> distinct_codes(PackedCodes.from_bits([[1, 0], [0, 0], [1, 0]]))
    2
    """
    return len(codes.unique().codes)


def class_distances(codes: PackedCodes, y: ArrayLike) -> ClassDistances:
    """Return how far codes are from those of their own class, and from those of other classes.

    Nothing is sampled, and pairs are not enumerated. With codes as signs s of -1 and +1, a distance
    is ``d = (n_bits - g) / 2``, where g is the product ``s_i . s_j``; over all ordered pairs

        sum g   = |sum_i s_i|^2
        sum g^2 = |S' S|^2 = |S S'|^2      (S has the rows s_i; the sum of the squared entries)

    so one pass over all rows and one over each class give means and deviations, in at most n *
    n_bits^2 multiplications. A row is not paired with itself.

    The paper's Table 3 has deviations of 0 between classes for 24 bits. Over pairs this is
    impossible (the mean of g^2 over all pairs is at least n_bits, which means a deviation of about
    2.4 for its 1,000 classes), so we take its deviations for those of classes' means,
    `intra_class_std` and `inter_class_std`.

    Parameters
    ----------
    codes : PackedCodes
        n codes.
    y : array of shape (n,)
        Their classes, as numbers or names.

    Examples
    --------
    >>> codes = PackedCodes.from_bits([[0, 0, 0], [0, 0, 1], [1, 1, 1]])
    >>> found = class_distances(codes, ["ox", "ox", "bee"])
    >>> found.intra, found.inter, found.inter_std
    (1.0, 2.5, 0.5)
    """
    _require_rows(codes)
    labels, n, n_bits = np.asarray(y), len(codes), codes.n_bits
    if labels.shape != (n,):
        raise InputError(f"y has shape {labels.shape}; {n} codes need ({n},).")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise InputError(f"y[{int(np.argmax(np.isnan(labels)))}] is NaN, which is not a class.")
    _, number, counts = np.unique(labels, return_inverse=True, return_counts=True)
    members = np.split(np.argsort(number, kind="stable"), np.cumsum(counts)[:-1])

    total, total_squares = _products(codes)
    # For each class: sum g within, sum g^2 within, sum g between it and the others.
    sums = np.empty((3, len(members)))
    for k, rows in enumerate(members):
        part, squares = _products(codes.take(rows))
        sums[:, k] = part @ part, squares, part @ (total - part)
    # A row with itself has g = n_bits.
    same = sums[0] - counts * n_bits, sums[1] - counts * n_bits**2
    same_pairs, other_pairs = counts * (counts - 1), counts * (n - counts)
    intra, intra_std = _distance(same_pairs.sum(), same[0].sum(), same[1].sum(), n_bits)
    other_squares = total_squares - sums[1].sum()
    inter, inter_std = _distance(other_pairs.sum(), sums[2].sum(), other_squares, n_bits)
    class_stds = _class_std(same_pairs, same[0]), _class_std(other_pairs, sums[2])
    return ClassDistances(intra, intra_std, inter, inter_std, *class_stds)


def _products(codes: PackedCodes) -> tuple[NDArray[np.float64], float]:
    """Return the sum of the signs, and the sum over ordered pairs of rows of (s_i . s_j)^2."""
    if len(codes) <= codes.n_bits:  # the smaller of two matrices whose squares have one sum
        signs = codes.to_signs(np.float32)
        total, matrix = signs.sum(axis=0, dtype=np.float64), signs @ signs.T
    else:
        total, matrix = np.zeros(codes.n_bits), np.zeros((codes.n_bits, codes.n_bits))
        for block in _blocks(codes):
            signs = block.to_signs(np.float32)  # sums of so few are exact in single precision
            total += signs.sum(axis=0)
            matrix += signs.T @ signs
    return total, float(np.square(matrix, dtype=np.float64).sum())


def _distance(n_pairs: Any, products: Any, squares: Any, n_bits: int) -> tuple[float, float]:
    """Return mean and deviation of distances, given the sums of g and g^2 over pairs."""
    pairs, first, second = int(n_pairs), int(products), int(squares)
    if not pairs:
        return math.nan, math.nan
    # In integers, which know no rounding: the two terms of a small variance cancel.
    variance = max(0, pairs * second - first * first)
    return (n_bits - first / pairs) / 2, math.sqrt(variance) / pairs / 2


def _class_std(pairs: NDArray[np.int64], products: NDArray[np.float64]) -> float:
    """Return the deviation over classes of the mean distance, d = (n_bits - g) / 2."""
    used = pairs > 0
    return float(np.std(products[used] / pairs[used]) / 2) if used.any() else math.nan


def _blocks(codes: PackedCodes) -> Iterator[PackedCodes]:
    step = max(1, _BLOCK // codes.n_bits)
    return (codes.take(slice(start, start + step)) for start in range(0, len(codes), step))


def _require_rows(codes: PackedCodes) -> None:
    if not len(codes):
        raise InputError("codes is empty; give at least one code.")
