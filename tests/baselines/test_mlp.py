import numpy as np
import pytest
import scipy.sparse as sp
import torch
from test_all_baselines import X_TEST, Y_TEST, X, Y

from dsnc.baselines import MLPBaseline
from dsnc.errors import InputError

ACTIVATIONS = {"sigmoid": torch.sigmoid, "tanh": torch.tanh, "relu": torch.relu}


def quick(**settings):
    fast = {"n_units": 12, "max_epochs": 20, "learning_rate": 0.05, "device": "cpu"}
    return MLPBaseline(**fast | settings)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("rows", [X, sp.csr_array(X)], ids=["dense", "sparse"])
def test_it_is_a_hidden_layer_under_a_softmax(activation, rows):
    """The fitted model, computed by hand from its arrays."""
    model = quick(activation=activation).fit(rows, Y)
    assert model.score(X_TEST, Y_TEST) > 0.9
    layer = model.predictor_.encoder.layers[0]
    hidden = ACTIVATIONS[activation](torch.from_numpy(X_TEST @ layer.weight + layer.bias)).numpy()
    if activation == "sigmoid":
        hidden = 2 * hidden - 1  # what the next layer takes up in its weights and biases
    decoder = model.predictor_.decoder
    scores = torch.from_numpy(hidden @ decoder.weight.T + decoder.bias)
    expected = torch.softmax(scores, dim=1).numpy()
    np.testing.assert_allclose(model.predict_proba(X_TEST), expected, atol=1e-4)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_regularizer_draws_the_classes_hidden_layers_together(activation):
    def spread(model):
        logits = torch.from_numpy(model.predictor_.logits(X))
        hidden = ACTIVATIONS[activation](logits).numpy()
        means = np.stack([hidden[label == Y].mean(axis=0) for label in model.classes_])
        within = np.mean([hidden[label == Y].var(axis=0).sum() for label in model.classes_])
        return within / means.var(axis=0).sum()

    settings = {"activation": activation, "validation_fraction": 0.0}
    plain = quick(**settings).fit(X, Y)
    regularized = quick(**settings, beta=0.3, gamma=0.1).fit(X, Y)
    assert spread(regularized) < spread(plain)
    assert max(plain.history_.column("inter")) == 0 < min(regularized.history_.column("inter"))


def test_the_factor_adapts():
    model = quick(beta=1e-3, gamma=1e-3, adaptive="previous").fit(X, Y)
    assert len(set(model.history_.column("factor"))) > 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_units": 0}, "n_units=0 must be a whole number"),
        ({"activation": "sigmoidal"}, "activation='sigmoidal' is not known. Did you mean 'sigm"),
        ({"beta": -1}, "beta=-1 must be"),
        ({"label_smoothing": 2}, "label_smoothing=2 must be"),
    ],
)
def test_what_cannot_work_is_named(settings, message):
    with pytest.raises(InputError, match=message):
        quick(**settings).fit(X, Y)


def test_the_biases_start_at_zero_whatever_the_frequencies():
    rare = np.concatenate([np.flatnonzero(Y == Y[0])[:3], np.flatnonzero(Y != Y[0])])
    model = quick(max_epochs=1, learning_rate=1e-9, validation_fraction=0).fit(X[rare], Y[rare])
    assert np.abs(model.predictor_.decoder.bias).max() < 1e-6
