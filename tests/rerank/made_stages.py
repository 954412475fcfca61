"""Two stages, made up: rows, candidates of a decoder, and class vectors."""

import numpy as np
import scipy.sparse as sp

from dsnc.codes import Encoded
from dsnc.rerank import ClassVectors, FeatureReranker

N_BITS = 4


class Stages:
    """n rows of d features, and m of K classes as candidates of each."""

    def __init__(self, seed, *, n=12, d=9, K=7, m=5, dense=False, unit=False):
        rng = np.random.default_rng(seed)
        # Few values, so that there are ties.
        self.X = rng.integers(-2, 3, (n, d)).astype(np.float32) * (rng.random((n, d)) < 0.5)
        weights = rng.integers(-2, 3, (K, d)) * (rng.random((K, d)) < 0.6)
        self.vectors = ClassVectors.from_matrix(weights, rng.integers(-1, 2, K), unit_rows=unit)
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
