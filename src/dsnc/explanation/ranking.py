"""The best classes of some rows, and what both stages say of them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import Encoded
from dsnc.errors import InputError
from dsnc.explanation.first_stage import FirstStage, first_stage
from dsnc.predictor import Predictor

_LISTED = 10  # classes of a row

Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]


class Ranking(NamedTuple):
    """The best classes of all rows, and what both stages say of them."""

    classes: Ints
    first: Doubles
    scores: Doubles
    probabilities: Doubles
    found: NDArray[np.bool_]  # by the decoder; others stand behind those, their scores made up
    looked_at: NDArray[np.bool_]  # by the second stage

    def take(self, which: Any) -> "Ranking":
        """Return one or some of them."""
        return Ranking(*(array[which] for array in self))


def rank(predictor: Predictor, encoded: Encoded) -> Ranking:
    """Predict, and keep what both stages say of the best classes."""
    decoder, reranker, n_classes = predictor.decoder, predictor.reranker, predictor.n_classes
    k = min(_LISTED, n_classes)
    classes, scores = predictor.stages.top_k(encoded, k)
    strange = ~np.isfinite(scores[:, :2]).all(axis=1)
    if strange.any():
        raise InputError(
            f"X[{int(strange.argmax())}] cannot be explained: its values are too large."
        )
    if predictor.rule is None:
        _, probabilities = predictor.stages.top_k_proba(encoded, k)
    else:
        probabilities = predictor.rule.probabilities(scores)
    width = k if reranker is None else min(max(k, reranker.size), n_classes)
    known, values = decoder.top_k(encoded, width)
    found = _are_in(classes, decoder.candidates(encoded, width)[0])
    looked_at = np.zeros(classes.shape, dtype=np.bool_)
    if reranker is not None:
        looked_at = _are_in(classes, predictor.stages.candidates(encoded, width)[0])
        looked_at &= looked_at.sum(axis=1, keepdims=True) > 1  # else the row is sure
    place = (known[:, None, :] == classes[:, :, None]).argmax(axis=2)
    first = np.take_along_axis(values, place, axis=1)
    numbers = [array.astype(np.float64) for array in (first, scores, probabilities)]
    return Ranking(classes, numbers[0], numbers[1], numbers[2], found, looked_at)


def _are_in(classes: Ints, others: Ints) -> NDArray[np.bool_]:
    """Tell of each class of a row whether it is one of others."""
    are: NDArray[np.bool_] = (classes[:, :, None] == others[:, None, :]).any(axis=2)
    return are


def compared(
    predictor: Predictor, logits: NDArray[np.float32], ranking: Ranking
) -> tuple[tuple[int, int], FirstStage]:
    """Return the winner and the runner-up of a row, and what the decoder has for the one."""
    pair = int(ranking.classes[0]), int(ranking.classes[1])
    lead = float(ranking.first[0] - ranking.first[1])
    return pair, first_stage(predictor.decoder, logits, pair, lead)


def candidates_of(predictor: Predictor, logits: NDArray[np.float32], ranking: Ranking) -> Ranking:
    """Leave out what is no candidate of a row, but for a runner-up where there is one candidate.

    That one gets the score that it would have if the decoder had found it.
    """
    ranking = ranking.take(slice(max(2, np.count_nonzero(ranking.found))))
    if ranking.found.all():
        return ranking
    first = ranking.first.copy()
    first[1] = first[0] - compared(predictor, logits, ranking)[1].lead()
    return ranking._replace(first=first, scores=first)
