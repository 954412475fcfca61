"""The best classes of some rows, and what both stages say of them."""

from typing import NamedTuple

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
    _, probabilities = predictor.stages.top_k_proba(encoded, k)
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
    predictor: Predictor, logits: NDArray[np.float32], ranking: Ranking, place: int
) -> tuple[tuple[int, int], FirstStage]:
    """Return the winner and another class, and what the decoder has for the one."""
    pair = int(ranking.classes[0]), int(ranking.classes[place])
    lead = float(ranking.first[0] - ranking.first[place])
    return pair, first_stage(predictor.decoder, logits, pair, lead)


def with_true_scores(
    predictor: Predictor, logits: NDArray[np.float32], ranking: Ranking
) -> Ranking:
    """Give classes that the decoder has not found the scores that they would have."""
    first, scores = ranking.first.copy(), ranking.scores.copy()
    for place in np.flatnonzero(~ranking.found).tolist():
        _, stage = compared(predictor, logits, ranking, place)
        first[place] = first[0] - stage.lead()
        if not ranking.looked_at.any():
            scores[place] = first[place]
    return ranking._replace(first=first, scores=scores)
