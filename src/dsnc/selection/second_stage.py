"""Whether features decide among the candidates, and how: chosen on rows held out of training."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.checks import real, whole
from dsnc.decoders import Decoder, Evidence, HeldOut
from dsnc.decoders.checks import Check
from dsnc.decoders.scoring import FEWEST, MAX_ROWS, TOLERANCE, accuracy
from dsnc.errors import InputError, unknown_name, warn
from dsnc.rerank import ClassVectors, FeatureReranker, Reranked
from dsnc.rerank.reranker import ALL, MOST_MIX
from dsnc.targets import Targets

RERANKERS = {"auto": None, "features": True, "none": False}  # whether there is to be one
MOST = 64  # candidates of a row that settings are chosen among
_SIZES = (8, 16, 32, MOST)
_MIXES = (0.0, *np.geomspace(0.01, 10, 16).round(4).tolist())
_SHARES = (1, 2, 4, 8, 16)  # of the weights that are left, inverted
_QUANTILES = np.linspace(0, 1, 33)[1:-1]  # of how far candidates are below the best
_JUDGES = 1 << 14  # held-out rows that decide how there is to be a second stage, and whether
_MORE = 5  # answers that must be right with a second stage
_LOSS = TOLERANCE / 5  # accuracy that something cheaper may lose
_CANDIDATE_NS, _LOOKUP_NS, _PRODUCT_NS = 20.0, 6.0, 0.5  # on a typical machine


@dataclass(frozen=True)
class RerankerSettings:
    """What a user may say about the second stage; what is None is chosen.

    Parameters
    ----------
    wanted : bool, optional
        None: if held-out rows gain clearly.
    budget : int, optional
        Bytes of its class vectors in a file, at most. By default half of those of the rest of the
        model, but at least 8 MB and at most 32.
    size : int, optional
        Candidates of a row that get a second look.
    mix : float, optional
        What a point of the decoder's score is worth.
    reach : float, optional
        How far below the best a candidate's first score may be.
    C : float, optional
        What errors cost in training, for rows of length 1 on average.
    """

    wanted: bool | None = None
    budget: int | None = None
    size: int | None = None
    mix: float | None = None
    reach: float | None = None
    C: float | None = None


_CHECKS: dict[str, Check] = {
    "budget": lambda name, value: whole(name, value, least=0),
    "size": whole,
    "mix": lambda name, value: real(name, value, most=MOST_MIX),
    "reach": real,
    "C": lambda name, value: real(name, value, above=True),
}


def parse_reranker(choice: Any) -> RerankerSettings:
    """Return what is asked for, or refuse what cannot work, before anything is trained.

    Parameters
    ----------
    choice : "auto", "features", "none", None or mapping
        A mapping has a name and settings, such as ``{"name": "features", "budget": 1_000_000}``.

    Examples
    --------
    >>> parse_reranker("auto").wanted, parse_reranker(None).wanted
    (None, False)
    """
    if choice is None:
        choice = "none"
    settings: dict[str, Any] = {}
    if isinstance(choice, Mapping):
        settings = dict(choice)
        choice = settings.pop("name", "features")
    if not isinstance(choice, str) or choice not in RERANKERS:
        raise unknown_name("reranker", choice, RERANKERS)
    for key, value in settings.items():
        if key not in _CHECKS:
            raise unknown_name("reranker: setting", key, _CHECKS)
        _CHECKS[key](key, value)
    return RerankerSettings(wanted=RERANKERS[choice], **settings)


class SecondStage(NamedTuple):
    """What was chosen, and what it is worth."""

    decoder: Decoder  # that finds the candidates
    reranker: FeatureReranker | None
    tried: FeatureReranker | None = None
    accuracies: tuple[float, float] | None = None  # without and with it
    nanoseconds: float = 0.0  # of a row, beside those of the decoder


def add_second_stage(
    decoder: Decoder, evidence: Evidence, settings: RerankerSettings
) -> SecondStage:
    """Return a decoder and the second stage for its candidates, where there is to be one.

    The decoder is the one that was chosen, and calibrated.
    """
    rows = evidence.rows
    if rows is not None and rows.encoded.source is None:
        rows = None
    if settings.wanted is False:
        return SecondStage(decoder, None)
    if evidence.train_vectors is None and (rows is None or evidence.reranker is None):
        return _kept(decoder, evidence, settings)
    if settings.wanted is None and (rows is None or len(rows.targets) < FEWEST):
        return SecondStage(decoder, None)
    wide = decoder.reaching(MOST)
    if rows is None:
        return _as_it_is(decoder, evidence, settings)
    kinds = _trained(wide, evidence, settings)
    if not kinds:
        return SecondStage(decoder, None)
    judges = rows.take(_JUDGES)
    both = _best(decoder, wide, kinds, judges, settings)
    if rows.targets.is_single:  # labels of sets get their probabilities by another rule
        both = both.calibrated(rows)
    found, reranker = both.decoder, both.reranker
    accuracies = _compared(decoder, both, judges, judges.right)
    nanoseconds = _nanoseconds(found, reranker, rows.take(MAX_ROWS))
    alone, together = _compared(decoder, both, judges, judges.worth)
    n_answers = len(judges.targets) * judges.targets.n_ranks
    gains = together - alone >= max(TOLERANCE, _MORE / n_answers)
    if settings.wanted is None and not gains:
        return SecondStage(decoder, None, reranker, accuracies, nanoseconds)
    return SecondStage(found, reranker, reranker, accuracies, nanoseconds)


def _best(
    decoder: Decoder,
    wide: Decoder,
    kinds: list[ClassVectors],
    rows: HeldOut,
    settings: RerankerSettings,
) -> Reranked:
    """Return the kind of vectors that is worth most, set as is best for it."""
    if len(rows.targets) < FEWEST:  # they cannot choose among so much
        reranker = _set(FeatureReranker(kinds[0]), settings)
        return Reranked(decoder.reaching(reranker.size), reranker)
    trial, tried = _Trial.of(wide, rows), list[Reranked]()
    for vectors in kinds:
        reranker = trial.reranker(vectors, settings)
        tried.append(Reranked(decoder.reaching(reranker.size), reranker))
    if len(tried) == 1:
        return tried[0]
    return max(tried, key=lambda both: accuracy(rows.worth(both), rows.weight))


def _compared(
    decoder: Decoder, both: Reranked, rows: HeldOut, measure: Callable[[Decoder], NDArray[Any]]
) -> tuple[float, float]:
    """Return what a decoder alone is worth, and with a second stage."""
    alone, together = (accuracy(measure(each), rows.weight) for each in (decoder, both))
    return alone, together


def _nanoseconds(decoder: Decoder, reranker: FeatureReranker, sample: HeldOut) -> float:
    """Return what a second look takes on a typical machine, as often as there is one."""
    inside = (Reranked(decoder, reranker).candidates(sample.encoded)[0] >= 0).sum(axis=1)
    looked_at = float(np.where(inside > 1, inside, 0).mean())
    X, vectors = sample.encoded.rows, reranker.vectors
    if sp.issparse(X):
        lookups = X.nnz / max(1, X.shape[0]) * len(vectors.bias) / vectors.n_classes
        return float(looked_at * (_CANDIDATE_NS + _LOOKUP_NS * lookups))
    return looked_at * (_CANDIDATE_NS + _PRODUCT_NS * len(vectors) / vectors.n_classes)


def _kept(decoder: Decoder, evidence: Evidence, settings: RerankerSettings) -> SecondStage:
    """Return the second stage that the model has had, for a decoder that scores as its own did."""
    reranker = evidence.reranker
    if reranker is None:
        if settings.wanted:
            raise InputError(
                "reranker='features' cannot be trained here, without rows; set it before calling "
                "fit."
            )
        return SecondStage(decoder, None)
    if decoder.evidence() is None:
        warn(
            f"The second stage is left out: it was trained for scores of class vectors, and cannot "
            f"be trained again for those of the {decoder.name!r} decoder."
        )
        return SecondStage(decoder, None)
    return SecondStage(decoder.reaching(reranker.size), _set(reranker, settings))


def _as_it_is(decoder: Decoder, evidence: Evidence, settings: RerankerSettings) -> SecondStage:
    """Return a second stage that no held-out rows have chosen anything of."""
    kinds = _trained(decoder.reaching(MOST), evidence, settings)
    if not kinds:
        return SecondStage(decoder, None)
    reranker = _set(FeatureReranker(kinds[0]), settings)
    return SecondStage(decoder.reaching(reranker.size), reranker)


def _set(reranker: FeatureReranker, settings: RerankerSettings) -> FeatureReranker:
    """Return a reranker with what is set."""
    given = {name: getattr(settings, name) for name in ("size", "mix", "reach")}
    return replace(reranker, **{name: v for name, v in given.items() if v is not None})


def _trained(wide: Decoder, evidence: Evidence, settings: RerankerSettings) -> list[ClassVectors]:
    """Return new vectors where there are rows to learn from, else those of the model so far."""
    if evidence.train_vectors is not None:
        return evidence.train_vectors(wide, settings.budget, settings.C)
    return [] if evidence.reranker is None else [evidence.reranker.vectors]


@dataclass(frozen=True)
class _Trial:
    """The candidates of held-out rows, with what the first stage says of them."""

    rows: HeldOut
    classes: NDArray[np.int64]
    first: NDArray[np.float32]
    is_true: NDArray[np.bool_]

    @classmethod
    def of(cls, decoder: Decoder, rows: HeldOut) -> "_Trial":
        classes, first = decoder.candidates(rows.encoded, MOST)
        return cls(rows, classes, first, rows.targets.contains(classes))

    def reranker(self, vectors: ClassVectors, settings: RerankerSettings) -> FeatureReranker:
        """Return the most accurate setting, and then the cheapest that loses next to nothing."""
        width = self.classes.shape[1]
        margins = self._margins(vectors)
        mix = settings.mix
        if mix is None:
            worth = [self._accuracy(mix * self._first() + margins) for mix in _MIXES]
            smooth = np.convolve(np.pad(worth, 1, mode="edge"), np.ones(3) / 3, "valid")
            mix = _MIXES[int(smooth.argmax())]
        first = mix * self._first()
        best = self._accuracy(first + margins)
        size = settings.size
        if size is None:
            least = _fewest_candidates(self.rows.targets)
            sizes = [*(s for s in _SIZES if least <= s < width), width]
            size = next(s for s in sizes if self._accuracy(first + margins, s) >= best - _LOSS)
        best = self._accuracy(first + margins, size)
        whole = vectors
        for share in _SHARES[1:] if vectors.space is None else ():  # a center needs all of its own
            fewer = whole.pruned(len(whole) // share)
            of_fewer = self._margins(fewer, size)
            if self._accuracy(first[:, :size] + of_fewer, size) >= best - _LOSS:
                vectors, margins = fewer, of_fewer
        reach = settings.reach
        if reach is None and not self.rows.targets.is_single:
            reach = ALL  # scores of both stages are not to stand beside those of one
        if reach is None:
            reach = self._reach(first[:, :size] + margins[:, :size], size)
        return FeatureReranker(vectors, mix=mix, reach=reach, size=size)

    def _first(self) -> NDArray[np.float32]:
        return np.where(self.classes >= 0, self.first, 0)

    def _margins(self, vectors: ClassVectors, size: int = MOST) -> NDArray[np.float32]:
        classes = np.ascontiguousarray(self.classes[:, :size])
        return FeatureReranker(vectors).margins(self.rows.encoded, classes)

    def _accuracy(self, scores: NDArray[np.float32], size: int = MOST, reach: float = ALL) -> float:
        """Return the accuracy of these scores among the first candidates of each row."""
        within = self.first[:, :1] - self.first[:, :size] <= reach
        looked_at = np.where(within, scores[:, :size], np.float32(-np.inf))
        return accuracy(
            self.rows.targets.worth_of_scores(looked_at, self.is_true[:, :size]), self.rows.weight
        )

    def _reach(self, scores: NDArray[np.float32], size: int) -> float:
        """Return the shortest reach that loses next to nothing."""
        least = self._accuracy(scores, size) - _LOSS
        below = self.first[:, :1] - self.first[:, 1:size]
        # A row of weight 2 counts as two rows, however their scores are rounded.
        below = np.unique(np.round(below[np.isfinite(below)], 4))
        reaches = np.unique(np.quantile(below, _QUANTILES)).tolist() if len(below) else []
        found = (r for r in reaches if self._accuracy(scores, size, r) >= least)
        return next(found, ALL)


def _fewest_candidates(targets: Targets) -> int:
    """Return how many candidates a row must have at least: most sets are to fit in, twice."""
    return 1 if targets.is_single else 2 * int(np.quantile(targets.sizes(), 0.9))
