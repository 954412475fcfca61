"""Few rows of three classes, the smallest models of them, and their files."""

import numpy as np

from dsnc import DSNCClassifier

X = np.random.default_rng(0).normal(size=(60, 5)) + 3 * np.eye(5)[np.arange(60) % 3]
Y = np.arange(60) % 3


def quick(**settings):
    return DSNCClassifier(**{"n_bits": 10, "max_epochs": 2, "device": "cpu"} | settings)


def contents(folder):
    """What a model file says, without its card, which has the name of the folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".md"}
