"""``dsnc train --reranker``, what other commands say of a second stage, and one-vs-rest."""

import json
import re

import numpy as np
import pytest

import dsnc
from cli_files import QUICK
from dsnc.cli import train as command


@pytest.fixture(scope="module")
def trained(files, tmp_path_factory):
    """A model with a second stage."""
    from typer.testing import CliRunner

    from dsnc.cli import app

    folder = tmp_path_factory.mktemp("second") / "m"
    arguments = ["train", str(files / "train.tsv"), "-o", str(folder), *QUICK]
    result = CliRunner().invoke(app, [*arguments, "--reranker", "features", "-v"])
    assert result.exit_code == 0, result.stderr
    assert "features decide among its candidates" in result.stdout
    assert "\n+ features  " in result.stdout
    return folder


@pytest.mark.parametrize(
    ("choice", "kept", "has"),
    [
        ("none", "none", False),
        ("auto", "auto", False),  # too few rows are held out
        ("features", "features", True),
        ("{budget=30, mix=0.5}", {"budget": 30, "mix": 0.5}, True),
        ('{name="auto", size=4}', {"name": "auto", "size": 4}, False),
    ],
)
def test_choices(run, files, choice, kept, has):
    run("train", files / "train.svm", "-o", "m", *QUICK, "--reranker", choice)
    model = dsnc.load("m")
    assert model.reranker == kept
    reranker = model.predictor_.reranker
    assert (reranker is not None) == has
    if isinstance(kept, dict) and has:
        assert (len(reranker.vectors), reranker.mix) == (10, 0.5)


def test_a_file_of_settings(run, files, tmp_path):
    (tmp_path / "run.toml").write_text('[model]\nreranker = { name = "features", size = 3 }\n')
    run("train", files / "train.svm", "-o", "m", *QUICK, "--config", "run.toml")
    assert dsnc.load("m").predictor_.reranker.size == 3
    run("train", files / "train.svm", "-o", "n", *QUICK, "--config", "run.toml", "--reranker=none")
    assert dsnc.load("n").predictor_.reranker is None
    run("train", files / "train.svm", "-o", "s", *QUICK, "--set", "reranker={size=2}")
    assert dsnc.load("s").predictor_.reranker.size == 2


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("feature", "reranker='feature' is not known. Did you mean 'features'"),
        ("{budgte=3}", "reranker: setting='budgte' is not known. Did you mean 'budget'"),
        ("{size=0}", "size=0 must be a whole number, 1 or more"),
        ("7", "reranker=7 is not known"),
    ],
)
def test_wrong_choices(run, files, tmp_path, choice, message):
    arguments = ["train", files / "train.svm", "-o", "m", *QUICK]
    result = run(*arguments, "--reranker", choice, code=2)
    assert message in result.stderr
    assert "--reranker" in result.stderr
    (tmp_path / "run.toml").write_text('[model]\nreranker = "feature"\n')
    result = run(*arguments, "--config", "run.toml", code=1)
    assert "--reranker 'feature' is not known. Did you mean 'features'" in result.stderr
    result = run(*arguments, "--method", "mlp", "--reranker", "none", code=1)
    assert "--reranker does not apply to method 'mlp'" in result.stderr


def test_inspect_and_the_card_say_so(run, trained, files):
    assert "second stage" in run("inspect", trained).stdout
    record = json.loads(run("inspect", trained, "--json").stdout)
    assert record["second_stage"].startswith("features decide among at most 16 candidates")
    assert "second stage" in (trained / "README.md").read_text()
    assert "second stage" not in run("inspect", files / "texts").stdout
    assert "second stage" not in (files / "texts" / "README.md").read_text()


def test_predict_and_evaluate(run, trained, files):
    lines = (files / "test.tsv").read_text().splitlines()[1:]
    texts = [line.partition("\t")[2] for line in lines]
    model = dsnc.load(trained)
    said = run("predict", trained, "-", input="\n".join(texts)).stdout.splitlines()
    assert said == model.predict(texts).tolist()
    one = run("predict", trained, "-", "--top-k", 3, "--proba", input=texts[0]).stdout.split("\t")
    labels, shares = model.predict_top_k(texts[:1], k=3)
    assert one[::2] == labels[0].tolist()
    np.testing.assert_allclose([float(part) for part in one[1::2]], shares[0], atol=1e-4)
    figures = json.loads(run("evaluate", trained, files / "test.tsv", "--json").stdout)
    right = [label == line.partition("\t")[0] for label, line in zip(said, lines, strict=True)]
    assert figures["accuracy"] == pytest.approx(np.mean(right))


def test_one_vs_rest_is_compared(run, files):
    parts = ["--validation", files / "validation.svm"]
    result = run("train", files / "train.svm", "-o", "m", *parts, *QUICK, "-v")
    line = next(line for line in result.stdout.splitlines() if line.startswith("one-vs-rest"))
    assert "% (an SVM for each class, on 60 validation rows): " in line
    assert "codes gain little" not in result.stderr
    result = run("train", files / "train.svm", "-o", "n", *parts, *QUICK, "--json")
    for method in ("one_vs_rest", "nearest_neighbors"):
        compared = json.loads(result.stdout)[method]
        assert compared["rows"] == 60
        assert compared["verdict"] in ("better", "worse", "alike")
    result = run(
        "train", files / "train.svm", "-o", "few", "--bits", 4, "--epochs", 1, *parts, "-v"
    )
    assert "this model is worse by" in result.stdout
    words = r"--method (one_vs_rest|nearest_neighbors) is the better choice: it has .+ of the held-"
    assert re.search(words, result.stderr)


def test_nearest_neighbors_are_the_better_choice_where_classes_are_regions(run, tmp_path):
    rng = np.random.default_rng(0)
    places = rng.uniform(0, 8, (3000, 2))
    labels = (places.astype(int) * [1, 8]).sum(axis=1) * 7 % 11
    lines = [f"{y},{a},{b}\n" for y, (a, b) in zip(labels, places.tolist(), strict=True)]
    file = tmp_path / "places.csv"
    file.write_text("label,x,y\n" + "".join(lines))
    result = run("train", file, "-o", "m", *QUICK, "-v")
    line = next(x for x in result.stdout.splitlines() if x.startswith("nearest-neighbors"))
    assert "of the training rows" in line and "this model is worse by" in line
    assert "For these rows, --method nearest_neighbors is the better choice" in result.stderr
    result = run("train", file, "-o", "n", "--method", "nearest_neighbors", "--test", file)
    assert "100.00 % of 3,000 test rows" in result.stdout


def test_one_vs_rest_is_not_compared_where_it_cannot_be(run, files, monkeypatch):
    arguments = ["train", files / "train.svm", "--bits", 16, "--epochs", 2]
    cut = [*arguments, "--time-limit", "0.000001s"]
    for name, others in (("a", [*arguments, "--set", "validation_fraction=0"]), ("b", cut)):
        result = run(*others, "-o", name, "--json")
        assert json.loads(result.stdout)["one_vs_rest"] is None
        assert "compare with --method one_vs_rest" in result.stderr
    monkeypatch.setattr(command, "_FEW_CLASSES", 12)
    result = run(*arguments, "-o", "c")
    assert "one-vs-rest" not in result.stdout
    assert "one_vs_rest" not in result.stderr


def test_who_loses_patience_keeps_the_model(run, files, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("dsnc.classifier.one_vs_rest.compare_with_one_vs_rest", interrupted)
    result = run("train", files / "train.svm", "-o", "m", *QUICK, "--json")
    assert json.loads(result.stdout)["one_vs_rest"] is None
    dsnc.load("m")
