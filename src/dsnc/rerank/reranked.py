"""Both stages as one decoder: codes find the candidates, features decide among them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import Encoded
from dsnc.decoders import Decoder
from dsnc.decoders.base import Answers, rows_at_once
from dsnc.decoders.calibration import fit_confidence
from dsnc.decoders.checks import Ints
from dsnc.decoders.linear import Floats
from dsnc.errors import InputError
from dsnc.rerank.reranker import FeatureReranker
from dsnc.rows import Cost, concatenate

if TYPE_CHECKING:
    from dsnc.decoders.evidence import HeldOut

_FEWEST = 20  # rows that calibrate the decoder for themselves


class Reranked(Decoder):
    """A decoder with a second stage.

    Candidates within reach come first, ordered by their scores of both stages. The others follow in
    the order of the decoder. If only one candidate is within reach, the row is sure, and the
    decoder alone answers it.

    Parameters
    ----------
    decoder : Decoder
        Finds the candidates.
    reranker : FeatureReranker
        Decides among them.
    """

    name: ClassVar[str] = "reranked"

    def __init__(self, decoder: Decoder, reranker: FeatureReranker) -> None:
        if decoder.n_classes != reranker.vectors.n_classes:
            raise InputError(
                f"the decoder has {decoder.n_classes} classes, but the reranker has "
                f"{reranker.vectors.n_classes}."
            )
        self.decoder, self.reranker = decoder, reranker
        self.n_bits, self.n_classes = decoder.n_bits, decoder.n_classes
        self._rows = rows_at_once(min(reranker.size, self.n_classes))

    def candidates(self, encoded: Encoded, k: int | None = None) -> tuple[Ints, Floats]:
        """Return the classes that get a second look, best first, as `Decoder.candidates` does."""
        classes, scores, inside = self._look(encoded)
        beyond = np.arange(classes.shape[1]) >= inside[:, None]
        classes[beyond], scores[beyond] = -1, -np.inf
        return classes, scores

    def predict(self, encoded: Encoded) -> Ints:
        """Return the best class of each row."""
        parts = [self._look(block)[0][:, 0] for _, block in encoded.blocks(self._rows)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def top_k(self, encoded: Encoded, k: int) -> tuple[Ints, Floats]:
        """Find the k best classes of each row, as `Decoder.top_k` does."""
        found = self.answers(encoded, k)
        return found.classes, found.scores

    @property
    def rows_to_calibrate(self) -> int:
        """How many held-out rows calibrate probabilities, at most."""
        return self.decoder.rows_to_calibrate

    def calibrated(self, rows: "HeldOut") -> Self:
        """Return both stages with calibrated probabilities, each for the rows that it answers."""
        sample = rows.take(self.rows_to_calibrate)
        classes, scores = self.candidates(sample.encoded)
        is_sure = (classes >= 0).sum(axis=1) <= 1
        decoder, reranker = self.decoder, self.reranker
        if np.count_nonzero(is_sure) >= _FEWEST:
            decoder = decoder.calibrated(sample.only(is_sure))
        if not is_sure.all():
            unsure = sample.only(~is_sure)
            places = unsure.places(classes[~is_sure])
            confidence = fit_confidence(scores[~is_sure], places, unsure.weight)
            reranker = replace(reranker, confidence=confidence)
        return type(self)(decoder, reranker)

    def proba(self, encoded: Encoded) -> Floats:
        """Return (n, n_classes) probabilities; sure rows have those of the decoder."""
        result = np.empty((len(encoded), self.n_classes), dtype=np.float32)
        for where, block in encoded.blocks(self._rows):
            part = result[where]
            classes, scores, inside = self._look(block)
            unsure = np.flatnonzero(inside > 1)
            if len(unsure) < len(block):
                part[:] = self.decoder.proba(block)
            shares, rest = self._shares(scores[unsure], inside[unsure])
            part[unsure] = rest[:, None]
            rows, places = np.nonzero(np.arange(classes.shape[1]) < inside[unsure, None])
            part[unsure[rows], classes[unsure[rows], places]] = shares[rows, places]
        return result

    def answers(self, encoded: Encoded, k: int) -> Answers:
        """Find the k best classes of each row, as `Decoder.answers` does."""
        k = self.check_k(k)
        parts = [self._answers(block, k) for _, block in encoded.blocks(self._rows)]
        return Answers(*map(concatenate, zip(*parts, strict=True)))

    def _answers(self, encoded: Encoded, k: int) -> Answers:
        near, looked_at, inside = self._look(encoded)
        unsure = np.flatnonzero(inside > 1)
        shares, rest = self._shares(looked_at[unsure], inside[unsure])
        probabilities = np.repeat(rest[:, None], k, axis=1)
        within = np.arange(near.shape[1]) < inside[unsure, None]
        np.copyto(probabilities[:, : near.shape[1]], shares[:, :k], where=within[:, :k])
        if inside.min(initial=near.shape[1]) >= max(2, k):  # the decoder is not asked
            return Answers(near[:, :k], looked_at[:, :k], probabilities)
        # Of all rows, since a product of other rows is rounded otherwise: the order would differ.
        found = self.decoder.answers(encoded, k)
        _put_first(found.classes, found.scores, near, looked_at, inside)
        found.probabilities[unsure] = probabilities
        return found

    def cost(self) -> Cost:
        """Return the cost of both stages together."""
        first, second = self.decoder.cost(), self.reranker.cost()
        return Cost(first.operations + second.operations, first.bytes + second.bytes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Raise an error: a model file holds the two stages separately."""
        return self._refuse()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Raise an error: a model file holds the two stages separately."""
        return cls._refuse()

    @staticmethod
    def _refuse() -> NoReturn:
        raise InputError("two stages have no arrays of their own; each of them has.")

    def _look(self, encoded: Encoded) -> tuple[Ints, Floats, Ints]:
        """Return the candidates of each row, their scores, and how many are within reach."""
        classes, scores = self.decoder.candidates(encoded, self.reranker.size)
        return classes, scores, self.reranker.look(encoded, classes, scores)

    def _shares(self, scores: Floats, inside: Ints) -> tuple[Floats, Floats]:
        """Return the probabilities of candidates within reach, and that of each other class."""
        within = np.arange(scores.shape[1]) < inside[:, None]
        scores = np.where(within, scores, -np.inf)
        return self.reranker.confidence.shares(scores, self.n_classes - inside)


def _put_first(classes: Ints, scores: Floats, near: Ints, looked_at: Floats, inside: Ints) -> None:
    """Put those that got a second look before the others, whose order stays; in place.

    The first classes of a decoder are the ones that get a second look, so that what follows them
    stays where it is. Its scores move with the last one before them.
    """
    k = min(classes.shape[1], near.shape[1])
    within = np.arange(k) < inside[:, None]
    rows = np.arange(len(classes))
    last = np.minimum(inside, classes.shape[1]) - 1
    before, floor = (
        scores[rows, last].copy(),
        looked_at[rows, np.minimum(inside, near.shape[1]) - 1],
    )
    moved = scores + (floor - before)[:, None]
    np.copyto(scores, np.where(np.isfinite(moved), moved, scores))
    np.copyto(classes[:, :k], near[:, :k], where=within)
    np.copyto(scores[:, :k], looked_at[:, :k], where=within)
