"""Codes for classes, chosen before anything is learned.

A good book has rows that differ in many bits, so that wrong bits can be mended, and columns that
split the classes in halves and differ from each other, so that bits err independently.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.checks import one_of
from dsnc.codes import PackedCodes
from dsnc.decoders import CodebookDecoder, Decoder, SoftDecoder
from dsnc.errors import InputError

Bits = NDArray[np.bool_]
BOOKS = ("random", "bch")
DECODINGS = ("hamming", "soft")
_CANDIDATES = 16  # drawn for each pair of classes; the one farthest from all others is taken
_FEW = 1 << 15  # classes up to which all distances are looked at
_POOL = 21  # up to so many bits, candidates come from the list of codes that are still free


def make_codebook(codebook: Any, n_classes: int, n_bits: int, seed: int) -> PackedCodes:
    """Return one code for each class, no two alike and no bit the same in all.

    "random" draws, "bch" takes an algebraic code (see `bch_codebook`); an array of shape
    (n_classes, n_bits) holds 0 and 1, or -1 and +1.

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
    rng = np.random.default_rng([seed, 2])
    if isinstance(codebook, str):
        is_random = one_of("codebook", codebook, BOOKS) == "random"
        make = random_codebook if is_random else bch_codebook
        return make(n_classes, n_bits, rng)
    return _given(codebook, n_classes, n_bits)


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


def bch_codebook(n_classes: int, n_bits: int, rng: np.random.Generator) -> PackedCodes:
    """Take words of a BCH code, cut to `n_bits` bits.

    R. Bose, D. Ray-Chaudhuri, "On a class of error correcting binary group codes", Information and
    Control 1960. A code of length 2**m - 1 with as few information bits as the classes allow has
    the largest distance; a random part of its words, cut to a random part of its bits, keeps most
    of it. Several are drawn, and the one with the largest least distance is taken.
    """
    n_info = max(1, math.ceil(math.log2(n_classes)))
    m = max(3, max(n_bits, n_info + 1).bit_length())
    length = (1 << m) - 1
    generators = [g for g in _bch_generators(m) if length - len(g) + 1 >= n_info]
    best: tuple[int, Bits] | None = None
    tries = _CANDIDATES if n_classes <= _FEW else 1
    for generator in generators[-2:]:  # the largest distances
        for _ in range(tries):
            words = _words(generator, length, n_info, n_bits, rng)
            weights = words.sum(axis=1)
            distance = int(weights[1:].min())  # of a linear code: that of the lightest word
            splits = words.any(axis=0).all()
            if splits and distance and (best is None or distance > best[0]):
                best = distance, words
    if best is None:  # hardly a spare bit: all words are needed
        return random_codebook(n_classes, n_bits, rng)
    book = best[1][rng.permutation(1 << n_info)[:n_classes]]
    constant = (book.all(axis=0) | ~book.any(axis=0)).any()  # a few classes may miss one side
    return random_codebook(n_classes, n_bits, rng) if constant else PackedCodes.from_bits(book)


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


def _words(
    generator: Bits, length: int, n_info: int, n_bits: int, rng: np.random.Generator
) -> Bits:
    """Return 2**n_info words of a cyclic code, cut to some of their bits; the first is 0."""
    k = length - len(generator) + 1
    shifts = np.zeros((k, length), dtype=np.int64)
    for row in range(k):
        shifts[row, row : row + len(generator)] = generator
    columns = rng.permutation(length)[:n_bits]
    chosen = shifts[rng.permutation(k)[:n_info]][:, columns]
    messages = (np.arange(1 << n_info)[:, None] >> np.arange(n_info)) & 1
    words: Bits = (messages @ chosen) & 1 > 0
    return words


def _bch_generators(m: int) -> list[Bits]:
    """Return the generator polynomials of length 2**m - 1, lowest power first, shortest first."""
    length = (1 << m) - 1
    powers = _field(m)
    logs = {value: power for power, value in enumerate(powers)}
    generator, roots, found = [1], set[int](), []
    for root in range(1, length, 2):
        if root in roots:
            continue
        cycle = {root * 2**i % length for i in range(m)}
        roots |= cycle
        factor = [1]  # over GF(2**m): the product of x + a**i; its coefficients are 0 and 1
        for i in cycle:
            scaled = [powers[(logs[c] + i) % length] if c else 0 for c in factor]
            factor = [a ^ b for a, b in zip([0, *factor], [*scaled, 0], strict=True)]
        product = np.convolve(generator, factor) & 1
        generator = product.tolist()
        if len(generator) <= length:
            found.append(product > 0)
    return found


def _field(m: int) -> list[int]:
    """Return the powers of a generator of GF(2**m) as bit masks."""
    for polynomial in range((1 << m) + 1, 1 << (m + 1), 2):
        value, powers = 1, []
        for _ in range((1 << m) - 1):
            powers.append(value)
            value = value << 1
            if value >> m:
                value ^= polynomial
        if len(set(powers)) == (1 << m) - 1:
            return powers
    raise AssertionError("every field has a primitive polynomial")


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
