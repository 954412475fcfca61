"""What an encoder made of some rows, in the one form that decoders read."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.codes.packed import PackedCodes
from dsnc.errors import InputError

MAX_ROWS, MAX_BITS = 8, 255  # what `dsnc.codes.few_rows` takes: a distance is an octet there


class Encoded:
    """Logits and codes of n rows, and the rows themselves.

    Codes are packed, and rows are cut out of X, when they are first asked for: not every decoder
    needs them.

    Parameters
    ----------
    logits : array of shape (n, n_bits), optional
        The real numbers whose signs are the bits. Without them all bits are equally sure.
    codes : PackedCodes, optional
        The bits, where they are known already.
    rows : callable, optional
        Returns the n rows that were encoded.
    first : int
        The number of the first row in X, for messages.

    Examples
    --------
    >>> encoded = Encoded([[0.5, -2.0], [1.5, 3.0]])
    >>> encoded.codes.to_ints()
    array([1, 3], dtype=uint64)
    >>> len(encoded.take(slice(0, 1)))
    1
    """

    __slots__ = ("_codes", "_first", "_rows", "logits", "n_bits")
    logits: NDArray[np.float32] | None
    n_bits: int

    def __init__(
        self,
        logits: ArrayLike | None = None,
        codes: PackedCodes | None = None,
        *,
        rows: Callable[[], Any] | None = None,
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
            raise InputError("logits and codes are both None; give one of them at least.")
        self._codes, self._rows, self._first = codes, rows, first

    def __len__(self) -> int:
        """Return the number of rows."""
        known: Any = self._codes if self.logits is None else self.logits
        return len(known)

    @property
    def codes(self) -> PackedCodes:
        """The packed bits."""
        if self._codes is None:
            self._codes = PackedCodes._pack(self.numbers() > 0)
        return self._codes

    @property
    def rows(self) -> Any:
        """The rows that were encoded: an ndarray or a CSR matrix."""
        if self._rows is None:
            raise InputError("rows are not known here; this decoder needs them.")
        return self._rows()

    def numbers(self) -> NDArray[np.float32]:
        """Return the logits, for decoders that cannot do without; NaN is refused."""
        if self.logits is None:
            raise InputError("logits is None; this decoder needs them, signs are not enough.")
        # Codes that came with the logits were made of numbers. NaN is what differs from itself.
        if self._codes is None and np.count_nonzero(self.logits != self.logits):  # noqa: PLR0124
            row = self._first + int(np.isnan(self.logits).any(axis=1).argmax())
            raise InputError(f"X[{row}] has a NaN logit: its values are not finite, or too large.")
        return self.logits

    def signs(self) -> NDArray[np.float32]:
        """Return the bits as -1 and +1."""
        is_set = self.numbers() > 0 if self._codes is None else self._codes.to_bits()
        return np.where(is_set, np.float32(1), np.float32(-1))

    def take(self, rows: Any) -> "Encoded":
        """Return some of the rows: a slice, a mask or their numbers."""
        whole, first = self._rows, self._first
        return Encoded(
            None if self.logits is None else self.logits[rows],
            None if self._codes is None else self._codes.take(rows),
            rows=None if whole is None else lambda: whole()[rows],
            first=first + (rows.start or 0) if isinstance(rows, slice) else first,
        )

    def blocks(self, step: int) -> Iterator[tuple[slice, "Encoded"]]:
        """Yield (slice, those rows) of up to `step` rows at a time; one block at least."""
        if len(self) <= step:
            yield slice(0, len(self)), self
            return
        for start in range(0, len(self), step):
            rows = slice(start, min(start + step, len(self)))
            yield rows, self.take(rows)
