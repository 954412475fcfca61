"""Parts of one's own: by name, dict and instance, in Python, in TOML and in model files."""

import importlib
import json
import pickle
from functools import partial

import numpy as np
import pyarrow
import pytest
import torch
from pyarrow import feather
from sklearn.base import clone
from typer.testing import CliRunner

import dsnc
from cli_files import write_vectors
from dsnc import DSNCClassifier
from dsnc.arrays import check_arrays, numbers
from dsnc.baselines import BASELINES
from dsnc.cli import app
from dsnc.cluster.units import Reading, units_of
from dsnc.data import DATASETS, READERS, load_dataset, stream_rows, write_folder
from dsnc.data.catalog import Entry
from dsnc.data.tables import TableOptions
from dsnc.decoders import DECODERS, Cost, Decoder
from dsnc.decoders.base import CONFIDENCE
from dsnc.decoders.checks import valid_real
from dsnc.decoders.confidence import Confidence
from dsnc.errors import DataFileError, InputError, ModelFileError
from dsnc.families import make_part
from dsnc.gradients import GRADIENTS, Gradient, sample_bits
from dsnc.paper.experiments import EXPERIMENTS, Cell, Table
from dsnc.paper.experiments.reproduce import Experiment
from dsnc.training.losses import LOSSES
from dsnc.training.losses.base import Loss
from outside.arm import ARM
from outside.feather import FeatherReader
from outside.focal import FocalLoss
from outside.gumbel_straight_through import GumbelStraightThrough
from outside.means import MeansBaseline
from outside.npz import NpzReader
from outside.ridge import Ridge
from outside.weighted_hamming import WeightedHammingDecoder
from peers.contestants import CONTESTANTS
from peers.data import Data, Part
from peers.measure import measure

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

    max_bias = 0.4

    def __init__(self, *, n_draws=2, least=0.1):
        self.n_draws, self.least = n_draws, least

    def __call__(self, logits, loss_of_code, noise):
        p = logits.sigmoid()
        line = logits * (p * (1 - p)).clamp(min=self.least).detach()
        code = sample_bits(p, noise, self.n_draws) + (line - line.detach())
        mean, _ = loss_of_code(code)
        return mean, mean.detach()


class Rounded(Gradient):
    """The most probable bits: nothing is drawn, and there is no number of draws to set."""

    max_bias = 0.5

    def __init__(self, *, slope=1.0):
        self.slope = slope

    def __call__(self, logits, loss_of_code, noise):
        p = (self.slope * logits).sigmoid()
        mean, _ = loss_of_code((p.round() + (p - p.detach()))[None])
        return mean, mean.detach()


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(DECODERS, "mean", MeanDecoder)
    monkeypatch.setitem(DECODERS, "weighted_hamming", WeightedHammingDecoder)
    monkeypatch.setitem(GRADIENTS, "blunt", Blunt)
    monkeypatch.setitem(GRADIENTS, "arm", ARM)
    monkeypatch.setitem(GRADIENTS, "gumbel_straight_through", GumbelStraightThrough)
    monkeypatch.setitem(GRADIENTS, "rounded", Rounded)
    monkeypatch.setitem(LOSSES, "focal", FocalLoss)
    monkeypatch.setitem(READERS, "npz", NpzReader())
    monkeypatch.setitem(READERS, "feather", FeatherReader())
    monkeypatch.setitem(BASELINES, "means", MeansBaseline)
    monkeypatch.setitem(CONTESTANTS, "ridge", (Ridge, {}))


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


@pytest.mark.parametrize(
    "choice", ["weighted_hamming", {"name": "weighted_hamming", "smoothing": 5.0}], ids=str
)
def test_bits_that_are_wrong_more_often_count_less(choice, tmp_path):
    model = quick(n_bits=16, decoder=choice).fit(X, Y)
    decoder = model.predictor_.decoder
    assert type(decoder) is WeightedHammingDecoder
    code, own = model.predictor_.encode(X).to_bits(), decoder.codes.to_bits()
    right = (code == own[Y]).mean(axis=0)
    assert np.corrcoef(right, decoder.weight)[0, 1] > 0.6
    apart = (code[:, None] != own) @ decoder.weight
    chosen = apart[np.arange(len(X)), model.predict(X)]
    np.testing.assert_allclose(chosen, apart.min(axis=1), atol=1e-4)
    loaded = saved(model, tmp_path)
    same(loaded, model)
    assert loaded.decoder == choice and loaded.score(X, Y) > 0.5
    soft = quick(n_bits=16, decoder="soft").fit(X, Y)
    instance = soft.with_decoder(decoder)
    assert np.array_equal(instance.predictor_.decoder.weight, decoder.weight)
    same(saved(instance, tmp_path), instance)


def test_who_does_not_know_the_decoder_is_told_its_name(tmp_path, monkeypatch):
    quick(decoder="mean", max_epochs=1).fit(X, Y).save(tmp_path / "model")
    monkeypatch.delitem(DECODERS, "mean")
    with pytest.raises(ModelFileError, match="'mean' is not known"):
        dsnc.load(tmp_path / "model")


@pytest.mark.parametrize("name", ["blunt", "arm", "gumbel_straight_through", "rounded"])
def test_a_gradient_by_name_dict_and_instance(name, tmp_path):
    instance = GRADIENTS[name]()
    first, *others = [
        quick(gradient=choice, soft_share=0.0).fit(X, Y)
        for choice in (name, {"name": name}, {"name": name, **instance.settings()}, instance)
    ]
    assert first.trainer_ == "torch" and first.score(X, Y) > 0.3
    for other in others:
        same(other, first)
    loaded = saved(others[-1], tmp_path)
    same(loaded, first)
    assert loaded.gradient == {"name": name, **instance.settings()}
    loaded.set_params(device="cpu").partial_fit(X, Y)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_gradient_that_declares_to_use_only_the_mean_learns_the_same(share, monkeypatch):
    def logits():
        model = quick(gradient="gumbel_straight_through", soft_share=share, max_epochs=1)
        return model.fit(X, Y).predictor_.logits(X)

    together = logits()
    monkeypatch.setattr(GumbelStraightThrough, "uses_only_mean", False)
    np.testing.assert_allclose(logits(), together, rtol=1e-3, atol=1e-3)


def test_a_loss_by_name_dict_and_instance(tmp_path):
    spellings = "focal", {"name": "focal"}, {"name": "focal", "focus": 2.0}, FocalLoss()
    first, *others = [quick(loss=choice).fit(X, Y) for choice in spellings]
    assert first.trainer_ == "torch" and first.score(X, Y) > 0.5
    for other in (*others, clone(others[-1]).fit(X, Y)):
        same(other, first)
    sharper = quick(loss=FocalLoss(focus=0.5)).fit(X, Y)
    assert not np.array_equal(sharper.predict_proba(X), first.predict_proba(X))
    loaded = saved(sharper, tmp_path)
    same(loaded, sharper)
    assert loaded.loss == {"name": "focal", "focus": 0.5}
    loaded.set_params(device="cpu").partial_fit(X, Y)
    with pytest.raises(
        InputError, match=r"label_smoothing=0\.1 is not supported by the loss Focal"
    ):
        quick(loss="focal", label_smoothing=0.1).fit(X, Y)
    with pytest.raises(InputError, match=r"loss='focl' is not known\. Did you mean 'focal'"):
        quick(loss="focl").fit(X, Y)
    with pytest.raises(InputError, match="loss='focal': setting='focsu' is not known. Did you"):
        quick(loss={"name": "focal", "focsu": 1}).fit(X, Y)


@pytest.mark.parametrize("name", LOSSES)
def test_the_losses_of_the_house_are_spelled_as_one_likes(name):
    kind = type(make_part("loss", name, LOSSES, Loss))
    first, *others = [
        quick(loss=choice, max_epochs=1).fit(X, Y) for choice in (name, {"name": name}, kind())
    ]
    for other in others:
        assert other.trainer_ == first.trainer_
        same(other, first)


@pytest.fixture
def arrays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("all.npz", X=X, y=Y)
    np.savez("rows.npz", X=X)
    (tmp_path / "parts").mkdir()
    for part, rows in {"train": slice(0, 400), "test": slice(400, None)}.items():
        np.savez(f"parts/{part}.npz", X=X[rows], y=Y[rows])
    return tmp_path


def test_a_reader_in_python(arrays, tmp_path):
    data = load_dataset("all.npz")
    assert data.source == "arrays all.npz"
    assert np.array_equal(data.X, X) and np.array_equal(data.labels, Y)
    assert load_dataset("all.npz", multilabel=True).is_multilabel
    (tmp_path / "all").write_bytes((tmp_path / "all.npz").read_bytes())
    assert len(load_dataset("all", reader="npz", classes=np.arange(12))) == len(Y)
    split = load_dataset("parts").predefined_split()
    assert (len(split.train), len(split.test)) == (400, 200)
    assert np.array_equal(np.concatenate(list(stream_rows("rows.npz", 10, batch=7))), X)
    with pytest.raises(InputError, match="npz: has 10 features; the model was trained on 3"):
        stream_rows("rows.npz", 3)
    with pytest.raises(InputError, match=r"trained on texts, but rows\.npz holds numbers"):
        stream_rows("rows.npz", None)
    with pytest.raises(DataFileError, match=r"rows\.npz: has no array 'y'"):
        load_dataset("rows.npz")
    with pytest.raises(InputError, match="reader 'npz' of .*unexpected keyword argument 'header'"):
        load_dataset("all.npz", header=True)


def run(*arguments):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.stdout + result.stderr
    return result.stdout


def test_a_reader_on_the_command_line(arrays):
    settings = "--bits", "8", "--epochs", "4", "--device", "cpu"
    run("train", "parts", "-o", "model", *settings)
    model = dsnc.load("model")
    expected = model.predict(X).astype(str).tolist()
    for name in ("rows.npz", "all.npz"):
        assert run("predict", "model", name).split() == expected
    report = json.loads(run("evaluate", "model", "all.npz", "--json"))
    assert report["accuracy"] == pytest.approx(model.score(X, Y))
    assert "arrays all.npz" in run("data", "show", "all.npz", "--reader", "npz")
    assert run("explain", "model", "rows.npz", "--rows", "1")


def test_a_reader_of_tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [f"word{k} thing{k % 3}" for k in Y % 3]
    table = pyarrow.table({"id": range(600), "text": words, "label": [f"class {k % 3}" for k in Y]})
    feather.write_feather(table, "all.feather")
    feather.write_feather(table.drop_columns(["label"]).slice(0, 5), "some.arrow")
    data = load_dataset("all.feather")
    assert "Feather, label 'label', text 'text'" in data.source
    run(
        "train",
        "all.feather",
        "-o",
        "model",
        "--bits",
        "8",
        "--epochs",
        "2",
        "--text-column",
        "text",
    )
    first, *lines = run("predict", "model", "some.arrow").splitlines()
    assert first == "id,text,prediction,probability"
    assert [line.split(",")[:3] for line in lines] == [
        [str(i), words[i], data.labels[i]] for i in range(5)
    ]
    assert json.loads(run("evaluate", "model", "all.feather", "--json"))["accuracy"] > 0.9
    (unit,) = units_of("some.arrow")
    with Reading.like(unit, TableOptions(), [])[0].open(unit) as opened:
        assert [row.cells for row in opened.rows()] == [[i, words[i]] for i in range(5)]


def test_a_baseline(arrays, tmp_path):
    model = BASELINES["means"]().fit(X, Y)
    assert model.score(X, Y) > 0.5
    for other in (
        saved(model, tmp_path),
        pickle.loads(pickle.dumps(model)),
        clone(model).fit(X, Y),
    ):
        same(other, model)
    run("train", "all.npz", "-o", "means", "--method", "means")
    assert type(dsnc.load("means")) is MeansBaseline
    assert (
        run("predict", "means", "rows.npz").split()
        == dsnc.load("means").predict(X).astype(str).tolist()
    )
    assert "|means]" in CliRunner().invoke(app, ["train", "--help"], env={"COLUMNS": "200"}).stdout
    with (
        pytest.raises(ModelFileError, match="kind 'means'.*'dsnc'"),
        pytest.MonkeyPatch.context() as m,
    ):
        m.delitem(BASELINES, "means")
        dsnc.load("means")


def test_an_encoder_is_a_module_of_ones_own(tmp_path):
    net = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8))
    model = quick(encoder=net).fit(X, Y)
    assert model.trainer_ == "torch" and model.score(X, Y) > 0.3
    same(quick(encoder=net).fit(X, Y), model)  # the module itself stays as it is
    same(pickle.loads(pickle.dumps(model)), model)
    with pytest.raises(InputError, match="module of your own can be pickled"):
        model.save(tmp_path / "model")


def test_a_peer(tmp_path, monkeypatch):
    monkeypatch.setattr("peers.measure.SINGLE", 2)
    kind, usual = CONTESTANTS["ridge"]
    parts = [
        Part(X[some].astype(np.float32), Y[some], None) for some in np.split(np.arange(600), 3)
    ]
    figures = measure(kind(usual | kind.choices[0], 1, tmp_path), Data("codes", 12, False, *parts))
    assert figures["top-1 %"] > 50 and figures["top-5 %"] > figures["top-1 %"]
    assert figures["ECE"] is None and figures["MB"] > 0


def test_a_data_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    entry = Entry("codes", "Made codes", lambda folder: DATA, rows=600, classes=12, features=10)
    monkeypatch.setitem(DATASETS, "codes", entry)
    assert "Made codes" in run("data", "list") and "600" in run("data", "show", "codes")
    run("train", "codes", "-o", "model", "--method", "means")
    assert dsnc.load("model").classes_.tolist() == list(range(12))


def test_an_experiment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def definitions(source, plan):
        return plan.definitions(source, ["dsnc"])

    def tables(records, runs):
        decoders = [name for record in records for name in record.outcomes]
        return [Table("What was measured", ["decoder"], [[Cell(name)] for name in decoders])]

    monkeypatch.setitem(EXPERIMENTS, "decoders", Experiment("Decoders", definitions, tables))
    write_folder(DATA, "codes")
    options = "--data", "codes", "--bits", "8", "--epochs", "1", "--recipes", "default"
    shown = run("reproduce", "decoders", *options, "--device", "cpu")
    assert "What was measured" in shown and "linear" in shown
    usage = CliRunner().invoke(app, ["reproduce", "--help"], env={"COLUMNS": "200"}).stdout
    assert "|decoders|all" in usage


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
loss = "focal"
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
    assert model.loss == "focal"
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
    for command in ("train", "evaluate", "tune", "data show", "classes add"):
        arguments = [*command.split(), "--help"]
        stdout = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"}).stdout
        assert "|jsonl|npz|parquet|" in stdout
        assert ("|shortlist|mean|weighted_hamming]" in stdout) == (command in ("train", "evaluate"))


def test_the_documentation_lists_it(repository, monkeypatch):
    monkeypatch.syspath_prepend(repository / "docs")
    hooks = importlib.import_module("hooks")
    page = (repository / "docs/decoders.md").read_text(encoding="utf-8")
    assert "`mean`" not in page
    made = hooks.with_decoders(page)
    does = "The class whose training rows have the nearest mean code, as soft as one likes"
    assert f"| `mean` | {does} | " in made and "| `power` |" in made
    assert "| `weighted_hamming` | " in made and "| `smoothing` |" in made
    monkeypatch.delitem(DECODERS, "mean")
    monkeypatch.delitem(DECODERS, "weighted_hamming")
    assert hooks.with_decoders(page) == page
