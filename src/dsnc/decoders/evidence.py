"""The results of training from which a decoder is chosen and made."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders.base import Decoder
from dsnc.decoders.checks import Ints
from dsnc.decoders.linear import LinearDecoder
from dsnc.decoders.scoring import PLAIN, Scoring
from dsnc.errors import InputError
from dsnc.targets import Targets
from dsnc.threads import alone

_GOLDEN = (math.sqrt(5) - 1) / 2


class HeldOut(NamedTuple):
    """Rows that training did not see, as the encoder sees them.

    Attributes
    ----------
    encoded : Encoded
        The encoded rows.
    targets : Targets
        Their classes, or label sets.
    weight : float32 array of shape (n,), optional
        Weight of each row.
    """

    encoded: Encoded
    targets: Targets
    weight: NDArray[np.float32] | None = None  # how much each row counts

    def right(self, decoder: Decoder) -> NDArray[np.bool_]:
        """Return for each row whether a decoder's answer is right."""
        with alone():
            return self.targets.contains(decoder.predict(self.encoded))

    def worth(self, decoder: Decoder) -> NDArray[np.float64]:
        """Return how good a decoder's answer for each row is, 0 to 1; see `Targets.worth`."""
        if self.targets.is_single:
            return self.right(decoder).astype(np.float64)
        with alone():
            classes, _ = decoder.top_k(self.encoded, min(self.targets.n_ranks, decoder.n_classes))
        return self.targets.worth(self.targets.contains(classes))

    def places(self, classes: Ints) -> Ints:
        """Return the place of the first right class among those of each row; -1 if none is."""
        is_true = self.targets.contains(classes)
        return np.where(is_true.any(axis=1), is_true.argmax(axis=1), -1)

    def spread(self, n: int) -> Ints:
        """Return the numbers of n evenly spread rows; fewer are the first of more."""
        # Multiples of the golden section are spread evenly over a circle, and so are the rows of
        # those that fall into a part of it (the three-gap theorem).
        places = np.arange(len(self.targets)) * _GOLDEN % 1
        return np.argsort(places)[:n]

    def take(self, n: int) -> "HeldOut":
        """Return n of the rows, as `spread` chooses them, or all rows in their order."""
        if n >= len(self.targets):
            return self
        return self.only(self.spread(max(1, n)))

    def only(self, rows: Any) -> "HeldOut":
        """Return some of the rows, by a boolean mask or their numbers."""
        weight = None if self.weight is None else self.weight[rows]
        return HeldOut(self.encoded.take(rows), self.targets.take(rows), weight)

    def common(
        self, *answers: NDArray[np.bool_]
    ) -> tuple[list[NDArray[np.bool_]], NDArray[np.float32] | None]:
        """Return answers for the rows that all of them cover, and the weights of these rows.

        Answers for some of the rows are taken to be for those that `take` returns.
        """
        rows = self.spread(min(map(len, answers)))
        whole = len(self.targets)
        cut = [each[rows] if len(each) == whole else each[: len(rows)] for each in answers]
        return cut, None if self.weight is None else self.weight[rows]


@dataclass(frozen=True)
class Evidence:
    """What is known about the codes of a model when its decoder is chosen.

    Parameters
    ----------
    linear : LinearDecoder
        The class vectors that were trained with the codes.
    codes, targets : PackedCodes and Targets, optional
        The codes of the training rows, and their classes.
    held_out : HeldOut, optional
        Rows that training did not see.
    scoring : Scoring
        The scoring that held-out rows chose before; used if there are none now.
    before : Decoder, optional
        The previous decoder of a model that has been trained further.
    train_vectors : callable, optional
        Trains class vectors over features (`dsnc.rerank.ClassVectors`) for the candidates of a
        decoder, given the decoder, a budget in bytes and the cost of errors. Returns a list of
        several kinds to choose from. None if training is over.
    reranker : FeatureReranker, optional
        The previous second stage of the model.
    owners : int array of shape (n_features,), optional
        For sparse rows: the class of each feature that only rows of one class have; -1 for all
        other features.
    """

    linear: LinearDecoder
    codes: PackedCodes | None = None
    targets: Targets | None = None
    held_out: HeldOut | None = None
    scoring: Scoring = PLAIN
    before: Decoder | None = None
    train_vectors: Callable[[Decoder, int | None, float | None], list[Any]] | None = None
    reranker: Any = None
    owners: NDArray[np.int32] | None = None

    @classmethod
    def left_by(cls, decoder: Decoder, trained: LinearDecoder | None) -> "Evidence | None":
        """Return what a decoder, or the trained vectors beside it, still hold; None if nothing."""
        own = decoder.evidence()
        if trained is None:
            return own
        return cls(trained) if own is None else replace(own, linear=trained)

    @property
    def has_sets(self) -> bool:
        """Whether rows have label sets."""
        known = self.targets or (self.held_out and self.held_out.targets)
        return known is not None and not known.is_single

    @property
    def most(self) -> int:
        """The largest number of classes that a row has."""
        return 1 if self.targets is None else self.targets.most

    @property
    def rows(self) -> HeldOut | None:
        """The held-out rows, if there are any."""
        return self.held_out if self.held_out is not None and len(self.held_out.targets) else None

    def training(self) -> tuple[PackedCodes, Ints]:
        """Return the codes of the training rows and their classes; an error if there are none.

        For decoders that know only one class for each code; `training_sets` is for the others.
        """
        codes, targets = self.training_sets()
        if not targets.is_single:
            raise InputError(
                "the decoder knows only one class for each code, but rows have sets of labels; use "
                "decoder='shortlist', 'soft' or 'linear'."
            )
        return codes, targets.y

    def training_sets(self) -> tuple[PackedCodes, Targets]:
        """Return the codes of the training rows and their targets; an error if there are none."""
        if self.codes is None or self.targets is None:
            raise InputError(
                "the model has no training codes; pass the training rows as X and y, or use "
                "decoder='shortlist' with known='weights', 'soft' or 'linear', which need none."
            )
        return self.codes, self.targets
