"""The table decoder of the paper: all 2**c answers are kept, and one is read instead of searched.

A single lookup takes a bit that is nearly undecided as seriously as one that is certain. So several
entries around the code are read, with its least certain bits flipped, and the classes found there
are scored on soft bits (see `dsnc.decoders.scoring`) by the weights of a linear decoder. The time
still depends neither on the number of classes nor on that of codes.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.arrays import check_arrays, number_arrays, numbers
from dsnc.checks import one_of, whole
from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders.base import CONFIDENCE, Decoder, ListDecoder, Ranked
from dsnc.decoders.checks import Check, Ints
from dsnc.decoders.confidence import Confidence
from dsnc.decoders.linear import (
    VECTORS,
    Floats,
    LinearDecoder,
    best_classes,
    needed_vectors,
)
from dsnc.decoders.nearest import NearestDecoder
from dsnc.decoders.scoring import (
    SCORING,
    SCORING_CHECKS,
    Scoring,
    soft_bits,
    valid_scoring,
)
from dsnc.decoders.soft import soft_scoring
from dsnc.errors import InputError
from dsnc.rows import Cost

if TYPE_CHECKING:
    from dsnc.codes import CodeTable
    from dsnc.decoders.changes import Change
    from dsnc.decoders.evidence import Evidence

SOURCES = ("nearest", "linear")

_MAX_PROBES = 256
_ENTRIES = 1 << 16  # that are read at a time
_BLOCK = 1 << 15  # scores held at a time: they are gone through once for each bit
_NUMBERS = {
    "n_bits": "int64 1",
    "probes": "int64 1",
    **SCORING,
}
_STORED, _REBUILT = 0, 1  # values of `source`: the table is in the file, or the codes it is made of


def _valid_probes(name: str, value: Any) -> int:
    probes = whole(name, value, most=_MAX_PROBES)
    if probes.bit_count() != 1:
        raise InputError(f"{name}={value} is not a power of 2: 1, 2, 4, ..., {_MAX_PROBES}.")
    return probes


class TableDecoder(ListDecoder):
    """Looks up classes around a code, and lets the soft bits decide among them.

    Every subset of the j least certain bits (those whose logits are nearest to 0) is flipped, which
    gives 2**j = `probes` entries. The classes found there come first, ordered by their score on the
    soft bits. The others follow in the order of their scores, all lowered by the same amount, so
    that the best of them is below the last class found. Only this goes through all classes, and it
    only happens if more classes are asked for than were found.

    Without logits, nothing says which bits to flip: only the entry of the code itself is read, and
    scores are those of the hard bits.

    Parameters
    ----------
    table : CodeTable
        A class for each code.
    linear : LinearDecoder
        The class vectors that score the classes.
    probes : int, default 16
        How many entries to read: 1, 2, 4, ..., 256; never more than there are. With 1, the answer
        is the entry of the code.
    sharpness, prior : float, default 1.0
        How much bits and biases count in scores; see `dsnc.decoders.scoring`.

    Examples
    --------
    >>> linear = LinearDecoder([[1, 1], [-1, 1], [0, -1]], [0, 0, 0])
    >>> decoder = TableDecoder.from_linear(linear, probes=2)
    >>> decoder.top_k(Encoded([[0.1, 5.0]]), 2)[0]
    array([[0, 1]])
    """

    name: ClassVar[str] = "table"
    settings: ClassVar[Mapping[str, Check] | None] = {
        "source": partial(one_of, valid=SOURCES),
        "probes": _valid_probes,
        **SCORING_CHECKS,
    }
    max_bits: ClassVar[int | None] = 28
    sees_soft_bits: ClassVar[bool] = True

    def __init__(
        self,
        table: "CodeTable",
        linear: LinearDecoder,
        *,
        probes: int = 16,
        sharpness: float = 1.0,
        prior: float = 1.0,
    ) -> None:
        if table.n_bits != linear.n_bits:
            raise InputError(f"table has {table.n_bits} bits, but linear has {linear.n_bits}.")
        if table.max_label >= linear.n_classes:
            n_classes = linear.n_classes
            raise InputError(f"table has class {table.max_label}; linear has {n_classes} classes.")
        self.probes = _valid_probes("probes", probes)
        self.table, self.linear = table, linear
        self.sharpness, self.prior = valid_scoring(sharpness, prior)
        self._bias = np.float32(prior) * linear.bias
        self.n_bits, self.n_classes = linear.n_bits, linear.n_classes
        self._known: tuple[PackedCodes, Ints] | None = None  # what the table can be made of again

    @classmethod
    def make(cls, evidence: "Evidence", source: str = "nearest", **settings: Any) -> Self:
        """Keep the answers of one of `SOURCES`; held-out rows choose what is not set."""
        settings |= soft_scoring(evidence, settings)
        if source == "linear":
            return cls.from_linear(evidence.linear, **settings)
        examples = evidence.training()
        nearest = NearestDecoder.from_examples(*examples, evidence.linear.n_classes)
        return cls.from_nearest(nearest, evidence.linear, **settings)

    @classmethod
    def from_linear(
        cls, linear: LinearDecoder, scorer: LinearDecoder | None = None, **settings: Any
    ) -> Self:
        """Make a table of the answers of a linear decoder, which takes 2**c * c * K operations.

        `scorer` scores the classes found; by default, it is the same decoder.
        """
        from dsnc.codes import CodeTable

        table = CodeTable.from_function(_answers(linear), linear.n_bits)
        return cls(table, scorer or linear, **settings)

    @classmethod
    def from_nearest(cls, nearest: NearestDecoder, linear: LinearDecoder, **settings: Any) -> Self:
        """Make a table of the answers of a nearest-neighbor decoder; `linear` scores the classes.

        With one neighbor, the whole table is made at once, in a time that hardly depends on the
        number of codes. With several, votes are counted code by code, which takes longer.
        """
        from dsnc.codes import CodeTable

        if nearest.n_neighbors > 1:
            table = CodeTable.from_function(_answers(nearest), nearest.n_bits)
            return cls(table, linear, **settings)
        table = CodeTable.build(nearest.codes, nearest.labels)
        decoder = cls(table, linear, **settings)
        decoder._known = nearest.codes, nearest.labels
        return decoder

    def predict(self, encoded: Encoded) -> Ints:
        """Return the best class of each row; with one probe, no score is needed."""
        self.check_width(encoded)
        if self.probes == 1 or encoded.logits is None:
            return self.table.lookup(encoded.codes)
        return super().predict(encoded)

    def top_k(self, encoded: Encoded, k: int) -> tuple[Ints, Floats]:
        """Find the k best classes of each row, as `Decoder.top_k` does."""
        k = self.check_k(k)
        self.check_width(encoded)
        classes, scores, counts = self._find(encoded, k)
        for rows, block in self._all_scores(encoded, np.flatnonzero(counts < k)):
            classes[rows], scores[rows] = best_classes(iter([(0, block)]), k)
        return classes, scores

    def candidates(self, encoded: Encoded, k: int) -> tuple[Ints, Floats]:
        """Return the classes found, as `Decoder.candidates` does."""
        self.check_width(encoded)
        classes, scores, counts = self._find(encoded, min(k, self.n_classes))
        missing = np.arange(classes.shape[1]) >= counts[:, None]
        classes[missing], scores[missing] = -1, -np.inf
        return classes, scores

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the weights, the settings, and the table or the codes from which it was made."""
        arrays: dict[str, NDArray[Any]] = {
            "weight": self.linear.weight,
            "bias": self.linear.bias,
            "source": np.array([_STORED if self._known is None else _REBUILT], dtype=np.int8),
            **number_arrays(self, _NUMBERS),
            **self.confidence.arrays(),
        }
        if self._known is None:
            return {**arrays, "table": self.table.labels}
        return {**arrays, "words": self._known[0].words, "labels": self._known[1]}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make the decoder from its arrays, which are checked; codes become a table again."""
        from dsnc.codes import CodeTable

        expected = {**VECTORS, **CONFIDENCE, **_NUMBERS, "source": "int8 1"}
        rebuilt = np.array_equal(arrays.get("source", 0), [_REBUILT])
        if rebuilt:
            expected |= {"words": "uint64 2", "labels": "int64 1"}
        else:  # the type of a table is its own to check
            expected["table"] = f"{getattr(arrays.get('table'), 'dtype', 'uint32')} 1"
        check_arrays("table decoder", arrays, expected)
        settings = numbers("table decoder", arrays, [*_NUMBERS, "source"])
        source, n_bits = settings.pop("source"), settings.pop("n_bits")
        if source not in (_STORED, _REBUILT):
            raise InputError(f"table decoder: array 'source' is {source}; expected 0 or 1.")
        linear = LinearDecoder(arrays["weight"], arrays["bias"])
        if rebuilt:
            codes = PackedCodes(arrays["words"], n_bits)
            nearest = NearestDecoder(codes, arrays["labels"], linear.n_classes)
            decoder = cls.from_nearest(nearest, linear, **settings)
        else:
            table = arrays["table"].copy()  # octets are mapped, and a file may be written to later
            table.flags.writeable = False
            decoder = cls(CodeTable(table, n_bits), linear, **settings)
        return decoder.with_confidence(Confidence.from_arrays(arrays))

    def with_classes(self, change: "Change") -> Self:
        """Return a table for other classes, made from codes if it was, or from class vectors."""
        linear = needed_vectors(change)
        settings: dict[str, Any] = {"probes": self.probes, "sharpness": self.sharpness}
        if change.n_classes > 1 << self.n_bits:
            raise InputError(
                f"decoder='table' has 2**{self.n_bits} entries, too few for {change.n_classes:,} "
                "classes; switch to another decoder first, with with_decoder('shortlist')."
            )
        if self._known is None:
            return self.from_linear(linear, **settings).with_confidence(self.confidence)
        nearest = NearestDecoder(*self._known, self.n_classes).with_classes(change)
        decoder = self.from_nearest(nearest, linear, **settings)
        return decoder.with_confidence(self.confidence)

    def evidence(self) -> "Evidence":
        """Return the class vectors and their scoring."""
        from dsnc.decoders.evidence import Evidence

        linear = LinearDecoder(self.linear.weight, self.linear.bias)
        return Evidence(linear, scoring=Scoring(self.sharpness, self.prior))

    def cost(self) -> Cost:
        """Return a lookup and c operations for each probe, and the bytes of table and weights."""
        probes = min(self.probes, 1 << self.n_bits)
        return Cost(float(probes * (1 + self.n_bits)), self.table.nbytes + self.linear.cost().bytes)

    def _signs(self, encoded: Encoded) -> Floats:
        """Return what the weights multiply."""
        hard = encoded.logits is None
        return encoded.signs() if hard else soft_bits(encoded.numbers(), self.sharpness)

    def _list(self, encoded: Encoded) -> Ranked:
        return Ranked(*self._find(encoded, min(self.probes, self.n_classes)))

    def _find(self, encoded: Encoded, k: int) -> tuple[Ints, Floats, Ints]:
        """Return the k best classes found for each row, their scores, and how many were found."""
        classes = np.zeros((len(encoded), k), np.int64)
        scores, counts = np.zeros(classes.shape, np.float32), np.zeros(len(classes), np.int64)
        for rows, block in encoded.blocks(max(1, _ENTRIES // self.probes)):
            found, own = self._probe(block)
            n = min(k, found.shape[1])
            classes[rows, :n], scores[rows, :n] = found[:, :n], own[:, :n]
            counts[rows] = np.isfinite(own).sum(axis=1)
        return classes, scores, counts

    def _probe(self, encoded: Encoded) -> tuple[Ints, Floats]:
        """Return the classes in entries, best first, and their scores; -inf for repeats."""
        codes = encoded.codes.words[:, :1]
        if encoded.logits is not None:
            sure = np.abs(encoded.numbers())
            n_flips = min(self.probes.bit_length() - 1, self.n_bits)
            bits = np.argsort(sure, axis=1, kind="stable")[:, :n_flips].astype(np.uint64)
            for bit in bits.T:
                codes = np.hstack([codes, codes ^ (np.uint64(1) << bit)[:, None]])
        found = np.sort(self.table.labels[codes].astype(np.int64), axis=1)
        scores, signs = self._bias[found], self._signs(encoded)
        for j in range(self.n_bits):  # in this order, as for all classes
            scores += signs[:, j, None] * self.linear.weight[found, j]
        scores[:, 1:][found[:, 1:] == found[:, :-1]] = -np.inf
        best = np.argsort(-scores, axis=1, kind="stable")
        return np.take_along_axis(found, best, axis=1), np.take_along_axis(scores, best, axis=1)

    def _all_scores(self, encoded: Encoded, rows: Ints) -> Iterator[tuple[Ints, Floats]]:
        """Yield (some of the rows, their scores of all classes), in blocks."""
        columns = np.ascontiguousarray(self.linear.weight.T)
        for part, block in encoded.take(rows).blocks(max(1, _BLOCK // self.n_classes)):
            scores = self._soft_scores(self._signs(block), columns)
            _lower_others(scores, *self._find(block, self.probes))
            yield rows[part], scores

    def _soft_scores(self, signs: Floats, columns: Floats) -> Floats:
        """Add bit after bit: the same numbers as for classes found, in any company of rows."""
        scores = np.tile(self._bias, (len(signs), 1))
        product = np.empty_like(scores)
        for j, column in enumerate(columns):
            np.multiply(signs[:, j, None], column, out=product)
            scores += product
        return scores


def _answers(decoder: Decoder) -> Callable[[PackedCodes], Ints]:
    """Return what a decoder says of hard codes."""
    return lambda codes: decoder.predict(Encoded(codes=codes))


def _lower_others(scores: Floats, classes: Ints, found: Floats, counts: Ints) -> None:
    """Lower the scores of the classes not found, all alike, until they are below those found."""
    rows = np.arange(len(scores))
    others = np.ones(scores.shape, dtype=np.bool_)
    listed = np.arange(classes.shape[1]) < counts[:, None]
    others[rows[:, None], np.where(listed, classes, classes[:, :1])] = False
    bound = np.nextafter(found[rows, counts - 1], np.float32(-np.inf))
    excess = scores.max(axis=1, where=others, initial=-np.inf) - bound
    with np.errstate(over="ignore"):  # weights near the largest number
        lowered = np.minimum(scores - np.maximum(excess, 0)[:, None], bound[:, None])
    np.copyto(scores, lowered, where=others)
