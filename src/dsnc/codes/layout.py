"""Codes laid out for the scan so that they can be changed in place."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.codes._kernels import changing as kernels
from dsnc.codes._kernels.scan import BLOCK
from dsnc.codes.packed import PackedCodes
from dsnc.codes.scan import CodeScan

Ints = NDArray[np.int64]
_NARROW_BITS = 254  # up to here distances fit 8 bits, and 255 is left for what is not there
_TILE_PLANES = 128  # of 512 octets: what is in the cache while some queries go through it


class Layout(NamedTuple):
    """Codes as kernels change and search them: see `dsnc.codes._kernels.changing`."""

    planes: NDArray[np.uint8]
    gone: NDArray[np.uint8]
    holes: Ints

    @classmethod
    def of(cls, codes: PackedCodes) -> Self:
        """Lay codes out, in whole blocks."""
        planes = CodeScan(codes).planes
        planes.flags.writeable = True
        gone = np.full((len(planes), BLOCK), kernels.GONE, dtype=np.uint8)
        gone.reshape(-1)[: len(codes)] = 0
        return cls(planes, gone, np.count_nonzero(gone, axis=1))


def scratch(n_bits: int, n_queries: int, k: int) -> tuple[NDArray[Any], Ints, Ints]:
    """Return the scratch space of `nearest_keys`, for one thread: sums, lows and notes."""
    n_planes = 4 * -(-n_bits // 32)
    tile = max(2, _TILE_PLANES // n_planes)
    sums = np.empty((2, tile, BLOCK), dtype=np.uint8 if n_bits <= _NARROW_BITS else np.uint16)
    notes = np.empty((n_queries, kernels.notes_size(n_bits, k)), dtype=np.int64)
    return sums, np.empty((2, tile), dtype=np.int64), notes
