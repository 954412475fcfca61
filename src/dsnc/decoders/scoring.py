"""What a class is worth on soft bits, and the settings of that which held-out rows like best.

    score[k] = prior * bias[k] + sum_j tanh(sharpness * logit[j] / 2) * weight[k, j]
               - closeness * doubt[k]

doubt[k] is the sum of abs(logit) over the bits in which the nearest code of class k differs: what
it would take to turn the one code into the other.

With a sharpness of 1 the bits are the expected values of those that training drew. Less lets an
encoder that is very sure say how sure: where bits are few, that decides. With more, bits come
closer to the hard code. The bias of a class has learned how frequent it is; on rows that were not
trained on, it is often too sure of that, and a `prior` below 1 takes some of it back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc import _native
from dsnc.decoders.checks import Check, Ints, valid_real
from dsnc.decoders.linear import Floats, LinearDecoder
from dsnc.targets import Targets

if TYPE_CHECKING:
    from dsnc.decoders.evidence import HeldOut

SHARPNESS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0)
PRIORS = (0.0, 0.25, 0.5, 0.75, 1.0)
CLOSENESS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
FEWEST = 200  # rows that can choose among so many settings
WIDTH = 64  # classes of a row that take part in the choice
MAX_ROWS = 4096  # of a trial: accuracies are known to half a point at worst
TOLERANCE = 0.001  # accuracy that something cheaper may lose
CLEARLY = 2.0  # standard deviations: one of several decoders is often better by one of them
_MAX_PRODUCTS = 1 << 33  # of scoring all classes; seconds
_MAX_SHARPNESS = 1e6  # hard bits, to all intents


class Scoring(NamedTuple):
    """How the bits, the bias and the distance of a class count."""

    sharpness: float = 1.0
    prior: float = 1.0
    closeness: float = 0.0


PLAIN = Scoring()
_GRID = {"sharpness": SHARPNESS, "prior": PRIORS, "closeness": CLOSENESS}  # as of Scoring
NOTHING: Mapping[str, float] = MappingProxyType({})
SCORING_CHECKS: dict[str, Check] = {  # of what a user may set
    "sharpness": partial(valid_real, least=1 / _MAX_SHARPNESS, most=_MAX_SHARPNESS),
    "prior": partial(valid_real, least=0.0, most=1.0),
}
SCORING = dict.fromkeys(SCORING_CHECKS, "float32 1")  # arrays of a model file


def valid_scoring(sharpness: Any, prior: Any) -> tuple[float, float]:
    """Return both as the float32 that a file holds, or refuse them."""
    sharpness = SCORING_CHECKS["sharpness"]("sharpness", sharpness)
    return sharpness, SCORING_CHECKS["prior"]("prior", prior)


def soft_bits(logits: Floats, sharpness: float) -> Floats:
    """Return what the weights multiply."""
    bits: Floats = np.tanh(logits * np.float32(sharpness / 2))
    return bits


@dataclass(frozen=True)
class Candidates:
    """Classes of held-out rows, the most likely ones first, and what decides among them."""

    linear: LinearDecoder
    logits: Floats
    classes: Ints
    doubts: Floats
    targets: Targets
    weight: Floats | None = None  # of each row

    @cached_property
    def is_true(self) -> NDArray[np.bool_]:
        """Whether each class is right."""
        return self.targets.contains(self.classes)

    def right(self, scores: Floats) -> NDArray[np.bool_]:
        """Tell of each row whether the class of the best score is right."""
        right: NDArray[np.bool_] = self.is_true[np.arange(len(scores)), scores.argmax(axis=1)]
        return right

    def worth(self, scores: Floats) -> NDArray[np.float64]:
        """Return what the order of the scores is worth for each row; see `Targets.worth`."""
        return self.targets.worth_of_scores(scores, self.is_true)

    def scores(self, scoring: Scoring) -> Floats:
        """Return the score of each class."""
        scores = self.products(scoring.sharpness)
        scores += np.float32(scoring.prior) * self.linear.bias[self.classes]
        scores -= np.float32(scoring.closeness) * self.doubts
        return scores

    def products(self, sharpness: float) -> Floats:
        """Return what the bits are worth to each class."""
        result = np.empty(self.classes.shape, dtype=np.float32)
        soft = soft_bits(self.logits, sharpness)
        _native.multiply(soft, self.linear.weight, self.classes, result)
        return result

    def first(self, width: int) -> "Candidates":
        """Return the first classes of each row."""
        return replace(
            self,
            classes=np.ascontiguousarray(self.classes[:, :width]),
            doubts=np.ascontiguousarray(self.doubts[:, :width]),
        )


def best_scoring(candidates: Candidates, fixed: Mapping[str, float] = NOTHING) -> Scoring:
    """Return the scoring that is worth most, if it is clearly better than the plain one.

    What is fixed is not chosen, and the rest is chosen to go with it.

    Rows cannot tell one setting from the next, so each is judged together with its neighbors on
    the grid: a lucky one among poor ones does not win. Very few rows cannot tell anything.
    """
    from scipy.ndimage import uniform_filter  # not for who only predicts

    plain = PLAIN._replace(**fixed)
    if len(candidates.targets) < FEWEST:
        return plain
    grid = {name: (fixed[name],) if name in fixed else values for name, values in _GRID.items()}
    near = candidates.first(WIDTH)
    bias = near.linear.bias[near.classes]
    hits = np.empty([len(values) for values in grid.values()])
    for i, sharpness in enumerate(grid["sharpness"]):
        worth = near.products(sharpness)
        for j, prior in enumerate(grid["prior"]):
            scores = worth + np.float32(prior) * bias
            for k, weight in enumerate(grid["closeness"]):
                less = np.float32(weight) * near.doubts if weight else np.float32(0)
                hits[i, j, k] = accuracy(near.worth(scores - less), near.weight)
    settings = [Scoring(*values) for values in product(*grid.values())]
    smooth = uniform_filter(hits, size=3, mode="nearest").ravel()
    best = settings[int(smooth.argmax())]
    answers = near.worth(near.scores(best)), near.worth(near.scores(plain))
    return best if lower_bound(*answers, near.weight) > 0 else plain


def rows_to_score(linear: LinearDecoder) -> int:
    """Return on how many rows all classes can be scored in seconds; MAX_ROWS at most."""
    return min(MAX_ROWS, _MAX_PRODUCTS // (linear.n_classes * linear.n_bits))


def accuracy(right: NDArray[Any], weight: Floats | None = None) -> float:
    """Return the share of the rows that are right, as much as each counts."""
    return float(np.average(right, weights=weight))


def lower_bound(
    right: NDArray[Any],
    reference: NDArray[Any],
    weight: Floats | None = None,
    *,
    deviations: float = 1.0,
) -> float:
    """Return by how much one is more accurate than the other, less so many standard deviations."""
    gain = right.astype(np.float64) - reference
    if weight is not None:
        gain *= weight / weight.mean(dtype=np.float64)
    return float(gain.sum() - deviations * np.sqrt(np.square(gain).sum())) / len(right)


def is_clearly_better(
    right: NDArray[np.bool_],
    other: NDArray[np.bool_],
    held_out: "HeldOut",
    deviations: float = CLEARLY,
) -> bool:
    """Tell whether one decoder beats another by more than chance and the tolerance.

    Both are told by whether they were right on held-out rows; see `HeldOut.common`. Chance is so
    many standard deviations.
    """
    (right, other), weight = held_out.common(right, other)
    return lower_bound(right, other, weight, deviations=deviations) > TOLERANCE
