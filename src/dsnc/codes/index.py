"""Exact nearest neighbors in Hamming space, in the way that is faster for each query."""

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc import _native
from dsnc.arrays import check_arrays, class_numbers
from dsnc.checks import one_of, whole
from dsnc.codes.packed import PackedCodes
from dsnc.errors import InputError
from dsnc.threads import in_threads

Ints = NDArray[np.int64]
METHODS = ("auto", "scan", "multi_index")
ROW_BITS = 40  # of a key, for the row: see src/native/search.hpp
FREE = (1 << 62) - 1  # the key of a place that nothing fills
_ROW_MASK = (1 << ROW_BITS) - 1
_MOST_BITS = 65_534  # see src/native/search.hpp
_SPARSE = 4  # labels beyond so many times the codes are numbered anew
_TABLES = {"offsets": "uint32 1", "ids": "uint32 1", "signatures": "uint64 2"}


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
        self._lay_out(codes, method)
        if method == "multi_index" and len(codes):
            self.prepare()

    def _lay_out(self, codes: PackedCodes, method: str) -> None:
        if codes.n_bits > _MOST_BITS:
            raise InputError(f"n_bits={codes.n_bits}: an index holds codes of 65,534 bits at most.")
        self.codes, self.method = codes, method
        self.native = _native.Index(codes.words, codes.n_bits, method)

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
        keys, _ = self._filled(*self.lists(queries, k, n_jobs=n_jobs), None)
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
        owned = class_numbers("labels", labels, len(self.codes)).astype(np.int64, copy=False)
        numbers, names = _numbered(owned)
        keys, owners = self._filled(*self.lists(queries, k, numbers, n_jobs=n_jobs), owned)
        owners = owners if names is None else names[owners]
        return ClassNeighbors((keys >> ROW_BITS).astype(np.int32), owners, keys & _ROW_MASK)

    def with_more(self, codes: PackedCodes) -> "HammingIndex":
        """Return an index of more codes: `codes` are those of this one, followed by others.

        A multi-index is rebuilt only if many codes have been added.
        """
        if len(codes) < len(self):
            raise InputError(f"{len(codes):,} codes; the index has {len(self):,} already.")
        index = copy.copy(self)
        index.codes, index.native = codes, self.native.with_more(codes.words)
        return index

    def prepare(self) -> None:
        """Build the multi-index now, so that no search has to do it later."""
        self.native.prepare()

    @property
    def nbytes(self) -> int:
        """Bytes in memory, the codes included."""
        arrays = self.arrays().values()
        return int(self.native.nbytes) + sum(array.nbytes for array in arrays)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return plain arrays for a file: the codes, and the multi-index if there is one."""
        tables = self.native.tables()
        if tables is None:
            return self.codes.arrays()
        offsets, ids, signatures = tables
        found = offsets, ids, signatures.reshape(len(ids), -1)
        return self.codes.arrays() | dict(zip(_TABLES, found, strict=True))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], *, method: str = "auto") -> Self:
        """Make the index from the result of `arrays`, which is checked; memory maps stay mapped."""
        codes = PackedCodes.from_arrays({k: a for k, a in arrays.items() if k not in _TABLES})
        index = cls.__new__(cls)
        index._lay_out(codes, one_of("method", method, METHODS))
        tables = {name: arrays[name] for name in _TABLES if name in arrays}
        if tables:
            check_arrays("index", tables, _TABLES)
            try:
                index.native.use_tables(*(np.require(a, None, ["C", "A"]) for a in tables.values()))
            except ValueError as error:
                raise InputError(str(error)) from None
        return index

    def lists(
        self, queries: PackedCodes, k: int, labels: Ints | None = None, *, n_jobs: int = 1
    ) -> tuple[Ints, Ints]:
        """Return the neighbors as keys, ``distance << ROW_BITS | row``, and their owners.

        An owner is the label of the row, or the row itself; an owner has one entry, its nearest.
        Free places have the key FREE.
        """
        k = self._check(queries, k)
        n_owners = 0 if labels is None else 1 + int(labels.max(initial=-1))
        keys, owners = np.empty((2, len(queries), k), dtype=np.int64)

        def work(rows: slice) -> None:
            found = queries.words[rows], keys[rows], owners[rows]
            self.native.search(*found, labels, n_owners)

        if type(n_jobs) is int and n_jobs == 1:  # most calls, and True is not a number of threads
            work(slice(None))
        else:
            in_threads(work, len(queries), n_jobs)
        return keys, owners

    def _filled(self, keys: Ints, owners: Ints, labels: Ints | None) -> tuple[Ints, Ints]:
        """Leave out the entries that nothing fills.

        A list that is not full holds everything there is: all of them have the same length.
        """
        if len(keys):
            if keys[0, -1] != FREE:
                return keys, owners
            filled = int((keys[0] != FREE).sum())
        else:
            filled = min(keys.shape[1], len(self) if labels is None else len(np.unique(labels)))
        return keys[:, :filled], owners[:, :filled]

    def _check(self, queries: PackedCodes, k: int) -> int:
        if queries.n_bits != self.codes.n_bits:
            raise InputError(
                f"queries have {queries.n_bits} bits; the index was built for {self.codes.n_bits}."
            )
        return min(whole("k", k), max(1, len(self.codes)))  # a list has no more to hold

    def __len__(self) -> int:
        """Return the number of codes."""
        return len(self.codes)

    def __repr__(self) -> str:
        """Return the number of codes, their width and the memory they take."""
        size = f"{len(self.codes):,} codes of {self.codes.n_bits} bits"
        return f"HammingIndex({size}, {self.nbytes / 1e6:.1f} MB)"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a file holds it."""
        return _restored, (type(self), self.arrays(), self.method)


def _restored(cls: type[HammingIndex], arrays: dict[str, Any], method: str) -> HammingIndex:
    return cls.from_arrays(arrays, method=method)


def _numbered(labels: Ints) -> tuple[Ints, Ints | None]:
    """Return labels, and their names where they are so large that they are numbered anew."""
    if 1 + int(labels.max(initial=-1)) <= _SPARSE * len(labels):
        return np.ascontiguousarray(labels), None
    names, numbers = np.unique(labels, return_inverse=True)
    return numbers, np.append(names, -1)  # the owner of a free place stays -1
