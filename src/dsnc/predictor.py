"""The only code that predicts: x -> logits -> bits -> candidates -> class, without torch.

Everything works in blocks of rows: a memory map is never loaded whole, sparse rows never become
dense, and apart from the answer, memory does not grow with the number of rows.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dsnc import _native
from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders import DECODERS, Decoder, LinearDecoder, ShortlistDecoder
from dsnc.decoders.set_rule import SetRule
from dsnc.encoders import STORED, Encoder, NeighborsEncoder, NumpyEncoder
from dsnc.errors import InputError, unknown_name
from dsnc.features import FittedTextFeatures, TextRows, are_texts
from dsnc.rerank import FeatureReranker, Reranked
from dsnc.rows import as_rows, concatenate, is_plain, row_blocks
from dsnc.threads import in_threads

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
_FEW = 8  # so few have no time for threads
_PARTS = (
    "encoder",
    "decoder",
    "features",
    "trained",
    "reranker",
    "sets",
)  # of names of arrays


class Predictor:
    """An encoder and a decoder: turns rows into logits, codes and class numbers.

    Rows are an ndarray or memory map of any numeric type, or any scipy sparse matrix; with
    `features`, also a list of strings. Classes are numbers. Labels, and checks for NaN in X, are up
    to the caller.

    Parameters
    ----------
    encoder : Encoder
        Turns rows into logits.
    decoder : Decoder
        Turns codes into classes.
    features : FittedTextFeatures, optional
        Turns strings into rows, block by block; for example fitted `TextFeatures`.
    trained : LinearDecoder, optional
        The class vectors that were trained with the codes, if `decoder` has its own. They predict
        nothing; other decoders and further training start from them.
    reranker : FeatureReranker, optional
        The second stage, which decides among the candidates of the decoder by the features of a
        row.
    rule : SetRule, optional
        Turns scores into label sets, if a row may have several classes.

    Examples
    --------
    >>> from dsnc.encoders import Layer
    >>> encoder = NumpyEncoder([Layer([[1, -1], [1, 0]], [0, 0.5])])
    >>> predictor = Predictor(encoder, LinearDecoder([[1, 0], [0, 1], [-1, -1]], [0, 0, 0]))
    >>> predictor.predict([[2, 1], [-3, -1]])
    array([0, 1])
    """

    def __init__(
        self,
        encoder: Encoder,
        decoder: Decoder,
        features: FittedTextFeatures | None = None,
        trained: LinearDecoder | None = None,
        reranker: FeatureReranker | None = None,
        rule: SetRule | None = None,
    ) -> None:
        if encoder.n_bits != decoder.n_bits:
            raise InputError(
                f"the encoder has {encoder.n_bits} bits, but the decoder has {decoder.n_bits}."
            )
        if features is not None and features.n_features_ != encoder.n_features:
            raise InputError(
                f"texts have {features.n_features_} features, but the encoder expects "
                f"{encoder.n_features}."
            )
        sizes = decoder.n_classes, decoder.n_bits
        if trained is not None and (trained.n_classes, trained.n_bits) != sizes:
            raise InputError(
                f"the trained decoder has {trained.n_classes} classes and {trained.n_bits} bits, "
                f"but the decoder has {sizes[0]} and {sizes[1]}."
            )
        self.encoder, self.decoder, self.features = encoder, decoder, features
        if reranker is not None and reranker.vectors.n_features != encoder.n_features:
            raise InputError(
                f"the reranker expects {reranker.vectors.n_features} features, but the encoder "
                f"expects {encoder.n_features}."
            )
        if rule is not None:
            rule.check_classes(decoder.n_classes)
        self.trained, self.reranker, self.rule = trained, reranker, rule
        self.stages = decoder if reranker is None else Reranked(decoder, reranker)

    def with_decoder(
        self,
        decoder: Decoder,
        trained: LinearDecoder | None = None,
        reranker: FeatureReranker | None = None,
        rule: SetRule | None = None,
    ) -> Self:
        """Return a predictor with the same codes and another decoder."""
        return type(self)(self.encoder, decoder, self.features, trained, reranker, rule)

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
        """Return (n, n_bits) numbers, whose signs are the bits."""
        X = self._rows(X)
        return concatenate([encoded.numbers() for encoded in self._encoded(X)])

    def encode(self, X: Any) -> PackedCodes:
        """Return the code of each row."""
        X = self._rows(X)
        parts = [encoded.codes for encoded in self._encoded(X)]
        return parts[0] if len(parts) == 1 else PackedCodes.concatenate(parts)

    def predict(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.int64]:
        """Return the best class of each row."""
        found = self.predict_at_once(X, n_jobs=n_jobs)
        if found is not None:
            return found
        predict = self.stages.predict
        classes: Ints = self._decoded(self._rows(X), n_jobs, lambda encoded: (predict(encoded),))[0]
        return classes

    def top_k(self, X: Any, k: int, *, n_jobs: int | None = None) -> tuple[Ints, Floats]:
        """Return the (n, k) best classes of each row, best first, and their scores."""
        found = self.top_k_at_once(X, k, n_jobs=n_jobs)
        if found is not None:
            return found
        best: tuple[Ints, Floats] = self._decoded(
            self._rows(X), n_jobs, lambda encoded: self.stages.top_k(encoded, k)
        )
        return best

    def top_k_proba(self, X: Any, k: int, *, n_jobs: int | None = None) -> tuple[Ints, Floats]:
        """Return the (n, k) best classes of each row, best first, and their probabilities."""
        found = self.top_k_at_once(X, k, with_shares=True, n_jobs=n_jobs)
        if found is not None:
            return found
        best: tuple[Ints, Floats] = self._decoded(
            self._rows(X), n_jobs, lambda encoded: self.stages.top_k_proba(encoded, k)
        )
        return best

    def predict_at_once(self, X: Any, *, n_jobs: int | None = None) -> Ints | None:
        """Return the best class of each row, by one call; None as for `top_k_at_once`."""
        core = self._core
        return None if core is None else self._in_parts(X, core.predict, n_jobs)

    def top_k_at_once(
        self, X: Any, k: int, *, with_shares: bool = False, n_jobs: int | None = None
    ) -> tuple[Ints, Floats] | None:
        """Return the k best classes of each row and their scores or probabilities, by one call.

        None where the native core does not have all parts, or where rows are not plain: texts in a
        list, finite float32 or float64 numbers in an array, or such a CSR matrix.
        """
        core = self._core
        if core is None or type(k) is not int or not 0 < k <= self.n_classes:
            return None
        found: tuple[Ints, Floats] | None = self._in_parts(
            X, lambda rows: core.top_k(rows, k, with_shares), n_jobs
        )
        return found

    def _in_parts(self, X: Any, answer: Callable[[Any], Any], n_jobs: int | None) -> Any:
        """Return what the native core answers to rows, in threads if more than one is wanted."""
        kind = type(X)
        if kind is not list and kind is not np.ndarray and not is_plain(X, self.n_features):
            return None
        n = len(X) if kind is list else X.shape[0]
        if n_jobs is None or n <= _FEW:
            return answer(_arrays(X))
        parts: dict[int, Any] = {}

        def work(rows: slice) -> None:
            parts[rows.start] = answer(_arrays(X, rows))

        in_threads(work, n, n_jobs)
        found = [parts[start] for start in sorted(parts)]
        if any(part is None for part in found):
            return None
        if not isinstance(found[0], tuple):
            return concatenate(found)
        return tuple(map(concatenate, zip(*found, strict=True)))

    @cached_property
    def _core(self) -> _native.Predictor | None:
        """All parts together in the native core, which answers rows at once; None if it cannot."""
        encoder, decoder, reranker = self.encoder, self.decoder, self.reranker
        if not isinstance(encoder, NumpyEncoder) or not isinstance(decoder, ShortlistDecoder):
            return None
        is_own = type(encoder) is NumpyEncoder and type(decoder) is ShortlistDecoder
        if not is_own or not encoder.is_linear:  # a user's may do things in another way
            return None
        second = None
        if reranker is not None:
            numbers = reranker.mix, reranker.reach, reranker.size, reranker.confidence
            second = reranker.vectors.native, *numbers
        layer, size = encoder.layers[0], min(decoder.size, self.n_classes)
        return _native.Predictor(
            layer.weight,
            layer.bias,
            encoder.row_normalize,
            decoder._ranker,
            self.n_classes,
            size,
            decoder.confidence,
            second,
            None if self.features is None else self.features.columns.native,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made from the rest."""
        return {name: value for name, value in vars(self).items() if name != "_core"}

    def candidates(self, X: Any, k: int, *, n_jobs: int | None = None) -> tuple[Ints, Floats]:
        """Return the (n, k) best classes that the decoder finds; -1 if it finds fewer."""
        found: tuple[Ints, Floats] = self._decoded(
            self._rows(X), n_jobs, lambda encoded: self.decoder.candidates(encoded, k)
        )
        return found

    def scored(self, X: Any, k: int, *, n_jobs: int | None = None) -> tuple[Ints, Floats]:
        """Return the (n, k) best candidates of both stages, scored; -1 if there are fewer."""
        found: tuple[Ints, Floats] = self._decoded(
            self._rows(X), n_jobs, lambda encoded: self.stages.candidates(encoded, k)
        )
        return found

    def proba(self, X: Any) -> Floats:
        """Return (n, n_classes) probabilities."""
        X = self._rows(X)
        result = np.empty((X.shape[0], self.n_classes), dtype=np.float32)
        start = 0
        for encoded in self._encoded(X):
            result[start : start + len(encoded)] = self.stages.proba(encoded)
            start += len(encoded)
        return result

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays, prefixed by the part they belong to: ``encoder.``, ``decoder.``..."""
        if not isinstance(self.encoder, NumpyEncoder | NeighborsEncoder):
            raise InputError(
                f"encoder {type(self.encoder).__name__} has no arrays that a model file can hold, "
                "as those of dsnc have; models with a module of your own can be pickled."
            )
        arrays = {f"encoder.{key}": array for key, array in self.encoder.arrays().items()}
        arrays |= {f"decoder.{key}": a for key, a in self.decoder.arrays().items()}
        owners = self.features, self.trained, self.reranker, self.rule
        for part, owner in zip(_PARTS[2:], owners, strict=True):
            of_part = {} if owner is None else owner.arrays()
            arrays |= {f"{part}.{key}": array for key, array in of_part.items()}
        return arrays

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, Any],
        *,
        decoder: str,
        encoder: str = NumpyEncoder.kind,
        text: type[FittedTextFeatures] = FittedTextFeatures,
    ) -> Self:
        """Make the predictor from the result of `arrays` and the names of encoder and decoder.

        `text` is the type of the features, if there are any.
        """
        for part, name, known in (("encoder", encoder, STORED), ("decoder", decoder, DECODERS)):
            if name not in known:
                raise unknown_name(part, name, known)
        parts: dict[str, dict[str, Any]] = {name: {} for name in _PARTS}
        for name, array in arrays.items():
            part, _, key = name.partition(".")
            if part not in parts:
                raise InputError(f"array {name!r} belongs to none of {', '.join(_PARTS)}.")
            parts[part][key] = array
        return cls(
            STORED[encoder].from_arrays(parts["encoder"]),
            DECODERS[decoder].from_arrays(parts["decoder"]),
            text.from_arrays(parts["features"]) if parts["features"] else None,
            LinearDecoder.from_arrays(parts["trained"]) if parts["trained"] else None,
            FeatureReranker.from_arrays(parts["reranker"]) if parts["reranker"] else None,
            SetRule.from_arrays(parts["sets"]) if parts["sets"] else None,
        )

    def _rows(self, X: Any) -> Any:
        """Return X as `as_rows` does; texts wait for their turn."""
        if getattr(X, "ndim", 1) == 1 and are_texts(X):
            return TextRows.of(X, self.features)
        return as_rows(X, self.n_features)

    def _decoded(self, X: Any, n_jobs: int | None, decode: Callable[[Encoded], Any]) -> Any:
        """Encode and decode rows as `_rows` gives them, in threads if more than one is wanted."""
        if X.shape[0] == 1:  # what many rows need would take as long as the row itself
            return decode(self._encode(X, slice(0, 1)))
        parts: dict[int, list[Any]] = {}

        def work(rows: slice) -> None:
            parts[rows.start] = [decode(encoded) for encoded in self._encoded(X, rows)]

        in_threads(work, X.shape[0], n_jobs)
        columns = zip(*(part for start in sorted(parts) for part in parts[start]), strict=True)
        return tuple(concatenate(column) for column in columns)

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
                    f"the encoder returned logits of shape {np.shape(logits)} for "
                    f"{expected[0]} rows; expected {expected}."
                )
        return Encoded(logits, codes, source=(X, rows), first=first)


def _arrays(X: Any, rows: slice | None = None) -> Any:
    """Return plain rows, or some of them, as the native core takes them."""
    if type(X) is list or isinstance(X, np.ndarray):
        return X if rows is None else X[rows]
    starts = X.indptr if rows is None else X.indptr[rows.start : rows.stop + 1]
    return starts, X.indices, X.data
