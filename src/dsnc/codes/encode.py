"""Codes of sparse rows under a linear map, without the calls of scipy and numpy around it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc import _native
from dsnc.codes.packed import PackedCodes
from dsnc.errors import InputError
from dsnc.sparse import sp

_DIRECT = (np.dtype(np.float32), np.dtype(np.float64))
_FINE, _NOT_A_NUMBER, _SCATTERED, _OUTSIDE = range(4)  # what the core may find


def encode_csr(
    X: Any,
    rows: slice,
    weight: NDArray[np.float32],
    bias: NDArray[np.float32],
    *,
    unit: bool = False,
) -> tuple[PackedCodes | None, NDArray[np.float32]]:
    """Return the codes and logits ``X[rows] @ weight + bias`` of some rows of a CSR matrix.

    `rows` has steps of 1. With `unit` each row is divided by its norm first; a row of zeros stays.
    There are no codes where a logit is NaN.
    """
    n, n_bits = rows.stop - rows.start, weight.shape[1]
    if len(X.indptr) <= rows.stop:
        raise InputError(f"X.indptr has {len(X.indptr)} numbers; expected {X.shape[0] + 1}.")
    is_direct = X.data.dtype in _DIRECT
    if not is_direct or X.indices.dtype != np.int32:
        _check_entries(X, rows, len(weight))
        X, rows = X[rows].astype(X.data.dtype if is_direct else np.float32), slice(0, n)
    logits = np.empty((n, n_bits), dtype=np.float32)
    words = np.empty((n, -(-n_bits // 64)), dtype=np.uint64)
    indptr = X.indptr[rows.start : rows.stop + 1].astype(np.int64)
    indices = X.indices.astype(np.int32, copy=False)
    found = _native.encode_csr(indptr, indices, X.data, weight, bias, unit, logits, words)
    if found in (_SCATTERED, _OUTSIDE):
        _check_entries(X, rows, len(weight))
        return encode_csr(_in_order(X, indptr), slice(0, n), weight, bias, unit=unit)
    codes = PackedCodes._own(words, n_bits) if found == _FINE else None
    return codes, logits


def _check_entries(X: Any, rows: slice, n_features: int) -> None:
    """Refuse rows that reach beyond the arrays, naming the first of them."""
    indptr = X.indptr[rows.start : rows.stop + 1].astype(np.int64)
    starts, stops = indptr[:-1], indptr[1:]
    n_entries = min(len(X.indices), len(X.data))
    wrong = np.flatnonzero((starts < 0) | (stops < starts) | (stops > n_entries))
    if len(wrong):
        row = int(wrong[0])
        raise InputError(
            f"X[{rows.start + row}] has the entries {starts[row]} to {stops[row]} according to "
            f"X.indptr; expected a range within the {n_entries} entries of X."
        )
    indices = X.indices[indptr[0] : indptr[-1]]
    outside = np.flatnonzero((indices < 0) | (indices >= n_features))
    if len(outside):
        place = int(outside[0])
        row = rows.start + int(np.searchsorted(stops, indptr[0] + place, side="right"))
        raise InputError(
            f"X[{row}] has the index {indices[place]}; expected 0 to {n_features - 1}, for "
            f"{n_features} features."
        )


def _in_order(X: Any, indptr: NDArray[Any]) -> "sp.csr_matrix":
    """Return a copy of some rows whose indices ascend: an entry in two pieces is their sum."""
    entries = slice(indptr[0], indptr[-1])
    arrays = X.data[entries].copy(), X.indices[entries].copy(), indptr - indptr[0]
    part = sp.csr_matrix(arrays, shape=(len(indptr) - 1, X.shape[1]))
    part.sum_duplicates()
    return part
