"""The hard code finds a few near classes in sublinear time; the soft bits decide among them.

What costs accuracy is rounding a code, not the code itself. So a code is rounded only to find
candidates: the classes of the nearest known codes, up to `radius` bits beyond the very nearest.
They are scored on the expected value of each bit, -1 to +1 (see `dsnc.decoders.scoring`). This
costs the search and c operations for each candidate, whatever the number of classes.
"""

from collections.abc import Mapping
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.arrays import check_arrays, number_arrays, numbers
from dsnc.checks import one_of, whole
from dsnc.codes import Encoded, PackedCodes, plain
from dsnc.codes.encoded import MAX_BITS, MAX_ROWS
from dsnc.decoders.base import CONFIDENCE, ListDecoder, Ranked, SearchingDecoder
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
from dsnc.kernels import are_deferred, can_wait
from dsnc.rows import Cost, concatenate
from dsnc.targets import Targets

if TYPE_CHECKING:
    from dsnc.codes.few_rows import FewRows
    from dsnc.decoders.changes import Change
    from dsnc.decoders.evidence import Evidence

KNOWN = ("weights", "leaders", "training")  # model files hold the position: append only
_ROWS = 4096  # at a time
_AT_ONCE = 1024  # candidates, for a few rows in one call: longer lists need a large scratch space
_LISTED = 128  # more wanted classes are found by sorting all
_KEYS = 1 << 22  # held at a time
_NUMBERS = {"size": "int64 1", "radius": "int64 1", **SCORING, "closeness": "float32 1"}
_SETTINGS: dict[str, Check] = {  # what a user may set
    "known": partial(one_of, valid=KNOWN),
    "size": partial(whole, most=MAX_CLASSES),
    "radius": partial(whole, most=1 << 62, least=0),
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
    radius : int, default 4
        How many bits farther than the nearest code the code of a candidate may be.
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
    >>> decoder = ShortlistDecoder(linear, codes, [0, 1, 2], radius=1)
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
        radius: int = 4,
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
        self.radius = min(_SETTINGS["radius"]("radius", radius), self.n_bits)
        self.closeness = _SETTINGS["closeness"]("closeness", closeness)
        self.sharpness, self.prior = valid_scoring(sharpness, prior)
        bias = np.float32(self.prior) * linear.bias
        bias.flags.writeable = False  # as the kernels were compiled for
        self._scoring = linear.weight, bias, np.float32(closeness), np.float32(self.sharpness / 2)
        short = self.n_bits <= MAX_BITS and min(self.size, self.n_classes) <= _AT_ONCE
        self._few_rows = MAX_ROWS if short else 0

    @classmethod
    def make(cls, evidence: "Evidence", known: str | None = None, **settings: Any) -> Self:
        """Search the known codes; held-out rows choose what is not set."""
        from dsnc.decoders.known_codes import known_codes
        from dsnc.decoders.shortlist_tuning import tune_shortlist

        linear, rows, sets = evidence.scorer, evidence.rows, known_codes(evidence, known)
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

    def _set(self, **settings: Any) -> Self:
        """Return a shortlist of the same codes, and their index, that differs in some settings."""
        found = type(self)(self.linear, self.codes, self.labels, **{**self._settings(), **settings})
        found = found.with_confidence(self.confidence)
        if "_index" in vars(self):
            vars(found)["_index"] = self._index
        return found

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("codes_of", *_NUMBERS)}

    @cached_property
    def _few(self) -> "FewRows":
        from dsnc.codes.few_rows import FewRows

        labels, size = None if self._is_codebook else self.labels, min(self.size, self.n_classes)
        return FewRows(self._index, labels, self._scoring, size, self.radius)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the index, which is quickly made again."""
        return {key: value for key, value in super().__getstate__().items() if key != "_few"}

    def predict(self, encoded: Encoded) -> Ints:
        """Return the best class of each row. A few rows take a single call of a kernel."""
        few = self._of_few_rows(encoded, 1)
        return super().predict(encoded) if few is None else few[0][:, 0]

    def _of_few_rows(self, encoded: Encoded, k: int) -> tuple[Ints, Floats] | None:
        """Return the candidates of a few rows; None where they take the other way."""
        logits = encoded.logits
        if logits is None or not 0 < len(logits) <= self._few_rows or are_deferred():
            return None
        self.check_width(encoded)
        return self._few.best(logits, k)  # None if a logit is NaN, which the other way refuses

    def top_k(self, encoded: Encoded, k: int) -> tuple[Ints, Floats]:
        """Find the k best classes of each row, as `Decoder.top_k` does.

        Candidates come first. If more classes are asked for, the next nearest ones follow.
        """
        k = self.check_k(k)
        self.check_width(encoded)
        step = _ROWS if k <= _LISTED else min(_ROWS, max(1, _KEYS // self.n_classes))
        ranked = [self._rank(block, k, widen=k > 1) for _, block in encoded.blocks(step)]
        classes, scores, _ = map(concatenate, zip(*ranked, strict=True))
        return classes, scores

    def candidates(self, encoded: Encoded, k: int | None = None) -> tuple[Ints, Floats]:
        """Return the candidates of each row, best first, and their scores.

        At most k of them; by default, all.
        """
        width = min(self.size, self.n_classes, k or self.size)
        few = self._of_few_rows(encoded, width)
        if few is not None:
            return few
        self.check_width(encoded)
        parts = []
        for _, block in encoded.blocks(_ROWS):
            ranked = self._rank(block, width)
            classes = np.where(ranked.is_candidate(), ranked.classes, -1)
            parts.append((classes, ranked.candidate_scores()))
        classes, values = map(concatenate, zip(*parts, strict=True))
        return classes, values

    def reaching(self, size: int, radius: int | None = None) -> Self:
        """Return the same shortlist with at least `size` candidates, at most `radius` bits farther.

        None as `radius` looks as far as necessary.
        """
        radius = self.n_bits if radius is None else max(radius, self.radius)
        if size <= self.size and radius == self.radius:
            return self
        return self._set(size=max(size, self.size), radius=radius)

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

    def _list(self, encoded: Encoded) -> Ranked:
        return self._rank(encoded, min(self.size, self.n_classes))

    def _rank(self, encoded: Encoded, k: int, *, widen: bool = False) -> Ranked:
        """Rank the candidates, and with `widen` the next classes behind them, up to k."""
        codes, logits = encoded.codes, encoded.logits
        waits = can_wait(plain.seconds_to_rank(len(codes), len(self.codes)))
        is_hard = logits is None  # all bits are equally sure
        logits = encoded.signs() if logits is None else logits
        if waits or (widen and k > _LISTED):
            keys, owners = self._all_keys(codes)
        else:
            size = min(max(self.size, k) if widen else self.size, self.n_classes)
            slack = None if widen else self.radius
            labels = None if self._is_codebook else self.labels
            keys, owners = self._index.lists(codes, size, labels, slack=slack)
        classes = np.empty((len(codes), k), dtype=np.int64)
        scores, inside = np.empty(classes.shape, np.float32), np.empty(len(codes), np.int64)
        near = keys, owners, self.size, self.radius, codes.words, self.codes.words
        scratch = np.empty(self.n_bits, dtype=np.float32)
        rerank = plain.rerank if waits else _kernel()
        rerank(*near, logits, is_hard, *self._scoring, classes, scores, inside, scratch)
        return Ranked(classes, scores, inside)

    def _all_keys(self, codes: PackedCodes) -> tuple[Ints, Ints]:
        """Return the lists of all classes: for very many wanted ones, sorting is cheaper."""
        order = np.argsort(self.labels, kind="stable")
        starts = np.searchsorted(self.labels[order], np.arange(self.n_classes))
        keys = np.empty((len(codes), self.n_classes), dtype=np.int64)
        step = max(1, _KEYS // len(self.codes))
        for start in range(0, len(codes), step):
            rows = slice(start, start + step)
            distances = codes.take(rows).distance(self.codes)[:, order].astype(np.int64)
            keys[rows] = np.minimum.reduceat((distances << plain.ROW_BITS) + order, starts, axis=1)
        owners = np.argsort(keys, axis=1)
        return np.take_along_axis(keys, owners, axis=1), owners


@cache
def _kernel() -> Any:
    """Return the kernel that ranks, which brings the compiler with it."""
    from dsnc.codes._kernels.rerank import rerank

    return rerank
