"""Rows of six animals, far apart, and small models of them: for tests of the classifier."""

import numpy as np
import torch
from torch import nn

from dsnc import DSNCClassifier

ANIMALS = np.array(["ant", "bee", "cat", "dog", "eel", "fox"])


def blobs(n=120, n_classes=6, n_features=8, seed=0, shift=0.0):
    """Rows around one point per class, far apart."""
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(0).normal(scale=6, size=(n_classes, n_features))
    y = np.arange(n) % n_classes
    return centers[y] + rng.normal(size=(n, n_features)) + shift, ANIMALS[y]


def quick(**settings):
    fast = {"n_bits": 16, "max_epochs": 10, "learning_rate": 0.1, "device": "cpu"}
    return DSNCClassifier(**fast | settings)


X, Y = blobs()
X_TEST, Y_TEST = blobs(seed=1, n=90)
X.flags.writeable = Y.flags.writeable = False


class Net(nn.Module):
    """A module of one's own, the same at every birth."""

    def __init__(self, n_features=8, n_bits=16):
        super().__init__()
        self.layer = nn.Linear(n_features, n_bits)
        generator = torch.Generator().manual_seed(0)
        nn.init.normal_(self.layer.weight, generator=generator)
        nn.init.zeros_(self.layer.bias)

    def forward(self, rows):
        return self.layer(rows)
