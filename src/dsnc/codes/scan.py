"""Exhaustive search: every code is compared, in a layout that makes this cheap."""

import numpy as np
from numpy.typing import NDArray

from dsnc.codes._kernels import scan as kernels
from dsnc.codes._kernels.nearest import FREE, NO_SLACK, ROW_BITS
from dsnc.codes.packed import PackedCodes

Ints = NDArray[np.int64]
_OCTETS = 4  # planes come in fours: the kernel adds four or eight at once
_WIDE_BITS = 576  # from here on, distances beyond 8 bits are what to expect
_SATURATED = 255
_TILE = 128  # blocks whose distances are kept until the nearest is known
_COUNTED = 2  # entries of a list from which on counting beats insertion
_PREPARED = 64  # entries of all lists from which on it is worth looking at all labels before
_SPARSE = 4  # labels beyond so many times the codes are numbered anew
_NO_SPACE = np.empty(0, dtype=np.int64)


class CodeScan:
    """Codes laid out for the scan: octet p of 512 codes side by side."""

    def __init__(self, codes: PackedCodes) -> None:
        self.n_bits, self.n_codes, self._words = codes.n_bits, len(codes), codes.words
        planes = n_planes(codes.n_bits)
        n_blocks = -(-len(codes) // kernels.BLOCK)
        self.planes = np.zeros((n_blocks, planes, kernels.BLOCK), dtype=np.uint8)
        kernels.fill_planes(octets_of(codes), self.planes)
        self.planes.flags.writeable = False

    def with_more(self, codes: PackedCodes) -> "CodeScan":
        """Return the scan of these codes and others behind them: `codes` are all of them."""
        done = self.n_codes // kernels.BLOCK  # blocks that stay as they are
        more = CodeScan(codes.take(slice(done * kernels.BLOCK, None)))
        more.planes = np.concatenate([self.planes[:done], more.planes])
        more.planes.flags.writeable = False
        more.n_codes, more._words = len(codes), codes.words
        return more

    def update(
        self,
        queries: PackedCodes,
        rows: Ints,
        labels: Ints,
        keys: Ints,
        owners: Ints,
        slack: int = NO_SLACK,
    ) -> None:
        """Bring the lists of some queries, the `rows`, up to date with all codes.

        For the lists see `dsnc.codes._kernels.nearest`; what they hold already speeds it up.
        """
        k = keys.shape[1]
        # Counting is faster than insertion, but has to prepare for labels.
        if k < _COUNTED or (len(labels) and len(rows) * k < _PREPARED):
            self._scan(queries, rows, (labels, slack, keys, owners))
            return
        labels, n_owners, names = _numbered(labels)
        space = counting_space(self.n_bits, self.n_codes, n_owners)
        self._scan(queries, rows, (labels, slack, keys, owners), space)
        if names is not None:
            owners[rows] = names[owners[rows]]

    def _scan(
        self,
        queries: PackedCodes,
        rows: Ints,
        lists: tuple[Ints, int, Ints, Ints],
        space: Ints = _NO_SPACE,
    ) -> None:
        """Do it by counting where there is `space` for that, otherwise by insertion."""
        _, slack, keys, owners = lists
        if self.n_bits >= _WIDE_BITS:
            kernels.scan_words(self._words, queries.words, rows, *lists)
            return
        octets = octets_of(queries)
        tile = max(1, self.planes.shape[0])
        if not len(space):
            # The nearest of many codes is worth waiting for where it tells which others can enter.
            tells = slack < NO_SLACK or keys.shape[1] == 1
            tile = min(_TILE, tile) if tells else 1
        sums = np.empty((2, tile, kernels.BLOCK), dtype=np.uint8)
        lows = np.empty((2, tile), dtype=np.int64)
        how = len(rows) == 1, space
        kernels.scan(self.planes, self.n_codes, octets, rows, *lists, sums, lows, *how)
        if self.n_bits <= _SATURATED:
            return
        # A distance that does not fit 8 bits was cut: lists that may hold one are made anew.
        distances = keys[rows] >> ROW_BITS
        last = np.minimum(distances[:, -1], distances[:, 0] + slack)
        rows = rows[last >= _SATURATED]
        if len(rows):
            keys[rows], owners[rows] = FREE, -1
            kernels.scan_words(self._words, queries.words, rows, *lists)


def _numbered(labels: Ints) -> tuple[Ints, int, Ints | None]:
    """Return labels, how long a table of them is, and their names where they are numbered anew."""
    if len(labels) == 0:
        return labels, 0, None
    n_owners = 1 + int(labels.max())
    if n_owners <= _SPARSE * len(labels):
        return labels, n_owners, None
    names, numbers = np.unique(labels, return_inverse=True)
    numbers.flags.writeable = False  # as all labels: kernels are compiled for one kind
    return numbers, len(names), np.append(names, -1)  # the owner of a free entry stays -1


def counting_space(n_bits: int, n_codes: int, n_owners: int) -> Ints:
    """Return scratch space for lists that are made by counting: for distances, rows and owners."""
    space = np.empty(8 * n_planes(n_bits) + 1 + n_codes + n_owners, dtype=np.int64)
    space[len(space) - n_owners :] = FREE
    return space


def n_planes(n_bits: int) -> int:
    """Return how many bytes of each code are compared."""
    return _OCTETS * -(-n_bits // (8 * _OCTETS))


def octets_of(codes: PackedCodes) -> NDArray[np.uint8]:
    """Return the codes octet by octet, a view of shape (n, 8 * n_words)."""
    n_words = codes.words.shape[1]
    return codes.words.view(np.uint8).reshape(len(codes), 8 * n_words)
