"""Class vectors trained on rows that are made up, and naive twins of how that is done."""

import numpy as np
import scipy.sparse as sp

from dsnc.fast import class_vectors
from dsnc.fast.class_vectors import Recipe, train_class_vectors
from dsnc.fast.rows import Feed, Scaling
from dsnc.targets import Targets
from dsnc.training.examples import Examples

N_CLASSES = 5
RECIPE = ("C", "n_weights", "seed")
EVERYTHING = 1_000_000  # weights, more than there are


def exactly(monkeypatch):
    """Solve all problems to the end."""
    monkeypatch.setattr(class_vectors, "_PASSES", 3000)
    monkeypatch.setattr(class_vectors, "_TOLERANCE", 1e-4)  # float32 knows no better
    monkeypatch.setattr(class_vectors, "_LEAST", 1e-9)
    monkeypatch.setattr(class_vectors, "_LEAN", 0.0, raising=False)  # nothing but the machine


def make_rows(n=80, n_features=12, n_classes=N_CLASSES, seed=0):
    """Rows with many zeros, one of them with nothing else, and their classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) < 0.4)
    X[np.arange(n), y % n_features] += 1
    X[3] = 0
    return X.astype(np.float32), y


def all_classes(n, n_classes=N_CLASSES):
    return np.tile(np.arange(n_classes, dtype=np.int32), (n, 1))


def train(
    X, y, candidates=None, *, n_classes=N_CLASSES, weight=None, rows=None, scaling=None, **more
):
    """Train vectors; by default each class's problem has all rows, and all of them once."""
    examples = Examples(X, Targets(np.asarray(y), n_classes), weight, rows)
    chosen = {"C": 1.0, "n_weights": EVERYTHING}
    if candidates is None:
        candidates = all_classes(examples.n_rows, n_classes)
    chosen |= {name: more.pop(name) for name in RECIPE if name in more}
    recipe = Recipe(**chosen)
    feed = Feed(examples, scaling or Scaling())
    return train_class_vectors(feed, candidates, n_classes, recipe, **more)


def margins(vectors, X):
    """Return what all classes say of each row, by a plain product."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    if vectors.unit_rows:
        length = np.linalg.norm(X, axis=1, keepdims=True)
        X = X / np.where(length > 0, length, 1)
    return X @ vectors.matrix().toarray().T + vectors.bias


def same_bits(one, other):
    pairs = zip(one.arrays().items(), other.arrays().items(), strict=True)
    return all(a == b and np.array_equal(x, y) for (a, x), (b, y) in pairs)


def shared_out(sets, candidates, n_classes):
    """Return the rows of each class's problem, each with whether it has the class."""
    problems = [[] for _ in range(n_classes)]
    for row, named in enumerate(candidates.tolist()):
        own = np.flatnonzero(sets[row]).tolist()
        for k in {*own, *named} - {-1}:
            problems[k].append((row, k in own))
    return problems
