"""The weights of features for each class: few numbers for each, in few bytes."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc import _native
from dsnc.arrays import bounded, check_arrays
from dsnc.errors import InputError
from dsnc.rerank.space import Space
from dsnc.sparse import sp

_LARGEST = 1e18  # of a row of usual size no margin overflows
_TOP = 127  # the largest weight of a class, as an octet
_SHORT = 1 << 16  # features whose numbers take two octets in a file
_IN_A_SLOT = 1 << 24  # features that have room beside a weight in four octets
_OF_VECTORS = ("features", "weights", "scales", "bias")
_SETTINGS = ("n_features", "unit_rows", "firsts", "space")


class ClassVectors:
    """A sparse vector over the features for each class, with weights of one byte.

        margin[k] = bias[k] + scale[k] * sum_j weight[k, j] * x[j]

    A class may have several vectors: the largest margin counts.

    Parameters
    ----------
    starts : int array of shape (n_vectors + 1,)
        Where each vector begins in `features` and `weights`.
    features : int array
        The feature of each weight, ascending within a vector.
    weights : int8 array
        The weights, to be multiplied by the scale of their vector.
    scales, bias : float arrays of shape (n_vectors,)
        The scale and the bias of each vector.
    n_features : int
        Number of features.
    unit_rows : bool, default False
        Whether x is divided by its length first.
    firsts : int array of shape (n_classes + 1,), optional
        Where the vectors of each class begin. By default, each class has one.
    space : Space, optional
        If the vectors are centers of rows: where these are compared. By default, vectors are
        weights that were trained.

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
        firsts: ArrayLike = (),
        space: Space | None = None,
    ) -> None:
        self.scales = bounded("scales", scales, _LARGEST)
        self.bias = bounded("bias", bias, _LARGEST)
        self.n_features, self.space = int(n_features), space
        self.starts, self.firsts = _fixed(starts, np.int64), _fixed(firsts, np.int64)
        self.features, self.weights = _fixed(features, np.uint32), _fixed(weights, np.int8)
        self.unit_rows = bool(unit_rows)
        if self.bias.ndim != 1 or self.scales.shape != self.bias.shape:
            raise InputError(f"scales has shape {self.scales.shape} and bias {self.bias.shape}.")
        n_vectors = len(self.bias)
        if self.starts.shape != (n_vectors + 1,) or self.features.ndim != 1:
            raise InputError(f"starts has shape {self.starts.shape}; expected ({n_vectors + 1},).")
        n = len(self.features)
        if self.weights.shape != (n,) or self.starts[0] != 0 or self.starts[-1] != n:
            raise InputError(f"{n} features and {self.weights.size} weights do not fit starts.")
        if (np.diff(self.starts) < 0).any():
            raise InputError("starts does not ascend.")
        if n and int(self.features.max()) >= self.n_features:
            raise InputError(f"features has {self.features.max()}; there are {self.n_features}.")
        ends = self.firsts[[0, -1]].tolist() if self.firsts.size else [0, n_vectors]
        if ends != [0, n_vectors] or (np.diff(self.firsts) < 1).any():
            raise InputError(f"firsts does not ascend from 0 to {n_vectors} vectors.")
        if len(self.firsts) == n_vectors + 1:  # each class has one
            self.firsts = _fixed((), np.int64)
        if space is not None and any(part.shape != (self.n_features,) for part in space):
            raise InputError(f"space has {len(space.shift)} features; there are {self.n_features}.")

    @classmethod
    def from_matrix(cls, matrix: Any, bias: ArrayLike, **settings: Any) -> Self:
        """Round the rows of a matrix to vectors; weights too small to matter are dropped."""
        rows = sp.csr_array(matrix, dtype=np.float32)
        rows.sum_duplicates()
        counts = np.diff(rows.indptr)
        owners = np.repeat(np.arange(len(counts)), counts)
        largest = np.zeros(len(counts), np.float32)
        np.maximum.at(largest, owners, np.abs(rows.data))
        scales = _scales(largest)
        weights = np.rint(rows.data / scales[owners]).astype(np.int8)
        kept = weights != 0
        starts = _sums(np.bincount(owners[kept], minlength=len(counts)))
        own = starts, rows.indices[kept], weights[kept], scales, bias
        return cls(*own, n_features=rows.shape[1], **settings)

    @classmethod
    def from_array(cls, array: NDArray[np.float32], **settings: Any) -> Self:
        """Round the rows of an array to vectors with biases of 0; zeros are kept."""
        n_vectors, n_features = array.shape
        scales = _scales(np.abs(array).max(axis=1, initial=0))
        weights = np.rint(array / scales[:, None]).astype(np.int8).reshape(-1)
        starts = np.arange(n_vectors + 1) * n_features
        own = starts, _all_features(n_vectors, n_features), weights, scales, np.zeros(n_vectors)
        return cls(*own, n_features=n_features, **settings)

    def __len__(self) -> int:
        """Return the number of weights."""
        return len(self.weights)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.firsts) - 1 if len(self.firsts) else len(self.bias)

    @property
    def n_each(self) -> NDArray[np.int64]:
        """Number of vectors of each class."""
        return np.diff(self._firsts())

    @property
    def nbytes(self) -> int:
        """Bytes in a file."""
        return sum(array.nbytes for array in self.arrays().values())

    def matrix(self) -> "sp.csr_array":
        """Return the weights as a (n_vectors, n_features) matrix."""
        data = self.weights * np.repeat(self.scales, np.diff(self.starts))
        shape = (len(self.bias), self.n_features)
        parts = data, self.features.astype(np.int64), self.starts.copy()
        return sp.csr_array(parts, shape=shape)

    def pruned(self, most: int) -> "ClassVectors":
        """Return these vectors with at most this many weights, the largest ones."""
        if len(self) <= most:
            return self
        matrix = self.matrix()
        size = np.abs(matrix.data)
        least = np.partition(size, len(size) - most)[len(size) - most] if most else np.inf
        matrix.data[size < least] = 0
        matrix.eliminate_zeros()
        settings = {"unit_rows": self.unit_rows, "firsts": self.firsts, "space": self.space}
        fewer = type(self).from_matrix(matrix, self.bias, **settings)
        return fewer if self.space is None else self.space.placed(fewer)

    def of_class(self, k: int) -> slice:
        """Return which vectors belong to a class, as a slice."""
        return slice(self.firsts[k], self.firsts[k + 1]) if len(self.firsts) else slice(k, k + 1)

    def with_classes(self, before: NDArray[np.int64], new: "ClassVectors | None" = None) -> Self:
        """Return the vectors of other classes.

        `before` has the present number of each, and -1 for those that come from `new`, in their
        order.
        """
        parts: list[ClassVectors] = [self] if new is None else [self, new]
        source = np.array(before, dtype=np.int64)
        source[source < 0] = self.n_classes + np.arange(np.count_nonzero(source < 0))
        firsts, vectors = _runs([part._firsts() for part in parts], source)
        starts, rows = _runs([part.starts for part in parts], vectors)
        joined = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in _OF_VECTORS
        }
        return type(self)(
            starts,
            joined["features"][rows],
            joined["weights"][rows],
            joined["scales"][vectors],
            joined["bias"][vectors],
            n_features=self.n_features,
            unit_rows=self.unit_rows,
            firsts=firsts,
            space=self.space,
        )

    def _firsts(self) -> NDArray[np.int64]:
        return self.firsts if len(self.firsts) else np.arange(len(self.bias) + 1)

    def with_features(self, places: NDArray[np.int64], n_features: int) -> Self:
        """Return these vectors among more features, where the present ones have new `places`."""
        space = self.space and self.space.widened(places, n_features)
        return self._with(features=places[self.features], n_features=n_features, space=space)

    def with_bias(self, bias: ArrayLike) -> Self:
        """Return these vectors with other biases."""
        return self._with(bias=bias)

    def _with(self, **changes: Any) -> Self:
        kept = {name: getattr(self, name) for name in ("starts", *_OF_VECTORS, *_SETTINGS)}
        return type(self)(**{**kept, **changes})

    @cached_property
    def native(self) -> _native.ClassVectors:
        """The vectors as the native core has them."""
        weights = self.features, self.weights, self.scales, self.bias
        return _native.ClassVectors(
            self.firsts, self.starts, *weights, self.n_features, self.unit_rows
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made from the rest."""
        return {name: value for name, value in vars(self).items() if name != "native"}

    @property
    def _has_all_features(self) -> bool:
        """Whether each vector has a weight for each feature, in their order."""
        if not len(self) or (np.diff(self.starts) != self.n_features).any():
            return False
        own = self.features.reshape(-1, self.n_features)
        return bool((own == np.arange(self.n_features)).all())

    @property
    def _kind(self) -> type:
        """The type that has room for a feature."""
        return np.uint16 if self.n_features <= _SHORT else np.uint32

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return plain arrays for a model file; `from_arrays` reverses this."""
        more: dict[str, NDArray[Any]] = {}
        if len(self.firsts):
            more["of_class"] = np.diff(self.firsts).astype(np.uint32)
        if self.space is not None:
            more["space"] = self.space.array()
        if not self._has_all_features:  # else they need not be named
            more["features"] = self.features.astype(self._kind)
        return more | {
            "counts": np.diff(self.starts).astype(np.uint32),
            "weights": self.weights,
            "scales": self.scales,
            "bias": self.bias,
            "unit_rows": np.array([self.unit_rows]),
            "n_features": np.array([self.n_features], dtype=np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make the vectors from the result of `arrays`, which is checked."""
        is_short = getattr(arrays.get("features"), "dtype", None) == np.uint16
        expected = {
            "counts": "uint32 1",
            "weights": "int8 1",
            "scales": "float32 1",
            "bias": "float32 1",
            "unit_rows": "bool 1",
            "n_features": "int64 1",
        }
        optional = {"of_class": "uint32 1", "space": "float32 2"}
        optional["features"] = "uint16 1" if is_short else "uint32 1"
        expected |= {name: kind for name, kind in optional.items() if name in arrays}
        check_arrays("class vectors", arrays, expected)
        for name in ("unit_rows", "n_features"):
            if arrays[name].size != 1:
                raise InputError(f"class vectors: array {name!r} is not a single value.")
        n_features, unit_rows = (arrays[name].item() for name in ("n_features", "unit_rows"))
        settings: dict[str, Any] = {"n_features": n_features, "unit_rows": unit_rows}
        if "of_class" in arrays:
            if "space" not in arrays:
                raise InputError("class vectors: 'of_class' is for centers, which have a 'space'.")
            settings["firsts"] = _sums(arrays["of_class"])
        if "space" in arrays:
            settings["space"] = Space.from_array(arrays["space"], n_features)
        parts = dict(arrays)
        if "features" not in arrays:
            n_weights = len(arrays["weights"])
            if not n_weights or n_weights != len(arrays["counts"]) * n_features:
                raise InputError("class vectors: array 'features' is missing.")
            parts["features"] = _all_features(len(arrays["counts"]), n_features)
        return cls(_sums(arrays["counts"]), *(parts[name] for name in _OF_VECTORS), **settings)


def bytes_of_weight(n_features: int) -> int:
    """Return what a weight takes in a file: the number of its feature, and itself."""
    return (2 if n_features <= _SHORT else 4) + 1


def _scales(largest: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what an octet counts in vectors whose largest weights are these."""
    return np.where(largest > 0, largest / _TOP, 1).astype(np.float32)


def _all_features(n_vectors: int, n_features: int) -> NDArray[np.uint32]:
    """Return the features of vectors that have all of them."""
    return np.tile(np.arange(n_features, dtype=np.uint32), n_vectors)


def _sums(counts: ArrayLike) -> NDArray[np.int64]:
    """Return where each of some runs begins, and where the last ends."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def _runs(
    starts: list[NDArray[np.int64]], which: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where some runs begin when they stand one behind the other, and what is in them.

    Each of `starts` has runs of its own; the second one's are numbered on behind the first one's.
    """
    before = _sums([each[-1] for each in starts])
    begin = np.concatenate([each[:-1] + n for each, n in zip(starts, before, strict=False)])[which]
    counts = np.concatenate([np.diff(each) for each in starts])[which]
    ends = _sums(counts)
    return ends, np.arange(ends[-1]) + np.repeat(begin - ends[:-1], counts)


def _fixed(array: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return an array of this type that nobody can change."""
    fixed = np.ascontiguousarray(array, dtype=dtype)
    if fixed.flags.writeable:
        fixed = fixed.copy() if fixed is array else fixed
        fixed.flags.writeable = False
    return fixed
