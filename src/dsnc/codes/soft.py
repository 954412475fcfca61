"""Logits in four bits each: small enough to remember, fine enough to learn from again."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.arrays import appended
from dsnc.errors import InputError

_LEVELS = 16
_SOFTNESS = 4.0  # logits beyond about twice this are all the same
_VALUES = _SOFTNESS * np.arctanh((np.arange(_LEVELS) + 0.5) * 2 / _LEVELS - 1)


class SoftCodes:
    """What an encoder made of n rows, rounded to sixteen levels a bit; signs stay as they are.

    Parameters
    ----------
    octets : uint8 array of shape (n, (n_bits + 1) // 2)
        Two bits in each, the first one in the lower half.
    n_bits : int

    Examples
    --------
    >>> SoftCodes.from_logits([[0.5, -3.0, 40.0]]).logits().round(1)
    array([[ 0.3, -3.4,  6.9]], dtype=float32)
    """

    def __init__(self, octets: ArrayLike, n_bits: int) -> None:
        self.octets = np.ascontiguousarray(octets, dtype=np.uint8)
        self.n_bits = int(n_bits)
        if self.octets.ndim != 2 or self.octets.shape[1] != octets_of(self.n_bits):
            raise InputError(
                f"soft codes have shape {self.octets.shape}; expected (n, {octets_of(self.n_bits)})"
                f" for {self.n_bits} bits."
            )

    @classmethod
    def from_logits(cls, logits: ArrayLike) -> Self:
        """Round the logits of some rows."""
        numbers = np.asarray(logits, dtype=np.float32)
        half = _LEVELS // 2
        # The level of 0 is the highest one below: a bit is 1 where its logit is above 0.
        levels = np.ceil(half * (1 + np.tanh(numbers / np.float32(_SOFTNESS)))) - 1
        levels = np.clip(levels, 0, _LEVELS - 1).astype(np.uint8)
        n_bits = numbers.shape[1]
        if n_bits % 2:
            levels = np.concatenate([levels, np.zeros((len(levels), 1), np.uint8)], axis=1)
        return cls(levels[:, ::2] | (levels[:, 1::2] << 4), n_bits)

    @classmethod
    def concatenate(cls, parts: "Sequence[SoftCodes]") -> Self:
        """Put codes of one width behind each other."""
        return cls(np.concatenate([part.octets for part in parts]), parts[0].n_bits)

    def with_more(self, others: "SoftCodes") -> "SoftCodes":
        """Return codes of the same width with others behind them."""
        return SoftCodes(appended(self.octets, others.octets), self.n_bits)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.octets)

    def logits(self) -> NDArray[np.float32]:
        """Return the logits, as rounded."""
        levels = np.empty((len(self), 2 * self.octets.shape[1]), dtype=np.uint8)
        levels[:, ::2], levels[:, 1::2] = self.octets & (_LEVELS - 1), self.octets >> 4
        return np.asarray(_VALUES.astype(np.float32)[levels[:, : self.n_bits]])

    def take(self, rows: Any) -> "SoftCodes":
        """Return some of the rows: a slice, a mask or their numbers."""
        return SoftCodes(self.octets[rows], self.n_bits)


def octets_of(n_bits: int) -> int:
    """Return what a soft code takes."""
    return (n_bits + 1) // 2
