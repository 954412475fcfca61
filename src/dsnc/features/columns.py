"""From buckets to columns: what `TextFeatures` knows after `fit`, laid out for the kernels."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.features.grams import Grams
from dsnc.features.points import read_points

Rows = tuple[Any, Any, Any]  # indptr, indices and data of a CSR matrix
_AT_ONCE = 1 << 18  # buckets that are looked at together: all would take 80 bytes of each


@cache
def _kernels() -> Any:
    """Return the kernels, which bring the compiler with them."""
    from dsnc.features import _kernels as kernels

    return kernels


def count_texts(blocks: Iterable[list[str]], grams: Grams) -> tuple[NDArray[np.int32], int]:
    """Return in how many texts each bucket occurs, and how many texts there are."""
    tally, n_rows = np.zeros((grams.n_hashes, 2), dtype=np.int32), 0
    for texts in blocks:
        points, kinds = read_points(texts, lowercase=grams.lowercase, first=n_rows)
        settings, room = grams.settings(), grams.room(len(points))
        _kernels().count_rows(points, kinds, settings, room, len(texts), n_rows + 1, tally)
        n_rows += len(texts)
    return tally[:, 0], n_rows


def warm_up() -> None:
    """Run both kernels once, so that they are compiled."""
    grams = Grams((1, 1), (2, 2), lowercase=True, sublinear=True, n_hashes=1 << 8)
    count_texts([["warm up"]], grams)
    idf = np.ones(1, dtype=np.float32)
    idf.flags.writeable = False  # as after `fit`: kernels are compiled for one kind
    HashedColumns(np.zeros(1, dtype=np.uint32), idf, grams).rows(["warm up"])


class HashedColumns:
    """Turns texts into the arrays of a CSR matrix.

    The buckets that have a column are bits in a field: at 2**20 buckets it takes 256 kB, where a
    table of column numbers would take 4 MB and most lookups would miss the cache. `buckets` are
    those of the columns, ascending, and `idf` the columns' weights.
    """

    def __init__(self, buckets: NDArray[np.uint32], idf: NDArray[np.float32], grams: Grams) -> None:
        self._grams, self._settings, self._idf = grams, grams.settings(), idf
        self._known = np.zeros((grams.n_hashes // 64, 2), dtype=np.uint64)
        for start in range(0, len(buckets), _AT_ONCE):
            some = buckets[start : start + _AT_ONCE].astype(np.uint64)
            np.bitwise_or.at(self._known[:, 0], some >> 6, np.uint64(1) << (some & np.uint64(63)))
        in_word = np.bitwise_count(self._known[:, 0])
        self._known[:, 1] = np.cumsum(in_word, dtype=np.uint64) - in_word
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
        read, columns = (points, kinds, self._settings, room), (self._known, self._idf)
        end = _kernels().weigh_rows(*read, *columns, *scratch, indptr, indices, data)
        self._spare.append(scratch)
        return indptr, indices[:end].copy(), data[:end].copy()

    def matrix(self, parts: list[Rows]) -> sp.csr_matrix:
        """Return a matrix of the rows of blocks, one below the other."""
        if len(parts) == 1 and len(parts[0][0]) == 2:
            matrix = sp.csr_matrix.__new__(sp.csr_matrix)
            vars(matrix).update(vars(self._one_row))  # scipy's checks take longer than all the rest
            matrix.indptr, matrix.indices, matrix.data = parts[0]
        else:
            n_columns = len(self._idf)
            blocks = [
                sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, n_columns))
                for indptr, indices, data in parts
            ]
            blocks = blocks or [self._one_row[:0]]
            matrix = blocks[0] if len(blocks) == 1 else sp.vstack(blocks, format="csr")
        matrix.has_canonical_format = True  # which also says that columns ascend
        return matrix

    def _scratch(self) -> tuple[Any, Any]:
        marks = np.zeros((3, -(-len(self._idf) // 64)), dtype=np.uint64)
        return marks, np.empty(len(self._idf), dtype=np.int32)
