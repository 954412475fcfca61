"""A decoder and a gradient of one's own: by name, dict and instance, in Python and in TOML."""

import importlib
import json
import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

import dsnc
from cli_files import write_vectors
from dsnc import DSNCClassifier
from dsnc.arrays import check_arrays, numbers
from dsnc.cli import app
from dsnc.decoders import DECODERS, Cost, Decoder
from dsnc.decoders.base import CONFIDENCE
from dsnc.decoders.checks import valid_real
from dsnc.decoders.confidence import Confidence
from dsnc.errors import InputError, ModelFileError
from dsnc.gradients import GRADIENTS, Gradient, sample_bits

DATA = dsnc.data.make_dense_codes(n_rows=600, n_classes=12, n_features=10, n_bits=8)
X, Y = DATA.X, DATA.labels


class MeanDecoder(Decoder):
    """The class whose training rows have the nearest mean code, as soft as one likes."""

    name = "mean"
    settings = {"power": partial(valid_real, least=0.5, most=2.0)}

    def __init__(self, means, power=1.0):
        self.means, self.power = means, float(power)
        self.n_classes, self.n_bits = means.shape

    @classmethod
    def make(cls, evidence, power=1.0):
        codes, y = evidence.training()
        n_classes = evidence.linear.n_classes
        means = [codes.take(y == k).to_signs(np.float32).mean(axis=0) for k in range(n_classes)]
        return cls(np.array(means, dtype=np.float32), power)

    def _scores(self, encoded):
        self.check_width(encoded)
        assert encoded.rows.shape[0] == len(
            encoded
        )  # features are there for those who look at them
        return -(np.abs(encoded.signs()[:, None] - self.means) ** self.power).sum(axis=2)

    def top_k(self, encoded, k):
        scores = self._scores(encoded)
        classes = np.argsort(-scores, axis=1, kind="stable")[:, : self.check_k(k)]
        return classes, np.take_along_axis(scores, classes, axis=1)

    def proba(self, encoded):
        scores = self._scores(encoded).astype(np.float32)
        self.confidence.softmax(scores)
        return scores

    def arrays(self):
        own = {"means": self.means, "power": np.array([self.power], dtype=np.float32)}
        return own | self.confidence.arrays()

    @classmethod
    def from_arrays(cls, arrays):
        own = {"means": "float32 2", "power": "float32 1"}
        check_arrays("mean decoder", arrays, own | CONFIDENCE)
        decoder = cls(arrays["means"], **numbers("mean decoder", arrays, ["power"]))
        return decoder.with_confidence(Confidence.from_arrays(arrays))

    def cost(self):
        """Return c*K operations, and the bytes of the means."""
        return Cost(float(self.means.size), self.means.nbytes)


class Blunt(Gradient):
    """Straight through, with a slope that stays away from nothing."""

    unbiased = False

    def __init__(self, *, n_draws=2, least=0.1):
        self.n_draws, self.least = n_draws, least

    def __call__(self, logits, loss_of_code, noise):
        p = logits.sigmoid()
        line = logits * (p * (1 - p)).clamp(min=self.least).detach()
        code = sample_bits(p, noise, self.n_draws) + (line - line.detach())
        mean, _ = loss_of_code(code)
        return mean, mean.detach()


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(DECODERS, "mean", MeanDecoder)
    monkeypatch.setitem(GRADIENTS, "blunt", Blunt)


def quick(**settings):
    return DSNCClassifier(
        **{"n_bits": 8, "max_epochs": 4, "learning_rate": 0.1, "device": "cpu", **settings}
    )


def same(one, other):
    assert np.array_equal(one.predict(X), other.predict(X))
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))


def saved(model, folder):
    model.save(folder / "model", overwrite=True)
    return dsnc.load(folder / "model")


@pytest.mark.parametrize("choice", ["mean", {"name": "mean", "power": 2.0}], ids=str)
def test_a_decoder_by_name_and_by_dict(choice, tmp_path):
    model = quick(decoder=choice).fit(X, Y)
    power = choice["power"] if isinstance(choice, dict) else 1.0
    assert type(model.predictor_.decoder) is MeanDecoder
    assert model.decoder_report_.chosen == "mean"
    assert model.decoder_report_.settings == {"power": power}
    assert model.score(X, Y) > 0.5
    loaded = saved(model, tmp_path)
    assert loaded.decoder == choice
    for other in (loaded, pickle.loads(pickle.dumps(model)), clone(model).fit(X, Y)):
        same(other, model)
    linear = loaded.with_decoder("linear")  # the file keeps what the decoder does not hold
    assert np.array_equal(linear.predict(X), model.with_decoder("linear").predict(X))
    with pytest.raises(InputError, match="has no training codes; pass the training rows"):
        linear.with_decoder(choice)
    assert type(linear.with_decoder(choice, X, Y).predictor_.decoder) is MeanDecoder
    with pytest.raises(InputError, match="'mean' decoder needs the codes of all rows"):
        loaded.set_params(device="cpu").partial_fit(X, Y)
    loaded.set_params(decoder="soft").partial_fit(X, Y)
    assert loaded.predictor_.decoder.name == "soft"


def test_a_decoder_as_an_instance(tmp_path):
    made = quick(decoder={"name": "mean", "power": 2.0}).fit(X, Y).predictor_.decoder
    model = quick(decoder="soft").fit(X, Y)
    other = model.with_decoder(made)
    assert other.predictor_.decoder is made
    assert model.predictor_.decoder.name == "soft"
    fitted = quick(decoder=made).fit(X, Y)
    same(fitted, other)
    loaded = saved(fitted, tmp_path)
    same(loaded, fitted)
    assert loaded.decoder == {"name": "mean", "power": 2.0}
    same(saved(other, tmp_path).with_decoder("soft"), saved(model, tmp_path).with_decoder("soft"))
    with pytest.raises(InputError, match="decoder has 8 bits, but n_bits=9"):
        quick(decoder=made, n_bits=9).fit(X, Y)
    with pytest.raises(InputError, match="decoder has 12 classes; the model has 3"):
        quick(decoder=made).fit(X[:30], np.arange(30) % 3)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("maen", "Did you mean 'mean'"),
        ({"name": "mean", "powr": 1}, "decoder='mean': setting='powr'.*Did you mean 'power'"),
        ({"name": "mean", "power": 3}, "power=3 must be a number from 0.5 to 2"),
    ],
)
def test_what_it_declares_is_checked_before_training(choice, message):
    def too_late(progress):
        raise AssertionError("it has been trained")

    with pytest.raises(InputError, match=message):
        quick(decoder=choice, callbacks=[too_late]).fit(X, Y)


def test_who_does_not_know_the_decoder_is_told_its_name(tmp_path, monkeypatch):
    quick(decoder="mean", max_epochs=1).fit(X, Y).save(tmp_path / "model")
    monkeypatch.delitem(DECODERS, "mean")
    with pytest.raises(ModelFileError, match="'mean' is not known"):
        dsnc.load(tmp_path / "model")


@pytest.mark.parametrize(
    "choice", ["blunt", {"name": "blunt", "least": 0.2}, Blunt(least=0.2)], ids=str
)
def test_a_gradient_by_name_dict_and_instance(choice, tmp_path):
    model = quick(gradient=choice, soft_share=0.0).fit(X, Y)
    assert model.score(X, Y) > 0.5
    loaded = saved(model, tmp_path)
    same(loaded, model)
    if not isinstance(choice, str):
        assert loaded.gradient == {
            "name": "blunt",
            **({} if isinstance(choice, dict) else {"n_draws": 2}),
            "least": 0.2,
        }
    loaded.set_params(device="cpu").partial_fit(X, Y)


TOML = """
[train]
data = "train.svm"
output = "model"

[model]
n_bits = 8
max_epochs = 6
learning_rate = 0.1
decoder = {decoder}
gradient = {gradient}
"""


@pytest.mark.parametrize(
    ("decoder", "gradient"),
    [
        ('"mean"', '"blunt"'),
        ('{ name = "mean", power = 2.0 }', '{ name = "blunt", n_draws = 3, least = 0.2 }'),
    ],
)
def test_both_from_a_config_of_the_command_line(decoder, gradient, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_vectors(tmp_path / "train.svm", 240, 0)
    (tmp_path / "run.toml").write_text(TOML.format(decoder=decoder, gradient=gradient))

    def run(*arguments):
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.stdout + result.stderr
        return result.stdout

    report = json.loads(run("train", "--config", "run.toml", "--device", "cpu", "--json", "-q"))
    assert report["decoder"]["chosen"] == "mean"
    model = dsnc.load(tmp_path / "model")
    settings = model.decoder if isinstance(model.decoder, dict) else {}
    assert settings.get("power", 1.0) == model.predictor_.decoder.power
    assert "mean" in run("inspect", "model")
    answers = [
        json.loads(run("evaluate", "model", "train.svm", "--json", *options))
        for options in ([], ["--decoder", "soft"])
    ]
    assert answers[0]["accuracy"] > 0.5 and answers[1]["accuracy"] > 0.5
    run(
        "train",
        "train.svm",
        "-o",
        "other",
        "--bits",
        "8",
        "--epochs",
        "1",
        "--decoder",
        decoder.strip('"'),
    )
    assert dsnc.load(tmp_path / "other").predictor_.decoder.name == "mean"


def test_help_lists_it():
    for command in ("train", "evaluate"):
        stdout = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).stdout
        assert "|shortlist|mean]" in stdout


def test_the_documentation_lists_it(repository, monkeypatch):
    monkeypatch.syspath_prepend(repository / "docs")
    hooks = importlib.import_module("hooks")
    page = (repository / "docs/decoders.md").read_text(encoding="utf-8")
    assert "`mean`" not in page
    made = hooks.with_decoders(page)
    does = "The class whose training rows have the nearest mean code, as soft as one likes"
    assert f"| `mean` | {does} | " in made and "| `power` |" in made
    monkeypatch.delitem(DECODERS, "mean")
    assert hooks.with_decoders(page) == page
