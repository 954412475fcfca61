"""Exact nearest neighbors in Hamming space while codes are added, changed and removed."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.checks import whole
from dsnc.codes._kernels import changing as kernels
from dsnc.codes._kernels.nearest import FREE, ROW_BITS
from dsnc.codes._kernels.scan import BLOCK
from dsnc.codes.layout import Layout
from dsnc.codes.packed import PackedCodes
from dsnc.codes.snapshot import Snapshot
from dsnc.errors import InputError
from dsnc.threads import in_threads

Ints = NDArray[np.int64]
_ROW_MASK = (1 << ROW_BITS) - 1
_MIN_CODES = 4096  # fewer are scanned faster than they are looked up
_MIN_SHARE = 2048  # a list of more than one in so many codes is scanned faster than looked up
_PATIENCE = 2048  # scans of all codes that take as long as making a snapshot


class ChangingIndex:
    """Finds the nearest codes, exactly, while codes are added, changed and removed.

    A change writes a few bytes in place. A search compares all codes, about ten per nanosecond. If
    there are many searches and few changes, a multi-index (see `HammingIndex`) is built of the
    codes at that moment, and what has changed since then is searched beside it.

    A code keeps its row number forever, and the number of a removed code is not used again.
    Searches may run in parallel with each other, but not with a change.

    Parameters
    ----------
    codes : PackedCodes
        The codes to start with, in rows 0, 1 and so on. There may be none.

    Examples
    --------
    >>> index = ChangingIndex(PackedCodes.from_ints([0b0000, 0b0011, 0b1111], n_bits=4))
    >>> index.add(PackedCodes.from_ints([0b0111], n_bits=4))
    array([3])
    >>> index.remove([1])
    >>> index.search(PackedCodes.from_ints([0b0011], n_bits=4), k=2)
    (array([[1, 2]], dtype=int32), array([[3, 0]]))
    """

    def __init__(self, codes: PackedCodes) -> None:
        self.n_bits = codes.n_bits
        self._n_rows = self._n_codes = _check_size(len(codes))
        self._layout = Layout.of(codes)
        self._snapshot: Snapshot | None = None
        self._fresh: Layout | None = None  # what the snapshot lacks; None where it is to be made
        self._patience, self._scanned = _PATIENCE, 0  # codes compared since the last snapshot

    @property
    def rows(self) -> Ints:
        """The rows that have a code, in ascending order."""
        return np.flatnonzero(self._layout.gone.reshape(-1)[: self._n_rows] == 0)

    @property
    def codes(self) -> PackedCodes:
        """The present codes, in the order of their rows."""
        return self._codes_of(self.rows)

    def add(self, codes: PackedCodes) -> Ints:
        """Add codes and return their row numbers, which follow all numbers given before."""
        self._check_width("codes", codes)
        end = _check_size(self._n_rows + len(codes))
        rows, n_blocks = np.arange(self._n_rows, end), len(self._layout.planes)
        if end > n_blocks * BLOCK:
            self._layout = self._layout.grown(max(-(-end // BLOCK), 2 * n_blocks))
        self._n_rows = end
        self._n_codes += len(codes)
        self._write(rows, codes)
        return rows

    def change(self, rows: ArrayLike, codes: PackedCodes) -> None:
        """Replace the codes of some rows; if a row occurs twice, the last code counts."""
        self._check_width("codes", codes)
        numbers = self._check_rows(rows)
        if len(numbers) != len(codes):
            raise InputError(
                f"rows has {len(numbers):,} rows and codes {len(codes):,} codes; give one code for "
                "each row."
            )
        self._write(numbers, codes)

    def remove(self, rows: ArrayLike) -> None:
        """Remove the codes of some rows: no search finds them any more."""
        numbers = np.unique(self._check_rows(rows))
        self._n_codes -= len(numbers)
        self._write(numbers, None)

    def search(
        self, queries: PackedCodes, k: int = 1, *, n_jobs: int = 1
    ) -> tuple[NDArray[np.int32], Ints]:
        """Find the k nearest codes of each query.

        Parameters
        ----------
        queries : PackedCodes
            As wide as the codes.
        k : int, default 1
            How many to find; if there are fewer codes, all of them.
        n_jobs : int, default 1
            Number of threads; -1 uses all cores.

        Returns
        -------
        distances : int32 array of shape (n_queries, min(k, n_codes))
            Nearest first; equal distances in the order of rows.
        rows : int64 array of the same shape
            The row of each code found.
        """
        self._check_width("queries", queries)
        keys = np.empty((len(queries), min(whole("k", k), self._n_codes)), dtype=np.int64)
        snapshot = self._recent_snapshot(keys.shape[1])

        def work(part: slice) -> None:
            if snapshot is None:
                self._scan(queries.take(part), keys[part])
            else:
                self._look_up(snapshot, queries.take(part), keys[part])

        in_threads(work, len(queries) if keys.size else 0, n_jobs)
        return (keys >> ROW_BITS).astype(np.int32), keys & _ROW_MASK

    def _scan(self, queries: PackedCodes, keys: Ints) -> None:
        """Write the lists of the queries, comparing all codes."""
        self._scanned += len(queries) * self._n_codes
        self._layout.search(self._n_rows, queries, keys)

    def _look_up(self, snapshot: Snapshot, queries: PackedCodes, keys: Ints) -> None:
        """Write the lists of the queries, most of them by lookups."""
        done = snapshot.look_up(queries, keys)
        fresh, rows = self._fresh, snapshot.fresh
        if fresh is not None and done.any():
            beside = np.empty_like(keys)
            fresh.search(len(rows), queries, beside)
            there = beside != FREE
            beside[there] += rows[beside[there] & _ROW_MASK] - (beside[there] & _ROW_MASK)
            keys[:] = np.sort(np.hstack([keys, beside]), axis=1)[:, : keys.shape[1]]
            self._scanned += len(queries) * len(rows)
        if not done.all():
            left = np.empty((np.count_nonzero(~done), keys.shape[1]), dtype=np.int64)
            self._scan(queries.take(~done), left)
            keys[~done] = left

    def _recent_snapshot(self, k: int) -> Snapshot | None:
        """Return what lists of k are looked up in, if anything; make it if that is worth it by now.

        One that has answered fewer queries than its making took scans is given up, and the next
        one has to wait twice as long.
        """
        if self._n_codes < max(_MIN_CODES, _MIN_SHARE * k if k > 1 else 0):
            return None
        if self._scanned > self._patience * self._n_codes:
            self._scanned = 0
            if self._snapshot is not None and self._snapshot.n_answered < self._patience:
                self._snapshot, self._patience = None, 2 * self._patience
            else:
                rows = self.rows
                self._snapshot = Snapshot(self._codes_of(rows), rows)
            self._fresh = None
        snapshot = self._snapshot
        if snapshot is not None and self._fresh is None and len(snapshot.fresh):
            self._fresh = Layout.of(self._codes_of(snapshot.fresh))
        return snapshot

    def _write(self, rows: Ints, codes: PackedCodes | None) -> None:
        """Write codes into rows, or nothing."""
        words = np.empty((0, 0), dtype=np.uint64) if codes is None else codes.words
        words.flags.writeable = False  # as all words: kernels are compiled for one kind
        kernels.change(*self._layout, rows, words, codes is None)
        if self._snapshot is not None:
            self._snapshot.touch(rows, is_gone=codes is None)
            self._fresh = None

    def _codes_of(self, rows: Ints) -> PackedCodes:
        octets = np.zeros((len(rows), 8 * -(-self.n_bits // 64)), dtype=np.uint8)
        octets[:, : self._layout.planes.shape[1]] = self._layout.octets(rows)
        words = octets.view(np.uint64)
        words.flags.writeable = False
        return PackedCodes(words, self.n_bits)

    def _check_width(self, name: str, codes: PackedCodes) -> None:
        if codes.n_bits != self.n_bits:
            raise InputError(
                f"{name} have {codes.n_bits} bits; the index was built for {self.n_bits}."
            )

    def _check_rows(self, rows: ArrayLike) -> Ints:
        """Return rows that have a code, or refuse them."""
        array = np.asarray(rows)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise InputError(
                f"rows has shape {array.shape} and type {array.dtype}; give a list of row numbers."
            )
        outside = (array < 0) | (array >= self._n_rows)
        if outside.any():
            x = int(outside.argmax())
            raise InputError(
                f"rows[{x}] is {array[x]}; the rows of this index are 0 to {self._n_rows - 1}."
            )
        numbers: Ints = np.ascontiguousarray(array, dtype=np.int64)
        is_gone = self._layout.gone.reshape(-1)[numbers] != 0
        if is_gone.any():
            x = int(is_gone.argmax())
            raise InputError(
                f"rows[{x}] is {numbers[x]}, which was removed; give rows that are left."
            )
        return numbers

    def __len__(self) -> int:
        """Return the number of codes."""
        return self._n_codes

    def __repr__(self) -> str:
        """Return the number of codes, their width and the memory they take."""
        size = f"{self._n_codes:,} codes of {self.n_bits} bits"
        return f"ChangingIndex({size}, {self._layout.planes.nbytes / 1e6:.1f} MB)"


def _check_size(n_rows: int) -> int:
    if n_rows >= 1 << 32:
        raise InputError(f"{n_rows:,} rows are too many; an index holds fewer than 2^32.")
    return n_rows
