"""Exhaustive search: every code is compared, in a layout that makes this cheap."""

import copy
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dsnc.codes._kernels import scan as kernels
from dsnc.codes._kernels.nearest import FREE, NO_SLACK, ROW_BITS
from dsnc.codes.packed import PackedCodes

_OCTETS = 4  # planes come in fours: the kernel adds four or eight at once
_WIDE_BITS = 448  # from here on, distances beyond 8 bits are what to expect
_SATURATED = 255
_TILE = 128  # blocks whose distances are kept until the nearest is known


class CodeScan:
    """Codes laid out for the scan: octet p of 512 codes side by side.

    Parameters
    ----------
    codes : PackedCodes
    """

    def __init__(self, codes: PackedCodes) -> None:
        self.n_bits, self.n_codes = codes.n_bits, len(codes)
        n_planes = _OCTETS * -(-codes.n_bits // (8 * _OCTETS))
        n_blocks = -(-len(codes) // kernels.BLOCK)
        self.planes = np.zeros((n_blocks, n_planes, kernels.BLOCK), dtype=np.uint8)
        kernels.fill_planes(octets_of(codes), self.planes)
        self.planes.flags.writeable = False

    @property
    def nbytes(self) -> int:
        """Bytes of the layout."""
        return self.planes.nbytes

    def head(self, n: int) -> Self:
        """Return the scan of the first n codes or so, whole blocks of them."""
        part = copy.copy(self)
        part.planes = self.planes[: max(1, n // kernels.BLOCK)]
        part.n_codes = min(self.n_codes, part.planes.shape[0] * kernels.BLOCK)
        return part

    def update(
        self,
        queries: PackedCodes,
        rows: NDArray[np.int64],
        labels: NDArray[np.int64],
        keys: NDArray[np.int64],
        owners: NDArray[np.int64],
        slack: int = NO_SLACK,
    ) -> None:
        """Bring the lists of some queries up to date with all codes.

        Parameters
        ----------
        queries : PackedCodes
        rows : int64 array
            Which of the queries.
        labels : int64 array
            Owner of each code; empty where each code owns itself.
        keys, owners : int64 arrays of shape (n_queries, k)
            The lists (see `dsnc.codes._kernels.nearest`); what they hold already speeds it up.
        slack : int
            Codes that are farther than a query's nearest by more are left out.
        """
        octets = octets_of(queries)
        # Where the nearest of many codes tells which others can be wanted, it is worth waiting for.
        tells = slack < NO_SLACK or keys.shape[1] == 1
        tile = tile_of(self.n_codes) if tells else 1

        def run(dtype: type[np.unsignedinteger]) -> None:
            sums = np.empty((2, tile, kernels.BLOCK), dtype=dtype)
            lows = np.empty((2, tile), dtype=np.int64)
            lists = labels, slack, keys, owners
            alone = 1 if len(rows) == 1 else None
            kernels.scan(self.planes, self.n_codes, octets, rows, *lists, sums, lows, alone)

        if self.n_bits < _WIDE_BITS:
            run(np.uint8)
            if self.n_bits <= _SATURATED:
                return
            # A distance that does not fit 8 bits was cut: lists that may hold one are made anew.
            distances = keys[rows] >> ROW_BITS
            last = np.minimum(distances[:, -1], distances[:, 0] + slack)
            rows = rows[last >= _SATURATED]
            keys[rows], owners[rows] = FREE, -1
        if len(rows):
            run(np.uint16)


def tile_of(n_codes: int) -> int:
    """Return how many blocks to go through before anything is put into lists."""
    return min(_TILE, max(1, -(-n_codes // kernels.BLOCK)))


def octets_of(codes: PackedCodes) -> NDArray[np.uint8]:
    """Return the codes octet by octet, a view of shape (n, 8 * n_words)."""
    n_words = codes.words.shape[1]
    return codes.words.view(np.uint8).reshape(len(codes), 8 * n_words)
