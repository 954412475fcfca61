"""Where centers of classes are compared with rows: features that are shifted and scaled."""

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.arrays import bounded
from dsnc.errors import InputError

if TYPE_CHECKING:
    from dsnc.rerank.class_vectors import ClassVectors

_LARGEST = 1e18
_FAR = 1e6  # of a center or of where features begin, in units of distance: float32 knows no more
_STEEP = 1e9  # factor of a feature, or its inverse
_NUMBERS = 1 << 20  # of centers, at a time


class Space(NamedTuple):
    """A space of rows ``z = (x - shift) * factor``.

    The squared distance of a row from a center c is |z|^2 - 2 z.c + |c|^2. Its first part is the
    same for all centers. The rest, with its sign changed, is linear in x, like the margin of any
    class vector: this is why vectors can hold centers.
    """

    shift: NDArray[np.float32]
    factor: NDArray[np.float32]

    @classmethod
    def of(cls, n_features: int, shift: Any = None, factor: Any = None) -> Self:
        """Return a space with this shift and factor; by default, rows stay as they are."""
        shift = np.zeros(n_features) if shift is None else shift
        factor = np.ones(n_features) if factor is None else factor
        return cls(np.asarray(shift, np.float32), np.asarray(factor, np.float32))

    def stretched(self, factor: np.float32) -> Self:
        """Return a space in which all distances are multiplied by a factor."""
        return self._replace(factor=self.factor * factor)

    def widened(self, places: NDArray[np.int64], n_features: int) -> Self:
        """Return this space with more features; `places` has the new place of each present one."""
        shift = np.zeros(n_features, np.float32)
        factor = np.full(n_features, np.median(self.factor), np.float32)
        shift[places], factor[places] = self.shift, self.factor
        return type(self)(shift, factor)

    @property
    def is_sound(self) -> bool:
        """Whether float32 can tell distances apart here; features may have almost any size."""
        factor, start = self.factor, np.abs(self.shift.astype(np.float64) * self.factor)
        steep = max(float(factor.max(initial=1)), 1 / max(float(factor.min(initial=1)), 1e-30))
        return bool(steep <= _STEEP and start.max(initial=0) <= _FAR)

    def vectors(self, centers: NDArray[np.float32], firsts: NDArray[np.int64]) -> "ClassVectors":
        """Return centers as vectors; those of class k begin at ``firsts[k]``."""
        from dsnc.rerank.class_vectors import ClassVectors

        matrix = 2 * self.factor * np.clip(centers, -_FAR, _FAR)
        return self.placed(ClassVectors.from_array(matrix, firsts=firsts, space=self))

    def placed(self, vectors: "ClassVectors") -> "ClassVectors":
        """Return vectors with the biases that make their margins those of centers."""
        matrix, bias = vectors.matrix(), np.empty(len(vectors.bias), np.float32)
        step = max(1, _NUMBERS // max(1, vectors.n_features))
        for start in range(0, len(bias), step):
            some = matrix[start : start + step].toarray().astype(np.float64)
            centers = some / (2 * self.factor)
            bias[start : start + step] = -(some @ self.shift) - np.einsum(
                "ij,ij->i", centers, centers
            )
        return vectors.with_bias(bias)

    def centers(self, vectors: "ClassVectors") -> NDArray[np.float32]:
        """Return the centers that vectors hold; `vectors` reverses this."""
        return np.asarray(vectors.matrix().toarray() / (2 * self.factor), np.float32)

    def rows(self, centers: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the rows that lie exactly at centers."""
        return centers / self.factor + self.shift

    def array(self) -> NDArray[np.float32]:
        """Return the space as an array for a file; `from_array` reverses this."""
        return np.stack(self)

    @classmethod
    def from_array(cls, array: Any, n_features: int) -> Self:
        """Make the space from the result of `array`, which is checked."""
        if array.shape != (2, n_features):
            raise InputError(f"space has shape {array.shape}; expected (2, {n_features}).")
        shift, factor = bounded("space", array, _LARGEST)
        if not (factor > 0).all():
            raise InputError(f"space: a factor is {factor.min()}; expected more than 0.")
        return cls(shift, factor)
