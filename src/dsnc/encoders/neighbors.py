"""The nearest of the training rows vote: the encoder of a model that keeps its rows."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.arrays import bounded, check_arrays, class_numbers
from dsnc.checks import whole
from dsnc.errors import InputError
from dsnc.rows import Cost, as_rows, unit_rows
from dsnc.sparse import sp

_LEAST = 1e-6  # distance of rows that are the same
_NO_VOTE = np.float32(1e-30)
_MEGABYTES = 64  # of distances at once
_DENSE = {"rows": "float32 2"}
_SPARSE = {"data": "float32 1", "indices": "int32 1", "indptr": "int64 1"}
_OTHERS = {"classes": "int32 1", "weight": "float32 1", "scale": "float32 1", "settings": "int64 1"}


class NeighborsEncoder:
    """Gives each class the logarithm of its share of the votes, of one over the distance each.

    `rows` are a float32 array or CSR; each has a class and a weight. Features are divided by
    `scale` before rows are compared, by angle if they are sparse or if `by_angle` says so.
    """

    kind: ClassVar[str] = "neighbors"

    def __init__(self, rows: Any, classes: Any, weight: Any, scale: Any, *settings: int) -> None:
        from sklearn.neighbors import NearestNeighbors  # here: other models do without

        (n_rows, self.n_features), (n_classes, n_neighbors, by_angle) = rows.shape, settings
        self.n_bits = whole("n_classes", n_classes)
        self.n_neighbors = min(whole("n_neighbors", n_neighbors), n_rows)
        self.rows, self.by_angle = rows, bool(by_angle) or sp.issparse(rows)
        self.classes = class_numbers("classes", classes, n_rows, n_classes - 1)
        self.weight, self.scale = bounded("weight", weight), bounded("scale", scale)
        if (len(self.weight), len(self.scale)) != rows.shape or not (self.scale > 0).all():
            raise InputError(f"neighbors: weight or scale does not fit rows of shape {rows.shape}.")
        metric = "cosine" if sp.issparse(rows) else "euclidean"
        self._search = NearestNeighbors(metric=metric).fit(self._scaled(rows))

    def logits(self, X: Any) -> NDArray[np.float32]:
        """Return (n, n_classes) logarithms of shares."""
        from sklearn import config_context

        with config_context(working_memory=_MEGABYTES):
            distances, near = self._search.kneighbors(self._scaled(X), self.n_neighbors)
        votes = np.zeros((len(near), self.n_bits), dtype=np.float32)
        at = np.arange(len(near))[:, None], self.classes[near]
        np.add.at(votes, at, self.weight[near] / (distances + _LEAST))
        votes /= votes.sum(axis=1, keepdims=True)
        logits: NDArray[np.float32] = np.log(np.maximum(votes, _NO_VOTE, out=votes), out=votes)
        return logits

    def cost(self) -> Cost:
        """Return the multiplications for a row that is compared with all, and the bytes kept."""
        arrays = self.arrays()
        values = arrays["rows" if "rows" in arrays else "data"]
        return Cost(float(values.size), sum(array.nbytes for array in arrays.values()))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return plain arrays for a model file; `from_arrays` reverses this."""
        settings = self.n_bits, self.n_neighbors, self.by_angle
        values = {name: getattr(self, name, settings) for name in _OTHERS | _DENSE}
        own = _OTHERS | (_SPARSE if sp.issparse(self.rows) else _DENSE)
        values |= {name: getattr(self.rows, name, None) for name in _SPARSE}
        return {name: np.asarray(values[name], kind.split()[0]) for name, kind in own.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make the encoder from the result of `arrays`, which is checked."""
        check_arrays("neighbors", arrays, _OTHERS | (_DENSE if "rows" in arrays else _SPARSE))
        *parts, settings = (arrays[name] for name in _OTHERS)
        if "rows" in arrays:
            return cls(arrays["rows"], *parts, *settings.tolist())
        csr = tuple(arrays[name] for name in _SPARSE)
        rows = sp.csr_matrix(csr, shape=(len(parts[0]), len(parts[2])))
        rows.check_format()
        return cls(rows, *parts, *settings.tolist())

    def _scaled(self, X: Any) -> Any:
        """Return rows as they are compared."""
        X = as_rows(X, self.n_features).astype(np.float32)
        if not sp.issparse(self.rows):
            X = (X.toarray() if sp.issparse(X) else X) / self.scale
        return unit_rows(X) if self.by_angle else X
