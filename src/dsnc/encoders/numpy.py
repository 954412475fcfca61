"""Encoders on plain arrays, without torch: the encoder of every model that predicts."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dsnc import _native
from dsnc.arrays import bounded, check_arrays
from dsnc.codes import PackedCodes
from dsnc.codes.encode import encode_csr
from dsnc.errors import InputError, unknown_name
from dsnc.rows import Cost, as_rows, concatenate, row_blocks, unit_rows

Floats = NDArray[np.float32]
ACTIVATIONS = ("none", "relu")  # model files hold the position: append, never reorder


class Encoder(Protocol):
    """What the predictor needs of an encoder, such as `NumpyEncoder` or a wrapped torch module."""

    @property
    def n_features(self) -> int:
        """Width of a row."""

    @property
    def n_bits(self) -> int:
        """Number of logits."""

    def logits(self, X: Any) -> Floats:
        """Return (n, n_bits) numbers for n rows, dense or CSR, whose signs are the bits."""


class Layer(NamedTuple):
    """A layer that computes ``activation(x @ weight + bias)``.

    Attributes
    ----------
    weight : array of shape (n_inputs, n_outputs)
    bias : array of shape (n_outputs,)
    activation : str, default "none"
    """

    weight: Any  # (n_inputs, n_outputs)
    bias: Any  # (n_outputs,)
    activation: str = "none"


class NumpyEncoder:
    """A linear or multilayer encoder in float32.

    Parameters
    ----------
    layers : sequence of Layer
        A single layer is a linear encoder.
    row_normalize : bool, default False
        Whether to divide each row by its Euclidean norm first. Rows of zeros stay as they are.

    Examples
    --------
    >>> encoder = NumpyEncoder([Layer([[1, -1], [1, 0]], [0, 0.5])])
    >>> encoder.logits([[2, 1]])
    array([[ 3. , -1.5]], dtype=float32)
    """

    kind: ClassVar[str] = "layers"

    def __init__(self, layers: Sequence[Layer], *, row_normalize: bool = False) -> None:
        if not layers:
            raise InputError("layers is empty; an encoder needs at least one.")
        width: int | None = None
        for number, layer in enumerate(layers):
            width = _check_layer(number, layer, width)
        self.layers = tuple(
            Layer(bounded(f"layers[{i}].weight", w), bounded(f"layers[{i}].bias", b), activation)
            for i, (w, b, activation) in enumerate(layers)
        )
        self.row_normalize = bool(row_normalize)
        self.n_features: int = self.layers[0].weight.shape[0]
        self.n_bits: int = self.layers[-1].weight.shape[1]
        self.is_linear = len(self.layers) == 1 and self.layers[0].activation == "none"
        self.width = max(layer.weight.shape[1] for layer in self.layers)

    def logits(self, X: Any) -> Floats:
        """Return the (n, n_bits) outputs of the last layer."""
        X = as_rows(X, self.n_features)
        blocks = row_blocks(X, self.width, slice(0, X.shape[0]))
        return concatenate([self.encode(X, rows)[1] for rows in blocks])

    def encode(self, X: Any, rows: slice) -> tuple[PackedCodes | None, Floats]:
        """Return the codes of some rows if they come at no extra cost, else None, and their logits.

        `X` is as `as_rows` returns it, and the slice has explicit start and stop.
        """
        first, *others = self.layers
        if not isinstance(X, np.ndarray):
            codes, hidden = encode_csr(X, rows, first.weight, first.bias, unit=self.row_normalize)
            if self.is_linear:
                return codes, hidden
        # Numbers beyond float32 become infinite, and their bits are still right: no warning.
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(X, np.ndarray):
                own = np.ascontiguousarray(X[rows], np.float32)
                if self.is_linear:
                    logits = np.empty((len(own), self.n_bits), np.float32)
                    _native.encode_dense(own, first.weight, first.bias, self.row_normalize, logits)
                    return None, logits
                hidden = (unit_rows(own) if self.row_normalize else own) @ first.weight
                hidden += first.bias
            _activate(hidden, first)
            for layer in others:
                hidden = hidden @ layer.weight
                hidden += layer.bias
                _activate(hidden, layer)
        return None, hidden

    def cost(self) -> Cost:
        """Return the multiplications for a dense row, and the bytes of all layers."""
        n_bytes = sum(layer.weight.nbytes + layer.bias.nbytes for layer in self.layers)
        return Cost(float(sum(layer.weight.size for layer in self.layers)), n_bytes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return plain arrays for a model file; `from_arrays` reverses this."""
        numbers = [ACTIVATIONS.index(layer.activation) for layer in self.layers]
        arrays: dict[str, NDArray[Any]] = {
            "activations": np.array(numbers, dtype=np.int8),
            "row_normalize": np.array([self.row_normalize]),
        }
        for i, layer in enumerate(self.layers):
            arrays |= {f"{i}.weight": layer.weight, f"{i}.bias": layer.bias}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make the encoder from the result of `arrays`, which is checked."""
        numbers = np.asarray(arrays.get("activations", np.empty(0, dtype=np.int8)))
        if numbers.ndim != 1 or len(numbers) > len(arrays):
            raise InputError(f"encoder: array 'activations' has shape {numbers.shape}.")
        expected = {"activations": "int8 1", "row_normalize": "bool 1"}
        for i in range(len(numbers)):
            expected |= {f"{i}.weight": "float32 2", f"{i}.bias": "float32 1"}
        check_arrays("encoder", arrays, expected)
        wrong = [n for n in numbers.tolist() if not 0 <= n < len(ACTIVATIONS)]
        if wrong or arrays["row_normalize"].size != 1:
            raise InputError(
                f"encoder: unknown activations {wrong}, or row_normalize is not a single value."
            )
        layers = [
            Layer(arrays[f"{i}.weight"], arrays[f"{i}.bias"], ACTIVATIONS[n])
            for i, n in enumerate(numbers.tolist())
        ]
        return cls(layers, row_normalize=arrays["row_normalize"].item())


def _check_layer(number: int, layer: Layer, n_inputs: int | None) -> int:
    """Refuse a layer that does not fit; return its number of outputs."""
    shape = np.shape(layer.weight)
    if len(shape) != 2 or min(shape) < 1 or n_inputs not in (None, shape[0]):
        wanted = "n_inputs" if n_inputs is None else n_inputs
        raise InputError(
            f"layers[{number}].weight has shape {shape}; expected ({wanted}, n_outputs)."
        )
    if np.shape(layer.bias) != shape[1:]:
        raise InputError(
            f"layers[{number}].bias has shape {np.shape(layer.bias)}; expected {shape[1:]}."
        )
    if layer.activation not in ACTIVATIONS:
        raise unknown_name(f"layers[{number}].activation", layer.activation, ACTIVATIONS)
    return int(shape[1])


def _activate(hidden: Floats, layer: Layer) -> None:
    if layer.activation == "relu":
        np.maximum(hidden, 0, out=hidden)
