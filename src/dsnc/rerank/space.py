"""Where centers of classes are compared with rows: features that are shifted and stretched."""

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.arrays import bounded
from dsnc.errors import InputError

if TYPE_CHECKING:
    from dsnc.rerank.class_vectors import ClassVectors

_LARGEST = 1e18


class Space(NamedTuple):
    """Rows are ``z = (x - shift) * factor`` here.

    The squared distance of a row from a center c, |z|^2 - 2 z.c + |c|^2, has one part that is the
    same for all centers. The rest, with its sign changed, is a margin: linear in x, as that of any
    class vector, so that vectors can hold centers.
    """

    shift: NDArray[np.float32]
    factor: NDArray[np.float32]

    @classmethod
    def of(cls, n_features: int, shift: Any = None, factor: Any = None) -> Self:
        """Return the space of scaled rows; of rows as they are by default."""
        shift = np.zeros(n_features) if shift is None else shift
        factor = np.ones(n_features) if factor is None else factor
        return cls(np.asarray(shift, np.float32), np.asarray(factor, np.float32))

    def stretched(self, factor: np.float32) -> Self:
        """Return a space where everything is so many times as far apart."""
        return self._replace(factor=self.factor * factor)

    def vectors(self, centers: NDArray[np.float32], firsts: NDArray[np.int64]) -> "ClassVectors":
        """Return centers as vectors; those of class k begin at ``firsts[k]``."""
        from dsnc.rerank.class_vectors import ClassVectors

        rounded = ClassVectors.from_array(2 * self.factor * centers, firsts=firsts, space=self)
        return rounded.with_bias(self.bias(rounded.matrix()))

    def bias(self, matrix: Any) -> NDArray[np.float32]:
        """Return the biases that make margins of vectors those of centers."""
        centers = matrix.multiply(1 / (2 * self.factor.astype(np.float64))[None, :]).tocsr()
        length = centers.multiply(centers).sum(axis=1)
        return np.asarray(-(matrix @ self.shift.astype(np.float64)) - length, np.float32)

    def array(self) -> NDArray[np.float32]:
        """Return it for a file; `from_array` is the way back."""
        return np.stack(self)

    @classmethod
    def from_array(cls, array: Any, n_features: int) -> Self:
        """Make the space from what `array` gave, checking it: a file may be hostile."""
        if array.shape != (2, n_features):
            raise InputError(f"space has shape {array.shape}; expected (2, {n_features}).")
        shift, factor = bounded("space", array, _LARGEST)
        if not (factor > 0).all():
            raise InputError(f"space: a factor is {factor.min()}; expected more than 0.")
        return cls(shift, factor)
