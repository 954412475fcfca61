"""From buckets to columns: what `TextFeatures` knows after `fit`, laid out for the kernels."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.features import _kernels as kernels
from dsnc.features.grams import Grams
from dsnc.features.points import read_points

Rows = tuple[Any, Any, Any]  # indptr, indices and data of a CSR matrix


class BucketTally:
    """Counts the texts in which each bucket occurs."""

    def __init__(self, grams: Grams) -> None:
        self.grams, self.n_rows = grams, 0
        self._tally = np.zeros((grams.n_hashes, 2), dtype=np.int32)

    @property
    def counts(self) -> NDArray[np.int32]:
        """How many texts have each bucket."""
        return self._tally[:, 0]

    def add(self, texts: list[str]) -> None:
        """Count some more texts."""
        points, kinds = read_points(texts, lowercase=self.grams.lowercase, first=self.n_rows)
        settings, room = self.grams.settings(), self.grams.room(len(points))
        first = self.n_rows + 1
        kernels.count_rows(points, kinds, settings, room, len(texts), first, self._tally)
        self.n_rows += len(texts)


class HashedColumns:
    """Turns texts into the arrays of a CSR matrix.

    The buckets that have a column are bits in a field: at 2**20 buckets it takes 256 kB, where a
    table of column numbers would take 4 MB and most lookups would miss the cache.

    Parameters
    ----------
    buckets : uint32 array
        Bucket of each column, ascending.
    idf : float32 array
        Weight of each column.
    grams : Grams
    """

    def __init__(self, buckets: NDArray[np.uint32], idf: NDArray[np.float32], grams: Grams) -> None:
        self._grams, self._settings, self._idf = grams, grams.settings(), idf
        word, bit = buckets >> 6, np.uint64(1) << (buckets.astype(np.uint64) & np.uint64(63))
        self._known = np.zeros((grams.n_hashes // 64, 2), dtype=np.uint64)
        np.bitwise_or.at(self._known[:, 0], word, bit)
        in_word = np.bincount(word, minlength=len(self._known))
        self._known[:, 1] = np.cumsum(in_word) - in_word
        self._spare: list[tuple[Any, Any]] = []  # scratch that no thread is using
        self._one_row = sp.csr_matrix((1, len(buckets)), dtype=np.float32)

    def rows(self, texts: list[str], first: int = 0) -> Rows:
        """Return indptr, indices and data of some texts; `first` numbers them in messages."""
        points, kinds = read_points(texts, lowercase=self._grams.lowercase, first=first)
        room = self._grams.room(len(points))
        try:
            scratch = self._spare.pop()
        except IndexError:  # to look first would not do: another thread may take the last one
            scratch = self._scratch()
        most = min(len(room), len(texts) * len(self._idf))
        indptr = np.empty(len(texts) + 1, dtype=np.int32 if most < 1 << 31 else np.int64)
        indices, data = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.float32)
        end = kernels.weigh_rows(
            points,
            kinds,
            self._settings,
            room,
            self._known,
            self._idf,
            *scratch,
            indptr,
            indices,
            data,
        )
        self._spare.append(scratch)
        return indptr, indices[:end].copy(), data[:end].copy()

    def matrix(self, parts: list[Rows]) -> sp.csr_matrix:
        """Return a matrix of the rows of blocks, one below the other."""
        indptr, indices, data = parts[0] if len(parts) == 1 else _stacked(parts)
        if len(indptr) == 2:  # scipy's checks take longer than all the rest for one row
            matrix = sp.csr_matrix.__new__(sp.csr_matrix)
            vars(matrix).update(vars(self._one_row))
            matrix.indptr, matrix.indices, matrix.data = indptr, indices, data
        else:
            shape = (len(indptr) - 1, len(self._idf))
            matrix = sp.csr_matrix((data, indices, indptr), shape=shape)
        matrix.has_canonical_format = True  # which also says that columns ascend
        return matrix

    def _scratch(self) -> tuple[Any, Any]:
        marks = np.zeros((3, -(-len(self._idf) // 64)), dtype=np.uint64)
        return marks, np.empty(len(self._idf), dtype=np.int32)


def _stacked(parts: list[Rows]) -> Rows:
    """Put the arrays of blocks of rows one below the other."""
    if not parts:
        return np.zeros(1, np.int32), np.empty(0, np.int32), np.empty(0, np.float32)
    sizes = np.concatenate([[0], *(np.diff(indptr) for indptr, _, _ in parts)])
    indptr = np.cumsum(sizes, dtype=np.int64)
    if indptr[-1] < 1 << 31:
        indptr = indptr.astype(np.int32)
    indices, data = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
    return indptr, indices, data
