"""The nearest-neighbor decoder of the paper: a code has the class of the nearest training code.

Each distinct training code is kept once, with the class that most of its rows have. A search among
n codes of c bits takes about c * sqrt(n) / log2(n) operations, whatever the number of classes.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.arrays import check_arrays, number_arrays, numbers
from dsnc.checks import one_of, whole
from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders import checks
from dsnc.decoders.base import CONFIDENCE, SearchingDecoder
from dsnc.decoders.confidence import Confidence
from dsnc.decoders.linear import Floats, LinearDecoder, best_classes
from dsnc.errors import InputError
from dsnc.rows import Cost, concatenate

if TYPE_CHECKING:
    from dsnc.decoders.changes import Change
    from dsnc.decoders.evidence import Evidence

Ints = checks.Ints
LABELS = ("true", "predicted")
_BLOCK = 1 << 20  # distances held at a time
_NUMBERS = {"n_classes": "int64 1", "n_neighbors": "int64 1"}
_EXACT = 1 << 24  # whole numbers up to here are float32 numbers: no score is rounded


class NearestDecoder(SearchingDecoder):
    """Gives a code the class of the nearest known code, or that of most of the nearest ones.

    The score of a class is minus the distance of its nearest code; a class without a code scores as
    if at the impossible distance n_bits + 1. With several neighbors, each has one vote: a class
    with v > 1 votes scores (v - 1) * (n_bits + 1) more. This puts more votes first, then the nearer
    class, then the one with the smaller number.

    Parameters
    ----------
    codes : PackedCodes
        The known codes, at least one; a code that is repeated votes repeatedly.
    labels : int array of shape (len(codes),)
        The class of each code.
    n_classes : int
        Number of classes. Some may have no code.
    n_neighbors : int, default 1
        How many of the nearest codes vote; of equally near ones, those of smaller classes first.

    Examples
    --------
    >>> codes = PackedCodes.from_bits([[0, 0, 0, 1], [1, 1, 1, 0], [1, 1, 1, 1]])
    >>> decoder = NearestDecoder(codes, [0, 2, 1], n_classes=3)
    >>> decoder.top_k(Encoded(codes=PackedCodes.from_bits([[1, 1, 0, 0]])), 2)
    (array([[2, 1]]), array([[-1., -2.]], dtype=float32))
    """

    name: ClassVar[str] = "nearest"
    settings: ClassVar[Mapping[str, checks.Check] | None] = {
        "label": partial(one_of, valid=LABELS),
        "n_neighbors": partial(whole, most=_EXACT),
    }
    stands_alone: ClassVar[bool] = True  # its codes are all it needs, and few

    def __init__(
        self,
        codes: PackedCodes,
        labels: ArrayLike,
        n_classes: int,
        *,
        n_neighbors: int = 1,
    ) -> None:
        if not len(codes):
            raise InputError("codes is empty; give at least one code.")
        self.n_bits = codes.n_bits
        self.n_classes = whole("n_classes", n_classes, most=checks.MAX_CLASSES)
        most = _EXACT // (self.n_bits + 1)
        self.n_neighbors = whole("n_neighbors", n_neighbors, most=most)
        labels = checks.valid_classes("labels", labels, len(codes), self.n_classes)
        if (labels[1:] < labels[:-1]).any():
            # By class: the search orders equally near codes by row, and so by class.
            order = np.argsort(labels, kind="stable")
            codes, labels = codes.take(order), labels[order]
        labels.flags.writeable = False
        self.codes, self.labels = codes, labels
        self._present, self._starts = np.unique(labels, return_index=True)

    @classmethod
    def make(cls, evidence: "Evidence", **settings: Any) -> Self:
        """Use the codes of the training rows."""
        linear = evidence.linear
        codes, y = evidence.training()
        return cls.from_examples(codes, y, linear.n_classes, linear=linear, **settings)

    @classmethod
    def from_examples(
        cls,
        codes: PackedCodes,
        y: ArrayLike,
        n_classes: int,
        *,
        linear: LinearDecoder | None = None,
        label: str = "true",
        n_neighbors: int = 1,
    ) -> Self:
        """Make the decoder from the codes of training rows.

        Parameters
        ----------
        codes : PackedCodes
            The code of each row.
        y : int array of shape (len(codes),)
            The class of each row.
        n_classes : int
            Number of classes.
        linear : LinearDecoder, optional
            Required if `label` is "predicted".
        label : "true" or "predicted", default "true"
            Whether a code gets the class that most of its rows have, or the one that `linear`
            predicts.
        n_neighbors : int, default 1
            How many of the nearest codes vote.
        """
        one_of("label", label, LABELS)
        n_classes = whole("n_classes", n_classes, most=checks.MAX_CLASSES)
        y = checks.valid_classes("y", y, len(codes), n_classes)
        distinct, labels = majority_codes(codes, y)
        if label == "predicted":
            if linear is None:
                raise InputError("linear is None; label='predicted' needs a linear decoder.")
            labels = linear.predict(Encoded(codes=distinct))
        return cls(distinct, labels, n_classes, n_neighbors=n_neighbors)

    def top_k(self, encoded: Encoded, k: int) -> tuple[Ints, Floats]:
        """Find the k best classes of each row, as `Decoder.top_k` does.

        A row is compared with all codes if k is more than about sqrt(len(codes) / 2), where that is
        faster than searching, and if k > 1 while neighbors vote.
        """
        self.check_width(encoded)
        k = self.check_k(k)
        alone = self.n_neighbors == 1
        if k == 1 and alone:
            distances, nearest = self._index.search(encoded.codes)
            return self.labels[nearest], -distances.astype(np.float32)
        if k == 1 and not alone:
            step = max(1, _BLOCK // min(self.n_neighbors, len(self.codes)))
            parts = [self._elect(block.codes) for _, block in encoded.blocks(step)]
            classes, scores = map(concatenate, zip(*parts, strict=True))
            return classes, scores
        if alone and k <= len(self._present) and 2 * k * k <= len(self.codes):
            near = self._index.search_classes(encoded.codes, k, self.labels)
            return near.classes, -near.distances.astype(np.float32)
        shape = (len(encoded), k)
        classes, scores = np.empty(shape, np.int64), np.empty(shape, np.float32)
        for rows, block in self._all_scores(encoded):
            classes[rows], scores[rows] = best_classes(iter([(0, block)]), k)
        return classes, scores

    def proba(self, encoded: Encoded) -> Floats:
        """Return the softmax of the scores, as (n, n_classes) probabilities."""
        self.check_width(encoded)
        result = np.empty((len(encoded), self.n_classes), dtype=np.float32)
        for rows, block in self._all_scores(encoded):
            self.confidence.softmax(block)
            result[rows] = block
        return result

    def with_classes(self, change: "Change") -> Self:
        """Return a decoder with the codes of the classes that stay and those of new rows."""
        rows, numbers = change.kept(self.labels)
        codes = self.codes.take(rows)
        if change.codes is not None and change.labels is not None and len(change.codes):
            come, of = majority_codes(change.codes, change.labels)
            codes, numbers = PackedCodes.concatenate([codes, come]), np.concatenate([numbers, of])
        found = type(self)(codes, numbers, change.n_classes, n_neighbors=self.n_neighbors)
        return found.with_confidence(self.confidence)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the codes with their classes, and the settings."""
        own = {"labels": self.labels, **number_arrays(self, _NUMBERS)}
        return {**self.codes.arrays(), **self.confidence.arrays(), **own}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make the decoder from its arrays, which are checked."""
        codes = {"words": "uint64 2", "n_bits": "int64 1", "labels": "int64 1"}
        check_arrays("nearest decoder", arrays, codes | CONFIDENCE | _NUMBERS)
        known = PackedCodes.from_arrays({key: arrays[key] for key in ("words", "n_bits")})
        decoder = cls(known, arrays["labels"], **numbers("nearest decoder", arrays, _NUMBERS))
        return decoder.with_confidence(Confidence.from_arrays(arrays))

    def cost(self) -> Cost:
        """Return the operations of a search, and the bytes of codes and labels."""
        return Cost(self.search_operations(), self.codes.words.nbytes + self.labels.nbytes)

    def _elect(self, codes: PackedCodes) -> tuple[Ints, Floats]:
        """Return the class that the neighbors choose and its score, as columns."""
        distances, owners, extra = self._neighbors(codes)
        scores = extra - distances
        # Neighbors come by distance, then by class: the first of equal scores is the right one.
        best = scores.argmax(axis=1)[:, None]
        return np.take_along_axis(owners, best, axis=1), np.take_along_axis(scores, best, axis=1)

    def _neighbors(self, codes: PackedCodes) -> tuple[Floats, Ints, Floats]:
        """Return distance and class of the neighbors, and what votes add to the class's score."""
        distances, rows = self._index.search(codes, self.n_neighbors)
        owners = self.labels[rows]
        pairs = owners + self.n_classes * np.arange(len(owners))[:, None]
        _, inverse, votes = np.unique(pairs, return_inverse=True, return_counts=True)
        extra = (votes[inverse.reshape(owners.shape)] - 1) * (self.n_bits + 1)
        return distances.astype(np.float32), owners, extra.astype(np.float32)

    def _all_scores(self, encoded: Encoded) -> Iterator[tuple[slice, Floats]]:
        """Yield (some rows, their scores of all classes), in blocks."""
        step = max(1, _BLOCK // max(len(self.codes), self.n_classes))
        for rows, block in encoded.blocks(step):
            distances = block.codes.distance(self.codes)
            scores = np.full((len(distances), self.n_classes), -self.n_bits - 1, dtype=np.float32)
            scores[:, self._present] = -np.minimum.reduceat(distances, self._starts, axis=1)
            if self.n_neighbors > 1:
                _, owners, extra = self._neighbors(block.codes)
                places = np.arange(len(scores))[:, None], owners
                scores[places] = scores[places] + extra  # a repeated class gets it once
            yield rows, scores


def majority_codes(codes: PackedCodes, y: ArrayLike) -> tuple[PackedCodes, Ints]:
    """Find the distinct codes and, for each, the class that most of its rows have.

    Codes come in the order of their integers; of equally frequent classes the smallest counts.

    Examples
    --------
    >>> codes = PackedCodes.from_ints([3, 1, 3, 3, 1], n_bits=2)
    >>> distinct, labels = majority_codes(codes, [7, 5, 2, 7, 4])
    >>> distinct.to_ints().tolist(), labels.tolist()
    ([1, 3], [4, 7])
    """
    classes = checks.valid_classes("y", y, len(codes))
    unique = codes.unique()
    order = np.lexsort([classes, unique.inverse])
    groups, owners = unique.inverse[order], classes[order]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = (groups[1:] != groups[:-1]) | (owners[1:] != owners[:-1])
    starts = np.flatnonzero(is_first)  # of the runs of one code and one class
    counts = np.diff(starts, append=len(order))
    groups, owners = groups[starts], owners[starts]
    best = np.lexsort([owners, -counts, groups])
    return unique.codes, owners[best][np.searchsorted(groups, np.arange(len(unique.codes)))]
