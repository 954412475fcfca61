"""What attributes of classes mean: a linear map, learned on classes whose rows are known as well.

A class that is known by its attributes alone gets the code that they point to, and the second stage
the vector over features.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.decoders.memory import Memory
from dsnc.errors import InputError
from dsnc.rerank import ClassVectors

_PENALTIES = np.logspace(-2, 4, 13)  # to choose from, by leaving classes out one by one
FEWEST_CLASSES = 3  # classes that can say what attributes mean
_ROWS = 256  # dense vectors at a time


@dataclass(frozen=True, eq=False)
class AttributeMap:
    """A ridge regression from attributes of classes to anything that known classes have.

    Parameters
    ----------
    teachers : int array
        Classes that have attributes and rows.
    inputs : array of shape (len(teachers), n_attributes)
        Their attributes, of mean 0 and deviation 1.
    mean, deviation : arrays of shape (n_attributes,)
    codes : array of shape (len(teachers), n_bits)
        Their mean logits.
    penalty : float
    """

    teachers: NDArray[np.int64]
    inputs: NDArray[np.float64]
    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    codes: NDArray[np.float64]
    penalty: float

    @classmethod
    def learned(cls, memory: Memory) -> "AttributeMap":
        """Learn it from what is remembered of classes whose attributes are known."""
        from sklearn.linear_model import RidgeCV

        counts = np.bincount(memory.classes[~memory.described], minlength=len(memory.counts))
        teachers = np.flatnonzero(memory.has_attributes & (counts > 0))
        if len(teachers) < FEWEST_CLASSES:
            raise InputError(
                f"attributes: only {len(teachers):,} classes with rows have attributes, too few to "
                "learn what these mean; give those of other classes as well, in fit or here."
            )
        known = memory.attributes[teachers].astype(np.float64)
        mean, deviation = known.mean(axis=0), np.maximum(known.std(axis=0), 1e-9)
        inputs = (known - mean) / deviation
        sums = np.zeros((len(counts), memory.codes.n_bits))
        rows = ~memory.described
        np.add.at(sums, memory.classes[rows], memory.codes.take(rows).logits())
        codes = sums[teachers] / counts[teachers, None]
        penalty = float(RidgeCV(_PENALTIES).fit(inputs, codes).alpha_)
        return cls(teachers, inputs, mean, deviation, codes, penalty)

    def logits(self, attributes: NDArray[Any]) -> NDArray[np.float32]:
        """Return what attributes point to, as sure of its bits as known classes are."""
        found = self._shares(attributes) @ (self.codes - self.codes.mean(axis=0))
        found += self.codes.mean(axis=0)
        usual = np.linalg.norm(self.codes, axis=1).mean()
        lengths = np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
        return np.asarray(found * usual / lengths, np.float32)

    def vectors(self, known: ClassVectors, attributes: NDArray[Any]) -> ClassVectors:
        """Return vectors over features, of as many weights as known classes have."""
        matrix, bias = _means(known, self.teachers)
        mean = np.asarray(matrix.mean(axis=0)).ravel()
        most = min(max(1, len(known) // max(1, len(known.bias))), known.n_features)
        parts = []
        shares = self._shares(attributes)
        for start in range(0, len(shares), _ROWS):
            some = shares[start : start + _ROWS]
            found = (matrix.T @ some.T).T + (1 - some.sum(axis=1, keepdims=True)) * mean
            least = -np.partition(-np.abs(found), most - 1)[:, most - 1]
            parts.append(sp.csr_array(np.where(np.abs(found) >= least[:, None], found, 0)))
        come = sp.vstack(parts, format="csr")
        biases = shares @ (bias - bias.mean()) + bias.mean()
        vectors = ClassVectors.from_matrix(come, biases, unit_rows=known.unit_rows)
        return vectors if known.space is None else known.space.placed(vectors)

    def _shares(self, attributes: NDArray[Any]) -> NDArray[np.float64]:
        """Return what each teacher counts for each class, on top of the mean of them all."""
        inputs = (attributes.astype(np.float64) - self.mean) / self.deviation
        gram = self.inputs.T @ self.inputs + self.penalty * np.eye(self.inputs.shape[1])
        return np.asarray(inputs @ np.linalg.solve(gram, self.inputs.T))


def _means(vectors: ClassVectors, classes: NDArray[np.int64]) -> tuple[Any, NDArray[Any]]:
    """Return the means of the vectors of some classes, and of their biases."""
    some = vectors.with_classes(classes)
    matrix, bias = some.matrix(), some.bias
    if not len(some.firsts):
        return matrix, bias
    counts = np.diff(some.firsts)
    share = np.repeat(1 / counts, counts).astype(np.float32)
    means = sp.csr_array((share, np.arange(len(share)), some.firsts), (len(counts), len(share)))
    return means @ matrix, means @ bias
