"""Explains rows: predicts again, and keeps what each feature, bit and bias adds."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.codes import Encoded
from dsnc.errors import InputError
from dsnc.explanation.marks import mark
from dsnc.explanation.parts import Parts, Row, class_vector, parts_of, row_of
from dsnc.explanation.ranking import Ranking, candidates_of, rank
from dsnc.explanation.result import FEATURE, Bit, Candidate, Explanation, Term
from dsnc.features import FittedTextFeatures, TextRows, are_texts
from dsnc.features.points import normalized
from dsnc.labels import Labels
from dsnc.predictor import Predictor
from dsnc.rows import as_rows

MAX_ROWS = 1000
MAX_CHARACTERS = 50_000  # of a text, in plain Python: about a second


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
        The model.
    X : rows or texts
        As the predictor accepts them; at most 1,000, and texts of at most 50,000 characters.
    labels : Labels
        The labels of the classes.
    names : sequence of str, default ()
        Names of the features. Without them, features have numbers; those of texts are n-grams.
    first_index : int, default 0
        The number of the first feature, if features have no names.
    """
    rows, texts = _rows_and_texts(predictor, X)
    logits = predictor.logits(rows)
    encoded = Encoded(logits, source=(rows, slice(0, rows.shape[0])))
    ranking = rank(predictor, encoded)
    shown = partial(_shown, predictor, labels, names, first_index)
    ranked = (ranking.take(i) for i in range(len(logits)))
    known: Sequence[str | None] = [None] * len(logits) if texts is None else texts
    parts = zip(logits, ranked, known, strict=True)
    return [shown(row_of(rows, i), *part) for i, part in enumerate(parts)]


def _shown(
    predictor: Predictor,
    labels: Labels,
    names: Sequence[str],
    first_index: int,
    row: Row,
    logits: NDArray[np.float32],
    ranking: Ranking,
    text: str | None,
) -> Explanation:
    """Explain the answer for one row."""
    ranking = candidates_of(predictor, logits, ranking)
    answers = labels.of(ranking.classes).tolist()
    parts = parts_of(predictor, row, logits, ranking)
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
            f"X has {n_rows:,} rows; explain accepts at most {MAX_ROWS:,}. Pass some of them, such "
            f"as X[:{MAX_ROWS}]."
        )
    if texts is not None:
        features: Any = predictor.features
        _check_lengths(texts, features)
        return features.rows(texts), texts
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X, None


def _check_lengths(texts: list[str], features: FittedTextFeatures) -> None:
    for row, text in enumerate(texts):
        if len(text) <= MAX_CHARACTERS:  # normalization may turn one into 18
            text = normalized(text, lowercase=features.grams_.lowercase)
        if (length := len(text)) > MAX_CHARACTERS:
            raise InputError(
                f"X[{row}] has {length:,} characters; explain accepts at most {MAX_CHARACTERS:,} "
                "of a text. Shorten it."
            )


def _bits(logits: NDArray[np.float32], parts: NDArray[np.float64]) -> tuple[Bit, ...]:
    sureness = 1 / (1 + np.exp(-np.abs(logits.astype(np.float64))))
    columns = (logits > 0).tolist(), sureness.tolist(), parts.tolist()
    return tuple(Bit(j, *values) for j, values in enumerate(zip(*columns, strict=True)))


def _candidates(
    predictor: Predictor, row: Row, ranking: Ranking, answers: list[Any]
) -> tuple[Candidate, ...]:
    margins: list[float | None] = [None] * len(answers)
    if predictor.reranker is not None:
        for place in np.flatnonzero(ranking.looked_at).tolist():
            number = int(ranking.classes[place])
            worth, bias = class_vector(predictor.reranker.vectors, number, row)
            margins[place] = float(worth.sum()) + bias
    first, scores = ranking.first.tolist(), ranking.scores.tolist()
    shares, found = ranking.probabilities.tolist(), ranking.found.tolist()
    columns = zip(answers, first, margins, scores, shares, found, strict=True)
    return tuple(Candidate(*values) for values in columns)


def _terms(row: Row, parts: Parts, names: Mapping[int, str]) -> tuple[Term, ...]:
    """Return all terms that are not 0, the largest first."""
    columns = row.features.tolist(), parts.first.tolist(), parts.second.tolist()
    of_features = [
        Term(names.get(feature, f"feature {feature}"), FEATURE, first, second, feature)
        for feature, first, second in zip(*columns, strict=True)
    ]
    terms = [term for term in (*of_features, *parts.others) if term.first or term.second]
    return tuple(sorted(terms, key=lambda term: -abs(term.value)))
