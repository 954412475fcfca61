"""partial_fit: call by call, from a fitted or a loaded model, and what is refused."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import dsnc
from animals import ANIMALS, X_TEST, Y_TEST, Net, X, Y, blobs, quick
from comparing import same_model
from dsnc.errors import InputError


def test_partial_fit_learns_over_the_calls():
    model = quick(learning_rate=0.05)
    scores = []
    for call in range(12):
        rows = slice(call % 3, None, 3)
        model.partial_fit(X[rows], Y[rows], classes=ANIMALS if call == 0 else None)
        scores.append(model.score(X_TEST, Y_TEST))
    assert scores[-1] > max(0.9, scores[0])
    assert model.classes_.tolist() == ANIMALS.tolist()


def test_partial_fit_knows_classes_that_did_not_come_yet():
    some = Y != "fox"
    model = quick().partial_fit(X[some], Y[some], classes=ANIMALS)
    assert model.predict_proba(X).shape == (len(X), 6)
    for _ in range(6):
        model.partial_fit(X, Y)
    assert np.mean(model.predict(X)[Y == "fox"] == "fox") > 0.5


WAYS = [(way, kind) for way in ("at once", "pickled") for kind in ("linear", "mlp", "own")]
WAYS += [("loaded", "linear"), ("loaded", "mlp")]  # a module of one's own has no model file


@pytest.mark.parametrize(("way", "encoder"), WAYS)
@pytest.mark.parametrize("code_values", ["signs", "bits"])
def test_partial_fit_goes_on_from_a_model(way, code_values, encoder, tmp_path):
    """The steps are tiny: a model that was taken over rightly is still what it was."""
    rows, test_rows = X + 50, X_TEST + 50
    module = Net() if encoder == "own" else encoder
    scaling = "unit_rows" if encoder == "own" else "auto"
    model = quick(
        encoder=module, hidden=(16,), code_values=code_values, scaling=scaling, max_epochs=15
    ).fit(rows, Y)
    before = model.predictor_.logits(test_rows), model.predict_proba(test_rows)
    if way == "pickled":
        model = pickle.loads(pickle.dumps(model))
    elif way == "loaded":
        model.save(tmp_path / "model")
        model = dsnc.load(tmp_path / "model").set_params(device="cpu")
    model.set_params(learning_rate=1e-7).partial_fit(rows, Y)
    if way == "at once" and encoder == "mlp":  # its batch normalization goes on averaging
        assert model.score(test_rows, Y_TEST) > 0.8
        return
    scale = np.abs(before[0]).max()
    np.testing.assert_allclose(
        model.predictor_.logits(test_rows), before[0], rtol=1e-3, atol=1e-3 * scale
    )
    # a bit near zero may turn, which moves a few rows
    moved = np.abs(model.predict_proba(test_rows) - before[1]).max(axis=1) > 0.01
    assert moved.mean() < 0.05


def test_partial_fit_follows_set_params():
    model = quick().fit(X, Y)
    before = model.predictor_.decoder.weight
    model.set_params(learning_rate=1e-9).partial_fit(X, Y)
    with pytest.raises(InputError, match="learning_rate=0"):
        copy.deepcopy(model).set_params(learning_rate=0).partial_fit(X, Y)
    np.testing.assert_allclose(model.predictor_.decoder.weight, before, atol=1e-6)


def test_partial_fit_takes_sparse_and_dense_rows():
    rows = sp.csr_array(X)
    model = quick().partial_fit(rows, Y, classes=ANIMALS)
    for _ in range(8):
        model.partial_fit(X, Y).partial_fit(rows, Y)
    assert model.score(X, Y) > 0.8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "classes must list all labels in the first call"),
        ({"classes": ["ant"]}, "classes has one class, .*'ant'.*at least 2"),
        ({"classes": []}, "classes has no class"),
        ({"classes": ANIMALS[1:]}, r"y\[\d+\] is 'ant', which is not one of the 5 classes"),
    ],
)
def test_wrong_first_calls_of_partial_fit(arguments, message):
    with pytest.raises(InputError, match=message):
        quick().partial_fit(X, Y, **arguments)


def test_wrong_later_calls_of_partial_fit():
    model = pickle.loads(pickle.dumps(quick().fit(X, Y)))
    with pytest.raises(InputError, match="classes differs from the classes in the first call"):
        model.partial_fit(X, Y, classes=["ant", "bee"])
    with pytest.raises(InputError, match="use one type"):
        model.partial_fit(X, np.arange(len(X)) % 6)
    with pytest.raises(ValueError, match="X has 3 features"):
        model.partial_fit(X[:, :3], Y)
    model.partial_fit(X, Y, classes=ANIMALS[::-1])  # in any order


def test_fit_forgets_what_was_before():
    model = quick().fit(X, Y)
    again = pickle.loads(pickle.dumps(model)).partial_fit(X_TEST, Y_TEST).fit(X, Y)
    assert same_model(again, model)
    other = quick().fit(X[:, :3], np.arange(len(X)) % 2)
    assert other.fit(X, Y).n_features_in_ == 8
    assert same_model(other, model)


def test_a_loaded_model_cannot_change_its_bits(tmp_path):
    quick().fit(*blobs()).save(tmp_path / "model")
    model = dsnc.load(tmp_path / "model").set_params(n_bits=9)
    with pytest.raises(InputError, match="n_bits=9, but the model has 16 bits"):
        model.partial_fit(*blobs())
