"""The hard code finds a few near classes in sublinear time; the soft bits decide among them.

What costs accuracy is rounding a code, not the code itself. So a code is rounded only to find
candidates: the classes of the nearest known codes. They are scored on the expected value of each
bit, -1 to +1 (see `dsnc.decoders.scoring`). This costs the search and c operations for each
candidate, whatever the number of classes.

Of few codes the nearest are found exactly, by Hamming distance. Of many, the likeliest are looked
up where that takes less time: those that differ from the row's in bits that it is least sure of
(`src/native/likely.cpp`).
"""

from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc import _native
from dsnc.arrays import check_arrays, number_arrays, numbers
from dsnc.checks import one_of, whole
from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders.base import CONFIDENCE, ListDecoder, Ranked, SearchingDecoder, rows_at_once
from dsnc.decoders.checks import (
    MAX_CLASSES,
    Check,
    Ints,
    valid_classes,
    valid_real,
)
from dsnc.decoders.confidence import Confidence
from dsnc.decoders.linear import VECTORS, Floats, LinearDecoder, needed_vectors
from dsnc.decoders.scoring import SCORING, SCORING_CHECKS, Scoring, valid_scoring
from dsnc.errors import InputError
from dsnc.rows import Cost
from dsnc.targets import Targets

if TYPE_CHECKING:
    from dsnc.decoders.changes import Change
    from dsnc.decoders.evidence import Evidence

MAX_FLIPS = 1 << 12
KNOWN = ("weights", "training")  # model files hold the position: append only
_NUMBERS = {"size": "int64 1", "flips": "int64 1", **SCORING, "closeness": "float32 1"}
_SETTINGS: dict[str, Check] = {  # what a user may set
    "known": partial(one_of, valid=KNOWN),
    "size": partial(whole, most=MAX_CLASSES),
    "flips": partial(whole, most=MAX_FLIPS, least=0),
    **SCORING_CHECKS,
    "closeness": partial(valid_real, least=0.0, most=1e18),  # no score can overflow
}


class ShortlistDecoder(ListDecoder, SearchingDecoder):
    """Scores the classes of the nearest codes on the soft bits.

    Parameters
    ----------
    linear : LinearDecoder
        The class vectors that score the candidates.
    codes : PackedCodes
        Known codes. Every class needs at least one.
    labels : int array of shape (len(codes),)
        The class of each code.
    size : int, default 16
        The most candidates that a row may have.
    flips : int, default 0
        In how many ways the unsure bits of a part of the code are flipped to look likely codes up.
        With 0, the nearest codes by Hamming distance are found exactly.
    codes_of : str, optional
        What the codes are of: one of `KNOWN`. By default "weights" if there is one code for each
        class, in the order of classes, and otherwise "training".
    closeness : float, default 0.0
        How much the doubt about a candidate's nearest code counts.
    sharpness, prior : float, default 1.0
        How much bits and biases count in scores; see `dsnc.decoders.scoring`.

    Examples
    --------
    >>> linear = LinearDecoder([[1, 1], [1, -1], [-1, -1]], [0, 0, 0])
    >>> codes = PackedCodes.from_bits([[1, 1], [1, 0], [0, 0]])
    >>> decoder = ShortlistDecoder(linear, codes, [0, 1, 2])
    >>> decoder.top_k(Encoded([[2.0, 0.1]]), 2)[0]
    array([[0, 1]])
    """

    name: ClassVar[str] = "shortlist"
    settings: ClassVar[Mapping[str, Check] | None] = _SETTINGS
    sees_soft_bits: ClassVar[bool] = True

    def __init__(
        self,
        linear: LinearDecoder,
        codes: PackedCodes,
        labels: ArrayLike,
        *,
        size: int = 16,
        flips: int = 0,
        codes_of: str | None = None,
        closeness: float = 0.0,
        sharpness: float = 1.0,
        prior: float = 1.0,
    ) -> None:
        if codes.n_bits != linear.n_bits:
            raise InputError(
                f"codes have {codes.n_bits} bits; the linear decoder has {linear.n_bits}."
            )
        self.n_bits, self.n_classes = linear.n_bits, linear.n_classes
        self.linear, self.codes = linear, codes
        self.labels = valid_classes("labels", labels, len(codes), self.n_classes)
        self.labels.flags.writeable = False
        # One code for each class, in their order: a search then need not look at labels.
        self._is_codebook = np.array_equal(self.labels, np.arange(self.n_classes))
        if not self._is_codebook:
            without = np.flatnonzero(np.bincount(self.labels, minlength=self.n_classes) == 0)
            if len(without):
                raise InputError(f"labels: class {without[0]} has no code; every class needs one.")
        default = "weights" if self._is_codebook else "training"
        self.codes_of = one_of("codes_of", codes_of or default, KNOWN)
        self.size = _SETTINGS["size"]("size", size)
        self._rows = rows_at_once(min(self.size, self.n_classes))
        self.flips = _SETTINGS["flips"]("flips", flips)
        self.closeness = _SETTINGS["closeness"]("closeness", closeness)
        self.sharpness, self.prior = valid_scoring(sharpness, prior)

    @classmethod
    def make(cls, evidence: "Evidence", known: str | None = None, **settings: Any) -> Self:
        """Search the known codes; held-out rows choose what is not set."""
        from dsnc.decoders.known_codes import known_codes
        from dsnc.decoders.shortlist_tuning import tune_shortlist

        linear, rows, sets = evidence.linear, evidence.rows, known_codes(evidence, known)
        if rows is None:
            name, codes = list(sets.items())[-1]
            scoring: dict[str, Any] = evidence.scoring._asdict()
            return cls(linear, *codes, codes_of=name, **{**scoring, **settings})
        fixed = {name: settings[name] for name in Scoring._fields if name in settings}
        tuned = tune_shortlist(linear, sets, rows, scoring=fixed)[1].decoder
        return cls(linear, tuned.codes, tuned.labels, **{**tuned._settings(), **settings})

    def renewed(self, linear: LinearDecoder) -> Self:
        """Return a shortlist with the same settings for class vectors that were trained further."""
        from dsnc.decoders.known_codes import weight_codes

        # The codes of the rows have moved; the signs of the weights have moved with them.
        settings = {**self._settings(), "codes_of": "weights"}
        found = type(self)(linear, *weight_codes(linear), **settings)
        return found.with_confidence(self.confidence)

    def with_classes(self, change: "Change") -> Self:
        """Return a shortlist with the known codes of classes that stay, and those of new rows.

        New classes are also found by the signs of their vectors, since they may have few rows.
        """
        from dsnc.decoders.known_codes import changed_codes

        linear, settings = needed_vectors(change), {**self._settings(), "prior": 1.0}
        codes, labels = changed_codes(self.codes, self.labels, change, self.codes_of)
        found = type(self)(linear, codes, labels, **settings).with_confidence(self.confidence)
        if change.keeps_vectors and "_index" in vars(self):
            vars(found)["_index"] = self._index.with_more(codes)
        return found

    def evidence(self) -> "Evidence":
        """Return the class vectors, their scoring, and those codes that are of training rows."""
        from dsnc.decoders.evidence import Evidence

        scoring = Scoring(self.sharpness, self.prior, self.closeness)
        is_known = self.codes_of != "weights"
        targets = Targets(self.labels, self.n_classes) if is_known else None
        return Evidence(self.linear, self.codes if is_known else None, targets, scoring=scoring)

    def with_settings(self, **settings: Any) -> Self:
        """Return a shortlist of the same codes, and their index, that differs in some settings."""
        found = type(self)(self.linear, self.codes, self.labels, **{**self._settings(), **settings})
        found = found.with_confidence(self.confidence)
        if "_index" in vars(self):
            vars(found)["_index"] = self._index
        return found

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("codes_of", *_NUMBERS)}

    @cached_property
    def _ranker(self) -> _native.Shortlist:
        """The core's own, which holds views of what it is made of."""
        return _native.make_shortlist(
            self._index.native,
            None if self._is_codebook else self.labels,
            self.linear.weight,
            np.float32(self.prior) * self.linear.bias,
            self.closeness,
            self.sharpness / 2,
            self.size,
            self.flips,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is quickly made again."""
        return {key: value for key, value in super().__getstate__().items() if key != "_ranker"}

    def top_k(self, encoded: Encoded, k: int) -> tuple[Ints, Floats]:
        """Find the k best classes of each row, as `Decoder.top_k` does.

        Candidates come first. If more classes are asked for, the next nearest ones follow.
        """
        k = self.check_k(k)
        ranked = self._rank(encoded, k, widen=k > 1)
        return ranked.classes, ranked.scores

    def candidates(self, encoded: Encoded, k: int | None = None) -> tuple[Ints, Floats]:
        """Return the candidates of each row, best first, and their scores.

        At most k of them; by default, all.
        """
        width = min(self.size, self.n_classes, k or self.size)
        ranked = self._rank(encoded, width)
        classes = np.where(ranked.is_candidate(), ranked.classes, -1)
        return classes, ranked.candidate_scores()

    def reaching(self, size: int) -> Self:
        """Return the same shortlist with at least `size` candidates."""
        return self if size <= self.size else self.with_settings(size=size)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the class vectors, the codes, their labels and the settings."""
        settings = number_arrays(self, _NUMBERS)
        settings |= self.confidence.arrays()
        settings |= {"words": self.codes.words, "labels": self.labels.astype(np.uint32)}
        settings["codes_of"] = np.array([KNOWN.index(self.codes_of)], dtype=np.int8)
        return settings | {"weight": self.linear.weight, "bias": self.linear.bias}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make the decoder from its arrays, which are checked."""
        expected = {"words": "uint64 2", "labels": "uint32 1", "codes_of": "int8 1"}
        expected |= VECTORS | CONFIDENCE | _NUMBERS
        check_arrays("shortlist decoder", arrays, expected)
        settings = numbers("shortlist decoder", arrays, [*_NUMBERS, "codes_of"])
        number = settings.pop("codes_of")
        if not 0 <= number < len(KNOWN):
            raise InputError(f"shortlist decoder: array 'codes_of' is {number}.")
        settings["codes_of"] = KNOWN[number]
        linear = LinearDecoder(arrays["weight"], arrays["bias"])
        codes = PackedCodes(arrays["words"], linear.n_bits)
        decoder = cls(linear, codes, arrays["labels"], **settings)
        return decoder.with_confidence(Confidence.from_arrays(arrays))

    def cost(self) -> Cost:
        """Return the operations of the search and of scoring `size` candidates, and the bytes."""
        operations = self.search_operations() + self.size * self.n_bits
        known = self.codes.words.nbytes + self.labels.nbytes
        return Cost(operations, known + self.linear.weight.nbytes + self.linear.bias.nbytes)

    def nearest(self, encoded: Encoded, k: int) -> tuple[Ints, Floats]:
        """Return the k nearest classes of each row, and what separates its code from theirs.

        That is the sum of abs(logit) over the bits in which the nearest code of a class differs. A
        row for which fewer are found has the first class again in their places.
        """
        shape = len(encoded), k
        classes, costs = np.empty(shape, np.int64), np.empty(shape, np.float32)
        self._ranker.list(encoded.numbers(), classes, costs)
        missing = classes < 0
        np.copyto(classes, classes[:, :1], where=missing)
        np.copyto(costs, costs[:, :1], where=missing)
        return classes, costs

    def _list(self, encoded: Encoded) -> Ranked:
        return self._rank(encoded, min(self.size, self.n_classes))

    def _rank(self, encoded: Encoded, k: int, *, widen: bool = False) -> Ranked:
        """Rank the candidates, and with `widen` the next classes behind them, up to k."""
        self.check_width(encoded)
        logits, words = encoded.logits, None
        if logits is None:  # all bits are equally sure
            logits, words = encoded.signs(), encoded.codes.words
        shape = len(encoded), k
        classes, scores = np.empty(shape, np.int64), np.empty(shape, np.float32)
        inside = np.empty(len(encoded), np.int64)
        if not self._ranker.rank(logits, words, widen, classes, scores, inside):
            encoded.numbers()  # says which is no number
        return Ranked(classes, scores, inside)
