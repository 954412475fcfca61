"""What there is to learn from: rows, what they should be, and how much each counts."""

import hashlib
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.targets import Targets

_BLOCK = 1 << 15  # rows looked at at a time


class Examples(NamedTuple):
    """Rows, what they should be, how much each counts, and which of them to use (all).

    Where rows have sets of classes, `gains` says how much having a class counts, for each class.
    """

    X: Any
    targets: Targets
    weight: NDArray[np.float32] | None = None
    rows: NDArray[np.int64] | None = None
    gains: NDArray[np.float32] | None = None

    @property
    def n_rows(self) -> int:
        """How many rows are used."""
        return len(self.targets if self.rows is None else self.rows)

    def used(self) -> tuple[Targets, NDArray[np.float32] | None]:
        """Return targets and weights of the rows that are used."""
        if self.rows is None:
            return self.targets, self.weight
        weight = None if self.weight is None else self.weight[self.rows]
        return self.targets.take(self.rows), weight

    def total_weight(self) -> float:
        """Return how much the rows that are used weigh."""
        weight = self.used()[1]
        return float(self.n_rows if weight is None else weight.sum(dtype=np.float64))

    def counts(self) -> NDArray[np.float64]:
        """Return how much each class weighs in the rows that are used."""
        targets, weight = self.used()
        return targets.counts(weight)


def describe(examples: Examples) -> dict[str, Any]:
    """Return what a model was made from, for its file."""
    return {
        "rows": examples.n_rows,
        "features": int(examples.X.shape[1]),
        "sparse": bool(sp.issparse(examples.X)),
        "fingerprint": fingerprint(examples),
    }


def fingerprint(examples: Examples) -> str:
    """Return a short text that changes with the rows, classes, weights or choice of rows."""
    X = examples.X
    arrays: tuple[Any, ...] = (X.indptr, X.indices, X.data) if sp.issparse(X) else (X,)
    if hasattr(X, "fingerprint"):  # rows of a cluster, which no process has all of
        arrays = ()
    known = X.shape, X.dtype.str if arrays else X.fingerprint
    digest = hashlib.blake2b(repr(known).encode(), digest_size=16)
    given = [examples.weight, examples.rows]
    if examples.gains is not None:  # without them, the same text as ever
        given.append(examples.gains)
    for array in (*arrays, *examples.targets.arrays(), *given):
        for start in range(0, 0 if array is None else len(array), _BLOCK):
            digest.update(np.ascontiguousarray(array[start : start + _BLOCK]).data)
        digest.update(b"|")
    return digest.hexdigest()
