"""Synthetic data with a known structure, for any number of classes.

Memory is proportional to the rows that are returned: what a class looks like is a hash of its
number, so a million classes cost nothing until one of them has a row.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.checks import real, whole
from dsnc.codes.packed import PackedCodes
from dsnc.data.dataset import Dataset
from dsnc.errors import InputError
from dsnc.sparse import sp

_BLOCK = 1 << 16  # rows made at a time


def make_sparse_topics(
    n_rows: int,
    n_classes: int,
    n_features: int,
    *,
    words_per_row: int = 40,
    words_per_topic: int = 30,
    branching: int = 10,
    background: float = 0.5,
    class_skew: float = 0.0,
    random_state: int = 0,
    part: int = 0,
) -> Dataset:
    """Make text-like word counts: documents whose classes are the leaves of a tree.

    A word of a document comes from the background, where word frequencies follow Zipf's law, or
    from one of the topics on the path from the root's children down to the document's class.
    Neighboring classes share their upper topics, as real categories do.

    Parameters
    ----------
    n_rows, n_classes, n_features : int
        Number of documents, of leaves of the tree, and of words in the vocabulary. With at least as
        many rows as classes, every class has a row.
    words_per_row : int, default 40
        Words drawn for each document. Repeated words add up, so a row has fewer entries.
    words_per_topic : int, default 30
        Typical words of each node of the tree.
    branching : int, default 10
        Children of each node, at least 2.
    background : float, default 0.5
        Share of words, 0 to 1, that say nothing about the class.
    class_skew : float, default 0.0
        Exponent of the class frequencies: 0 is balanced, 1 is Zipf's law.
    random_state : int, default 0
        Seed; the same arguments give the same data.
    part : int, default 0
        Another number gives other rows of the same problem, so data that do not fit into memory can
        be made part by part.
    """
    _check_positive(n_rows=n_rows, n_classes=n_classes, n_features=n_features)
    _check_positive(words_per_row=words_per_row, words_per_topic=words_per_topic)
    _check_share(background=background)
    if branching < 2:
        raise InputError(f"branching={branching}: a node needs at least 2 children.")
    rng = np.random.default_rng([random_state, part])
    y = _draw_classes(n_rows, n_classes, class_skew, rng)
    depth = max(1, int(np.ceil(np.log(n_classes) / np.log(branching) - 1e-9)))
    blocks = []
    for start in range(0, n_rows, _BLOCK):
        leaves = y[start : start + _BLOCK].astype(np.uint64)[:, None]
        shape = (len(leaves), words_per_row)
        level = rng.integers(0, depth, shape, dtype=np.uint64)
        node = leaves // np.uint64(branching) ** level
        which = rng.integers(0, words_per_topic, shape, dtype=np.uint64)
        topic = _hash(node, level, which, np.uint64(random_state)) % np.uint64(n_features)
        common = _zipf(rng.random(shape), n_features)
        words = np.where(rng.random(shape) < background, common, topic.astype(np.int32))
        blocks.append(_count_words(words, n_features))
    X = sp.vstack(blocks, format="csr") if len(blocks) > 1 else blocks[0]
    return Dataset(
        X,
        y,
        np.arange(n_classes),
        name="sparse_topics",
        source=f"synthetic topics, tree of depth {depth} with {branching} children a node",
    )


def make_dense_codes(
    n_rows: int,
    n_classes: int,
    n_features: int,
    *,
    n_bits: int = 32,
    bit_noise: float = 0.02,
    feature_noise: float = 1.0,
    random_state: int = 0,
    part: int = 0,
) -> Dataset:
    """Make dense rows with a known binary code behind them.

    Each class has a random code (see `dsnc.data.synthetic.class_codes`). A row flips each bit with
    probability `bit_noise`, maps the bits (-1 or +1) to features by one random matrix, and adds
    Gaussian noise of standard deviation `feature_noise`; the signal has standard deviation 1.

    Parameters
    ----------
    n_rows, n_classes, n_features : int
        Size of the data. With at least as many rows as classes, every class has a row.
    n_bits : int, default 32
        Length of the codes.
    bit_noise : float, default 0.02
        Probability, 0 to 1, that a bit is flipped.
    feature_noise : float, default 1.0
        Standard deviation of the noise.
    random_state, part : int, default 0
        As of `make_sparse_topics`.
    """
    _check_positive(n_rows=n_rows, n_classes=n_classes, n_features=n_features, n_bits=n_bits)
    _check_share(bit_noise=bit_noise)
    if feature_noise < 0:
        raise InputError(f"feature_noise={feature_noise}: a standard deviation is 0 or more.")
    codes = class_codes(n_classes, n_bits, random_state)
    shared = np.random.default_rng([random_state, 1])
    mixing = shared.standard_normal((n_bits, n_features), dtype=np.float32) / np.sqrt(n_bits)
    mixing = mixing.astype(np.float32)
    rng = np.random.default_rng([random_state, 2, part])
    y = _draw_classes(n_rows, n_classes, 0.0, rng)
    X = np.empty((n_rows, n_features), dtype=np.float32)
    for start in range(0, n_rows, _BLOCK):
        rows = slice(start, start + _BLOCK)
        signs = codes.take(y[rows]).to_signs(np.float32)
        signs[rng.random(signs.shape, dtype=np.float32) < bit_noise] *= -1
        noise = rng.standard_normal((len(signs), n_features), dtype=np.float32)
        X[rows] = signs @ mixing + np.float32(feature_noise) * noise
    return Dataset(
        X,
        y,
        np.arange(n_classes),
        name="dense_codes",
        source=f"synthetic codes of {n_bits} bits, {bit_noise:.1%} of them flipped",
    )


def class_codes(n_classes: int, n_bits: int, random_state: int = 0) -> PackedCodes:
    """Return the codes behind `make_dense_codes` with the same arguments."""
    octets = np.random.default_rng([random_state, 0]).bytes(n_classes * -(-n_bits // 8))
    packed = np.frombuffer(octets, dtype=np.uint8).reshape(n_classes, -1)
    return PackedCodes.from_bits(np.unpackbits(packed, axis=1, count=n_bits).view(np.bool_))


def _draw_classes(
    n_rows: int, n_classes: int, skew: float, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Draw classes at random, after giving each one row as far as the rows go."""
    if skew < 0:
        raise InputError(f"class_skew={skew}: the exponent is 0 or more.")
    sure = rng.permutation(n_classes)[: min(n_rows, n_classes)]
    n_more = n_rows - len(sure)
    if skew == 0:
        more = rng.integers(0, n_classes, n_more)
    else:
        weights = np.cumsum(np.arange(1, n_classes + 1) ** -float(skew))
        more = np.searchsorted(weights, rng.random(n_more) * weights[-1])
    y = np.concatenate([sure, np.minimum(more, n_classes - 1)]).astype(np.int32)
    return y[rng.permutation(n_rows)]


def _zipf(uniform: NDArray[np.float64], n: int) -> NDArray[np.int32]:
    """Map uniform numbers to 0..n-1 with frequencies close to 1/(rank + 1): log-uniform ranks."""
    return np.minimum((n + 1.0) ** uniform - 1.0, n - 1).astype(np.int32)


def _hash(*parts: Any) -> NDArray[np.uint64]:
    """Mix integers into well spread 64-bit numbers (the finalizer of splitmix64)."""
    value = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):  # arithmetic is meant to wrap around
        for part in parts:
            value = (value ^ part) * np.uint64(0xBF58476D1CE4E5B9)
            value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            value = value ^ (value >> np.uint64(31))
    return np.asarray(value)


def _count_words(words: NDArray[np.int32], n_features: int) -> Any:
    """Turn word numbers, one document a row, into CSR counts."""
    n_rows, n_words = words.shape
    indptr = np.arange(0, n_rows * n_words + 1, n_words)
    ones = np.ones(words.size, dtype=np.float32)
    counts = sp.csr_array((ones, words.ravel(), indptr), shape=(n_rows, n_features))
    counts.sum_duplicates()
    return counts


def _check_positive(**sizes: int) -> None:
    for parameter, value in sizes.items():
        whole(parameter, value)


def _check_share(**shares: float) -> None:
    for parameter, value in shares.items():
        real(parameter, value, most=1.0)
