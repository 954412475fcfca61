"""Two stages, made up: rows, candidates of a decoder, and class vectors."""

import numpy as np
import scipy.sparse as sp

from dsnc.codes import Encoded
from dsnc.rerank import ClassVectors, FeatureReranker

N_BITS = 4


class Stages:
    """n rows of d features, and m of K classes as candidates; classes may have several vectors."""

    def __init__(self, seed, *, n=12, d=9, K=7, m=5, dense=False, unit=False, several=False):
        rng = np.random.default_rng(seed)
        # Few values, so that there are ties.
        self.X = rng.integers(-2, 3, (n, d)).astype(np.float32) * (rng.random((n, d)) < 0.5)
        counts = rng.integers(1, 4, K) if several else np.ones(K, int)
        V, firsts = counts.sum(), np.concatenate([[0], np.cumsum(counts)])
        weights = rng.integers(-2, 3, (V, d)) * (rng.random((V, d)) < 0.6)
        settings = {"unit_rows": unit, "firsts": firsts if several else ()}
        self.vectors = ClassVectors.from_matrix(weights, rng.integers(-1, 2, V), **settings)
        self.classes = np.array([rng.permutation(K)[:m] for _ in range(n)])
        self.scores = -np.sort(rng.integers(-6, 1, (n, m)) / -2).astype(np.float32)
        short = rng.random(n) < 0.3
        self.classes[short, 2:], self.scores[short, 2:] = -1, -np.inf
        rows = self.X if dense else sp.csr_matrix(self.X)
        self.encoded = Encoded(np.zeros((n, N_BITS)), source=(rows, slice(0, n)))

    def look(self, **settings):
        """Return what a second look makes of the candidates."""
        classes, scores = self.classes.copy(), self.scores.copy()
        inside = FeatureReranker(self.vectors, **settings).look(self.encoded, classes, scores)
        return classes, scores, inside


def second_look(X, classes, scores, vectors, mix, reach):
    """Return (classes, scores, how many were looked at) of each row, one candidate at a time."""
    answers = []
    for x, candidates, first in zip(X, classes.tolist(), scores.tolist(), strict=True):
        if vectors.unit_rows and x.any():
            x = x / np.sqrt((x.astype(float) ** 2).sum())
        near = [
            k for k, s in zip(candidates, first, strict=True) if k >= 0 and first[0] - s <= reach
        ]
        worth = {k: mix * s + margin(vectors, x, k) for k, s in zip(near, first, strict=False)}
        # Rounded: a tie stays one.
        order = sorted(near, key=lambda k: (-round(worth[k], 4), k)) if len(near) > 1 else near
        values = [worth[k] for k in order] if len(near) > 1 else first[:1]
        answers.append((order + candidates[len(near) :], values + first[len(near) :], len(near)))
    return answers


def margin(vectors, x, k):
    """Return what the vectors of a class say of a row, whose length is 1 if it has to be."""
    own = vectors.of_class(k)
    return float((vectors.matrix().toarray()[own] @ x + vectors.bias[own]).max())
