"""Rows as the kernels take them: sparse, float32, scaled, some thousand at a time."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc._native import leave_out
from dsnc.fast import recipe
from dsnc.rows import unit_rows
from dsnc.training.examples import Examples
from dsnc.training.scaling import check_scaling, divides_rows, scale_of

_NUMBERS = 1 << 22  # of rows that are ready at a time
_MOST = 8192  # rows, so that Ctrl-C and the clock are heard in time
_FLAT = 1e-34  # deviation of a feature that float32 cannot be divided by


class Rows(NamedTuple):
    """Some thousand rows to learn from, in the order in which they come."""

    indptr: Any
    indices: Any
    values: Any
    starts: Any  # where the classes of each row begin; one more at the end
    classes: Any  # of all rows, one row after the other
    gains: Any  # how much each of these counts
    weight: Any
    near: Any = None  # (n_rows, n_nearest): the nearest classes, -1 where there are no more


class Scaling(NamedTuple):
    """What is done to the features before they are learned from."""

    unit_rows: bool = False
    shift: NDArray[np.float32] | None = None  # subtracted from each feature,
    factor: NDArray[np.float32] | None = None  # and then multiplied with it


def scaling_of(name: str, examples: Examples, *, mostly_zeros: bool) -> Scaling:
    """Return what is done to features; see `dsnc.training.scaling`."""
    if divides_rows(name, mostly_zeros):
        return Scaling(unit_rows=True)
    if name == "none":
        return Scaling()
    check_scaling(name, examples.X, mostly_zeros)
    shift, divisor = scale_of(examples, name, length=recipe.LENGTH)
    factor = 1 / np.where(divisor > _FLAT, divisor, 1)
    return Scaling(shift=shift.astype(np.float32), factor=factor.astype(np.float32))


class Feed:
    """The rows to learn from, read when their turn comes: X may be a memory map."""

    def __init__(self, examples: Examples, scaling: Scaling) -> None:
        self._X, self.scaling, self._gains = examples.X, scaling, examples.gains
        targets, weight = examples.used()
        self.n_rows = examples.n_rows
        self._rows = examples.rows
        self.targets = targets
        self.weight = np.ones(self.n_rows, np.float32) if weight is None else weight
        self.n_features = self.per_row = int(examples.X.shape[1])  # numbers of a row
        if sp.issparse(self._X) and scaling.factor is None:
            self.per_row = max(1, self._X.nnz // max(1, self._X.shape[0]))
        self.at_once = max(1, min(_MOST, _NUMBERS // self.per_row))

    def take(self, which: NDArray[np.int64]) -> Rows:
        """Return some rows, in this order."""
        X = self.matrix(which)
        indptr, indices = X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False)
        targets = self.targets.take(which)
        starts, classes = targets.lists()
        gains = np.ones(len(classes), np.float32)
        if self._gains is not None:
            gains = self._gains[classes]
        return Rows(indptr, indices, X.data, starts, classes, gains, self.weight[which])

    def matrix(self, which: NDArray[np.int64]) -> Any:
        """Return the features of some rows as a CSR matrix."""
        rows = self.features(which)
        if sp.issparse(rows):
            return rows
        return sp.csr_array(rows) if self.scaling.factor is None else _full(rows)

    def features(self, which: NDArray[np.int64]) -> Any:
        """Return the features of some rows, as an array or, where they are sparse, a CSR matrix."""
        picked = self._X[which if self._rows is None else self._rows[which]]
        shift, factor = self.scaling.shift, self.scaling.factor
        if factor is not None and shift is not None:
            dense = picked.toarray() if sp.issparse(picked) else picked
            return np.subtract(dense, shift, dtype=np.float32) * factor
        if not sp.issparse(picked):
            picked = np.asarray(picked, dtype=np.float32)
        if not self.scaling.unit_rows:
            return picked.astype(np.float32, copy=False)
        # Of mostly zeros: whether they came in a dense or a sparse matrix, they are the same.
        return unit_rows(sp.csr_array(picked, dtype=np.float32))


def class_blocks(starts: NDArray[np.int64], at_once: int) -> Iterator[tuple[int, int]]:
    """Yield (first class, class after the last) with so many rows at most, or with one class.

    The rows of class k are from ``starts[k]`` to ``starts[k + 1]``.
    """
    first = 0
    while first < len(starts) - 1:
        reached = int(np.searchsorted(starts, starts[first] + at_once, side="right"))
        last = min(max(first + 1, reached - 1), len(starts) - 1)
        yield first, last
        first = last


def without_some(rows: Rows, share: float, seed: int) -> Rows:
    """Return rows without a share of their features, drawn by lot; the others count for them too.

    Rows that never come twice with the same words are not learned by heart. The arrays are those
    of `rows`, written over.
    """
    n = leave_out(rows.indptr, rows.indices, rows.values, share, seed)
    return rows._replace(indices=rows.indices[:n], values=rows.values[:n])


def _full(rows: NDArray[np.float32]) -> Any:
    """Return dense rows as a CSR matrix without looking for zeros."""
    n, width = rows.shape
    indices = np.tile(np.arange(width, dtype=np.int32), n)
    return sp.csr_array((rows.reshape(-1), indices, np.arange(0, n * width + 1, width)), rows.shape)
