"""What marks a group of rows: words, or features, that it has more of than other rows have."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.features import FittedTextFeatures
from dsnc.features.naming import placed_words
from dsnc.features.points import normalized
from dsnc.rows import draw_rows

MARKS = 5  # of a class
_ROWS = 200  # of a class, that are looked at: the most typical ones
_OTHERS = 10_000  # rows that tell what is usual
_COLUMNS = 40  # that n-grams are looked up for
_TEXTS = 20  # in which they are looked up

Name = Callable[[int], str]


class Background:
    """Rows of numbers, and what is usual among them."""

    def __init__(self, X: Any) -> None:
        self._X = X.tocsr() if sp.issparse(X) else X
        some = self._X[draw_rows(X.shape[0], _OTHERS)]
        self._mean = _means(some)
        self._spread = np.ones_like(self._mean)
        if not sp.issparse(X):  # features of many units; those of sparse rows have one
            self._spread = np.maximum(np.asarray(some).std(axis=0), 1e-9)

    def excess(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how much more of each feature some rows have than is usual."""
        return np.asarray((_means(self._X[rows[:_ROWS]]) - self._mean) / self._spread)


def _means(X: Any) -> NDArray[np.float64]:
    return np.asarray(X.mean(axis=0), dtype=np.float64).ravel()


def marking_features(excess: NDArray[np.float64], name: Name) -> list[str]:
    """Return the features of which rows have most above what is usual."""
    best = np.argsort(-excess, kind="stable")[:MARKS].tolist()
    return [name(column) for column in best if excess[column] > 0]


def marking_words(
    excess: NDArray[np.float64], features: FittedTextFeatures, texts: Sequence[str]
) -> list[str]:
    """Return the words and phrases that texts have most above what is usual.

    A piece of words stands for the word of the texts that has it most often. What is part of one
    that is listed already says nothing new.
    """
    best = np.argsort(-excess, kind="stable")[:_COLUMNS].tolist()
    best = [column for column in best if excess[column] > 0]
    texts = [normalized(text, lowercase=features.grams_.lowercase) for text in texts[:_TEXTS]]
    words = Counter(word for text in texts for _, word in placed_words(text))
    found = features.names(texts, sorted(best))
    grams = [found[column][0] for column in best if column in found]
    marks: list[str] = []
    for gram in sorted(grams, key=lambda gram: gram.startswith("'")):  # whole words come first
        if gram.startswith("'"):
            whole = [word for word in words if gram[1:-1] in f" {word} "]
            gram = max(whole, key=words.__getitem__, default="")
        if gram and not any(gram in mark or mark in gram for mark in marks):
            marks.append(gram)
    return marks[:MARKS]
