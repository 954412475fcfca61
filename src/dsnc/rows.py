"""Rows of X as the numpy encoder needs them: of the right width, cut into blocks, of length 1."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.errors import InputError
from dsnc.sparse import sp

_BLOCK = 1 << 22  # numbers in a temporary
_CSR = "scipy.sparse._csr"  # where the types of such matrices are
_MAX_ROWS = 8192  # more rows at once are not faster
_FAR = 1000  # deviations from 0: float32 keeps four digits of what is left


class Cost(NamedTuple):
    """What encoding or decoding one row takes.

    Attributes
    ----------
    operations : float
        Multiplications, additions and operations on words, all counted alike.
    bytes : int
        What must be in memory.
    """

    operations: float  # multiplications and additions, or word operations, counted alike
    bytes: int  # what has to be kept in memory


def as_rows(X: Any, n_features: int) -> Any:
    """Return X as an ndarray or a CSR matrix of the right width, its numbers untouched."""
    if sp.issparse(X):
        rows = X if X.format == "csr" or X.ndim != 2 else X.tocsr()
    else:
        rows = np.asarray(X)
    shape = rows.shape
    if len(shape) != 2:
        raise InputError(f"X has shape {shape}; expected (rows, {n_features} features).")
    if shape[1] != n_features:
        raise InputError(f"X has {shape[1]} features; the model was made for {n_features}.")
    if rows.dtype.kind not in "biuf":
        raise InputError(f"X has type {rows.dtype}; expected real numbers.")
    return rows


def is_plain(X: Any, n_features: int) -> bool:
    """Tell quickly whether X is an array or a CSR matrix of this width."""
    kind = type(X)
    if kind is np.ndarray or kind is np.memmap or kind.__module__ == _CSR:
        return bool(X.ndim == 2 and X.shape[1] == n_features)
    return False


def draw_rows(n: int, most: int) -> NDArray[np.int64]:
    """Return the numbers of n rows, ascending; of more than `most` those that are drawn at random.

    Evenly spaced ones may all be of one kind, where kinds alternate in a file.
    """
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False, shuffle=False))


def far_means(X: Any) -> NDArray[np.float64] | None:
    """Return what to subtract from each feature so that float32 keeps its digits; None if nothing.

    That is the mean where it is far from 0, as some of the rows tell. Sparse rows stay as they are.
    """
    if sp.issparse(X) or np.can_cast(X.dtype, np.float32) or not X.shape[0]:
        return None
    n_rows = min(4096, max(64, _BLOCK // X.shape[1]))
    some = np.asarray(X[draw_rows(X.shape[0], n_rows)], dtype=np.float64)
    mean, varies = some.mean(axis=0), some.min(axis=0) < some.max(axis=0)
    far = varies & (np.abs(mean) > _FAR * some.std(axis=0))
    return np.where(far, mean, 0.0) if far.any() else None


def without_means(X: Any, means: NDArray[np.float64] | None) -> Any:
    """Return rows from which `far_means` are subtracted before they are rounded to float32."""
    if means is None:
        return X
    dense = X.toarray() if sp.issparse(X) else X
    return np.subtract(dense, means, out=np.empty(dense.shape, np.float32), casting="same_kind")


def row_blocks(X: Any, width: int, rows: slice) -> list[slice]:
    """Cut some rows so that neither they nor `width` numbers for each exceed the budget."""
    if rows.stop - rows.start <= 1:
        return [rows]
    own = X.shape[1] if isinstance(X, np.ndarray) else X.nnz // X.shape[0]
    step = max(1, min(_MAX_ROWS, _BLOCK // max(own, width)))
    starts = range(rows.start, rows.stop, step)
    return [slice(start, min(start + step, rows.stop)) for start in starts]


def concatenate(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Put the answers for blocks of rows together; a single block is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def unit_rows(rows: Any) -> Any:
    """Divide float32 rows by their norms, which are summed in double: no square overflows."""
    if isinstance(rows, np.ndarray):
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
        norms[norms == 0] = 1
        return np.divide(rows, norms[:, None], out=np.empty_like(rows), casting="same_kind")
    if not rows.has_canonical_format:  # an entry in two pieces counts as their sum
        rows = rows.copy()
        rows.sum_duplicates()
    row_numbers = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    squares = np.square(rows.data, dtype=np.float64)
    norms = np.sqrt(np.bincount(row_numbers, squares, minlength=rows.shape[0]))
    norms[norms == 0] = 1
    data = (rows.data / norms[row_numbers]).astype(np.float32)
    return type(rows)((data, rows.indices, rows.indptr), shape=rows.shape)
