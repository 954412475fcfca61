"""Which trainer takes a run, and why."""

import logging

import numpy as np
import pytest
from torch import nn

from comparing import same_model
from dsnc import PAPER, PAPER_REGULARIZED, DSNCClassifier
from dsnc.classifier.trainers import choose_trainer, tell_why_torch
from dsnc.errors import DsncWarning, InputError
from dsnc.gradients import StraightThrough
from dsnc.training.losses.sampled_softmax import SampledSoftmaxLoss
from dsnc.training.losses.sigmoid import SigmoidLoss
from dsnc.training.settings import Settings
from input_rows import X, Y

NEEDS_TORCH = [
    ({"encoder": "mlp"}, "encoder='mlp'"),
    ({"encoder": nn.Linear(5, 12)}, "encoder=Linear"),
    ({"gradient": "disarm"}, "gradient=DisARM(n_draws=4)"),
    (
        {"gradient": {"name": "straight_through", "slope_growth": 1.5}},
        "gradient=StraightThrough(n_draws=4, slope_growth=1.5)",
    ),
    ({"loss": "softmax"}, "loss='softmax'"),
    ({"loss": SigmoidLoss()}, "loss='sigmoid'"),
    ({"beta": 1e-3}, "beta=0.001"),
    ({"gamma": np.float32(0.5)}, "gamma=0.5"),
    ({"code_values": "bits"}, "code_values='bits'"),
    ({"weight_decay": 0.01}, "weight_decay=0.01"),
    ({"validation_codes": "sampled"}, "validation_codes='sampled'"),
    ({"precision": "bfloat16"}, "precision='bfloat16'"),
    ({"device": "cuda"}, "device='cuda'"),
    ({"device": "cuda:1"}, "device='cuda:1'"),
]
OF_ADAM = [
    ({"learning_rate": 0.02}, "learning_rate=0.02"),
    ({"batch_size": np.int64(64)}, "batch_size=64"),
]
OF_BOTH = [
    {},
    {"device": "cpu"},
    {"n_bits": 200},
    {"precision": "float32"},
    {"beta": np.float32(0), "gamma": 0, "weight_decay": np.float64(0)},
    {"gradient": StraightThrough(n_draws=1), "soft_share": 0.0},
    {"gradient": {"name": "straight_through"}},
    {"loss": "sampled_softmax"},
    {"loss": {"name": "sampled_sigmoid"}},
    {"loss": SampledSoftmaxLoss()},
    {"label_smoothing": 0.1, "scaling": "none", "schedule": "constant"},
    {"max_epochs": 3, "patience": 2, "time_limit": 1.0, "validation_every": 2},
    {"checkpoint": "folder", "callbacks": [print], "verbose": True},
    {"hidden": (3,), "normalize": False, "adaptive": "best"},  # of what is not asked for
]


@pytest.mark.parametrize(("settings", "reason"), NEEDS_TORCH, ids=str)
def test_what_only_torch_can_do(settings, reason):
    assert choose_trainer(Settings(**settings)) == ("torch", reason)
    assert choose_trainer(Settings(**settings, trainer="torch")) == ("torch", "")
    with pytest.raises(InputError) as caught:
        choose_trainer(Settings(**settings, trainer="fast"))
    advice = "leave that out, or use trainer='torch'."
    assert str(caught.value) == f"trainer='fast' does not support {reason}; {advice}"


@pytest.mark.parametrize(("settings", "reason"), OF_ADAM, ids=str)
def test_numbers_that_were_chosen_for_adam(settings, reason):
    assert choose_trainer(Settings(**settings)) == ("torch", reason)
    assert choose_trainer(Settings(**settings, trainer="fast")) == ("fast", "")


@pytest.mark.parametrize("settings", OF_BOTH, ids=str)
def test_whatever_both_can_do_is_done_fast(settings):
    assert choose_trainer(Settings(**settings)) == ("fast", "")
    assert choose_trainer(Settings(**settings, trainer="torch")) == ("torch", "")


def test_several_processes_are_for_torch(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert choose_trainer(Settings()) == ("fast", "")
    monkeypatch.setenv("WORLD_SIZE", "2")
    reason = "several processes (WORLD_SIZE is set)"
    assert choose_trainer(Settings()) == ("torch", reason)
    with pytest.raises(InputError, match="does not support several processes"):
        choose_trainer(Settings(trainer="fast"))


@pytest.mark.parametrize("recipe", [PAPER, PAPER_REGULARIZED])
def test_the_paper_is_torch(recipe):
    assert recipe["trainer"] == "torch"
    plain = {**recipe, "max_epochs": 1, "n_bits": 8, "device": "cpu"}
    assert DSNCClassifier(**plain).fit(X, Y).trainer_ == "torch"


@pytest.mark.parametrize(
    ("settings", "trainer"),
    [
        ({}, "fast"),
        ({"trainer": "fast", "learning_rate": 0.3, "batch_size": 8}, "fast"),
        ({"trainer": "torch"}, "torch"),
        ({"learning_rate": 0.1}, "torch"),
        ({"encoder": "mlp", "hidden": (8,)}, "torch"),
    ],
    ids=str,
)
def test_a_fitted_model_knows_its_trainer(settings, trainer):
    model = DSNCClassifier(n_bits=8, max_epochs=2, device="cpu", **settings)
    assert model.fit(X, Y).trainer_ == trainer
    again = DSNCClassifier(n_bits=8, device="cpu", **settings)
    assert again.partial_fit(X, Y, classes=range(4)).trainer_ == trainer


def test_the_fast_one_names_what_it_cannot_do_at_the_door():
    with pytest.raises(
        InputError, match=r"trainer='fast' does not support beta=0\.1; leave that out"
    ):
        DSNCClassifier(trainer="fast", beta=0.1).fit(X, Y)
    with pytest.raises(InputError, match="trainer='fst'.*fast"):
        DSNCClassifier(trainer="fst").fit(X, Y)


SPELLINGS = [
    "straight_through",
    {"name": "straight_through"},
    {"name": "straight_through", "n_draws": 4},
    StraightThrough(),
]


@pytest.mark.parametrize("trainer", ["auto", "torch"])
def test_however_a_gradient_is_spelled_the_bits_are_the_same(trainer):
    models = [
        DSNCClassifier(n_bits=8, max_epochs=2, trainer=trainer, device="cpu", gradient=gradient)
        for gradient in SPELLINGS
    ]
    first, *others = (model.fit(X, Y) for model in models)
    assert first.trainer_ == ("fast" if trainer == "auto" else "torch")
    for other in others:
        assert same_model(other, first)


def test_who_leaves_the_default_trainer_is_told_once(caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("dsnc"), "propagate", True)
    tell_why_torch.cache_clear()
    X, y = np.eye(6, 4), np.arange(6) % 2

    def said(**settings):
        caplog.clear()
        DSNCClassifier(n_bits=4, max_epochs=1, device="cpu", **settings).fit(X, y)
        return [record.getMessage().partition(".")[0] for record in caplog.records]

    assert said(gradient="relaxed", beta=0.0) == [
        "trainer: torch, because of gradient=Relaxed(n_draws=4, temperature=0"
    ]
    assert said(learning_rate=1) == ["trainer: torch, because of learning_rate=1"]
    assert said(learning_rate=1) == said() == said(trainer="torch", beta=0.1) == []


@pytest.mark.parametrize("trainer", ["fast", "torch"])
def test_too_few_bits_are_told_once(trainer):
    X, y = np.eye(12), np.arange(12) % 6
    with pytest.warns(DsncWarning, match="cannot tell 6 classes apart") as warned:
        DSNCClassifier(n_bits=2, max_epochs=1, trainer=trainer, device="cpu").fit(X, y)
    assert len([w for w in warned if "cannot tell" in str(w.message)]) == 1
