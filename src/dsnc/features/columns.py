"""From texts to rows: what `TextFeatures` knows after `fit`, laid out for the native core."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc import _native
from dsnc.features.grams import Grams
from dsnc.features.points import not_a_text, read_others
from dsnc.sparse import sp

Rows = tuple[Any, Any, Any]  # indptr, indices and data of a CSR matrix


def count_texts(blocks: Iterable[list[str]], grams: Grams) -> tuple[NDArray[np.int32], int]:
    """Return in how many texts each bucket occurs, and how many texts there are."""
    tally, n_rows = np.zeros((grams.n_hashes, 2), dtype=np.int32), 0
    for texts in blocks:
        try:
            _native.count_texts(texts, grams, read_others, tally, n_rows + 1)
        except TypeError:
            raise not_a_text(texts, n_rows) from None
        n_rows += len(texts)
    return tally[:, 0], n_rows


class HashedColumns:
    """Turns texts into the arrays of a CSR matrix.

    `buckets` are those of the columns, ascending, and `idf` the columns' weights.
    """

    def __init__(self, buckets: NDArray[np.uint32], idf: NDArray[np.float32], grams: Grams) -> None:
        self.native = _native.TextColumns(grams, read_others, buckets, idf)
        self._n = len(buckets)

    def rows(self, texts: list[str], first: int = 0) -> Rows:
        """Return indptr, indices and data of some texts; `first` numbers them in messages."""
        try:
            return self.native.rows(texts)
        except TypeError:
            raise not_a_text(texts, first) from None

    def matrix(self, parts: list[Rows]) -> "sp.csr_matrix":
        """Return a matrix of the rows of blocks, one below the other."""
        if len(parts) == 1 and len(parts[0][0]) == 2:  # a single text
            matrix = sp.csr_matrix.__new__(sp.csr_matrix)
            vars(matrix).update(vars(self._one_row))  # scipy's checks take longer than all the rest
            matrix.indptr, matrix.indices, matrix.data = parts[0]
            return matrix
        blocks = [
            sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, self._n))
            for indptr, indices, data in parts
        ]
        matrix = blocks[0] if len(blocks) == 1 else sp.vstack(blocks, format="csr")
        matrix.has_canonical_format = True  # which also says that columns ascend
        return matrix

    @cached_property
    def _one_row(self) -> "sp.csr_matrix":
        """A matrix of one row, without entries."""
        matrix = sp.csr_matrix((1, self._n), dtype=np.float32)
        matrix.has_canonical_format = True
        return matrix
