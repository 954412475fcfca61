"""Codes of sparse rows under a linear map, without the calls of scipy and numpy around it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.codes._kernels import encode as kernels
from dsnc.codes.packed import PackedCodes

_DIRECT = (np.dtype(np.float32), np.dtype(np.float64))


def encode_csr(
    X: Any,
    rows: slice,
    weight: NDArray[np.float32],
    bias: NDArray[np.float32],
    *,
    unit: bool = False,
) -> tuple[PackedCodes | None, NDArray[np.float32]]:
    """Return the codes and logits ``X[rows] @ weight + bias`` of some rows of a CSR matrix.

    Parameters
    ----------
    X : CSR matrix of shape (n, d)
    rows : slice
        From 0 to n, with steps of 1.
    weight : float32 array of shape (d, n_bits)
    bias : float32 array of shape (n_bits,)
    unit : bool
        Divide each row by its norm first; a row of zeros stays.

    Returns
    -------
    codes : PackedCodes or None
        None where a logit is NaN.
    logits : float32 array of shape (n_rows, n_bits)
    """
    n, n_bits = rows.stop - rows.start, weight.shape[1]
    if X.data.dtype not in _DIRECT:
        X, rows = X[rows].astype(np.float32), slice(0, n)
    logits = np.empty((n, n_bits), dtype=np.float32)
    words = np.empty((n, -(-n_bits // 64)), dtype=np.uint64)
    indptr = X.indptr[rows.start : rows.stop + 1]
    found = kernels.encode_csr(indptr, X.indices, X.data, weight, bias, unit, logits, words)
    if found == kernels.SCATTERED:  # an entry in two pieces counts as their sum
        part = X[rows].copy()
        part.sum_duplicates()
        return encode_csr(part, slice(0, n), weight, bias, unit=unit)
    codes = PackedCodes._own(words, n_bits) if found == kernels.FINE else None
    return codes, logits
