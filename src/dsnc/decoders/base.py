"""What every decoder promises, and the checks that all of them need.

A decoder is arrays and a rule. It holds no data, no labels and no training state, so a model file
can store it, and another decoder can replace it on the same codes.
"""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.checks import whole
from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders.checks import Check
from dsnc.decoders.confidence import Confidence
from dsnc.errors import InputError
from dsnc.rows import Cost, concatenate

if TYPE_CHECKING:
    from dsnc.codes import HammingIndex
    from dsnc.decoders.changes import Change
    from dsnc.decoders.evidence import Evidence, HeldOut
    from dsnc.decoders.linear import LinearDecoder

CONFIDENCE = {"confidence": "float32 1", "curve": "float32 2"}  # arrays of a model file
UNCALIBRATED = Confidence()
MAX_CALIBRATED = 8192  # held-out rows that calibrate probabilities
_MAX_SCORES = 1 << 24  # of all classes, for that
_BEST = 1000  # classes of a row, for that
_PROBABILITIES = 1 << 20  # held at a time
_ROWS, _LISTED = 4096, 1 << 22  # rows and candidates that are held at a time


def rows_at_once(n_candidates: int) -> int:
    """Return how many rows may have so many candidates each, so that these fit the memory."""
    return max(1, min(_ROWS, _LISTED // n_candidates))


class Answers(NamedTuple):
    """The best classes of each row, best first: arrays of shape (n, k)."""

    classes: NDArray[np.int64]
    scores: NDArray[np.float32]
    probabilities: NDArray[np.float32]


class Decoder(ABC):
    """Turns codes into classes.

    Classes are numbers 0..n_classes-1. A score is a float, and larger is better; equal scores are
    ordered by class number, the smaller first, so answers are never arbitrary.

    A subclass declares what a user may set and how that is checked (`settings`), how the decoder is
    made from the results of training (`make`), and what it costs. A line in `DECODERS` makes it
    available by name.
    """

    name: ClassVar[str]  # the key in DECODERS, for ever the same
    settings: ClassVar[Mapping[str, Check] | None] = None  # None: it is not made from evidence
    max_bits: ClassVar[int | None] = None  # of a code, at most
    sees_soft_bits: ClassVar[bool] = False  # and scores them by class vectors
    stands_alone: ClassVar[bool] = False  # a model file keeps no class vectors beside it
    n_bits: int
    n_classes: int
    confidence: Confidence = UNCALIBRATED  # how scores become probabilities

    @abstractmethod
    def top_k(self, encoded: Encoded, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Find the k best classes of each row.

        Parameters
        ----------
        encoded : Encoded
            n codes of `n_bits` bits, with logits for decoders that weigh bits by their confidence,
            and rows for those that look at features.
        k : int
            How many classes to find, 1 to n_classes.

        Returns
        -------
        classes : int64 array of shape (n, k)
            Best first.
        scores : float32 array of shape (n, k)
        """

    @abstractmethod
    def proba(self, encoded: Encoded) -> NDArray[np.float32]:
        """Return (n, n_classes) probabilities, the largest for the class `predict` returns."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return plain arrays for a model file; `from_arrays` reverses this."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make the decoder from the result of `arrays`.

        Everything is checked, since files may be hostile.
        """

    @abstractmethod
    def cost(self) -> Cost:
        """Return the operations that decoding one row takes, and the bytes in memory."""

    @classmethod
    def make(cls, evidence: "Evidence", **settings: Any) -> Self:
        """Make the decoder from the results of training.

        Parameters
        ----------
        evidence : Evidence
            The results of training. If it has held-out rows, they may choose what is not set.
        **settings
            Some of `settings`, already checked.
        """
        raise InputError(f"a {cls.name!r} decoder cannot be made from the results of training.")

    def calibrated(self, rows: "HeldOut") -> Self:
        """Return the same decoder with probabilities that are calibrated on held-out rows."""
        from dsnc.decoders.calibration import fit_confidence

        sample = rows.take(self.rows_to_calibrate)
        k = min(self.n_classes, _BEST)  # the others hardly count
        classes, scores = self.top_k(sample.encoded, k)
        places = sample.places(classes)
        return self.with_confidence(fit_confidence(scores, places, sample.weight, complete=True))

    @property
    def rows_to_calibrate(self) -> int:
        """How many held-out rows calibrate probabilities, at most."""
        return max(64, min(MAX_CALIBRATED, _MAX_SCORES // self.n_classes))

    def with_confidence(self, confidence: Confidence) -> Self:
        """Return the same decoder with other probabilities."""
        other = copy.copy(self)
        vars(other).update(vars(self), confidence=confidence.checked())  # and what is made from it
        return other

    def renewed(self, linear: "LinearDecoder") -> "Decoder":
        """Return a decoder with the same settings for class vectors that were trained further."""
        raise InputError(
            f"the {self.name!r} decoder needs the codes of all rows, which partial_fit does not "
            "see; use decoder='shortlist', 'soft' or 'linear', or call fit."
        )

    def with_classes(self, change: "Change") -> "Decoder":
        """Return a decoder with the same settings for other classes. Codes stay as they are.

        The class vectors in the change are final: a `prior` is already in their biases.
        """
        raise InputError(
            f"the {self.name!r} decoder cannot add or remove classes; call fit again, or use "
            "decoder='shortlist', 'soft', 'linear', 'nearest' or 'table'."
        )

    def evidence(self) -> "Evidence | None":
        """Return what the decoder still holds of the evidence that it was made from."""
        return None

    def chosen_settings(self) -> dict[str, Any]:
        """Return the settings as a report shows them, in a form that can be set again."""
        names = [name for name in self.settings or {} if hasattr(self, name)]
        values = {name: getattr(self, name) for name in names}
        # 0.7, and not the float32 next to it
        return {k: round(v, 6) if isinstance(v, float) else v for k, v in values.items()}

    def candidates(self, encoded: Encoded, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the candidates for a second stage, at most k, best first, and their scores.

        They are the first classes of `top_k`. Rows with fewer candidates than others are filled up
        with classes of -1 and scores of -inf.
        """
        return self.top_k(encoded, min(k, self.n_classes))

    def reaching(self, size: int) -> "Decoder":
        """Return a decoder that finds `size` candidates for a second stage, if it can find more."""
        return self

    def predict(self, encoded: Encoded) -> NDArray[np.int64]:
        """Return the best class of each row."""
        return self.top_k(encoded, 1)[0][:, 0]

    def top_k_proba(
        self, encoded: Encoded, k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Find the k best classes of each row and their probabilities."""
        found = self.answers(encoded, k)
        return found.classes, found.probabilities

    def answers(self, encoded: Encoded, k: int) -> Answers:
        """Find the k best classes of each row, with scores and probabilities, block by block."""
        classes, scores = self.top_k(encoded, k)
        probabilities = np.empty(classes.shape, dtype=np.float32)
        for rows, part in encoded.blocks(max(1, _PROBABILITIES // self.n_classes)):
            probabilities[rows] = np.take_along_axis(self.proba(part), classes[rows], axis=1)
        return Answers(classes, scores, probabilities)

    def check_width(self, encoded: Encoded) -> None:
        """Raise an error if the codes have another width."""
        if encoded.n_bits != self.n_bits:
            raise InputError(
                f"codes have {encoded.n_bits} bits; the decoder was made for {self.n_bits}."
            )

    def check_k(self, k: int) -> int:
        """Return k, or raise an error if it is not a number of classes."""
        return whole("k", k, most=self.n_classes)


class Ranked(NamedTuple):
    """The classes of each row that a decoder has looked at, best first."""

    classes: NDArray[np.int64]  # -1 where there is none
    scores: NDArray[np.float32]
    inside: NDArray[np.int64]  # how many of a row are candidates; others may follow them

    def is_candidate(self) -> NDArray[np.bool_]:
        """Tell for each entry whether it is one of the candidates."""
        return np.arange(self.classes.shape[1]) < self.inside[:, None]

    def candidate_scores(self) -> NDArray[np.float32]:
        """Return the scores of the candidates, -inf in place of others."""
        return np.where(self.is_candidate(), self.scores, np.float32(-np.inf))


class ListDecoder(Decoder):
    """A decoder that scores a list of candidates for each row, not all classes."""

    @abstractmethod
    def _list(self, encoded: Encoded) -> Ranked:
        """Return the candidates of each row."""

    _rows: int = _ROWS  # listed at a time

    @property
    def rows_to_calibrate(self) -> int:
        """How many held-out rows calibrate probabilities, at most."""
        return MAX_CALIBRATED

    def proba(self, encoded: Encoded) -> NDArray[np.float32]:
        """Return (n, n_classes) probabilities; classes that are no candidates share one value."""
        self.check_width(encoded)
        result = np.empty((len(encoded), self.n_classes), dtype=np.float32)
        for where, ranked, share, rest in self._probabilities(encoded):
            part = result[where]
            part[:] = rest[:, None]
            rows, places = np.nonzero(ranked.is_candidate())
            part[rows, ranked.classes[rows, places]] = share[rows, places]
        return result

    def answers(self, encoded: Encoded, k: int) -> Answers:
        """Find the k best classes of each row, as `Decoder.answers` does."""
        k = self.check_k(k)
        self.check_width(encoded)
        parts = []
        for where, ranked, share, rest in self._probabilities(encoded):
            best = ranked.classes[:, :k], ranked.scores[:, :k]
            if ranked.inside.min(initial=ranked.classes.shape[1]) < k:  # others follow
                best = self.top_k(encoded.take(where), k)
            probabilities = np.repeat(rest[:, None], k, axis=1)
            inside = ranked.is_candidate()[:, :k]
            probabilities[:, : inside.shape[1]][inside] = share[:, :k][inside]
            parts.append((*best, probabilities))
        return Answers(*map(concatenate, zip(*parts, strict=True)))

    def calibrated(self, rows: "HeldOut") -> Self:
        """Return the same decoder with calibrated probabilities."""
        from dsnc.decoders.calibration import fit_confidence

        sample = rows.take(self.rows_to_calibrate)
        blocks = sample.encoded.blocks(self._rows)
        ranked = Ranked(
            *map(concatenate, zip(*(self._list(block) for _, block in blocks), strict=True))
        )
        places = sample.places(np.where(ranked.is_candidate(), ranked.classes, -1))
        return self.with_confidence(
            fit_confidence(ranked.candidate_scores(), places, sample.weight)
        )

    def _probabilities(
        self, encoded: Encoded
    ) -> Iterator[tuple[slice, Ranked, NDArray[np.float32], NDArray[np.float32]]]:
        """Yield (rows, their candidates, the probabilities of these and of each other class)."""
        for rows, block in encoded.blocks(self._rows):
            ranked = self._list(block)
            others = self.n_classes - ranked.inside
            yield rows, ranked, *self.confidence.shares(ranked.candidate_scores(), others)


class SearchingDecoder(Decoder):
    """A decoder that searches for the nearest of its codes."""

    codes: PackedCodes

    @cached_property
    def _index(self) -> "HammingIndex":
        """Make the search structure at the first use, since not all models search."""
        from dsnc.codes import HammingIndex

        return HammingIndex(self.codes)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the index, which can be made from the codes."""
        return {key: value for key, value in vars(self).items() if key != "_index"}

    def search_operations(self) -> float:
        """Return c * sqrt(n) / log2(n): the operations of a search among n codes of c bits.

        This is the time of multi-index hashing as the paper states it (M. Norouzi, A. Punjani, D.
        Fleet, "Fast exact search in Hamming space with multi-index hashing", 2014).
        """
        n = max(2, len(self.codes))
        return self.n_bits * math.sqrt(n) / math.log2(n)
