"""Codes for classes, chosen before anything is learned.

A good book has rows that differ in many bits, so that wrong bits can be mended, and columns that
split the classes in halves and differ from each other, so that bits err independently.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import PackedCodes
from dsnc.decoders import CodebookDecoder, Decoder, SoftDecoder
from dsnc.errors import InputError, unknown_name

Bits = NDArray[np.bool_]
RANDOM = "random"
DECODINGS = ("hamming", "soft")
_CANDIDATES = 16  # drawn for each pair of classes; the one farthest from all others is taken
_FEW = 1 << 15  # classes up to which all distances are looked at
_POOL = 21  # up to so many bits, candidates come from the list of codes that are still free


def make_codebook(codebook: Any, n_classes: int, n_bits: int, seed: int) -> PackedCodes:
    """Return one code for each class, no two alike and no bit the same in all.

    "random" draws; an array of shape (n_classes, n_bits) holds 0 and 1, or -1 and +1.

    Examples
    --------
    >>> book = make_codebook("random", n_classes=100, n_bits=24, seed=0)
    >>> int(book.to_bits()[:, 0].sum())
    50
    """
    least = max(1, math.ceil(math.log2(n_classes)))
    if n_bits < least:
        raise InputError(
            f"n_bits={n_bits}: {n_classes:,} classes need at least {least} bits to have a code "
            "each."
        )
    if not isinstance(codebook, str):
        return _given(codebook, n_classes, n_bits)
    if codebook != RANDOM:
        raise unknown_name("codebook", codebook, [RANDOM])
    return random_codebook(n_classes, n_bits, np.random.default_rng([seed, 2]))


def codebook_decoder(codes: PackedCodes, decoding: str) -> Decoder:
    """Return what finds the class by a codebook: by Hamming distance, or by the loss."""
    if decoding == "hamming":
        return CodebookDecoder(codes)
    half = codes.to_signs(np.float32) / 2
    return SoftDecoder(half, np.zeros(len(codes)), inputs="logits")


def codes_of(decoder: Decoder) -> PackedCodes:
    """Return the codebook of a decoder that `codebook_decoder` made."""
    if isinstance(decoder, CodebookDecoder):
        return decoder.codes
    if not isinstance(decoder, SoftDecoder):
        raise InputError(f"decoder={decoder.name!r} has no codebook.")
    return PackedCodes.from_bits(decoder.weight > 0)


def random_codebook(n_classes: int, n_bits: int, rng: np.random.Generator) -> PackedCodes:
    """Draw codes in pairs of opposites, each pair far from those before it.

    Opposites differ in all bits, and make every column a split in halves. Of several random pairs
    the one with the largest distance to its nearest neighbor is kept. Beyond 32,768 classes, where
    that would take long, pairs are only kept from being the same.
    """
    n_pairs = -(-n_classes // 2)
    half = _far_apart if n_classes <= _FEW else _distinct
    bits = half(n_pairs, n_bits, rng)
    both = np.concatenate([bits, ~bits])
    # An odd number of classes leaves one code over; whose opposite is missing is drawn as well.
    return PackedCodes.from_bits(both[rng.permutation(len(both))[:n_classes]])


def _far_apart(n_pairs: int, n_bits: int, rng: np.random.Generator) -> Bits:
    """Draw codes one by one, each the best of some candidates."""
    bits = np.empty((n_pairs, n_bits), dtype=np.bool_)
    words = PackedCodes.from_bits(np.zeros((n_pairs, n_bits), dtype=np.bool_)).words.copy()
    # Codes that begin with 0 stand for themselves and for their opposites.
    pool = rng.permutation(1 << (n_bits - 1)) if n_bits <= _POOL else None
    for row in range(n_pairs):
        if pool is None:
            drawn = rng.integers(0, 2, size=(_CANDIDATES, n_bits), dtype=np.int8) > 0
        else:
            places = rng.integers(0, len(pool), size=_CANDIDATES)
            drawn = (pool[places, None] >> np.arange(n_bits)) & 1 > 0
        candidates = PackedCodes.from_bits(drawn).words
        distance = np.zeros((_CANDIDATES, row), dtype=np.int64)
        for word in range(words.shape[1]):
            distance += np.bitwise_count(candidates[:, None, word] ^ words[None, :row, word])
        nearest = np.minimum(distance, n_bits - distance).min(axis=1, initial=n_bits)
        best = int(nearest.argmax())
        bits[row], words[row] = drawn[best], candidates[best]
        if pool is not None:
            pool[places[best]] = pool[-1]
            pool = pool[:-1]
        elif not nearest[best]:  # with more than 21 bits this does not happen twice
            return _distinct(n_pairs, n_bits, rng)
    return bits


def _distinct(n_pairs: int, n_bits: int, rng: np.random.Generator) -> Bits:
    """Draw codes that begin with 0, until there are enough different ones."""
    rest = min(n_bits - 1, 62)
    while True:
        heads = np.unique(rng.integers(0, 1 << rest, size=n_pairs + n_pairs // 2 + 16))
        if len(heads) >= n_pairs:
            break
        if n_pairs > (1 << rest) // 2:  # nearly all are needed
            heads = np.arange(1 << rest)
            break
    heads = rng.permutation(heads)[:n_pairs]
    bits = np.zeros((n_pairs, n_bits), dtype=np.bool_)
    bits[:, 1 : 1 + rest] = (heads[:, None] >> np.arange(rest)) & 1 > 0
    bits[:, 1 + rest :] = rng.integers(0, 2, size=(n_pairs, n_bits - 1 - rest), dtype=np.int8) > 0
    flip = rng.integers(0, 2, size=(n_pairs, 1), dtype=np.int8) > 0
    flipped: Bits = bits ^ flip
    return flipped


def _given(codebook: Any, n_classes: int, n_bits: int) -> PackedCodes:
    """Check a book of the user's own."""
    array = np.asarray(codebook)
    if array.shape != (n_classes, n_bits):
        raise InputError(
            f"codebook has shape {array.shape}; {n_classes} classes and n_bits={n_bits} need "
            f"({n_classes}, {n_bits})."
        )
    negative = array.dtype.kind in "if" and array.min() < 0
    codes = PackedCodes.from_signs(array) if negative else PackedCodes.from_bits(array)
    unique = codes.unique()
    if len(unique.codes) < n_classes:
        first = unique.rows[unique.counts.argmax()]
        raise InputError(
            f"codebook has the code of row {first} more than once; all rows must differ."
        )
    bits = codes.to_bits()
    constant = np.flatnonzero(bits.all(axis=0) | ~bits.any(axis=0))
    if len(constant):
        raise InputError(
            f"codebook has the same bit {constant[0]} in all rows; leave that bit out."
        )
    return codes
