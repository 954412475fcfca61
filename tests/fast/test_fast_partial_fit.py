"""Pass by pass: from scratch, after fit, from a file; what was learned is not forgotten."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import dsnc
import many_classes
from animals import ANIMALS, X_TEST, Y_TEST, X, Y
from comparing import same_model
from dsnc import DSNCClassifier
from dsnc.errors import InputError
from dsnc.targets import Targets
from dsnc.training.examples import Examples

WAYS = ["at once", "pickled", "loaded"]


def quick(**settings):
    return DSNCClassifier(**{"n_bits": 16, "max_epochs": 12, "trainer": "fast"} | settings)


def brought(model, way, folder):
    if way == "pickled":
        return pickle.loads(pickle.dumps(model))
    if way == "loaded":
        model.save(folder / "model")
        return dsnc.load(folder / "model")
    return model


def test_models_are_learned_over_the_calls():
    order = np.random.default_rng(0).permutation(len(X)).reshape(4, 30)
    models = quick(), quick()
    for model in models:
        for call in range(24):
            model.partial_fit(X[order[call % 4]], Y[order[call % 4]], classes=ANIMALS)
    assert models[0].score(X_TEST, Y_TEST) > 0.9
    assert models[0].trainer_ == "fast" and models[0].n_iter_ == 1
    assert same_model(*models)


def test_classes_without_rows_are_known():
    some = Y != "fox"
    model = quick().partial_fit(X[some], Y[some], classes=ANIMALS)
    assert model.predict_proba(X).shape == (len(X), 6)
    for _ in range(8):
        model.partial_fit(X, Y)
    assert np.mean(model.predict(X)[Y == "fox"] == "fox") > 0.5


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_tiny_steps_leave_a_model_as_it_was(way, kind, tmp_path):
    rows, test_rows = X + 50, X_TEST + 50
    scaling = "auto"
    if kind == "sparse":
        rows, test_rows, scaling = sp.csr_array(X), sp.csr_array(X_TEST), "unit_rows"
    model = quick(scaling=scaling).fit(rows, Y)
    before = model.predictor_.logits(test_rows)
    model = brought(model, way, tmp_path)
    model.set_params(learning_rate=1e-7).partial_fit(rows, Y)
    after, scale = model.predictor_.logits(test_rows), np.abs(before).max()
    np.testing.assert_allclose(after, before, rtol=1e-3, atol=1e-4 * scale)
    assert model.trainer_ == "fast"


@pytest.fixture(scope="module")
def many():
    model = quick(n_bits=40, max_epochs=8, decoder="soft")
    return model.fit(many_classes.X, many_classes.Y)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [20, 500])
def test_a_few_rows_do_not_make_it_forget_the_others(many, way, size, tmp_path):
    rows = np.random.default_rng(0).permutation(len(many_classes.Y))
    model, others = pickle.loads(pickle.dumps(many)), rows[1000:3000]
    if way == "at once":
        model.__dict__.update(_learner=pickle.loads(pickle.dumps(many._learner)))
    model = brought(model, way, tmp_path)
    before = model.score(many_classes.X[others], many_classes.Y[others])
    for start in range(0, 100, 20) if size == 20 else [0]:
        part = rows[start : start + size]
        model.partial_fit(many_classes.X[part], many_classes.Y[part])
    assert model.score(many_classes.X[others], many_classes.Y[others]) > before - 0.08


def examples_of(model):
    numbers = np.searchsorted(model.classes_, many_classes.Y).astype(np.int32)
    return Examples(many_classes.X, Targets(numbers, len(model.classes_)))


def test_a_pass_that_fails_leaves_the_model_as_it_was():
    model = quick().fit(X, Y)
    before = pickle.loads(pickle.dumps(model))
    with pytest.raises(InputError, match="The loss is nan"):
        model.set_params(learning_rate=2e38).partial_fit(X, Y)
    assert same_model(model, before)
    model.set_params(learning_rate="auto").partial_fit(X, Y)
    assert model.score(X_TEST, Y_TEST) > 0.9


@pytest.mark.parametrize("n_bits", [16, 20])
def test_what_predicts_is_not_moved_by_what_learns(n_bits):
    model = quick(n_bits=n_bits, decoder="linear").fit(X, Y)
    before = model.predictor_.decoder
    weight, bias = before.weight.copy(), before.bias.copy()
    model.partial_fit(X, Y)
    assert np.array_equal(before.weight, weight) and np.array_equal(before.bias, bias)
    assert not np.array_equal(model.predictor_.decoder.weight, weight)


def test_a_loaded_model_cannot_change_its_bits(tmp_path):
    model = brought(quick().fit(X, Y), "loaded", tmp_path).set_params(n_bits=9)
    with pytest.raises(InputError, match="n_bits=9, but the model has 16 bits"):
        model.partial_fit(X, Y)


def test_a_model_of_torch_goes_on_fast_and_back(tmp_path):
    model = quick(trainer="torch", device="cpu", max_epochs=20).fit(X, Y)
    for trainer in ("fast", "torch"):
        model = brought(model, "pickled", tmp_path).set_params(trainer=trainer)
        model.partial_fit(X, Y)
        assert model.trainer_ == trainer
        assert model.score(X_TEST, Y_TEST) > 0.8
