"""How strange a row is: whether it belongs to any of the classes at all.

Four signs tell: doubt about the answer of the first stage, its score, how much farther the row's
soft code is from those that are remembered of that class than these are from each other, and the
share of its features that no row of training had. Each is measured by what is usual for rows of
known classes, on rows held out of training. How much each counts is chosen on the same rows, once
as they are and once with the class of each hidden from the decoder: what tells the two apart best
(logistic regression) also tells rows of classes that nobody has seen. The rows as they are tell
where to draw the line, for a share of known rows that one is ready to lose.

The second stage has no say: it tells candidates apart, and is as sure of strange rows as of others.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.arrays import check_arrays
from dsnc.checks import real
from dsnc.codes import Encoded
from dsnc.decoders.base import Decoder
from dsnc.decoders.checks import Ints
from dsnc.decoders.memory import Memory
from dsnc.errors import InputError
from dsnc.sparse import sp

_KINDS = {"signs": "float32 2", "quantiles": "float32 1", "hidden": "float32 1"}
_USUAL_SHARE = 0.05  # of known rows that are taken for unknown
_STEPS = 1000  # of the share of known rows to lose
# What a sign may count: only the score may speak against strangeness, beside the others.
_BOUNDS = {"doubt": (0, None), "score": (None, None), "distance": (0, None), "unseen": (0, None)}
_SHAPE = len(_BOUNDS), 3
_SURE = 1e-6  # more than this, float32 cannot tell from certainty
_ROWS = 512  # at a time
_CODES = 512  # of a class, which are compared with each other: at most
_NUMBERS = 1 << 20  # of such comparisons, held at a time
_SHARPNESS = 30.0  # how much nearer codes count more than others
_USUAL = -0.3  # how near codes of a class are to each other, before any is seen
FEWEST = 20  # held-out rows that can tell what is usual


@dataclass(frozen=True, eq=False)
class Novelty:
    """What is usual for rows of known classes.

    Parameters
    ----------
    usual : float32 array of shape (4, 3)
        Of each sign its mean, its deviation (also among strange rows) and how much it counts.
    quantiles : float32 array of shape (1001,)
        Of the novelty of known rows, from the least to the largest.
    hidden : float32 array of shape (3,)
        How well rows whose classes were hidden were told from the same rows as they are: the share
        that was found where 5 % of the others are lost, and the area under the ROC curve by novelty
        and by probability alone.
    """

    usual: NDArray[np.float32]
    quantiles: NDArray[np.float32]
    hidden: NDArray[np.float32]

    @classmethod
    def of(cls, known: NDArray[Any], hidden: NDArray[Any]) -> Self | None:
        """Learn what is usual from what `signs_of_novelty` says of known rows; None of too few.

        `hidden` is what it says of rows whose own classes are hidden from it.
        """
        if len(known) < FEWEST:
            return None
        both = np.concatenate([known, hidden])
        mean, deviation = known.mean(axis=0), np.maximum(both.std(axis=0), 1e-6)
        known_z, hidden_z = ((signs - mean) / deviation for signs in (known, hidden))
        weights = _weights(known_z, hidden_z)
        weights /= max((known_z @ weights).std(), 1e-6)
        usual = np.stack([mean, deviation, weights], axis=1).astype(np.float32)
        none = cls(usual, np.zeros(_STEPS + 1, np.float32), np.zeros(3, np.float32))
        inside, outside = none.measure(known), none.measure(hidden)
        quantiles = _quantiles(inside)
        found = (outside > np.quantile(inside, 1 - _USUAL_SHARE)).mean()
        areas = _auroc(inside, outside), _auroc(known[:, 0], hidden[:, 0])
        return cls(usual, quantiles.astype(np.float32), np.array([found, *areas], np.float32))

    def measure(self, signs: NDArray[Any]) -> NDArray[np.float64]:
        """Return how strange rows are: 0 is usual, and 1 the deviation among known rows."""
        mean, deviation, weights = self.usual.T
        return np.asarray((signs - mean) / deviation @ weights)

    def threshold(self, share: float) -> float:
        """Return the novelty that this share of known rows exceeds."""
        share = real("unknown_share", share, least=0, most=1)
        return float(np.interp(1 - share, np.linspace(0, 1, _STEPS + 1), self.quantiles))

    def moved(self, before: NDArray[Any], after: NDArray[Any]) -> Self:
        """Return the same after classes have come or gone: lines move as those of some rows do.

        `before` and `after` are what the first stage said of known rows, and says now.
        """
        if len(before) < FEWEST:
            return self
        lines = [_quantiles(self.measure(signs)) for signs in (before, after)]
        quantiles = np.maximum.accumulate(self.quantiles + lines[1] - lines[0])
        return replace(self, quantiles=quantiles.astype(np.float32))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return plain arrays for a model file; `from_arrays` is the way back."""
        return {"signs": self.usual, "quantiles": self.quantiles, "hidden": self.hidden}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make it from its arrays, checking them: a file may be hostile."""
        check_arrays("novelty", arrays, _KINDS)
        usual, quantiles, hidden = (arrays[name] for name in _KINDS)
        if (usual.shape, quantiles.shape, hidden.shape) != (_SHAPE, (_STEPS + 1,), (3,)):
            raise InputError("novelty: an array has the wrong shape.")
        if not (
            np.isfinite(usual).all() and np.isfinite(quantiles).all() and usual[:, 1].min() > 0
        ):
            raise InputError("novelty: a number is not finite, or a deviation is not above 0.")
        if not ((hidden >= 0) & (hidden <= 1)).all():
            raise InputError("novelty: a share of hidden rows is not from 0 to 1.")
        return cls(usual, quantiles, hidden)

    def __str__(self) -> str:
        """Return what it is good for, as measured on held-out rows."""
        found, by_novelty, by_probability = self.hidden.tolist()
        return (
            f"{100 * found:.0f} % of unknown rows found where {100 * _USUAL_SHARE:.0f} % of known "
            f"ones are lost; AUROC {by_novelty:.2f}, by probability alone {by_probability:.2f}"
        )


class MovedNovelty(Novelty):
    """What is usual after classes have come: how far the lines move is told when somebody asks.

    Parameters
    ----------
    known : Novelty
        What was usual at some earlier time.
    before : array of shape (n, 4)
        What the first stage said of known rows at that time.
    after : callable
        Returns what it says of them now.
    """

    def __init__(
        self, known: Novelty, before: NDArray[Any], after: Callable[[], NDArray[Any]]
    ) -> None:
        own = {"usual": known.usual, "hidden": known.hidden}
        vars(self).update(own, known=known, before=before, after=after)

    @cached_property
    def signs(self) -> NDArray[Any]:
        """What the first stage says of known rows."""
        after: Callable[[], NDArray[Any]] = vars(self)["after"]
        return after()

    @cached_property
    def quantiles(self) -> NDArray[np.float32]:
        """Of the novelty of known rows."""
        known: Novelty = vars(self)["known"]
        return known.moved(vars(self)["before"], self.signs).quantiles

    def again(self, after: Callable[[], NDArray[Any]]) -> "MovedNovelty":
        """Return the same after more classes have come; what nobody asked for is left out."""
        own = vars(self)
        if "quantiles" in own:
            return MovedNovelty(Novelty(self.usual, self.quantiles, self.hidden), self.signs, after)
        return MovedNovelty(own["known"], own["before"], after)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what is usual, and not how that came about."""
        return Novelty, (self.usual, self.quantiles, self.hidden)


def _quantiles(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what `np.quantile` does, which takes much longer for so many shares."""
    places = np.linspace(0, len(values) - 1, _STEPS + 1)
    return np.interp(places, np.arange(len(values)), np.sort(values))


def _auroc(inside: NDArray[Any], outside: NDArray[Any]) -> float:
    """Return how often a row of the latter has more than one of the former; ties count half."""
    ranks = [np.searchsorted(np.sort(inside), outside, side).mean() for side in ("left", "right")]
    return float(np.mean(ranks)) / len(inside)


class Hidden(NamedTuple):
    """What is hidden of rows, to see how they look where nobody knows their classes."""

    classes: Ints  # of each row
    owners: NDArray[np.int32] | None = None  # of each feature, the only class that has it, or -1

    def take(self, rows: slice) -> "Hidden":
        """Return what is hidden of some of the rows."""
        return Hidden(self.classes[rows], self.owners)


def signs_of_novelty(
    encoded: Encoded, decoder: Decoder, memory: Memory | None, hidden: Hidden | None = None
) -> NDArray[np.float64]:
    """Return (n, 4): doubt, score, distance and share of unseen features, larger is stranger.

    Without the rows themselves, no feature counts as unseen. Without a memory, the class vectors of
    the decoder stand in for it. Hidden classes may not be the answer.
    """
    signs = np.empty((len(encoded), len(_BOUNDS)))
    for rows, block in encoded.blocks(_ROWS) if len(encoded) else ():
        signs[rows] = _signs(block, decoder, memory, hidden and hidden.take(rows))
    return signs


def _signs(
    encoded: Encoded, decoder: Decoder, memory: Memory | None, hidden: Hidden | None
) -> NDArray[np.float64]:
    classes, scores, p = _answers(encoded, decoder, hidden)
    p = np.clip(p, _SURE, 1 - _SURE)
    directions, near = _directions(encoded.numbers()), np.zeros(len(encoded))
    if memory is not None and len(memory.codes):
        near = _nearness(directions, classes, memory)
    elif (known := decoder.evidence()) is not None:
        vectors = known.linear.weight[classes]
        near = np.einsum("ij,ij->i", directions, _directions(vectors)).astype(np.float64)
    if memory is None:  # nothing would tell how scores have moved when classes have come
        scores = np.zeros(len(encoded))
    unseen = _unseen(encoded, memory, hidden)
    return np.stack([np.log(1 - p) - np.log(p), -scores, -near, unseen], axis=1)


def _answers(
    encoded: Encoded, decoder: Decoder, hidden: Hidden | None
) -> tuple[Ints, NDArray[np.float64], NDArray[np.float64]]:
    """Return the best class of each row that is not hidden, its score and its probability.

    That of a hidden class goes to the others where it is one of the two best; else it is small.
    """
    k = 1 if hidden is None else 2
    classes, scores, shares = decoder.answers(encoded, k)
    p = shares.astype(np.float64)
    rows, best = np.arange(len(classes)), np.zeros(len(classes), np.int64)
    if hidden is not None:
        is_hidden = classes == hidden.classes[:, None]
        p /= np.maximum(1 - np.where(is_hidden, p, 0).sum(axis=1, keepdims=True), _SURE)
        best = is_hidden[:, 0].astype(np.int64)
    return classes[rows, best], scores[rows, best].astype(np.float64), p[rows, best]


def _directions(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Return vectors of length 1."""
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9))


def _nearness(
    directions: NDArray[np.float32], classes: Ints, memory: Memory
) -> NDArray[np.float64]:
    """Return how near a row is to the codes of its class, above what is usual among them.

    Nearness to some codes is a mean of cosines in which the larger ones count more:

        log(mean(exp(sharpness * (cosine - 1)))) / sharpness

    A class of which nothing is remembered has no code that is near. Classes with about as many
    codes are looked at together, so that few places of an array are empty; what is found of a row
    does not depend on the others.
    """
    starts, ends = memory.places(classes)
    counts, near = np.clip(ends - starts, 1, _CODES), np.empty(len(classes))
    widths = 1 << np.ceil(np.log2(counts)).astype(np.int64)
    for width in np.unique(widths).tolist():
        rows = np.flatnonzero(widths == width)
        step = max(1, _NUMBERS // (width * max(width, directions.shape[1])))
        for some in np.split(rows, range(step, len(rows), step)):
            near[some] = _nearness_of_few(directions[some], classes[some], width, memory)
    return near


def _nearness_of_few(
    directions: NDArray[np.float32], classes: Ints, width: int, memory: Memory
) -> NDArray[np.float64]:
    """Return the same of a few rows, whose classes have at most `width` codes that count."""
    numbers, owners = np.unique(classes, return_inverse=True)
    starts, ends = memory.places(numbers)
    counts, places = np.minimum(ends - starts, _CODES), np.arange(width)
    rows = np.minimum(starts[:, None] + places, len(memory.codes) - 1)
    codes = _directions(memory.codes.take(rows.ravel()).logits()).reshape(*rows.shape, -1)
    is_there = places < counts[:, None]
    others = is_there[:, :, None] & is_there[:, None] & (places[:, None] != places)
    several = others.any(axis=2)
    among = np.where(several, _mean_nearness(codes @ codes.transpose(0, 2, 1), others), 0)
    usual = (among.sum(axis=1) + _USUAL) / (several.sum(axis=1) + 1)
    cosines = np.einsum("imj,ij->im", codes[owners], directions)
    return np.asarray(_mean_nearness(cosines, is_there[owners]) - usual[owners])


def _mean_nearness(cosines: NDArray[Any], counts: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the mean along the last axis of those cosines that count, larger ones first."""
    near = np.where(counts, np.exp(_SHARPNESS * (cosines.astype(np.float64) - 1)), 0)
    mean = near.sum(axis=-1) / np.maximum(counts.sum(axis=-1), 1)
    return np.asarray(np.log(np.maximum(mean, np.exp(-2 * _SHARPNESS))) / _SHARPNESS)


def _unseen(encoded: Encoded, memory: Memory | None, hidden: Hidden | None) -> NDArray[np.float64]:
    """Return the share of each row, by squares of its values, in features that nobody has seen."""
    if memory is None or not len(memory.seen) or encoded.source is None:
        return np.zeros(len(encoded))
    X = sp.csr_array(encoded.rows)
    rows = np.repeat(np.arange(len(encoded)), np.diff(X.indptr))
    is_new = memory.seen[X.indices] == 0
    if hidden is not None and hidden.owners is not None:
        is_new |= hidden.owners[X.indices] == hidden.classes[rows]
    values = X.data.astype(np.float64) ** 2
    new, all_ = (np.bincount(rows, each, len(encoded)) for each in (values * is_new, values))
    return np.asarray(new / np.maximum(all_, np.finfo(np.float64).tiny))


def _weights(known: NDArray[Any], hidden: NDArray[Any]) -> NDArray[np.float64]:
    """Return what signs count so as to tell hidden rows from known ones: logistic regression."""
    from scipy.optimize import minimize  # slow to import, and only `fit` needs them
    from scipy.special import expit

    signs = np.concatenate([known, hidden])
    signs = np.concatenate([signs, np.ones((len(signs), 1))], axis=1)
    is_hidden = np.repeat([-1.0, 1.0], [len(known), len(hidden)])

    def loss(weights: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        margins = is_hidden * (signs @ weights)
        slopes = -is_hidden * expit(-margins)
        value = np.logaddexp(0, -margins).sum() + weights @ weights / 2
        return float(value), slopes @ signs + weights

    bounds = [*_BOUNDS.values(), (None, None)]
    found = minimize(loss, np.zeros(len(bounds)), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x[:-1])
