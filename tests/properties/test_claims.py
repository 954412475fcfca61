"""The accuracy that a model claims is the one that its answers have, computed from outside."""

import json

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import dsnc
import many_classes
from dsnc.classifier.inputs import hold_out
from dsnc.targets import Targets

X, Y = make_blobs(900, centers=12, n_features=6, cluster_std=4.0, random_state=0)
X = X.astype(np.float32)
LATER = X[600:], Y[600:]
RNG = np.random.default_rng(0)
# What is easy weighs little: an accuracy with other weights is another one.
HEAVY = np.where(RNG.random(len(Y)) < 0.1, 0, np.where(Y < 6, 0.2, 3 * RNG.random(len(Y))))


@pytest.mark.parametrize("validation", ["held out", "given"])
@pytest.mark.parametrize("weight", [None, HEAVY], ids=["plain", "weighted"])
def test_validation_accuracy(weight, validation, tmp_path):
    model = dsnc.DSNCClassifier(n_bits=12, max_epochs=3, validation_fraction=0.3)
    if validation == "given":
        model.fit(X[:600], Y[:600], None if weight is None else weight[:600], validation=LATER)
        expected = np.mean(model.predict(LATER[0]) == LATER[1])
    else:
        model.fit(X, Y, weight)
        rows = None if weight is None else np.flatnonzero(weight)
        _, held = hold_out(Targets(Y, 12), 0.3, 0, rows)
        right = model.predict(X[held]) == Y[held]
        expected = np.average(right, weights=None if weight is None else weight[held])
    assert 0.1 < expected < 0.95
    assert model.figures_["validation_accuracy"] == pytest.approx(expected, abs=1e-6)
    model.save(tmp_path / "model")
    header = json.loads((tmp_path / "model" / "model.json").read_text())
    assert header["metrics"]["validation_accuracy"] == pytest.approx(expected, abs=1e-6)
    assert dsnc.load(tmp_path / "model").figures_ == model.figures_
    assert f"{100 * expected:.2f}" in (tmp_path / "model" / "README.md").read_text()


def test_sorted_and_shuffled_rows_give_models_that_are_alike():
    """The order of a file decides neither what is held out nor what is chosen, except by chance."""
    X, y = many_classes.X, many_classes.Y
    orders = np.argsort(y, kind="stable"), np.random.default_rng(0).permutation(len(y))
    models = [many_classes.quick(decoder="auto").fit(X[order], y[order]) for order in orders]
    claimed = [model.figures_["validation_accuracy"] for model in models]
    right = [model.predict(many_classes.X_TEST) == many_classes.Y_TEST for model in models]
    for one, other, n in ((*claimed, 400), (*(each.mean() for each in right), len(right[0]))):
        assert abs(one - other) < 5 * np.sqrt(2 * 0.25 / n)
    sizes = [model.data_["validation"]["rows"] for model in models]
    assert abs(sizes[0] - sizes[1]) < 5 * np.sqrt(720 * 0.01)
