"""What there is to learn from: rows, their classes, and how much each counts."""

import hashlib
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

_BLOCK = 1 << 15  # rows looked at at a time


class Examples(NamedTuple):
    """Rows, their class numbers, how much each counts, and which of them to use (all)."""

    X: Any
    y: NDArray[np.int32]
    weight: NDArray[np.float32] | None = None
    rows: NDArray[np.int64] | None = None


def fingerprint(examples: Examples) -> str:
    """Return a short text that changes with the rows, classes, weights or choice of rows."""
    X = examples.X
    arrays = (X.indptr, X.indices, X.data) if sp.issparse(X) else (X,)
    digest = hashlib.blake2b(repr((X.shape, X.dtype.str)).encode(), digest_size=16)
    for array in (*arrays, examples.y, examples.weight, examples.rows):
        for start in range(0, 0 if array is None else len(array), _BLOCK):
            digest.update(np.ascontiguousarray(array[start : start + _BLOCK]).data)
        digest.update(b"|")
    return digest.hexdigest()
