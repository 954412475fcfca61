"""Rows with sets of labels that a linear encoder can learn."""

import numpy as np
import scipy.sparse as sp

N_LABELS, N_FEATURES = 12, 40


def make_sets(n=400, n_labels=N_LABELS, seed=0, noise=0.3):
    """Each label has features of its own; rows have no label, one, or several."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n, n_labels)) < 1.5 / n_labels
    marks = np.random.default_rng(99).normal(size=(n_labels, N_FEATURES))
    X = Y @ marks + noise * rng.normal(size=(n, N_FEATURES))
    return X.astype(np.float32), Y.astype(np.int64)


def as_lists(Y, names=None):
    names = [f"label {k:02}" for k in range(Y.shape[1])] if names is None else names
    return [[names[k] for k in np.flatnonzero(row)] for row in Y]


def as_csr(Y):
    return sp.csr_matrix(Y)
