"""Exact nearest neighbors in Hamming space, in the way that is faster for each query."""

import copy
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.arrays import class_numbers
from dsnc.checks import one_of, whole
from dsnc.codes._kernels.nearest import FREE, NO_LABELS, NO_SLACK, ROW_BITS, empty_lists
from dsnc.codes.multi_index import MultiIndex, no_tables
from dsnc.codes.packed import PackedCodes
from dsnc.codes.scan import CodeScan
from dsnc.errors import InputError
from dsnc.threads import in_threads

Ints = NDArray[np.int64]
METHODS = ("auto", "scan", "multi_index")
_ROW_MASK = (1 << ROW_BITS) - 1
_MIN_CODES = 4096  # fewer are scanned faster than they are looked up
_MIN_SHARE = 64  # a list of more than one in so many codes is scanned faster than looked up
_MIN_RADIUS = 400  # codes, twice as many for each bit of slack, below which scanning is faster
_NO_TABLES = no_tables()
_LATER = 1024  # codes that may come after the tables were made, for one or two microseconds a query
_PATIENCE = 1 << 28  # octets to compare before a multi-index is worth its making: some 10 ms


class ClassNeighbors(NamedTuple):
    """The nearest classes of each query, nearest first."""

    distances: NDArray[np.int32]
    classes: Ints
    rows: Ints  # the code of the class that is that near


class HammingIndex:
    """Finds the nearest codes, exactly: ordered by distance, and equal distances by row.

    A multi-index answers queries that are near some code, in a time that grows like the square root
    of the number of codes. For other queries, all codes are scanned, about ten per nanosecond. How
    many operations each way takes decides query by query.

    Parameters
    ----------
    codes : PackedCodes
        The codes to search, fewer than 2^32.
    method : "auto", "scan" or "multi_index", default "auto"
        "auto" builds the multi-index once the queries so far would have paid for it. "multi_index"
        builds it at once. "scan" never does, and needs about a fifth of the memory.

    Examples
    --------
    >>> codes = PackedCodes.from_ints([0b0000, 0b0011, 0b1111], n_bits=4)
    >>> index = HammingIndex(codes)
    >>> index.search(PackedCodes.from_ints([0b0111], n_bits=4), k=2)
    (array([[1, 1]], dtype=int32), array([[1, 2]]))
    """

    def __init__(self, codes: PackedCodes, *, method: str = "auto") -> None:
        one_of("method", method, METHODS)
        if len(codes) >= 1 << 32:
            raise InputError(f"{len(codes):,} codes are too many; an index holds fewer than 2^32.")
        self.codes, self.method = codes, method
        self._scan = CodeScan(codes)
        self._multi: MultiIndex | None = None
        self._tables = _NO_TABLES
        self._pending, self._lock = _PATIENCE, threading.Lock()
        if method == "multi_index" and len(codes):
            self.prepare()

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
        keys, _ = self._filled(*self.lists(queries, k, n_jobs=n_jobs), NO_LABELS)
        return (keys >> ROW_BITS).astype(np.int32), keys & _ROW_MASK

    def search_classes(
        self, queries: PackedCodes, k: int, labels: ArrayLike, *, n_jobs: int = 1
    ) -> ClassNeighbors:
        """Find the k nearest classes of each query: those of the nearest codes, each class once.

        Parameters
        ----------
        queries : PackedCodes
            As wide as the codes.
        k : int
            How many to find; if there are fewer classes, all of them.
        labels : int array of shape (n_codes,)
            The class number of each code, 0 or more.
        n_jobs : int, default 1
            Number of threads; -1 uses all cores.

        Returns
        -------
        ClassNeighbors
            `distances`, `classes` and `rows`, arrays of shape (n_queries, min(k, n_classes)),
            ordered by (distance, row). `rows` has the nearest code of each class.
        """
        labels = check_labels(labels, len(self.codes))
        keys, owners = self._filled(*self.lists(queries, k, labels, n_jobs=n_jobs), labels)
        return ClassNeighbors((keys >> ROW_BITS).astype(np.int32), owners, keys & _ROW_MASK)

    def with_more(self, codes: PackedCodes) -> "HammingIndex":
        """Return an index of more codes: `codes` are those of this one, followed by others.

        A multi-index is rebuilt only if many codes have been added.
        """
        index = copy.copy(self)
        index.codes, index._scan = codes, self._scan.with_more(codes)
        index._multi, index._tables = None, _NO_TABLES
        index._pending, index._lock = _PATIENCE, threading.Lock()
        multi = self._multi
        if multi is not None and len(codes) - len(self) + multi.n_later <= _LATER:
            index._multi = multi.with_more(codes)
            index._tables = index._multi.tables
        elif self.method == "multi_index":
            index.prepare()
        return index

    def prepare(self) -> None:
        """Build the multi-index now, so that no search has to do it later."""
        with self._lock:
            if self._multi is None:
                self._use(MultiIndex(self.codes))

    def _use(self, multi: MultiIndex) -> None:
        self._multi, self._tables = multi, multi.tables

    @property
    def nbytes(self) -> int:
        """Bytes in memory, the codes included."""
        return self._scan.planes.nbytes + sum(array.nbytes for array in self.arrays().values())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return plain arrays for a file: the codes, and the multi-index if there is one."""
        multi = self._multi
        is_whole = multi is not None and not multi.n_later
        return self.codes.arrays() | (multi.arrays() if multi is not None and is_whole else {})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], *, method: str = "auto") -> Self:
        """Make the index from the result of `arrays`, which is checked; memory maps stay mapped."""
        tables = {"offsets", "ids", "signatures"}
        index = cls(PackedCodes.from_arrays({k: a for k, a in arrays.items() if k not in tables}))
        index.method = one_of("method", method, METHODS)
        present = tables & set(arrays)
        if present and present != tables:
            raise InputError(f"index: arrays {sorted(tables - present)} are missing.")
        if present:
            index._use(MultiIndex(index.codes, arrays))
        return index

    def lists(
        self,
        queries: PackedCodes,
        k: int,
        labels: Ints | None = None,
        *,
        slack: int | None = None,
        n_jobs: int = 1,
    ) -> tuple[Ints, Ints]:
        """Return the neighbors in the format of the kernels, for kernels that continue from there.

        Keys and owners are those of `dsnc.codes._kernels.nearest`; labels are as `check_labels`
        returns them. Codes that are farther than a query's nearest by more than the slack may be
        left out, which makes the search cheaper the nearer that nearest code is.
        """
        k = self._check(queries, k)
        labels = NO_LABELS if labels is None else labels
        slack = NO_SLACK if slack is None else slack
        self._may_prepare(len(queries), k, slack)
        keys, owners = empty_lists(len(queries), k)

        def work(rows: slice) -> None:
            self._update(queries.take(rows), labels, keys[rows], owners[rows], slack)

        if type(n_jobs) is int and n_jobs == 1:  # most calls, and True is not a number of threads
            self._update(queries, labels, keys, owners, slack)
        else:
            in_threads(work, len(queries), n_jobs)
        return keys, owners

    def tables(self, n_queries: int, k: int, slack: int) -> tuple[tuple[Any, ...], bool]:
        """Return what a kernel needs that searches by itself, and whether that is final.

        These are the words of the codes and their planes, then the tables of the multi-index. The
        tables are empty if there is no multi-index, or if such lists are better scanned.
        """
        is_final = not self._may_prepare(n_queries, k, slack)
        tables = _NO_TABLES if self._is_wide(k, slack) else self._tables
        return (self.codes.words, self.codes.n_bits, self._scan.planes, *tables), is_final

    def _filled(self, keys: Ints, owners: Ints, labels: Ints) -> tuple[Ints, Ints]:
        """Leave out the entries that nothing fills.

        A list that is not full holds everything there is: all of them have the same length.
        """
        if len(keys):
            if keys[0, -1] != FREE:
                return keys, owners
            filled = int((keys[0] != FREE).sum())
        else:
            filled = min(keys.shape[1], len(np.unique(labels)) if len(labels) else len(self))
        return keys[:, :filled], owners[:, :filled]

    def _update(
        self,
        queries: PackedCodes,
        labels: Ints,
        keys: Ints,
        owners: Ints,
        slack: int = NO_SLACK,
    ) -> NDArray[np.bool_]:
        """Complete the lists, by lookups and what these leave by scanning; tell which is which."""
        multi = self._multi
        if multi is None or self._is_wide(keys.shape[1], slack):
            done = np.zeros(len(queries), dtype=np.bool_)
        else:
            done, _ = multi.update(queries, labels, keys, owners, slack)
        if np.count_nonzero(done) < len(queries):  # a single query has no time for all()
            self._scan.update(queries, np.flatnonzero(~done), labels, keys, owners, slack)
        return done

    def _is_wide(self, k: int, slack: int) -> bool:
        """Tell whether lists hold so much that looking it up is no faster."""
        if k == 1 or self.method == "multi_index":
            return False
        far = _MIN_RADIUS << min(slack, 32) if slack < NO_SLACK else 0
        return len(self.codes) < max(_MIN_SHARE * k, far)

    def _may_prepare(self, n_queries: int, k: int, slack: int) -> bool:
        """Make the multi-index if it is worth it by now; tell whether it may be later."""
        if self._multi is not None or self.method == "scan" or len(self.codes) < _MIN_CODES:
            return False
        if self._is_wide(k, slack):
            return False
        self._pending -= n_queries * self._scan.planes.nbytes
        if self._pending < 0:
            self.prepare()
        return self._multi is None

    def _check(self, queries: PackedCodes, k: int) -> int:
        if queries.n_bits != self.codes.n_bits:
            raise InputError(
                f"queries have {queries.n_bits} bits; the index was built for {self.codes.n_bits}."
            )
        return whole("k", k)

    def __len__(self) -> int:
        """Return the number of codes."""
        return len(self.codes)

    def __repr__(self) -> str:
        """Return the number of codes, their width and the memory they take."""
        size = f"{len(self.codes):,} codes of {self.codes.n_bits} bits"
        return f"HammingIndex({size}, {self.nbytes / 1e6:.1f} MB)"

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the lock."""
        return {key: value for key, value in vars(self).items() if key != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what `__getstate__` returned."""
        vars(self).update(state)
        self._lock = threading.Lock()


def check_labels(labels: ArrayLike, n_codes: int) -> Ints:
    """Return labels as the kernels take them, or refuse them."""
    array = class_numbers("labels", labels, n_codes)
    result: Ints = np.ascontiguousarray(array, dtype=np.int64).view()
    result.flags.writeable = False
    return result
