"""What each class thinks of each feature: few numbers for each, in few bytes."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from dsnc.arrays import bounded, check_arrays
from dsnc.errors import InputError

_LARGEST = 1e18  # of a row of usual size no margin overflows
_TOP = 127  # the largest weight of a class, as an octet
_SHORT = 1 << 16  # features whose numbers take two octets in a file
_IN_A_SLOT = 1 << 24  # features that have room beside a weight in four octets


class ClassVectors:
    """A sparse vector over the features for each class, its weights in one octet.

        margin[k] = bias[k] + scale[k] * sum_j weight[k, j] * x[j]

    Parameters
    ----------
    starts : int array of shape (n_classes + 1,)
        Where the weights of each class begin in the next two.
    features : int array
        The feature of each weight, ascending within a class.
    weights : int8 array
    scales, bias : float arrays of shape (n_classes,)
    n_features : int
    unit_rows : bool
        Whether x is divided by its length first.

    Examples
    --------
    >>> vectors = ClassVectors.from_matrix([[1.0, 0], [0, -0.5]], bias=[0.25, 0])
    >>> vectors.matrix().toarray()
    array([[ 1. ,  0. ],
           [ 0. , -0.5]], dtype=float32)
    """

    def __init__(
        self,
        starts: ArrayLike,
        features: ArrayLike,
        weights: ArrayLike,
        scales: ArrayLike,
        bias: ArrayLike,
        *,
        n_features: int,
        unit_rows: bool = False,
    ) -> None:
        self.scales = bounded("scales", scales, _LARGEST)
        self.bias = bounded("bias", bias, _LARGEST)
        self.n_classes, self.n_features = len(self.bias), int(n_features)
        self.starts = _fixed(starts, np.int64)
        self.features, self.weights = _fixed(features, np.uint32), _fixed(weights, np.int8)
        self.unit_rows = bool(unit_rows)
        if self.bias.ndim != 1 or self.scales.shape != self.bias.shape:
            raise InputError(f"scales has shape {self.scales.shape} and bias {self.bias.shape}.")
        if self.starts.shape != (self.n_classes + 1,) or self.features.ndim != 1:
            raise InputError(
                f"starts has shape {self.starts.shape}; expected ({self.n_classes + 1},)."
            )
        n = len(self.features)
        if self.weights.shape != (n,) or self.starts[0] != 0 or self.starts[-1] != n:
            raise InputError(f"{n} features and {self.weights.size} weights do not fit starts.")
        if (np.diff(self.starts) < 0).any():
            raise InputError("starts does not ascend.")
        if n and int(self.features.max()) >= self.n_features:
            raise InputError(f"features has {self.features.max()}; there are {self.n_features}.")

    @classmethod
    def from_matrix(cls, matrix: Any, bias: ArrayLike, *, unit_rows: bool = False) -> Self:
        """Round the rows of a matrix, one for each class; what is too small to matter goes."""
        rows = sp.csr_array(matrix, dtype=np.float32)
        rows.sum_duplicates()
        counts = np.diff(rows.indptr)
        owners = np.repeat(np.arange(len(counts)), counts)
        largest = np.zeros(len(counts), np.float32)
        np.maximum.at(largest, owners, np.abs(rows.data))
        scales = np.where(largest > 0, largest / _TOP, 1).astype(np.float32)
        weights = np.rint(rows.data / scales[owners]).astype(np.int8)
        kept = weights != 0
        counts = np.bincount(owners[kept], minlength=len(counts))
        starts = np.concatenate([[0], np.cumsum(counts)])
        settings: dict[str, Any] = {"n_features": rows.shape[1], "unit_rows": unit_rows}
        return cls(starts, rows.indices[kept], weights[kept], scales, bias, **settings)

    def __len__(self) -> int:
        """Return the number of weights."""
        return len(self.weights)

    @property
    def nbytes(self) -> int:
        """What they take in a file."""
        return 12 * self.n_classes + bytes_of_weight(self.n_features) * len(self)

    def matrix(self) -> sp.csr_array:
        """Return the weights as a (n_classes, n_features) matrix."""
        data = self.weights * np.repeat(self.scales, np.diff(self.starts))
        shape = (self.n_classes, self.n_features)
        parts = data, self.features.astype(np.int64), self.starts.copy()
        return sp.csr_array(parts, shape=shape)

    def pruned(self, most: int) -> "ClassVectors":
        """Return the same with so many weights at most: the largest."""
        if len(self) <= most:
            return self
        matrix = self.matrix()
        size = np.abs(matrix.data)
        least = np.partition(size, len(size) - most)[len(size) - most] if most else np.inf
        matrix.data[size < least] = 0
        matrix.eliminate_zeros()
        return type(self).from_matrix(matrix, self.bias, unit_rows=self.unit_rows)

    def with_classes(self, before: NDArray[np.int64], new: "ClassVectors | None" = None) -> Self:
        """Return the vectors of other classes.

        Parameters
        ----------
        before : int array
            The number that each class has here; -1 for those that come from `new`, in their order.
        new : ClassVectors, optional
        """
        before = np.asarray(before, dtype=np.int64)
        parts: list[ClassVectors] = [self] if new is None else [self, new]
        source = before.copy()
        source[before < 0] = self.n_classes + np.arange(np.count_nonzero(before < 0))
        starts = np.concatenate([part.starts[:-1] + k * len(self) for k, part in enumerate(parts)])
        counts = np.concatenate([np.diff(part.starts) for part in parts])[source]
        ends = np.cumsum(counts)
        rows = np.arange(counts.sum()) + np.repeat(starts[source] - ends + counts, counts)
        joined = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("features", "weights", "scales", "bias")
        }
        return type(self)(
            np.concatenate([[0], ends]),
            joined["features"][rows],
            joined["weights"][rows],
            joined["scales"][source],
            joined["bias"][source],
            n_features=self.n_features,
            unit_rows=self.unit_rows,
        )

    def with_features(self, places: NDArray[np.int64], n_features: int) -> Self:
        """Return the same among more features; `places` are those of the present ones."""
        parts = self.starts, places[self.features], self.weights, self.scales, self.bias
        return type(self)(*parts, n_features=n_features, unit_rows=self.unit_rows)

    def with_bias(self, bias: ArrayLike) -> Self:
        """Return the same with other biases."""
        parts = self.starts, self.features, self.weights, self.scales, bias
        return type(self)(*parts, n_features=self.n_features, unit_rows=self.unit_rows)

    @cached_property
    def sorted_weights(self) -> tuple[NDArray[Any], ...]:
        """What the kernel reads for dense rows, in its order."""
        return self.starts, self.features, self.weights, self.scales, self.bias

    @cached_property
    def table(self) -> tuple[NDArray[Any], ...]:
        """What the kernel reads for sparse rows: the same, by a hash; made when first needed."""
        from dsnc.rerank._kernels import fill_table

        slots = np.zeros(2 * len(self), np.uint32 if self.n_features <= _IN_A_SLOT else np.uint64)
        fill_table(self.starts, self.features, self.weights, slots)
        slots.flags.writeable = False
        return self.starts, slots, self.weights, self.scales, self.bias

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the table, which is made from the rest."""
        return {name: value for name, value in vars(self).items() if name != "table"}

    @property
    def _kind(self) -> type:
        """The type that has room for a feature."""
        return np.uint16 if self.n_features <= _SHORT else np.uint32

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return plain arrays for a model file; `from_arrays` is the way back."""
        return {
            "counts": np.diff(self.starts).astype(np.uint32),
            "features": self.features.astype(self._kind),
            "weights": self.weights,
            "scales": self.scales,
            "bias": self.bias,
            "unit_rows": np.array([self.unit_rows]),
            "n_features": np.array([self.n_features], dtype=np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make the vectors from what `arrays` gave, checking everything: a file may be hostile."""
        is_short = getattr(arrays.get("features"), "dtype", None) == np.uint16
        expected = {
            "counts": "uint32 1",
            "features": "uint16 1" if is_short else "uint32 1",
            "weights": "int8 1",
            "scales": "float32 1",
            "bias": "float32 1",
            "unit_rows": "bool 1",
            "n_features": "int64 1",
        }
        check_arrays("class vectors", arrays, expected)
        for name in ("unit_rows", "n_features"):
            if arrays[name].size != 1:
                raise InputError(f"class vectors: array {name!r} is not one value.")
        starts = np.concatenate([[0], np.cumsum(arrays["counts"], dtype=np.int64)])
        parts = (arrays[name] for name in ("features", "weights", "scales", "bias"))
        settings = {name: arrays[name].item() for name in ("n_features", "unit_rows")}
        return cls(starts, *parts, **settings)


def bytes_of_weight(n_features: int) -> int:
    """Return what a weight takes in a file: the number of its feature, and itself."""
    return (2 if n_features <= _SHORT else 4) + 1


def _fixed(array: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return an array of this type that nobody can change, as the kernel was compiled for."""
    fixed = np.ascontiguousarray(array, dtype=dtype)
    if fixed.flags.writeable:
        fixed = fixed.copy() if fixed is array else fixed
        fixed.flags.writeable = False
    return fixed
