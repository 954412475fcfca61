import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from test_all_baselines import X_TEST, Y_TEST, X, Y

from dsnc.baselines import NearestCentroidBaseline, OneVsRestBaseline, linear
from dsnc.baselines.objectives import OneVsRestObjective
from dsnc.data import make_dense_codes
from dsnc.encoders.torch import make_encoder
from dsnc.errors import InputError
from dsnc.training.batches import Batch
from dsnc.training.settings import RunSettings


def quick(**settings):
    return OneVsRestBaseline(**{"max_epochs": 20, "device": "cpu"} | settings)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("rows", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_each_class_is_scikit_learns_classifier(loss, rows):
    data = make_dense_codes(n_rows=400, n_classes=5, n_features=6)
    scaled = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0) / 3
    model = quick(loss=loss, C=0.05, scaling="none", max_epochs=300, batch_size=400)
    model.set_params(learning_rate=3.0 if rows is sp.csr_array else 0.1)
    model.fit(rows(scaled), data.y)
    # A constant feature is a bias that is regularized, as ours is.
    padded = np.column_stack([scaled, np.ones(len(scaled))])
    if loss == "logistic":
        twin = OneVsRestClassifier(LogisticRegression(C=0.05, fit_intercept=False, tol=1e-8))
    else:
        twin = LinearSVC(C=0.05, fit_intercept=False, tol=1e-8, max_iter=100_000)
    expected = twin.fit(padded, data.y).decision_function(padded)
    found = model.predictor_.logits(scaled)
    np.testing.assert_allclose(found, expected, atol=0.01 * expected.std())
    if loss == "logistic":
        np.testing.assert_allclose(
            model.predict_proba(scaled), twin.predict_proba(padded), atol=0.01
        )


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_the_loss_and_its_gradient_are_the_formula(loss):
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(7, 5, generator=generator, dtype=torch.float64)
    y = torch.tensor([0, 1, 2, 3, 4, 0, 1])
    weight = torch.rand(7, generator=generator, dtype=torch.float64)
    encoder = make_encoder("linear", 3, 5, generator)
    objective = OneVsRestObjective(
        RunSettings(n_bits=5), encoder, 5, generator, loss=loss, sparse=False
    )
    batch = Batch(logits, y, weight, (0, 7, 7), generator)
    ours, twin = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    total, reported = objective.loss(ours, batch)
    total.backward()
    margins = torch.where(torch.nn.functional.one_hot(y, 5) > 0, 1, -1) * twin
    each = torch.log1p(torch.exp(-margins)) if loss == "logistic" else (1 - margins).relu() ** 2
    expected = (each.sum(dim=1) * weight).sum()
    expected.backward()
    torch.testing.assert_close(total, expected)
    torch.testing.assert_close(ours.grad, twin.grad)
    assert reported == total and not reported.requires_grad


def test_outputs_of_the_squared_hinge_are_probabilities():
    model = quick().fit(X, Y)
    labels, probabilities = model.predict_top_k(X_TEST, k=6)
    outputs = model.predictor_.logits(X_TEST)
    assert np.array_equal(model.decision_function(X_TEST), outputs)
    share = np.maximum((1 + outputs) / 2, 0)
    expected = -np.sort(-share / share.sum(axis=1, keepdims=True), axis=1)
    np.testing.assert_allclose(probabilities, expected, atol=1e-6)
    assert model.score(X_TEST, Y_TEST) == np.mean(labels[:, 0] == Y_TEST)


def test_the_squared_hinge_finds_the_probability_of_a_coin():
    """Rows that tell nothing, of classes that are rare or not: the shares come back."""
    y = np.repeat([0, 1, 2], [700, 200, 100])
    model = quick(max_epochs=60, scaling="none").fit(np.zeros((1000, 1)), y)
    share = model.predict_proba(np.zeros((1, 1)))[0]
    np.testing.assert_allclose(share, [0.7, 0.2, 0.1], atol=0.03)


def test_memory_is_said_before_training(capsys, monkeypatch):
    needed = OneVsRestBaseline.memory(n_features=1000, n_classes=500, batch_size=100)
    assert needed.model == 4 * 1001 * 500
    assert needed.training == 5 * needed.model + 3 * 4 * 100 * 500
    quick(max_epochs=1, verbose=True).fit(X, Y)
    said = capsys.readouterr().err
    assert said.startswith("Memory: 0.00 GB for the model, 0.00 GB while it is trained.")
    monkeypatch.setattr(linear, "_on_device", lambda device: 1000)
    for model in (quick(), NearestCentroidBaseline()):
        with pytest.raises(InputError, match=r"needs 0.00 GB besides X, and device='cpu' has"):
            model.fit(X, Y)
        assert not hasattr(model, "predictor_")


def test_the_machine_has_memory():
    assert linear._on_device("cpu") is None or linear._on_device("cpu") > 1 << 20


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "hinge"}, "loss='hinge' is not known"),
        ({"C": -1.0}, "C=-1.0 must be a number above 0"),
    ],
)
def test_what_cannot_work_is_named(settings, message):
    with pytest.raises(InputError, match=message):
        quick(**settings).fit(X, Y)
