"""The answer for every possible code, looked up instead of searched.

With c bits there are 2**c codes. If codes are short, the answer for each of them fits into memory,
and decoding is one lookup, whatever the number of classes and however the answers were found.
"""

import os
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc import _native
from dsnc.arrays import class_numbers
from dsnc.checks import whole
from dsnc.codes.packed import PackedCodes
from dsnc.errors import InputError

_MAX_BITS = 28
_MAX_LABEL = (1 << 27) - 1  # beside the distance, in a number of 32 bits
_TYPES = (np.uint8, np.uint16, np.uint32)
_LEAST_SIZE = 16  # of the table that the core makes
_BLOCK = 1 << 16  # codes that `from_function` asks for at a time


class CodeTable:
    """An immutable table with one label for each of the 2**n_bits codes.

    Usually made by `build`, `from_answers` or `from_function`.

    Parameters
    ----------
    labels : uint8, uint16 or uint32 array of shape (2**n_bits,)
        The label of each code, 0 to 2**27 - 1, in the order of the codes as integers. A read-only
        array (a memory map, for example) is shared; a writable one is copied.
    n_bits : int
        Bits per code, 1 to 28.

    Attributes
    ----------
    max_label : int
        The largest label in the table.

    Examples
    --------
    >>> known = PackedCodes.from_bits([[0, 0, 0, 0], [0, 1, 1, 1]])
    >>> table = CodeTable.build(known, [7, 5])
    >>> table.lookup(PackedCodes.from_bits([[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 1, 1]]))
    array([7, 5, 5])
    """

    __slots__ = ("labels", "max_label", "n_bits")

    labels: NDArray[Any]
    n_bits: int
    max_label: int

    def __init__(self, labels: NDArray[Any], n_bits: int) -> None:
        n_bits = _valid_n_bits(n_bits)
        labels = _frozen(labels, n_bits)
        max_label = int(labels.max())
        if max_label > _MAX_LABEL:
            raise InputError(
                f"labels has the label {max_label}; the largest allowed is {_MAX_LABEL}."
            )
        values = labels, n_bits, max_label
        for name, value in zip(("labels", "n_bits", "max_label"), values, strict=True):
            object.__setattr__(self, name, value)

    @classmethod
    def build(cls, codes: PackedCodes, labels: ArrayLike, *, max_bytes: int | None = None) -> Self:
        """Make a table that gives every code the label of the nearest known code.

        If several known codes are equally near, the smallest of their labels counts; their order
        does not matter. The time depends on the width, and hardly on the number of codes.

        Parameters
        ----------
        codes : PackedCodes
            The known codes: at least one, of at most 28 bits. They may repeat.
        labels : int array of shape (len(codes),)
            The label of each, 0 to 2**27 - 1.
        max_bytes : int, optional
            The most memory to use; by default, what the machine has available.
        """
        n_bits = _valid_n_bits(codes.n_bits)
        if not len(codes):
            raise InputError("codes is empty; a table needs at least one code.")
        array = class_numbers("labels", labels, len(codes), _MAX_LABEL)
        max_label = int(array.max())
        _require_memory(n_bits, cls.memory(n_bits, max_label + 1), max_bytes)

        size, kind = 1 << n_bits, _smallest_type(max_label)
        table = np.empty(max(size, _LEAST_SIZE), dtype=np.uint32)
        _native.make_table(codes.to_ints(), array.astype(np.uint32), table)
        answers = table[:size] if kind is np.uint32 else np.empty(size, dtype=kind)
        np.bitwise_and(table[:size], np.uint32(_MAX_LABEL), out=answers, casting="unsafe")
        answers.flags.writeable = False
        return cls(answers, n_bits)

    @classmethod
    def from_answers(cls, answers: ArrayLike, n_bits: int) -> Self:
        """Make a table of any decoder's answers for all codes, in the order of their integers.

        Parameters
        ----------
        answers : int array of shape (2**n_bits,)
            Labels, 0 to 2**27 - 1. The array is shared if it is read-only and has the smallest type
            that can hold them.
        n_bits : int
            Bits per code, 1 to 28.
        """
        n_bits = _valid_n_bits(n_bits)
        array = class_numbers("answers", answers, 1 << n_bits, _MAX_LABEL)
        kind = _smallest_type(int(array.max()))
        if array.dtype != kind:
            array = array.astype(kind)
            array.flags.writeable = False
        return cls(array, n_bits)

    @classmethod
    def from_function(
        cls,
        function: Callable[[PackedCodes], ArrayLike],
        n_bits: int,
        *,
        max_bytes: int | None = None,
    ) -> Self:
        """Make a table by asking a function for the label of every code, block by block.

        Parameters
        ----------
        function : callable
            Receives up to 65,536 codes as PackedCodes, and returns their labels.
        n_bits : int
            Bits per code, 1 to 28.
        max_bytes : int, optional
            The most memory to use while the table is made; by default, what the machine has
            available.
        """
        n_bits = _valid_n_bits(n_bits)
        size = 1 << n_bits
        # Their largest is not known before the last: two bytes each are the worst to end with.
        _require_memory(n_bits, cls.memory(n_bits, 1 << 16), max_bytes)
        answers = np.empty(size, dtype=np.uint32)
        for start in range(0, size, _BLOCK):
            stop = min(size, start + _BLOCK)
            block = PackedCodes.from_ints(np.arange(start, stop, dtype=np.uint64), n_bits)
            name = f"the function's answer for codes {start} to {stop - 1}"
            answers[start:stop] = class_numbers(name, function(block), stop - start, _MAX_LABEL)
        answers.flags.writeable = False
        return cls.from_answers(answers, n_bits)

    @staticmethod
    def memory(n_bits: int, n_classes: int) -> int:
        """Return about how many bytes `build` needs at its peak, besides the codes and labels.

        Four bytes for each of the 2**n_bits codes, plus the table itself if labels fit into fewer
        bytes.

        Examples
        --------
        >>> CodeTable.memory(24, 10_000)
        100663296
        """
        n_bits = _valid_n_bits(n_bits)
        largest = whole("n_classes", n_classes, most=_MAX_LABEL + 1) - 1
        width = np.dtype(_smallest_type(largest)).itemsize
        return (4 if width == 4 else 4 + width) << n_bits

    def lookup(self, codes: PackedCodes) -> NDArray[np.int64]:
        """Return the label of each code."""
        if codes.n_bits != self.n_bits:
            raise InputError(
                f"codes have {codes.n_bits} bits; the table was made for {self.n_bits}."
            )
        return self.labels.take(codes.words.reshape(-1).view(np.int64)).astype(np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes that the table takes."""
        return self.labels.nbytes

    def __setattr__(self, name: str, value: object) -> None:
        """Raise an error: a table cannot be changed."""
        raise AttributeError(f"CodeTable is immutable; cannot set {name!r}.")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the arguments, since attributes cannot be set."""
        return type(self), (self.labels, self.n_bits)

    def __repr__(self) -> str:
        """Return the width, the type of the labels and the size."""
        return (
            f"CodeTable({self.n_bits} bits, {self.labels.dtype} labels up to {self.max_label}, "
            f"{self.nbytes:,} bytes)"
        )


def _valid_n_bits(n_bits: Any) -> int:
    if whole("n_bits", n_bits) > _MAX_BITS:
        raise InputError(
            f"n_bits={n_bits}: a table has an answer for each of 2**n_bits codes, for 1 to "
            f"{_MAX_BITS} bits. Use fewer bits, or the nearest or shortlist decoder."
        )
    return int(n_bits)


def _frozen(labels: Any, n_bits: int) -> NDArray[Any]:
    """Return 2**n_bits labels of one of the types, that nobody can change."""
    array = np.asarray(labels)
    if array.dtype not in _TYPES or array.shape != (1 << n_bits,):
        expected = " or ".join(kind.__name__ for kind in _TYPES)
        raise InputError(
            f"labels has shape {array.shape} and type {array.dtype}; {n_bits} bits need {expected} "
            f"of shape ({1 << n_bits},)."
        )
    if array.flags.writeable or not (array.flags.c_contiguous and array.flags.aligned):
        array = array.copy()
        array.flags.writeable = False
    return array


def _smallest_type(max_label: int) -> type:
    return next(kind for kind in _TYPES if max_label <= np.iinfo(kind).max)


def _require_memory(n_bits: int, needed: int, max_bytes: int | None) -> None:
    available = _available_bytes() if max_bytes is None else max_bytes
    if available is not None and needed > available:
        raise InputError(
            f"n_bits={n_bits}: making the table needs {needed:,} bytes of memory, and "
            f"{available:,} are available. Use fewer bits, or the nearest or shortlist decoder."
        )


def _available_bytes() -> int | None:
    """Return the memory that can be had without swapping, or None where nobody says."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux
    for pages in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):
        if pages in getattr(os, "sysconf_names", {}):
            return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
    return None
