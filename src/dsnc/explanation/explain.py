"""Rows to explanations: predict once more, and keep what each feature, bit and bias adds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.codes import Encoded
from dsnc.encoders.numpy import NumpyEncoder
from dsnc.errors import InputError
from dsnc.explanation.first_stage import FirstStage, first_stage
from dsnc.explanation.marks import mark
from dsnc.explanation.result import BIT, FEATURE, OTHER, Bit, Candidate, Explanation, Term
from dsnc.features import TextRows, are_texts
from dsnc.labels import Labels
from dsnc.predictor import Predictor
from dsnc.rerank import ClassVectors
from dsnc.rows import as_rows

MAX_ROWS = 1000
_CANDIDATES = 10  # classes that are listed
_ROUNDED = 1e-5  # a share of the terms that single precision may lose
_BITS_BIAS, _ROUNDING = "bias of the bits", "rounding of the bits"
_VECTORS_BIAS = "bias of the class vectors"

Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]


class _Row(NamedTuple):
    """The features of a row that are not 0."""

    features: Ints
    values: Doubles

    def unit(self) -> Doubles:
        """Return the values of a row of length 1; one of zeros has none."""
        length = np.sqrt(np.square(self.values).sum())
        return self.values / (length if length > 0 else 1.0)


class _Ranking(NamedTuple):
    """The best classes of all rows, and what both stages say of them."""

    classes: Ints
    first: Doubles
    scores: Doubles
    probabilities: Doubles
    found: NDArray[np.bool_]  # by the decoder; others stand behind those, their scores made up
    looked_at: NDArray[np.bool_]  # by the second stage


class _Parts(NamedTuple):
    """What adds up to the lead of a row; each bit's part once more for itself."""

    bits: Doubles
    first: Doubles  # of the features of the row
    second: Doubles
    others: list[Term]


def explain(
    predictor: Predictor,
    X: Any,
    labels: Labels,
    *,
    names: Sequence[str] = (),
    first_index: int = 0,
) -> list[Explanation]:
    """Explain the answer for each row.

    Parameters
    ----------
    predictor : Predictor
    X : rows or texts
        As the predictor takes them; 1,000 at most.
    labels : Labels
    names : sequence of str
        Of the features; without, they go by their numbers. Those of texts are n-grams.
    first_index : int
        The number of the first feature where they have no names.
    """
    rows, texts = _rows_and_texts(predictor, X)
    logits = predictor.logits(rows)
    encoded = Encoded(logits, source=(rows, slice(0, rows.shape[0])))
    ranking = _rank(predictor, encoded)
    shown = partial(_shown, predictor, labels, names, first_index)
    ranked = (_Ranking(*(array[i] for array in ranking)) for i in range(len(logits)))
    known: Sequence[str | None] = [None] * len(logits) if texts is None else texts
    parts = zip(logits, ranked, known, strict=True)
    return [shown(_row(rows, i), *part) for i, part in enumerate(parts)]


def _shown(
    predictor: Predictor,
    labels: Labels,
    names: Sequence[str],
    first_index: int,
    row: _Row,
    logits: NDArray[np.float32],
    ranking: _Ranking,
    text: str | None,
) -> Explanation:
    """Explain the answer for one row."""
    ranking = _with_true_scores(predictor, logits, ranking)
    answers = labels.of(ranking.classes).tolist()
    parts = _parts(predictor, row, logits, ranking)
    features: list[int] = row.features.tolist()
    marks: tuple[float, ...] = ()
    if text is not None and predictor.features is not None:
        values = dict(zip(features, (parts.first + parts.second).tolist(), strict=True))
        text, marks, called = mark(text, predictor.features, values)
    else:
        called = {j: names[j] if names else f"feature {j + first_index}" for j in features}
    return Explanation(
        label=answers[0],
        runner_up=answers[1] if len(answers) > 1 else None,
        probability=float(ranking.probabilities[0]),
        lead=float(ranking.scores[0] - ranking.scores[1]) if len(answers) > 1 else 0.0,
        code="".join("01"[int(logit > 0)] for logit in logits),
        bits=_bits(logits, parts.bits),
        candidates=_candidates(predictor, row, ranking, answers),
        terms=_terms(row, parts, called),
        text=text,
        marks=marks,
    )


def _rows_and_texts(predictor: Predictor, X: Any) -> tuple[Any, list[str] | None]:
    """Return rows of numbers, and the texts that they are of."""
    texts = None
    if getattr(X, "ndim", 1) == 1 and are_texts(X):
        texts = TextRows.of(X, predictor.features).texts
    X = as_rows(X, predictor.n_features) if texts is None else X
    n_rows = X.shape[0] if texts is None else len(texts)
    if n_rows > MAX_ROWS:
        raise InputError(
            f"X has {n_rows:,} rows; explain takes {MAX_ROWS:,} at most. Pass some of them, such "
            f"as X[:{MAX_ROWS}]."
        )
    if texts is not None:
        features: Any = predictor.features
        return features.rows(texts), texts
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X, None


def _rank(predictor: Predictor, encoded: Encoded) -> _Ranking:
    decoder, reranker, n_classes = predictor.decoder, predictor.reranker, predictor.n_classes
    k = min(_CANDIDATES, n_classes)
    classes, scores = predictor.stages.top_k(encoded, k)
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
    return _Ranking(classes, numbers[0], numbers[1], numbers[2], found, looked_at)


def _are_in(classes: Ints, others: Ints) -> NDArray[np.bool_]:
    """Tell of each class of a row whether it is one of others."""
    are: NDArray[np.bool_] = (classes[:, :, None] == others[:, None, :]).any(axis=2)
    return are


def _row(rows: Any, i: int) -> _Row:
    if sp.issparse(rows):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        features, values = rows.indices[part].astype(np.int64), rows.data[part]
    else:
        values = np.asarray(rows[i])
        features = np.flatnonzero(values)
        values = values[features]
    return _Row(features, values.astype(np.float64))


def _parts(
    predictor: Predictor, row: _Row, logits: NDArray[np.float32], ranking: _Ranking
) -> _Parts:
    """Take the lead of the winner over the runner-up apart."""
    none, reranker = np.zeros(len(row.features)), predictor.reranker
    if len(ranking.classes) < 2:
        return _Parts(np.zeros(len(logits)), none, none, [])
    pair, stage = _compared(predictor, logits, ranking, 1)
    twice, mix, second, others = bool(ranking.looked_at[1]), 1.0, none, []
    if reranker is not None and twice:
        mix = reranker.mix
        vectors = [_class_vector(reranker.vectors, number, row) for number in pair]
        second = vectors[0][0] - vectors[1][0]
        others.append(Term(_VECTORS_BIAS, OTHER, 0.0, vectors[0][1] - vectors[1][1]))
    first, of_bits = _shared(predictor.encoder, row, stage)
    of_bits += [Term(name, OTHER, value) for name, value in stage.constants.items()]
    others += [replace(term, first=mix * term.first) for term in of_bits]
    return _Parts(mix * stage.bits * stage.weight, mix * first, second, others)


def _compared(
    predictor: Predictor, logits: NDArray[np.float32], ranking: _Ranking, place: int
) -> tuple[tuple[int, int], FirstStage]:
    """Return the winner and another class, and what the decoder has for the one."""
    pair = int(ranking.classes[0]), int(ranking.classes[place])
    lead = float(ranking.first[0] - ranking.first[place])
    return pair, first_stage(predictor.decoder, logits, pair, lead)


def _with_true_scores(
    predictor: Predictor, logits: NDArray[np.float32], ranking: _Ranking
) -> _Ranking:
    """Give classes that the decoder has not found the scores that they would have."""
    first, scores = ranking.first.copy(), ranking.scores.copy()
    for place in np.flatnonzero(~ranking.found).tolist():
        _, stage = _compared(predictor, logits, ranking, place)
        first[place] = first[0] - stage.lead()
        if not ranking.looked_at.any():
            scores[place] = first[place]
    return ranking._replace(first=first, scores=scores)


def _shared(encoder: Any, row: _Row, stage: FirstStage) -> tuple[Doubles, list[Term]]:
    """Share what the bits add among the features, if the encoder is linear; return the rest, too.

    Behind hidden layers, and in a module of the user's, a bit is the smallest part there is.
    """
    parts = stage.bits * stage.weight
    layers = encoder.layers if isinstance(encoder, NumpyEncoder) else ()
    if len(layers) != 1 or layers[0].activation != "none":
        terms = [Term(f"bit {j}", BIT, part) for j, part in enumerate(parts.tolist())]
        return np.zeros(len(row.features)), terms
    x = row.unit() if encoder.row_normalize else row.values
    weight = layers[0].weight[row.features].astype(np.float64)
    bias = layers[0].bias.astype(np.float64)
    logits = bias + x @ weight
    pull = stage.slope(logits) * stage.weight
    terms = [Term(_BITS_BIAS, OTHER, float(bias @ pull))]
    rounding = float(parts.sum() - logits @ pull)
    if abs(rounding) > _ROUNDED * np.abs(parts).sum():
        terms.append(Term(_ROUNDING, OTHER, rounding))
    return x * (weight @ pull), terms


def _class_vector(vectors: ClassVectors, number: int, row: _Row) -> tuple[Doubles, float]:
    """Return what a class thinks of each feature of a row, and its bias."""
    part = slice(vectors.starts[number], vectors.starts[number + 1])
    places = np.searchsorted(row.features, vectors.features[part])
    places[places == len(row.features)] = 0
    weights = np.zeros(len(row.features))
    if len(row.features):
        own = row.features[places] == vectors.features[part]
        scaled = vectors.weights[part][own] * float(vectors.scales[number])
        np.add.at(weights, places[own], scaled)
    values = row.unit() if vectors.unit_rows else row.values
    return weights * values, float(vectors.bias[number])


def _bits(logits: NDArray[np.float32], parts: Doubles) -> tuple[Bit, ...]:
    sureness = 1 / (1 + np.exp(-np.abs(logits.astype(np.float64))))
    columns = (logits > 0).tolist(), sureness.tolist(), parts.tolist()
    return tuple(Bit(j, *values) for j, values in enumerate(zip(*columns, strict=True)))


def _candidates(
    predictor: Predictor, row: _Row, ranking: _Ranking, answers: list[Any]
) -> tuple[Candidate, ...]:
    margins: list[float | None] = [None] * len(answers)
    if predictor.reranker is not None:
        for place in np.flatnonzero(ranking.looked_at).tolist():
            number = int(ranking.classes[place])
            worth, bias = _class_vector(predictor.reranker.vectors, number, row)
            margins[place] = float(worth.sum()) + bias
    first, scores = ranking.first.tolist(), ranking.scores.tolist()
    shares, found = ranking.probabilities.tolist(), ranking.found.tolist()
    columns = zip(answers, first, margins, scores, shares, found, strict=True)
    return tuple(Candidate(*values) for values in columns)


def _terms(row: _Row, parts: _Parts, names: Mapping[int, str]) -> tuple[Term, ...]:
    """Return all terms that are not 0, the largest first."""
    columns = row.features.tolist(), parts.first.tolist(), parts.second.tolist()
    of_features = [
        Term(names.get(feature, f"feature {feature}"), FEATURE, first, second, feature)
        for feature, first, second in zip(*columns, strict=True)
    ]
    terms = [term for term in (*of_features, *parts.others) if term.first or term.second]
    return tuple(sorted(terms, key=lambda term: -abs(term.value)))
