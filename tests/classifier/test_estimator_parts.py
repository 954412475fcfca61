"""The parts of a DSNCClassifier that can be chosen, and the bits that numpy and torch give."""

import importlib
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from torch import nn

from animals import X_TEST, Y_TEST, Net, X, Y, blobs, quick
from comparing import same_model
from dsnc import PAPER, PAPER_REGULARIZED
from dsnc.errors import DsncWarning, InputError
from dsnc.gradients import Relaxed, StraightThrough

# Its own arithmetic


@pytest.mark.parametrize("shift", [0.0, 100.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_numpy_and_torch_give_the_same_bits(shift, sparse):
    """Bits may differ only where the logit is zero up to the rounding of its own sum."""
    rows, labels = blobs(n=240, shift=shift)
    many, _ = blobs(n=6000, seed=3, shift=shift)
    if sparse:
        rows, many = sp.csr_array(rows), sp.csr_array(many)
    model = quick().fit(rows, labels)
    encoder = model.predictor_.encoder
    ours = model.predictor_.logits(many)
    theirs = torch_logits(model, many)
    layer = encoder.layers[0]
    dense = np.abs(many.toarray() if sparse else many)
    if encoder.row_normalize:
        dense = dense / np.linalg.norm(dense, axis=1, keepdims=True)
    rounding = np.finfo(np.float32).eps * (dense @ np.abs(layer.weight) + np.abs(layer.bias))
    assert (np.abs(ours - theirs) <= 8 * rounding).all()
    differ = (ours > 0) != (theirs > 0)
    assert (np.abs(ours[differ]) <= 8 * rounding[differ]).all()
    assert differ.mean() < 1e-4


def test_numpy_and_torch_give_the_same_bits_after_hidden_layers():
    model = quick(encoder="mlp", hidden=(32, 16)).fit(X, Y)
    many, _ = blobs(n=6000, seed=3)
    ours, theirs = model.predictor_.logits(many), torch_logits(model, many)
    error = np.abs(ours - theirs).max()
    assert error < 1e-5 * np.abs(theirs).max()
    differ = (ours > 0) != (theirs > 0)
    assert np.abs(theirs[differ]).max(initial=0) <= error
    assert differ.mean() < 1e-4


def torch_logits(model, rows):
    """Return the logits of the module that was trained, in torch."""
    from dsnc.training.batches import make_source

    learner = model._learner
    source = make_source(rows, learner.world.device, unit_rows=learner.unit_rows)
    with torch.no_grad():
        batch = source.take(torch.arange(rows.shape[0]))
        return learner.objective.encoder.eval()(batch).numpy()


# The parts that can be chosen


@pytest.mark.parametrize("gradient", ["straight_through", "reinforce", "relaxed", "disarm"])
def test_gradients_by_name(gradient):
    model = quick(gradient=gradient, max_epochs=25).fit(X, Y)
    assert model.score(X_TEST, Y_TEST) > 0.6


def test_gradients_as_instance_and_mapping():
    gradient = StraightThrough(n_draws=2, slope_growth=1.01)
    by_instance = quick(gradient=gradient).fit(X, Y)
    mapping = {"name": "straight_through", "n_draws": 2, "slope_growth": 1.01}
    by_mapping = quick(gradient=mapping).fit(X, Y)
    assert same_model(by_instance, by_mapping)
    assert same_model(by_instance, clone(by_instance).fit(X, Y))
    assert mapping == {"name": "straight_through", "n_draws": 2, "slope_growth": 1.01}
    assert not same_model(by_instance, quick(gradient=Relaxed(temperature=0.5)).fit(X, Y))


@pytest.mark.parametrize("recipe", [PAPER, PAPER_REGULARIZED])
def test_the_papers_recipes(recipe):
    model = quick(**{**recipe, "max_epochs": 20, "learning_rate": 0.1}).fit(X, Y)
    assert model.score(X_TEST, Y_TEST) > 0.8
    assert model.code_values == "bits"
    # It decodes as the paper does: the class of the highest score of the hard code.
    assert model.predictor_.decoder.name == "linear"
    bits = model.encode(X_TEST).to_bits() * 2.0 - 1
    linear = model.predictor_.decoder
    scores = bits @ linear.weight.T.astype(np.float64) + linear.bias
    assert model.predict(X_TEST).tolist() == model.classes_[scores.argmax(axis=1)].tolist()
    measured = model.history_.column("validation_accuracy")
    assert [number for number, value in enumerate(measured, 1) if value is not None] == [10, 20]
    regularized = "beta" in recipe
    assert (max(model.history_.column("inter")) > 0) == regularized


def test_every_training_code_is_known_or_it_is_said_loudly(monkeypatch):
    whole = quick(decoder="nearest").fit(X, Y)
    n_rows = len(whole._known_evidence().targets)
    assert n_rows == whole.data_["rows"]
    gather = importlib.import_module("dsnc.selection.gather")  # the function hides the module
    monkeypatch.setattr(gather, "_CODE_BYTES", 16 * (n_rows - 10))
    with pytest.warns(
        DsncWarning, match=f"'nearest', use only {n_rows - 10} of them, drawn at random"
    ):
        some = quick(decoder="nearest").fit(X, Y)
    assert len(some._known_evidence().targets) == n_rows - 10


@pytest.mark.parametrize("value", [True, False, "worst", None])
def test_the_rule_of_the_factor_has_a_name(value):
    with pytest.raises(InputError, match="adaptive=.* Valid: best, none, previous"):
        quick(adaptive=value).fit(X, Y)


@pytest.mark.parametrize(
    "settings",
    [
        {"encoder": "mlp", "hidden": (32,)},
        {"encoder": "mlp", "hidden": [16, 16], "normalize": False},
        {"code_values": "bits"},
        {"scaling": "none", "learning_rate": 0.05},
        {"scaling": "unit_rows"},
        {"beta": 0.01, "gamma": 0.01},
        {"beta": 0.01, "gamma": 0.01, "adaptive": "previous"},
        {"beta": 0.01, "adaptive": "best"},
        {"validation_codes": "sampled"},
        {"label_smoothing": 0.1},
        {"schedule": "constant"},
        {"precision": "bfloat16"},
        {"weight_decay": 1e-4},
        {"batch_size": 7},
    ],
    ids=str,
)
def test_other_settings_learn_as_well(settings):
    assert quick(**settings).fit(X, Y).score(X_TEST, Y_TEST) > 0.8


def test_a_module_of_ones_own(tmp_path):
    net = Net()
    model = quick(encoder=net).fit(X, Y)
    assert model.score(X_TEST, Y_TEST) > 0.8
    assert model.encode(X_TEST).n_bits == 16
    assert torch.equal(net.layer.weight, Net().layer.weight)  # what was passed is left alone
    again = clone(model).fit(X, Y)
    assert np.array_equal(again.predict_proba(X_TEST), model.predict_proba(X_TEST))
    copied = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copied.predict_proba(X_TEST), model.predict_proba(X_TEST))
    with pytest.raises(InputError, match="encoder ModuleEncoder .* model file"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_module_of_ones_own_sees_the_same_rows_in_training_and_after():
    rows = X * np.linspace(1, 50, len(X))[:, None]
    model = quick(encoder=Net(), scaling="unit_rows").fit(rows, Y)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(
        model.predictor_.logits(rows), model.predictor_.logits(unit), rtol=1e-3, atol=1e-4
    )


def test_a_module_of_ones_own_may_take_sparse_rows():
    class Bag(Net):
        accepts_sparse = True

        def forward(self, rows):
            weight = self.layer.weight.T
            bags = nn.functional.embedding_bag(
                rows.indices, weight, rows.offsets, mode="sum", per_sample_weights=rows.values
            )
            return bags + self.layer.bias

    rows = sp.csr_array(X)
    assert quick(encoder=Bag()).fit(rows, Y).score(rows, Y) > 0.8
    with pytest.raises(InputError, match="encoder: X is sparse .* accepts_sparse = True"):
        quick(encoder=Net()).fit(rows, Y)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Linear(3, 16), "your module cannot map rows of 8 features"),
        (nn.Linear(8, 7), r"your module maps 2 rows to shape \(2, 7\); expected n_bits=16"),
    ],
)
def test_a_module_of_the_wrong_width_is_named(module, message):
    with pytest.raises(InputError, match=message):
        quick(encoder=module).fit(*blobs())
