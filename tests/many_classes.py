"""Rows of 720 classes, and what several files about the classifier's decoders share."""

import numpy as np

import dsnc
from dsnc import DSNCClassifier
from dsnc.data.synthetic import make_dense_codes

PROBLEM = {"n_classes": 720, "n_features": 24, "n_bits": 14, "feature_noise": 0.3}
NAMES = ["linear", "soft", "nearest", "table", "shortlist"]
CHOICES = [
    *NAMES,
    {"name": "nearest", "label": "predicted", "n_neighbors": 3},
    {"name": "table", "source": "linear", "probes": 4},
    {"name": "shortlist", "size": 5, "closeness": 0.25},
    {"name": "shortlist", "known": "weights"},
    {"name": "shortlist", "known": "training"},
]
NO_CODES = "the model has no training codes; pass the training rows as X and y"


def rows_and_labels(n, part):
    """Labels are numbers that are not those of the classes."""
    data = make_dense_codes(n, part=part, **PROBLEM)
    return data.X, 3 * data.y + 1000


def quick(**settings):
    fast = {
        "n_bits": 14,
        "max_epochs": 6,
        "learning_rate": 0.1,
        "gradient": {"name": "straight_through", "n_draws": 1},
        "batch_size": 200,
    }
    return DSNCClassifier(**{**fast, "device": "cpu", "reranker": None, **settings})


X, Y = rows_and_labels(4000, part=0)
X_TEST, Y_TEST = rows_and_labels(400, part=1)
FEW = slice(0, 400)
X.flags.writeable = Y.flags.writeable = False


def same_answers(one, other, rows=X_TEST):
    assert np.array_equal(one.predict(rows), other.predict(rows))
    assert np.array_equal(one.predict_proba(rows), other.predict_proba(rows))
    for mine, theirs in zip(one.predict_top_k(rows), other.predict_top_k(rows), strict=True):
        assert np.array_equal(mine, theirs)


def reloaded(model, folder):
    model.save(folder / "model", overwrite=True)
    return dsnc.load(folder / "model")
