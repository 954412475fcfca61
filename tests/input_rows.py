"""Rows of four classes, and small models of them: for tests of what reaches fit and predict."""

import numpy as np

from dsnc import DSNCClassifier


def blobs(n=80, n_classes=4, n_features=5, seed=0):
    """Rows around one point per class, far apart; no number is negative."""
    rng = np.random.default_rng(seed)
    centers = rng.permutation(np.linspace(0, 200, n_classes * n_features))
    y = np.arange(n) % n_classes
    X = centers.reshape(n_classes, n_features)[y] + rng.normal(scale=3, size=(n, n_features))
    return np.clip(X, 0, 255), y


def quick(**settings):
    fast = {"n_bits": 12, "max_epochs": 12, "learning_rate": 0.1, "device": "cpu"}
    return DSNCClassifier(**fast | settings)


X, Y = blobs()
X.flags.writeable = Y.flags.writeable = False  # whoever changes them is found out
