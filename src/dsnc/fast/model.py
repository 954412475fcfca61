"""What is learned: a linear encoder and a vector for each class, in rows that kernels like."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.codes.encode import encode_csr
from dsnc.decoders import LinearDecoder

Floats = NDArray[np.float32]
_LANES = 16  # numbers that kernels take at once
_FIRST = 0.1  # deviation of the encoder's first weights
_UNSEEN = 0.5  # rows that have a class, and rows that do not, before any is seen
_AT_ONCE = 1 << 14  # rows that are drawn at a time


class Weights(NamedTuple):
    """What is learned, or the sums of squared gradients of that, one for each vector."""

    encoder: Any  # (n_features, width)
    bias: Any  # (1, width)
    classes: Any  # (n_classes, width)
    class_bias: Any  # (n_classes,)


_SQUARES = Weights(1e-6, 1e-6, 1e-4, 1e-2)  # sums of squared gradients before the first one
_LEFT = Weights(3.0, 10.0, 10.0, 20.0)  # and roughly where training leaves them,
_LEFT_BY_UNIT_ROWS = 0.05  # the encoder's, where rows have length 1


class Model:
    """Encoder and class vectors, and how much each was moved so far.

    The weights are as wide as `padded` makes them; `n_bits` of the columns are bits.
    """

    def __init__(self, weights: Weights, n_bits: int) -> None:
        self.weights, self.n_bits = weights, n_bits
        self.squares = Weights(
            *(np.full(len(w), s, np.float32) for w, s in zip(weights, _SQUARES, strict=True))
        )

    @classmethod
    def start(cls, n_features: int, n_bits: int, class_bias: Floats, seed: int) -> Self:
        """Return a model that knows nothing but what the scores of classes begin with."""
        rng, width = np.random.default_rng([seed, 0]), -(-n_bits // _LANES) * _LANES
        encoder, classes = zeros(n_features, width), zeros(len(class_bias), width)
        for array in (encoder, classes):
            for start in range(0, len(array), _AT_ONCE):
                part = array[start : start + _AT_ONCE, :n_bits]
                part[...] = rng.standard_normal(part.shape, dtype=np.float32)
        encoder *= np.float32(_FIRST)
        classes /= np.float32(np.sqrt(n_bits))
        return cls(Weights(encoder, zeros(1, width), classes, class_bias), n_bits)

    @classmethod
    def of(
        cls, encoder: Any, bias: Any, classes: Any, class_bias: Any, *, unit_rows: bool = False
    ) -> Self:
        """Return a model that goes on from trained arrays, in steps as small as at their end."""
        arrays = padded(encoder), padded(np.asarray(bias)[None]), padded(classes)
        weights = Weights(*arrays, np.array(class_bias, dtype=np.float32))
        model = cls(weights, encoder.shape[1])
        left = _LEFT._replace(encoder=_LEFT_BY_UNIT_ROWS) if unit_rows else _LEFT
        for array, value in zip(model.squares, left, strict=True):
            array[:] = value
        return model

    def with_classes(self, decoder: LinearDecoder) -> "Model":
        """Return a model of the same encoder, shared with this one, and other class vectors."""
        classes, bias = padded(decoder.weight), np.array(decoder.bias, dtype=np.float32)
        return Model(self.weights._replace(classes=classes, class_bias=bias), self.n_bits)

    def decoder(self) -> LinearDecoder:
        """Return the class vectors, which may be shared: for who is done before they move on."""
        shared = self.weights.classes[:, : self.n_bits], self.weights.class_bias[:]
        for array in shared:  # these are views
            array.flags.writeable = False
        return LinearDecoder(*shared)

    def copy(self) -> "Model":
        """Return a model that shares nothing with this one."""
        arrays = (padded(a) if a.ndim > 1 else a.copy() for a in self.weights)
        model = Model(Weights(*arrays), self.n_bits)
        model.squares = Weights(*(array.copy() for array in self.squares))
        return model

    def logits(self, X: Any) -> Floats:
        """Return the logits of CSR rows that are scaled as those of training."""
        rows, bias = slice(0, X.shape[0]), self.weights.bias[0]
        return encode_csr(X, rows, self.weights.encoder, bias)[1][:, : self.n_bits]


def log_frequencies(counts: NDArray[Any]) -> Floats:
    """Return what scores under a softmax begin with, of classes that are so frequent."""
    smoothed = counts + counts.sum() / len(counts) ** 2
    return np.asarray(np.log(smoothed / smoothed.mean()), dtype=np.float32)


def log_odds(counts: NDArray[Any], n_rows: float) -> Floats:
    """Return what scores under sigmoids begin with, of classes that so many of the rows have."""
    likely = (counts + _UNSEEN) / (n_rows + 2 * _UNSEEN)
    return np.asarray(np.log(likely / (1 - likely)), dtype=np.float32)


def padded(array: Any) -> Floats:
    """Return a copy whose rows are filled up with zeros, as the kernels want them."""
    n_rows, n_columns = np.shape(array)
    result = zeros(n_rows, -(-n_columns // _LANES) * _LANES)
    result[:, :n_columns] = array
    return result


def zeros(n_rows: int, width: int) -> Floats:
    """Return rows of zeros that begin where a cache line does, so that they touch no other."""
    room = np.zeros(n_rows * width + _LANES, dtype=np.float32)
    first = -(room.ctypes.data // 4) % _LANES
    return room[first : first + n_rows * width].reshape(n_rows, width)
