"""`FeatureReranker`: class vectors, how they are combined with a decoder, and for which rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.arrays import number_arrays, numbers
from dsnc.checks import whole
from dsnc.codes import Encoded
from dsnc.decoders.base import CONFIDENCE, UNCALIBRATED
from dsnc.decoders.checks import Ints, valid_real
from dsnc.decoders.confidence import Confidence
from dsnc.decoders.linear import Floats
from dsnc.errors import InputError
from dsnc.rerank.class_vectors import ClassVectors
from dsnc.rows import Cost
from dsnc.sparse import sp

LARGEST = float(np.finfo(np.float32).max)
ALL = LARGEST  # a reach that leaves no candidate out
MOST_MIX = 1e9  # more would make numbers of scores that float32 has no room for
_NUMBERS = {"size": "int64 1", "mix": "float32 1", "reach": "float32 1"}
_DIRECT = (np.dtype(np.float32), np.dtype(np.float64))


@dataclass(frozen=True, eq=False)
class FeatureReranker:
    """Gives the candidates of a decoder a second look, with the features of the row.

        score[k] = mix * first[k] + margin[k]

    first[k] is the score of the decoder, and margin[k] that of the class vector.

    Parameters
    ----------
    vectors : ClassVectors
        The vectors of all classes.
    mix : float, default 1.0
        Weight of the decoder's score relative to the margin.
    reach : float, optional
        Candidates whose first score is more than this below the best one are left out. If that
        leaves one, the row is sure, and the decoder's answer stands. By default, none are left out.
    size : int, default 16
        The most candidates that a row may have.
    confidence : Confidence
        How scores become probabilities.
    """

    vectors: ClassVectors
    mix: float = 1.0
    reach: float = ALL
    size: int = 16
    confidence: Confidence = UNCALIBRATED

    name: ClassVar[str] = "features"

    def __post_init__(self) -> None:
        """Check the numbers and round them to float32, as in a file."""
        checked = {
            "mix": valid_real("mix", self.mix, 0.0, MOST_MIX),
            "reach": valid_real("reach", self.reach, 0.0, LARGEST),
            "size": whole("size", self.size),
            "confidence": self.confidence.checked(),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def look(self, encoded: Encoded, classes: Ints, scores: Floats) -> Ints:
        """Reorder the candidates of each row in place; return how many of them were looked at.

        The encoded rows come with the rows themselves. Candidates are those of a decoder, best
        first; a class of -1 ends a row that has fewer. Of a row that is sure, one is looked at, and
        scores are those of the decoder.
        """
        inside = np.empty(len(classes), dtype=np.int64)
        rows = _entries(encoded)
        self.vectors.native.look(rows, classes, scores, self.mix, self.reach, inside)
        return inside

    def margins(self, encoded: Encoded, classes: Ints) -> Floats:
        """Return the margins of some classes for each row; -inf for a class of -1."""
        out = np.full(classes.shape, -np.inf, dtype=np.float32)
        self.vectors.native.margins(_entries(encoded), classes, out)
        return out

    def chosen_settings(self) -> dict[str, Any]:
        """Return the settings as a report shows them."""
        reach = None if self.reach == ALL else round(self.reach, 4)
        return {
            "size": self.size,
            "mix": round(self.mix, 4),
            "reach": reach,
            "weights": len(self.vectors),
        }

    def __str__(self) -> str:
        """Return a description in words."""
        far = "" if self.reach == ALL else f" within {self.reach:.3g} of the best score"
        are_centers = self.vectors.space is not None
        what = (
            f"{len(self.vectors.bias):,} centers"
            if are_centers
            else f"{len(self.vectors):,} weights"
        )
        return (
            f"features decide among at most {self.size} candidates{far}: {what}, "
            f"{self.vectors.nbytes / 1e6:.1f} MB; a point of the decoder's score counts "
            f"{self.mix:.3g}"
        )

    def cost(self) -> Cost:
        """Return the operations for `size` candidates, and the bytes of all vectors."""
        per_class = len(self.vectors) / max(1, self.vectors.n_classes)
        return Cost(self.size * (2 * per_class + 2), self.vectors.nbytes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return plain arrays for a model file; `from_arrays` reverses this."""
        return self.vectors.arrays() | number_arrays(self, _NUMBERS) | self.confidence.arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make the reranker from its arrays, which are checked."""
        kinds = _NUMBERS | CONFIDENCE
        own = {name: array for name, array in arrays.items() if name in kinds}
        for name, kind in kinds.items():
            found = own.get(name)
            if found is None or f"{found.dtype} {found.ndim}" != kind:
                raise InputError(f"reranker: array {name!r} is missing or not {kind}.")
        others = {name: array for name, array in arrays.items() if name not in kinds}
        settings = numbers("reranker", own, _NUMBERS)
        confidence = Confidence.from_arrays(own)
        return cls(ClassVectors.from_arrays(others), confidence=confidence, **settings)


def _entries(encoded: Encoded) -> Any:
    """Return rows as the native core takes them: dense, or the arrays of a CSR matrix."""
    if encoded.source is None:
        raise InputError("the rows are not available here; the second stage needs them.")
    X, which = encoded.source
    if not sp.issparse(X):
        return np.ascontiguousarray(X[which], dtype=np.float32)
    direct = X.data.dtype in _DIRECT and X.indices.dtype == np.int32
    if direct and isinstance(which, slice):
        return X.indptr[which.start : which.stop + 1], X.indices, X.data
    X = X[which].astype(np.float32)
    return X.indptr, X.indices.astype(np.int32), X.data
