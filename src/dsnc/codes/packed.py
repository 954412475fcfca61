"""Binary codes, 64 bits to a word.

Bit j of a code is bit ``j % 64`` of word ``j // 64``. Unused bits of the last word are zero, so
that equality, order and distance are plain integer operations on words. As an integer, a code has
bit 0 as its lowest bit.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.arrays import appended, check_arrays, number_arrays, numbers
from dsnc.checks import whole
from dsnc.errors import InputError

Words = NDArray[np.uint64]
_WORD = 64
_ROWS = 1 << 16  # whose bits are packed at a time: unpacked ones take eight times as much
_LITTLE = np.dtype("<u8")
_NUMBERS = {"n_bits": "int64 1"}  # of a file
_BLOCK_BYTES = 1 << 22  # temporaries of `distance` stay in the cache


class UniqueCodes(NamedTuple):
    """Distinct codes in the order of their integers, and how they relate to the rows.

    Attributes
    ----------
    codes : PackedCodes
        The distinct codes.
    rows : int64 array
        The first row that has each code.
    inverse : int64 array
        The place of each row's code: ``codes.take(inverse)`` are all rows again.
    counts : int64 array
        How many rows have each code.
    """

    codes: "PackedCodes"
    rows: NDArray[np.int64]  # the first row that holds each code
    inverse: NDArray[np.int64]  # codes.take(inverse) are the rows again
    counts: NDArray[np.int64]


class PackedCodes:
    """An immutable table of n codes of `n_bits` bits.

    Parameters
    ----------
    words : uint64 array of shape (n, ceil(n_bits / 64))
        A read-only array (a memory map, for example) is shared; a writable one is copied, so that
        nothing can change the codes later.
    n_bits : int
        Bits per code, 1 or more.

    Examples
    --------
    >>> codes = PackedCodes.from_bits([[1, 0, 1], [1, 1, 1]])
    >>> codes.to_ints()
    array([5, 7], dtype=uint64)
    >>> codes.distance(codes)
    array([[0, 1],
           [1, 0]], dtype=int32)
    """

    __slots__ = ("n_bits", "words")

    words: Words
    n_bits: int

    def __init__(self, words: Words, n_bits: int) -> None:
        n_bits = whole("n_bits", n_bits)
        words = np.asarray(words)
        if words.dtype != np.uint64 or words.ndim != 2 or words.shape[1] != _n_words(n_bits):
            raise InputError(
                f"words has shape {words.shape} and type {words.dtype}; {n_bits} bits need uint64 "
                f"of shape (n, {_n_words(n_bits)})."
            )
        if len(words) and words[:, -1].max() > _last_word_mask(n_bits):
            row = int(np.argmax(words[:, -1] > _last_word_mask(n_bits)))
            raise InputError(f"words[{row}] has bits set beyond n_bits={n_bits}; they must be 0.")
        if words.flags.writeable or not words.flags.c_contiguous:
            words = words.copy(order="C")
        words.flags.writeable = False
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "n_bits", n_bits)

    @classmethod
    def from_bits(cls, bits: ArrayLike) -> Self:
        """Pack an (n, n_bits) array of bool, or of numbers that are all 0 or 1."""
        array = _matrix(bits, "bits")
        if array.dtype != np.bool_:
            _require_values(array, (0, 1), "bits")
            array = array.astype(np.bool_)
        return cls._pack(array)

    @classmethod
    def from_signs(cls, signs: ArrayLike) -> Self:
        """Pack an (n, n_bits) array of -1 and +1; +1 is a set bit."""
        array = _matrix(signs, "signs")
        _require_values(array, (-1, 1), "signs")
        return cls._pack(array > 0)

    @classmethod
    def from_logits(cls, logits: ArrayLike) -> Self:
        """Set each bit whose logit is above 0: the most probable value of each. NaN is refused."""
        array = _matrix(logits, "logits")
        if len(array) <= _ROWS:
            return cls._of_logits(array, 0)
        starts = range(0, len(array), _ROWS)
        return cls.concatenate([cls._of_logits(array[i : i + _ROWS], i) for i in starts])

    @classmethod
    def _of_logits(cls, array: NDArray[Any], first: int) -> Self:
        """Do so for some rows, whose numbers begin with the first."""
        # NaN is what differs from itself; asked like this, a single row does not take long either.
        if array.dtype.kind == "f" and np.count_nonzero(array != array):  # noqa: PLR0124
            row, bit = np.argwhere(np.isnan(array))[0]
            raise InputError(f"logits[{first + row}, {bit}] is NaN; a bit needs a number.")
        return cls._pack(array > 0)

    @classmethod
    def from_ints(cls, values: ArrayLike, n_bits: int) -> Self:
        """Make codes of at most 64 bits from integers, 0 or more; bit 0 is the lowest."""
        if whole("n_bits", n_bits) > _WORD:
            raise InputError(f"n_bits={n_bits}: an integer holds at most {_WORD} bits.")
        array = np.asarray(values)
        if array.ndim != 1 or array.dtype.kind not in "iu" or (array < 0).any():
            raise InputError("values must be a 1-D array of integers, 0 or more.")
        return cls(array.astype(np.uint64)[:, None], n_bits)

    @classmethod
    def concatenate(cls, parts: Sequence["PackedCodes"]) -> Self:
        """Stack codes of the same width."""
        if not parts:
            raise InputError("parts is empty; give at least one PackedCodes.")
        widths = {part.n_bits for part in parts}
        if len(widths) > 1:
            raise InputError(f"parts have different widths: {sorted(widths)} bits.")
        return cls._own(np.concatenate([part.words for part in parts]), widths.pop())

    def with_more(self, others: "PackedCodes") -> "PackedCodes":
        """Return these codes followed by others of the same width, copied only if necessary."""
        return PackedCodes._own(appended(self.words, others.words), self.n_bits)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make codes from the result of `arrays`, which is checked, since files may be hostile."""
        check_arrays("codes", arrays, {"words": "uint64 2", **_NUMBERS})
        return cls(arrays["words"], **numbers("codes", arrays, _NUMBERS))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return plain arrays for a model file; `from_arrays` reverses this."""
        return {"words": self.words, **number_arrays(self, _NUMBERS)}

    @classmethod
    def _own(cls, words: Words, n_bits: int) -> Self:
        """Wrap words that we have just made, without a copy and without a check."""
        codes = object.__new__(cls)
        words.flags.writeable = False
        object.__setattr__(codes, "words", words)
        object.__setattr__(codes, "n_bits", n_bits)
        return codes

    @classmethod
    def _pack(cls, bits: NDArray[np.bool_]) -> Self:
        n, n_bits = bits.shape
        octets = np.ascontiguousarray(np.packbits(bits, axis=1, bitorder="little"))
        if n_bits % _WORD:
            part, octets = octets, np.zeros((n, 8 * _n_words(n_bits)), dtype=np.uint8)
            octets[:, : part.shape[1]] = part
        return cls._own(octets.view(_LITTLE).astype(np.uint64, copy=False), n_bits)

    def to_bits(self) -> NDArray[np.bool_]:
        """Return an (n, n_bits) array of bool."""
        octets = self.words.astype("<u8", copy=False).view(np.uint8)
        # An empty table has no words to view as octets, and unpackbits wants a width all the same.
        octets = octets.reshape(len(self), self.words.shape[1] * 8)
        bits = np.unpackbits(octets, axis=1, count=self.n_bits, bitorder="little")
        return bits.view(np.bool_)

    def to_signs(self, dtype: Any = np.int8) -> NDArray[Any]:
        """Return an (n, n_bits) array of -1 and +1."""
        return np.where(self.to_bits(), 1, -1).astype(dtype, copy=False)

    def to_hex(self) -> list[str]:
        """Return each code as hexadecimal digits; bit 0 is the first."""
        return [row.tobytes().hex() for row in np.packbits(self.to_bits(), axis=1)]

    def to_ints(self) -> Words:
        """Return each code as one integer, as a read-only view; for codes of at most 64 bits."""
        if self.n_bits > _WORD:
            raise InputError(f"{self.n_bits} bits do not fit into one integer; use words.")
        return self.words[:, 0]

    def take(self, rows: Any) -> Self:
        """Return the codes of some rows, by their numbers, a boolean mask or a slice."""
        words = self.words[rows]
        if words.ndim != 2:
            raise InputError(f"rows={rows!r} is one row; give a list or a slice.")
        return self._own(np.ascontiguousarray(words), self.n_bits)

    def unique(self) -> UniqueCodes:
        """Return the distinct codes, the first row of each, and how often each occurs."""
        order = np.lexsort(self.words.T)  # stable, the last word decides first
        ordered = self.words[order]
        is_first = np.ones(len(self), dtype=np.bool_)
        is_first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        starts = np.flatnonzero(is_first)
        inverse = np.empty(len(self), dtype=np.int64)
        inverse[order] = np.cumsum(is_first) - 1
        counts = np.diff(starts, append=len(self))
        return UniqueCodes(self._own(ordered[starts], self.n_bits), order[starts], inverse, counts)

    def distance(self, other: "PackedCodes") -> NDArray[np.int32]:
        """Return all Hamming distances, as an int32 array of shape (len(self), len(other)).

        The whole table is computed, n x m numbers. To find neighbors among many codes, use
        `HammingIndex` instead.
        """
        if self.n_bits != other.n_bits:
            raise InputError(
                f"codes of {self.n_bits} and {other.n_bits} bits have no distance; use codes of "
                "equal length."
            )
        result = np.empty((len(self), len(other)), dtype=np.int32)
        step = max(1, _BLOCK_BYTES // (8 * max(1, len(other))))
        for start in range(0, len(self), step):
            mine = self.words[start : start + step, None, :]
            block = result[start : start + step]
            block[:] = 0
            for word in range(self.words.shape[1]):
                block += np.bitwise_count(mine[..., word] ^ other.words[None, :, word])
        return result

    def __len__(self) -> int:
        """Return the number of codes."""
        return len(self.words)

    def __eq__(self, other: object) -> bool:
        """Return whether both hold the same codes in the same order."""
        if not isinstance(other, PackedCodes):
            return NotImplemented
        return self.n_bits == other.n_bits and np.array_equal(self.words, other.words)

    def __hash__(self) -> int:
        """Hash the codes; equal tables have equal hashes."""
        return hash((self.n_bits, self.words.tobytes()))

    def __setattr__(self, name: str, value: object) -> None:
        """Raise an error: codes cannot be changed."""
        raise AttributeError(f"PackedCodes is immutable; cannot set {name!r}.")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the two arguments, since attributes cannot be set."""
        return type(self), (self.words, self.n_bits)

    def __repr__(self) -> str:
        """Return the number of codes, their width and the bits of the first one."""
        first = ""
        if len(self):
            bits = "".join("01"[b] for b in self.take(slice(0, 1)).to_bits()[0, :24].tolist())
            first = f", first {bits}{'...' if self.n_bits > 24 else ''}"
        return f"PackedCodes({len(self):,} codes of {self.n_bits} bits{first})"


def _n_words(n_bits: int) -> int:
    return -(-n_bits // _WORD)


def _last_word_mask(n_bits: int) -> np.uint64:
    used = n_bits - (_n_words(n_bits) - 1) * _WORD
    return np.uint64((1 << used) - 1)


def _matrix(values: ArrayLike, parameter: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 2 or array.shape[1] < 1 or array.dtype.kind not in "biuf":
        raise InputError(
            f"{parameter} has shape {array.shape} and type {array.dtype}; expected real numbers of "
            "shape (n, n_bits) with n_bits >= 1."
        )
    return array


def _require_values(array: NDArray[Any], allowed: tuple[int, int], parameter: str) -> None:
    wrong = (array != allowed[0]) & (array != allowed[1])
    if wrong.any():
        row, bit = np.argwhere(wrong)[0]
        raise InputError(
            f"{parameter}[{row}, {bit}] is {array[row, bit]}; only {allowed[0]} and {allowed[1]} "
            "are bits here (PackedCodes.from_logits accepts any number)."
        )
