"""The only code that predicts: x -> logits -> bits -> class, on plain arrays, without torch.

Everything works by blocks of rows: a memory map is never loaded whole, sparse rows never become
dense, and what is kept besides the answer does not grow with the number of rows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.arrays import bounded, check_arrays
from dsnc.codes import Encoded, PackedCodes
from dsnc.codes.limits import MAX_ROWS
from dsnc.codes.threads import in_threads
from dsnc.decoders import DECODERS, Cost, Decoder, LinearDecoder
from dsnc.errors import InputError, unknown_name
from dsnc.features import TextFeatures, TextRows, are_texts
from dsnc.rows import as_rows, row_blocks, unit_rows

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
_PARTS = ("encoder", "decoder", "features", "trained")  # before the dot of an array's name
ACTIVATIONS = ("none", "relu")  # model files hold the position: append, never reorder


class Encoder(Protocol):
    """What the predictor needs of an encoder; `NumpyEncoder` is one, a wrapped module another."""

    @property
    def n_features(self) -> int:
        """Width of a row."""

    @property
    def n_bits(self) -> int:
        """Number of logits."""

    def logits(self, X: Any) -> Floats:
        """Return (n, n_bits) numbers for n rows, dense or CSR; a bit is set where it is above 0."""


class Layer(NamedTuple):
    """``activation(x @ weight + bias)``."""

    weight: Any  # (n_inputs, n_outputs)
    bias: Any  # (n_outputs,)
    activation: str = "none"


class NumpyEncoder:
    """A linear or multi-layer encoder in float32.

    Parameters
    ----------
    layers : sequence of Layer
        One is a linear encoder.
    row_normalize : bool
        Divide each row by its Euclidean norm first; a row of zeros stays.

    Examples
    --------
    >>> encoder = NumpyEncoder([Layer([[1, -1], [1, 0]], [0, 0.5])])
    >>> encoder.logits([[2, 1]])
    array([[ 3. , -1.5]], dtype=float32)
    """

    def __init__(self, layers: Sequence[Layer], *, row_normalize: bool = False) -> None:
        if not layers:
            raise InputError("layers is empty; an encoder has one at least.")
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
        self.width = max(layer.weight.shape[1] for layer in self.layers)

    def logits(self, X: Any) -> Floats:
        """Return the (n, n_bits) outputs of the last layer."""
        X = as_rows(X, self.n_features)
        blocks = row_blocks(X, self.width, slice(0, X.shape[0]))
        return _concatenate([self.encode(X, rows)[1] for rows in blocks])

    def encode(self, X: Any, rows: slice) -> tuple[PackedCodes | None, Floats]:
        """Return the logits of some rows, and their codes where these come with them.

        Parameters
        ----------
        X : ndarray or CSR matrix
            As `as_rows` gives it.
        rows : slice
            From the first row to the last, both given.
        """
        first, *others = self.layers
        if not isinstance(X, np.ndarray):
            from dsnc.codes.encode import encode_csr  # brings the compiler with it

            codes, hidden = encode_csr(X, rows, first.weight, first.bias, unit=self.row_normalize)
            if not others and first.activation == "none":
                return codes, hidden
        # Numbers beyond float32 become infinite, and their bits are still right: no warning.
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(X, np.ndarray):
                hidden = X[rows].astype(np.float32, copy=False)
                if self.row_normalize:
                    hidden = unit_rows(hidden)
                hidden = hidden @ first.weight
                hidden += first.bias
            _activate(hidden, first)
            for layer in others:
                hidden = hidden @ layer.weight
                hidden += layer.bias
                _activate(hidden, layer)
        return None, hidden

    def cost(self) -> Cost:
        """Return the multiplications of a dense row, and the bytes of all layers."""
        n_bytes = sum(layer.weight.nbytes + layer.bias.nbytes for layer in self.layers)
        return Cost(float(sum(layer.weight.size for layer in self.layers)), n_bytes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return plain arrays for a model file; `from_arrays` is the way back."""
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
        """Make the encoder from what `arrays` gave, checking everything."""
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
                f"encoder: unknown activations {wrong}, or row_normalize is not one value."
            )
        layers = [
            Layer(arrays[f"{i}.weight"], arrays[f"{i}.bias"], ACTIVATIONS[n])
            for i, n in enumerate(numbers.tolist())
        ]
        return cls(layers, row_normalize=arrays["row_normalize"].item())


class Predictor:
    """An encoder and a decoder: rows to logits, codes, class numbers.

    Rows are an ndarray or memory map of any numeric type, or any scipy sparse matrix. Classes are
    numbers; labels, and refusing NaN in X, are the business of who asks. With `features`, rows may
    also be a list of strings.

    Parameters
    ----------
    encoder : Encoder
    decoder : Decoder
    features : TextFeatures, optional
        Fitted; turns strings into rows, block by block.
    trained : LinearDecoder, optional
        The decoder that was trained with the codes, where `decoder` has rows of its own. It
        predicts nothing; other decoders and further training begin with it.

    Examples
    --------
    >>> encoder = NumpyEncoder([Layer([[1, -1], [1, 0]], [0, 0.5])])
    >>> predictor = Predictor(encoder, LinearDecoder([[1, 0], [0, 1], [-1, -1]], [0, 0, 0]))
    >>> predictor.predict([[2, 1], [-3, -1]])
    array([0, 1])
    """

    def __init__(
        self,
        encoder: Encoder,
        decoder: Decoder,
        features: TextFeatures | None = None,
        trained: LinearDecoder | None = None,
    ) -> None:
        if encoder.n_bits != decoder.n_bits:
            raise InputError(
                f"the encoder gives {encoder.n_bits} bits and the decoder takes {decoder.n_bits}."
            )
        if features is not None and features.n_features_ != encoder.n_features:
            raise InputError(
                f"texts have {features.n_features_} features and the encoder takes "
                f"{encoder.n_features}."
            )
        sizes = decoder.n_classes, decoder.n_bits
        if trained is not None and (trained.n_classes, trained.n_bits) != sizes:
            raise InputError(
                f"the trained decoder has {trained.n_classes} classes and {trained.n_bits} bits; "
                f"the decoder has {sizes[0]} and {sizes[1]}."
            )
        self.encoder, self.decoder, self.features = encoder, decoder, features
        self.trained = trained

    def with_decoder(self, decoder: Decoder, trained: LinearDecoder | None = None) -> Self:
        """Return a predictor with the same codes and another decoder."""
        return type(self)(self.encoder, decoder, self.features, trained)

    @property
    def n_features(self) -> int:
        """Width of a row."""
        return self.encoder.n_features

    @property
    def n_bits(self) -> int:
        """Width of a code."""
        return self.decoder.n_bits

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.decoder.n_classes

    def logits(self, X: Any) -> Floats:
        """Return the (n, n_bits) real numbers whose signs are the bits."""
        X = self._rows(X)
        return _concatenate([encoded.numbers() for encoded in self._encoded(X)])

    def encode(self, X: Any) -> PackedCodes:
        """Return the code of each row."""
        X = self._rows(X)
        parts = [encoded.codes for encoded in self._encoded(X)]
        return parts[0] if len(parts) == 1 else PackedCodes.concatenate(parts)

    def predict(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.int64]:
        """Return the best class of each row."""
        X, predict = self._rows(X), self.decoder.predict
        if X.shape[0] <= MAX_ROWS:
            return predict(self._encode(X, slice(0, X.shape[0])))
        classes: Ints = self._decoded(X, n_jobs, lambda encoded: (predict(encoded),))[0]
        return classes

    def top_k(self, X: Any, k: int, *, n_jobs: int | None = None) -> tuple[Ints, Floats]:
        """Return the (n, k) best classes of each row, best first, and their scores."""
        best: tuple[Ints, Floats] = self._decoded(
            self._rows(X), n_jobs, lambda encoded: self.decoder.top_k(encoded, k)
        )
        return best

    def top_k_proba(self, X: Any, k: int, *, n_jobs: int | None = None) -> tuple[Ints, Floats]:
        """Return the (n, k) best classes of each row, best first, and their probabilities."""
        best: tuple[Ints, Floats] = self._decoded(
            self._rows(X), n_jobs, lambda encoded: self.decoder.top_k_proba(encoded, k)
        )
        return best

    def proba(self, X: Any) -> Floats:
        """Return (n, n_classes) probabilities."""
        X = self._rows(X)
        result = np.empty((X.shape[0], self.n_classes), dtype=np.float32)
        start = 0
        for encoded in self._encoded(X):
            result[start : start + len(encoded)] = self.decoder.proba(encoded)
            start += len(encoded)
        return result

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays, under ``encoder.``, ``decoder.``, ``features.`` and ``trained.``."""
        if not isinstance(self.encoder, NumpyEncoder):
            raise InputError(
                f"encoder {type(self.encoder).__name__} has no arrays that a model file can hold; "
                "only a NumpyEncoder has."
            )
        arrays = {f"encoder.{key}": array for key, array in self.encoder.arrays().items()}
        arrays |= {f"decoder.{key}": a for key, a in self.decoder.arrays().items()}
        for part in ("features", "trained"):
            owner = getattr(self, part)
            of_part = {} if owner is None else owner.arrays()
            arrays |= {f"{part}.{key}": array for key, array in of_part.items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], *, decoder: str) -> Self:
        """Make the predictor from what `arrays` gave and the decoder's registered name."""
        if decoder not in DECODERS:
            raise unknown_name("decoder", decoder, DECODERS)
        parts: dict[str, dict[str, Any]] = {name: {} for name in _PARTS}
        for name, array in arrays.items():
            part, _, key = name.partition(".")
            if part not in parts:
                raise InputError(f"array {name!r} belongs to none of {', '.join(_PARTS)}.")
            parts[part][key] = array
        return cls(
            NumpyEncoder.from_arrays(parts["encoder"]),
            DECODERS[decoder].from_arrays(parts["decoder"]),
            TextFeatures.from_arrays(parts["features"]) if parts["features"] else None,
            LinearDecoder.from_arrays(parts["trained"]) if parts["trained"] else None,
        )

    def _rows(self, X: Any) -> Any:
        """Return X as `as_rows` does; texts wait for their turn."""
        if are_texts(X):
            return TextRows.of(X, self.features)
        return as_rows(X, self.n_features)

    def _decoded(self, X: Any, n_jobs: int | None, decode: Callable[[Encoded], Any]) -> Any:
        """Encode and decode rows as `_rows` gives them, in threads if there are to be several."""
        if X.shape[0] <= MAX_ROWS:  # a few rows have no time for threads
            return decode(self._encode(X, slice(0, X.shape[0])))
        parts: dict[int, list[Any]] = {}

        def work(rows: slice) -> None:
            parts[rows.start] = [decode(encoded) for encoded in self._encoded(X, rows)]

        in_threads(work, X.shape[0], n_jobs)
        columns = zip(*(part for start in sorted(parts) for part in parts[start]), strict=True)
        return tuple(_concatenate(column) for column in columns)

    def _encoded(self, X: Any, rows: slice | None = None) -> Iterator[Encoded]:
        """Encode all or some rows, block by block; one block at least."""
        width = getattr(self.encoder, "width", self.n_bits)
        for block in row_blocks(X, width, rows or slice(0, X.shape[0])):
            yield self._encode(X, block)

    def _encode(self, X: Any, rows: slice) -> Encoded:
        """Encode some of the rows, all at once."""
        first = rows.start
        if isinstance(X, TextRows):
            X, rows = X[rows].numbers(), slice(0, rows.stop - rows.start)
        if isinstance(self.encoder, NumpyEncoder):
            codes, logits = self.encoder.encode(X, rows)
        else:
            codes, logits = None, self.encoder.logits(X[rows])
            expected = (rows.stop - rows.start, self.n_bits)
            if np.shape(logits) != expected:
                raise InputError(
                    f"the encoder gave logits of shape {np.shape(logits)} for "
                    f"{expected[0]} rows; expected {expected}."
                )
        return Encoded(logits, codes, rows=lambda: X[rows], first=first)


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


def _concatenate(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
