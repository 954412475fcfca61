"""The linear decoder of the paper: a class's score is a weighted sum of the code's signs.

``score[k] = bias[k] + sum_j sign[j] * weight[k, j]`` with signs -1 and +1: c*K operations a row.
Scores are computed in blocks of rows and classes, which bounds the memory whatever the number of
classes, and reads the weights once for many rows.
"""

import copy
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc import _native
from dsnc.arrays import appended, bounded, check_arrays, number_arrays, numbers
from dsnc.codes import Encoded
from dsnc.decoders.base import CONFIDENCE, Answers, Decoder
from dsnc.decoders.checks import MAX_CLASSES, Check
from dsnc.decoders.confidence import Confidence
from dsnc.errors import InputError
from dsnc.rows import Cost, concatenate

if TYPE_CHECKING:
    from dsnc.decoders.changes import Change
    from dsnc.decoders.evidence import Evidence

Floats = NDArray[np.float32]
VECTORS = {"weight": "float32 2", "bias": "float32 1"}  # arrays of a model file
_BLOCK = 1 << 20  # numbers in a temporary: four megabytes stay in a cache
_TABLE = 1 << 24  # scores of all classes that are held at once
_LONGEST_LINE = 64  # that classes are inserted in; for longer ones they are sorted
_MIN_ROWS = 64  # rows that share one reading of the weights when classes are many


class LinearDecoder(Decoder):
    """Scores every class by its weights.

    Parameters
    ----------
    weight : array of shape (n_classes, n_bits)
    bias : array of shape (n_classes,)

    Examples
    --------
    >>> decoder = LinearDecoder([[1, 0], [0, 1], [-1, -1]], [0, 0, 0])
    >>> encoded = Encoded([[1.5, -1], [-1, -0.5]])
    >>> decoder.predict(encoded)
    array([0, 2])
    >>> decoder.top_k(encoded, 2)[0]
    array([[0, 2],
           [2, 0]])
    """

    name: ClassVar[str] = "linear"
    settings: ClassVar[Mapping[str, Check] | None] = {}
    largest_input: ClassVar[float] = 1.0  # of what the weights multiply
    _numbers: ClassVar[Mapping[str, str]] = {}  # of a model file

    def __init__(self, weight: ArrayLike, bias: ArrayLike) -> None:
        shape = np.shape(weight)
        if len(shape) != 2 or min(shape) < 1 or shape[0] > MAX_CLASSES:
            raise InputError(f"weight has shape {shape}; expected (n_classes, n_bits).")
        if np.shape(bias) != shape[:1]:
            raise InputError(f"bias has shape {np.shape(bias)}; expected {shape[:1]}.")
        self.n_classes, self.n_bits = shape
        # No score can overflow within this limit, whatever the code.
        limit = float(np.finfo(np.float32).max) / (self.n_bits + 1) / 2 / self.largest_input
        self.weight = bounded("weight", weight, limit)
        self.bias = bounded("bias", bias, limit)
        self._offset = self.bias  # what is added to the products

    @classmethod
    def make(cls, evidence: "Evidence", **settings: Any) -> Self:
        """Use the class vectors that were trained with the codes."""
        return cls(evidence.linear.weight, evidence.linear.bias)

    def renewed(self, linear: "LinearDecoder") -> Self:
        """Return a decoder with other class vectors and the settings of this one."""
        return self._like(linear)

    def with_classes(self, change: "Change") -> Self:
        """Return a decoder with the vectors of other classes."""
        return self._like(needed_vectors(change))

    def evidence(self) -> "Evidence":
        """Return the class vectors."""
        from dsnc.decoders.evidence import Evidence

        return Evidence(LinearDecoder(self.weight, self.bias))

    def with_more(self, more: "LinearDecoder") -> "LinearDecoder":
        """Return these class vectors followed by others, copied only if necessary."""
        both = copy.copy(more)
        both.n_classes = self.n_classes + more.n_classes
        both.weight = appended(self.weight, more.weight)
        both.bias = both._offset = appended(self.bias, more.bias)
        return both

    def _like(self, linear: "LinearDecoder") -> Self:
        return type(self)(linear.weight, linear.bias).with_confidence(self.confidence)

    def top_k(self, encoded: Encoded, k: int) -> tuple[NDArray[np.int64], Floats]:
        """Find the k best classes of each row, as `Decoder.top_k` does."""
        k = self.check_k(k)
        self.check_width(encoded)
        blocks = encoded.blocks(self._n_rows())
        parts = [best_classes(self._scores(self._inputs(block)), k) for _, block in blocks]
        classes, scores = map(concatenate, zip(*parts, strict=True))
        return classes, scores

    def candidates(self, encoded: Encoded, k: int) -> tuple[NDArray[np.int64], Floats]:
        """Return the best classes, as `Decoder.candidates` does."""
        k = min(k, self.n_classes)
        return self.top_k(encoded, k)

    def proba(self, encoded: Encoded) -> Floats:
        """Return the softmax of the scores, as (n, n_classes) probabilities."""
        self.check_width(encoded)
        result = np.empty((len(encoded), self.n_classes), dtype=np.float32)
        for rows, block in encoded.blocks(self._n_rows()):
            self._fill(result[rows], block)
            self.confidence.softmax(result[rows])
        return result

    def answers(self, encoded: Encoded, k: int) -> Answers:
        """Find the k best classes of each row, as `Decoder.answers` does.

        All scores are computed once.
        """
        k = self.check_k(k)
        self.check_width(encoded)
        parts = []
        for _, block in encoded.blocks(min(self._n_rows(), max(1, _TABLE // self.n_classes))):
            table = np.empty((len(block), self.n_classes), dtype=np.float32)
            self._fill(table, block)
            classes, scores = best_classes(iter([(0, table)]), k)
            self.confidence.softmax(table)
            parts.append((classes, scores, np.take_along_axis(table, classes, axis=1)))
        return Answers(*map(concatenate, zip(*parts, strict=True)))

    def _fill(self, table: Floats, encoded: Encoded) -> None:
        """Write the scores of all classes."""
        for first, scores in self._scores(self._inputs(encoded)):
            table[:, first : first + scores.shape[1]] = scores

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return weight, bias and the other numbers of the decoder."""
        own = number_arrays(self, self._numbers)
        return {"weight": self.weight, "bias": self.bias, **self.confidence.arrays(), **own}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make the decoder from its arrays, which are checked."""
        owner = f"{cls.name} decoder"
        check_arrays(owner, arrays, {**VECTORS, **CONFIDENCE, **cls._numbers})
        own = numbers(owner, arrays, cls._numbers)
        decoder = cls(arrays["weight"], arrays["bias"], **own)
        return decoder.with_confidence(Confidence.from_arrays(arrays))

    def cost(self) -> Cost:
        """Return c*K operations, and the bytes of weight and bias."""
        return Cost(float(self.n_bits * self.n_classes), self.weight.nbytes + self.bias.nbytes)

    def _inputs(self, encoded: Encoded) -> Floats:
        """Return what the weights multiply."""
        return encoded.signs()

    def _n_rows(self) -> int:
        """Return how many rows are decoded together."""
        by_classes = max(_MIN_ROWS, _BLOCK // self.n_classes)
        return max(1, min(_BLOCK // self.n_bits, by_classes))

    def _scores(self, signs: Floats) -> Iterator[tuple[int, Floats]]:
        """Yield (first class, scores of a block of classes), classes ascending.

        The next block overwrites the scores of this one. Everything that needs scores takes them
        from here: `predict`, `top_k` and `proba` see the same roundings and cannot disagree.
        """
        if len(signs) * self.n_classes <= _BLOCK:
            scores = np.dot(signs, self.weight.T)
            scores += self._offset
            yield 0, scores
            return
        step = max(1, _BLOCK // len(signs))
        buffer = np.empty(len(signs) * step, dtype=np.float32)  # fresh memory costs page faults
        for first in range(0, self.n_classes, step):
            weight = self.weight[first : first + step]
            scores = buffer[: len(signs) * len(weight)].reshape(len(signs), len(weight))
            np.matmul(signs, weight.T, out=scores)
            scores += self._offset[first : first + step]
            yield first, scores


def needed_vectors(change: "Change") -> LinearDecoder:
    """Return the class vectors of a change that must have some."""
    if change.linear is None:
        raise InputError("class vectors are missing; this decoder needs them to score classes.")
    return change.linear


def best_classes(blocks: Iterator[tuple[int, Floats]], k: int) -> tuple[NDArray[np.int64], Floats]:
    """Return the k best classes of each row and their scores; ties go to the smaller class.

    `blocks` are (first class, scores of a block of classes), classes ascending.
    """
    return _best(blocks) if k == 1 else _best_k(blocks, k)


def _best(blocks: Iterator[tuple[int, Floats]]) -> tuple[NDArray[np.int64], Floats]:
    """Return the best class of each row and its score, as columns."""
    first, scores = next(blocks)
    rows = np.arange(len(scores))
    best = scores.argmax(axis=1)
    top = scores[rows, best]
    for first, scores in blocks:
        winner = scores.argmax(axis=1)
        value = scores[rows, winner]
        better = value > top  # an equal score of a later class does not win
        best[better] = winner[better] + first
        top[better] = value[better]
    return best[:, None], top[:, None]


def _best_k(blocks: Iterator[tuple[int, Floats]], k: int) -> tuple[NDArray[np.int64], Floats]:
    """Return the k best classes of each row and their scores, exact in ties."""
    if k > _LONGEST_LINE:
        return _best_sorted(blocks, k)
    first, scores = next(blocks)
    classes = np.empty((len(scores), k), np.int64)
    best = np.empty((len(scores), k), np.float32)
    _native.line_up(scores, first, classes, best)
    for first, scores in blocks:
        _native.line_up(scores, first, classes, best)
    return classes, best


def _best_sorted(blocks: Iterator[tuple[int, Floats]], k: int) -> tuple[NDArray[np.int64], Floats]:
    """Return them by sorting: a class does not have to find its place in a long line."""
    first, best = next(blocks)
    classes = np.broadcast_to(np.arange(first, first + best.shape[1]), best.shape)
    while True:
        order = np.argsort(-best, axis=1, kind="stable")[:, :k]  # of equals, smaller classes first
        best, classes = (np.take_along_axis(each, order, axis=1) for each in (best, classes))
        more = next(blocks, None)
        if more is None:
            return classes, best
        numbers = np.arange(more[0], more[0] + more[1].shape[1])
        best = np.hstack([best, more[1]])
        classes = np.hstack([classes, np.broadcast_to(numbers, more[1].shape)])


def keep_best(scores: Floats, best: NDArray[np.int64]) -> None:
    """Put the best class of each row first again, in place, where rounding has made it equal."""
    tied = np.flatnonzero(scores.argmax(axis=1) != best)
    scores[tied, best[tied]] = np.nextafter(scores[tied].max(axis=1), np.float32(np.inf))
