"""Rows as the kernels take them: sparse, float32, scaled, some thousand at a time."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.fast._kernels.state import Rows
from dsnc.rows import unit_rows
from dsnc.training.examples import Examples

_NUMBERS = 1 << 22  # of rows that are ready at a time
_MOST = 8192  # rows, so that Ctrl-C and the clock are heard in time


class Scaling(NamedTuple):
    """What is done to the features before they are learned from."""

    unit_rows: bool = False
    shift: NDArray[np.float32] | None = None  # subtracted from each feature,
    factor: NDArray[np.float32] | None = None  # and then multiplied with it


class Feed:
    """The rows to learn from, read when their turn comes: X may be a memory map.

    Parameters
    ----------
    examples : Examples
    scaling : Scaling
    """

    def __init__(self, examples: Examples, scaling: Scaling) -> None:
        self._X, self._scaling = examples.X, scaling
        targets, weight = examples.used()
        self.n_rows = examples.n_rows
        self._rows = examples.rows
        self._y = targets.y.astype(np.int32)
        self._weight = np.ones(self.n_rows, np.float32) if weight is None else weight
        per_row = int(examples.X.shape[1])
        if sp.issparse(self._X) and scaling.factor is None:
            per_row = max(1, self._X.nnz // max(1, self._X.shape[0]))
        self.at_once = max(1, min(_MOST, _NUMBERS // per_row))

    def take(self, which: NDArray[np.int64]) -> Rows:
        """Return some rows, in this order."""
        X = self.matrix(which)
        indptr, indices = X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False)
        return Rows(indptr, indices, X.data, self._y[which], self._weight[which])

    def matrix(self, which: NDArray[np.int64]) -> Any:
        """Return the features of some rows as a CSR matrix."""
        picked = self._X[which if self._rows is None else self._rows[which]]
        shift, factor = self._scaling.shift, self._scaling.factor
        if factor is not None and shift is not None:
            dense = picked.toarray() if sp.issparse(picked) else picked
            return _full(np.subtract(dense, shift, dtype=np.float32) * factor)
        if not sp.issparse(picked):
            picked = sp.csr_array(np.asarray(picked, dtype=np.float32))
        picked = picked.astype(np.float32, copy=False)
        return unit_rows(picked) if self._scaling.unit_rows else picked


def _full(rows: NDArray[np.float32]) -> Any:
    """Return dense rows as a CSR matrix without looking for zeros."""
    n, width = rows.shape
    indices = np.tile(np.arange(width, dtype=np.int32), n)
    return sp.csr_array((rows.reshape(-1), indices, np.arange(0, n * width + 1, width)), rows.shape)
