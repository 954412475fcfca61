"""`Encoded`: what an encoder made of some rows, in the form that all decoders read."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.codes.packed import PackedCodes
from dsnc.errors import InputError


class Encoded:
    """Logits and codes of n rows, and the rows themselves.

    Codes are packed, and rows are cut out of X, only when they are asked for: not every decoder
    needs them.

    Parameters
    ----------
    logits : array of shape (n, n_bits), optional
        The numbers whose signs are the bits. Without them, all bits are equally sure.
    codes : PackedCodes, optional
        The codes, if they are known already. Give at least one of logits and codes.
    source : (X, which), optional
        Where the rows are: X, and a slice or the numbers of the rows of X that were encoded.
    first : int, default 0
        The number of the first row in X, for error messages.

    Examples
    --------
    >>> encoded = Encoded([[0.5, -2.0], [1.5, 3.0]])
    >>> encoded.codes.to_ints()
    array([1, 3], dtype=uint64)
    >>> len(encoded.take(slice(0, 1)))
    1
    """

    __slots__ = ("_codes", "_first", "logits", "n_bits", "source")
    logits: NDArray[np.float32] | None
    n_bits: int
    source: tuple[Any, Any] | None

    def __init__(
        self,
        logits: ArrayLike | None = None,
        codes: PackedCodes | None = None,
        *,
        source: tuple[Any, Any] | None = None,
        first: int = 0,
    ) -> None:
        if logits is not None:
            array = np.ascontiguousarray(logits, dtype=np.float32)
            expected: Any = "(rows, n_bits)"
            if codes is not None:
                expected = (codes.words.shape[0], codes.n_bits)
            if array.ndim != 2 or (codes is not None and array.shape != expected):
                raise InputError(f"logits has shape {np.shape(logits)}; expected {expected}.")
            self.logits, self.n_bits = array, array.shape[1]
        elif codes is not None:
            self.logits, self.n_bits = None, codes.n_bits
        else:
            raise InputError("logits and codes are both None; give at least one of them.")
        self._codes, self.source, self._first = codes, source, first

    def __len__(self) -> int:
        """Return the number of rows."""
        known: Any = self._codes if self.logits is None else self.logits
        return len(known)

    @property
    def codes(self) -> PackedCodes:
        """The codes: the signs of the logits, packed."""
        if self._codes is None:
            self._codes = PackedCodes._pack(self.numbers() > 0)
        return self._codes

    @property
    def rows(self) -> Any:
        """The rows that were encoded: an ndarray or a CSR matrix."""
        if self.source is None:
            raise InputError("the rows are not available here; this decoder needs them.")
        X, which = self.source
        return X[which]

    def numbers(self) -> NDArray[np.float32]:
        """Return the logits, for decoders that need them. NaN, and missing logits, are refused."""
        if self.logits is None:
            raise InputError("logits is None; this decoder needs logits, not only their signs.")
        # Codes that came with the logits were made of numbers. NaN is what differs from itself.
        if self._codes is None and np.count_nonzero(self.logits != self.logits):  # noqa: PLR0124
            row = self._first + int(np.isnan(self.logits).any(axis=1).argmax())
            raise InputError(f"X[{row}] has a NaN logit: its values are not finite, or too large.")
        return self.logits

    def signs(self) -> NDArray[np.float32]:
        """Return the bits as float32 numbers, -1 and +1."""
        is_set = self.numbers() > 0 if self._codes is None else self._codes.to_bits()
        return np.where(is_set, np.float32(1), np.float32(-1))

    def take(self, rows: Any) -> "Encoded":
        """Return some of the rows, by a slice, a boolean mask or their numbers."""
        source, first = self.source, self._first
        if source is not None:
            source = source[0], _taken(source[1], rows)
        return Encoded(
            None if self.logits is None else self.logits[rows],
            None if self._codes is None else self._codes.take(rows),
            source=source,
            first=first + (rows.start or 0) if isinstance(rows, slice) else first,
        )

    def blocks(self, step: int) -> Iterator[tuple[slice, "Encoded"]]:
        """Yield (slice, those rows) for up to `step` rows at a time; at least one block."""
        if len(self) <= step:
            yield slice(0, len(self)), self
            return
        for start in range(0, len(self), step):
            rows = slice(start, min(start + step, len(self)))
            yield rows, self.take(rows)


def _taken(which: Any, rows: Any) -> Any:
    """Return some of the rows that a slice, or an array of numbers, stands for."""
    if not isinstance(which, slice):
        return which[rows]
    if isinstance(rows, slice) and rows.step in (None, 1):
        start, stop, _ = rows.indices(which.stop - which.start)
        return slice(which.start + start, which.start + stop)
    return np.arange(which.start, which.stop)[rows]
