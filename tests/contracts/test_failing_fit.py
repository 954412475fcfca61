"""A `fit` that fails changes nothing: not what is fitted, not what was never fitted."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from dsnc import DSNCClassifier
from dsnc.baselines import (
    ECOCBaseline,
    MLPBaseline,
    NearestCentroidBaseline,
    OneVsRestBaseline,
    nearest_centroid,
)
from dsnc.fast.rows import Feed
from dsnc.targets import Targets
from dsnc.training.batches import Batches

RNG = np.random.default_rng(0)
Y = np.arange(60) % 3
X = np.eye(3, 4)[Y] * 4 + RNG.normal(size=(60, 4))
WIDE = RNG.normal(size=(60, 7))  # a fit to these would change `n_features_in_`
LABELS = np.array(["ant", "bee", "cat", "dog"])[np.arange(60) % 4]

FAST = {"max_epochs": 2, "device": "cpu"}
MODELS = {
    "dsnc": lambda: DSNCClassifier(n_bits=6, **FAST),
    "dsnc-shortlist": lambda: DSNCClassifier(n_bits=6, decoder="shortlist", **FAST),
    "mlp": lambda: MLPBaseline(n_units=6, **FAST),
    "ecoc": lambda: ECOCBaseline(n_bits=6, **FAST),
    "ecoc-trees": lambda: ECOCBaseline(n_bits=6, base=DecisionTreeClassifier(max_depth=2)),
    "one_vs_rest": lambda: OneVsRestBaseline(**FAST),
    "nearest_centroid": NearestCentroidBaseline,
}
EACH = pytest.mark.parametrize("name", MODELS)


def with_nan():
    rows = WIDE.copy()
    rows[7, 3] = np.nan
    return rows


REFUSED = {
    "NaN in X": (with_nan(), LABELS, None),
    "infinity for float32": (WIDE * 1e39, LABELS, None),
    "too few labels": (WIDE, LABELS[:-1], None),
    "one class": (WIDE, np.full(60, "ant"), None),
    "numbers that are not classes": (WIDE, np.linspace(0, 1, 60), None),
    "a weight too few": (WIDE, LABELS, np.ones(59)),
    "a weight below 0": (WIDE, LABELS, -np.ones(60)),
    "no weight at all": (WIDE, LABELS, np.zeros(60)),
}


class State:
    """Everything that one can see of a fitted model."""

    def __init__(self, model, folder):
        self.attributes = dict(vars(model))
        self.answers = [model.predict(X), model.predict_proba(X), *model.predict_top_k(X, k=2)]
        self.files = {}
        if getattr(model, "base", None) is None:  # a model file cannot hold what a user wrote
            model.save(folder)
            self.files = {file.name: file.read_bytes() for file in folder.glob("model.*")}

    def assert_same(self, other):
        assert self.attributes.keys() == other.attributes.keys()
        for key, value in self.attributes.items():
            assert other.attributes[key] is value, key
        for mine, theirs in zip(self.answers, other.answers, strict=True):
            assert np.array_equal(mine, theirs)
        assert self.files == other.files


def fail(model, folder, error, fit):
    before = State(model, folder / "before")
    with pytest.raises(error):
        fit(model)
    before.assert_same(State(model, folder / "after"))


def fail_unfitted(model, error, fit):
    with pytest.raises(error):
        fit(model)
    assert set(vars(model)) == set(model.get_params(deep=False))
    assert not hasattr(model, "classes_")
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.fixture(scope="module")
def fitted():
    return {name: make().fit(X, Y) for name, make in MODELS.items()}


@pytest.mark.parametrize("case", REFUSED)
@EACH
def test_data_that_are_refused(fitted, tmp_path, name, case):
    rows, labels, weight = REFUSED[case]

    def fit(model):
        model.fit(rows, labels, sample_weight=weight)

    fail(fitted[name], tmp_path, ValueError, fit)
    fail_unfitted(MODELS[name](), ValueError, fit)


@pytest.mark.parametrize("name", ["dsnc", "dsnc-shortlist", "mlp"])
def test_a_loss_that_diverges(fitted, tmp_path, name):
    rate = fitted[name].learning_rate
    fitted[name].learning_rate = 1e38

    def fit(model):
        model.learning_rate = 1e38
        model.fit(WIDE, LABELS)

    try:
        fail(fitted[name], tmp_path, ValueError, fit)
    finally:
        fitted[name].learning_rate = rate
    fail_unfitted(MODELS[name](), ValueError, fit)


@EACH
def test_an_interrupt_in_the_first_epoch(fitted, tmp_path, monkeypatch, name):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(Batches, "epoch", interrupt)
    monkeypatch.setattr(Feed, "take", interrupt)
    monkeypatch.setattr(nearest_centroid, "_means", interrupt)
    monkeypatch.setattr(DecisionTreeClassifier, "fit", interrupt)
    fail(fitted[name], tmp_path, KeyboardInterrupt, lambda model: model.fit(WIDE, LABELS))
    fail_unfitted(MODELS[name](), KeyboardInterrupt, lambda model: model.fit(WIDE, LABELS))


@pytest.mark.parametrize("name", ["dsnc", "mlp", "ecoc", "one_vs_rest"])
def test_the_last_step(fitted, tmp_path, monkeypatch, name):
    """What fails after training, here the description of the data, fails as well."""

    def refuse(*arguments):
        raise MemoryError

    monkeypatch.setattr(Targets, "arrays", refuse)  # of the data's fingerprint
    fail(fitted[name], tmp_path, MemoryError, lambda model: model.fit(WIDE, LABELS))
    fail_unfitted(MODELS[name](), MemoryError, lambda model: model.fit(WIDE, LABELS))


def test_after_a_failed_pass_training_goes_on_from_what_predicts():
    model = DSNCClassifier(n_bits=6, decoder="linear", learning_rate=1e-9, **FAST)
    model.partial_fit(X, Y, classes=[0, 1, 2])
    before = model.predict_proba(X)
    model.learning_rate = 1e38
    with pytest.raises(ValueError, match="The loss is"):
        model.partial_fit(X, Y)
    assert np.array_equal(model.predict_proba(X), before)
    model.learning_rate = 1e-9
    assert np.allclose(model.partial_fit(X, Y).predict_proba(X), before, atol=1e-4)
