"""``dsnc train``: from files to a model, and what is refused before anything is learned."""

import json
from pathlib import Path

import numpy as np
import pytest

import dsnc
from cli_files import QUICK, write_vectors
from dsnc.data import Dataset, load_dataset, write_folder


def test_all_files_and_a_report(run, files):
    parts = ["--validation", files / "validation.svm", "--test", files / "test.svm"]
    result = run("train", files / "train.svm", "-o", "m", *parts, *QUICK, "-v")
    lines = (
        "60 held-out rows of validation.svm",
        "trainer fast",
        "unknown rows",
        "test macro accuracy",
    )
    for line in lines:
        assert line in result.stdout
    assert "240 rows, 60 to validate, 60 to test, 8 features, 12 classes" in result.stderr
    after = result.stderr.partition("epoch 3/3: loss")[2]
    assert "choosing the decoder and a second stage, and calibrating probabilities ..." in after
    assert "Next: --epochs 6 may be more accurate; dsnc predict m FILE" in result.stdout
    assert dsnc.load("m").data_["first_index"] == 1


def test_json_for_a_machine_and_quiet(run, files):
    arguments = ["train", files / "train.tsv", "-o", "m", "--test", files / "test.tsv", *QUICK]
    result = run(*arguments, "--json", "--quiet")
    record = json.loads(result.stdout)
    assert result.stderr == ""
    assert (record["classes"], record["epochs"], record["test"]["rows"]) == (12, 3, 60)
    assert record["decoder"]["chosen"] == "soft"
    assert record["bytes"] == sum(f.stat().st_size for f in Path(record["model"]).iterdir())


def test_texts_are_learned_with_the_settings_of_the_file(run, files, tmp_path):
    (tmp_path / "run.toml").write_text("[text]\ncharacters = []\nwords = [1, 1]\n")
    run("train", files / "train.tsv", "-o", "m", *QUICK, "--config", "run.toml")
    model = dsnc.load("m")
    assert model.predictor_.features.characters is None
    assert model.predictor_.n_features < 20


@pytest.mark.parametrize("method", ["mlp", "ecoc", "one_vs_rest", "nearest_centroid"])
def test_methods(run, files, method):
    extra = [] if method == "nearest_centroid" else ["--epochs", "2", "--device", "cpu"]
    run("train", files / "train.svm", "-o", "m", "--method", method, *extra)
    assert dsnc.load("m").kind == method
    assert "accuracy" in run("evaluate", "m", files / "test.svm").stdout
    assert len(run("predict", "m", files / "test.svm", "--top-k", 2).stdout.splitlines()) == 60


def test_a_predefined_split_is_used(run, tmp_path):
    rows = write_vectors(tmp_path / "a.svm", 120, 0)
    splits = {"train": np.arange(96), "validation": np.arange(96, 108), "test": np.arange(108, 120)}
    data = Dataset(rows, np.arange(120) % 12, np.arange(12), splits=splits)
    write_folder(data, tmp_path / "folder")
    result = run("train", "folder", "-o", "m", *QUICK)
    assert "96 rows, 12 to validate, 12 to test" in result.stderr
    assert "% of 12 test rows" in result.stdout
    assert "its test part" in run("evaluate", "m", "folder").stderr
    assert (
        json.loads(run("evaluate", "m", "folder", "--part", "all", "--json").stdout)["rows"] == 120
    )
    assert "no such part" in run("evaluate", "m", "a.svm", "--part", "test", code=1).stderr


def test_unknown_validation_labels_are_dropped_and_counted(run, files, tmp_path):
    rows = (files / "validation.svm").read_text()
    (tmp_path / "more.svm").write_text(rows + "77 1:1\n78 1:1\n")
    arguments = ["train", files / "train.svm", "-o", "m", *QUICK, "--validation", "more.svm"]
    assert "2 of 62 validation rows have labels that were not learned, such as 77" in (
        run(*arguments).stderr
    )
    (tmp_path / "other.svm").write_text("77 1:1\n")
    arguments = ["train", files / "train.svm", "-o", "n", *QUICK, "--validation", "other.svm"]
    assert "None of the 1 validation rows" in run(*arguments, code=1).stderr
    assert not (tmp_path / "n").exists()


def test_a_model_is_not_overwritten_and_nothing_is_learned_in_vain(run, files, tmp_path):
    (tmp_path / "m").mkdir()
    arguments = ["train", "no such file.svm", "-o", "m", *QUICK]  # the output is looked at first
    assert "m exists; choose another folder, or replace it with --force" in (
        run(*arguments, code=1).stderr
    )
    (tmp_path / "m" / "thesis.tex").touch()
    assert "holds 'thesis.tex'" in run(*arguments, "--force", code=1).stderr
    (tmp_path / "m" / "thesis.tex").unlink()
    run("train", files / "train.svm", "-o", "m", *QUICK, "--force")
    run("train", files / "train.svm", "-o", "m", *QUICK, "--force")
    assert dsnc.load("m").n_bits == 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no.svm", "-o", "m"], "no.svm: does not exist"),
        (["train.svm", "-o", "m", "--set", "schedule=round"], "schedule='round' is not known"),
        (["train.svm", "-o", "m", "--beta", "-1"], "error: --beta -1.0 must be a number 0 or more"),
        (["train.svm", "-o", "m", "--bits", "64", "--decoder", "table"], "at most 28 bits"),
        (["train.svm", "-o", "m", "--device", "gpu"], "--device 'gpu' cannot be used"),
        (["train.svm", "-o", "m", "--reader", "svm"], "--reader 'svm' is not known"),
        (["train.svm", "-o", "m", "--bits", "1000000"], "--bits 40 for a thousand"),
        (["train.svm", "-o", "m", "--validation", "train.tsv"], "not of the same kind"),
        (["sets.svm", "-o", "m", "--method", "mlp"], "--method mlp learns one label a row"),
        (["one.svm", "-o", "m"], "at least 2 classes"),
        (["nan", "-o", "m"], "Input X contains NaN."),
        (
            ["train.svm", "-o", "train.svm/m"],
            "train.svm/m cannot be written (File exists)",
        ),
    ],
)
def test_wrong_uses(run, files, tmp_path, arguments, message):
    for name in ("train.svm", "train.tsv"):
        (tmp_path / name).write_bytes((files / name).read_bytes())
    (tmp_path / "sets.svm").write_text("1,2 1:1\n2 1:1\n")
    (tmp_path / "one.svm").write_text("1 1:1\n1 1:2\n")
    write_folder(Dataset(np.full((4, 2), np.nan), np.arange(4) % 2, np.arange(2)), tmp_path / "nan")
    result = run("train", *arguments, code=1)
    assert message in result.stderr
    assert result.stderr.splitlines()[-1].startswith("error: ")
    assert not (tmp_path / "m").exists()
    assert not (tmp_path / "m.checkpoint").exists()


def test_features_numbered_from_0_are_remembered(run, tmp_path):
    rows = write_vectors(tmp_path / "zero.svm", 120, 0, first=0)
    run("train", "zero.svm", "-o", "m", *QUICK)
    assert dsnc.load("m").data_["first_index"] == 0
    expected = dsnc.load("m").predict(np.round(rows[:5], 3).astype(np.float32)).tolist()
    lines = [line.partition(" ")[2] for line in (tmp_path / "zero.svm").read_text().split("\n")]
    assert run("predict", "m", "-", input="\n".join(lines[:5])).stdout.split() == [
        str(label) for label in expected
    ]
    (tmp_path / "later.svm").write_text("3 2:1 5:1\n")  # no feature 0, and still from 0
    later = run("predict", "m", "later.svm").stdout
    assert later == run("predict", "m", "-", input="2:1 5:1\n").stdout
    shifted = run("predict", "m", "-", "--first-index", "1", input="3:1 6:1\n").stdout
    assert later == shifted


def test_files_without_names_serve_everywhere(run, files, tmp_path):
    lines = (files / "train.tsv").read_text().splitlines(keepends=True)
    (tmp_path / "a.tsv").write_text("".join(lines[1:]))
    parts = ["--validation", "a.tsv", "--test", "a.tsv"]
    result = run("train", "a.tsv", "-o", "m", *parts, *QUICK)
    assert "% of 240 test rows" in result.stdout
    assert result.stderr.count("no header, label '0', text '1'") == 3
    assert json.loads(run("evaluate", "m", "a.tsv", "--json").stdout)["rows"] == len(lines) - 1
    assert "0 classes added" in run("classes", "add", "m", "a.tsv", "-o", "n").stderr
    assert len(run("predict", "m", "a.tsv").stdout.splitlines()) == len(lines) - 1


def test_what_cannot_be_tested_is_said_before_training(run, files, tmp_path):
    (tmp_path / "t.tsv").write_text("label\ttext\nnobody\tno text\nnone\tno word\n")
    result = run("train", files / "train.tsv", "-o", "m", "--test", "t.tsv", *QUICK, code=1)
    assert "--test t.tsv: none of its labels is in the training rows, such as" in result.stderr
    assert "epoch" not in result.stderr
    result = run("train", files / "train.tsv", "-o", "m", "--test", "no.tsv", *QUICK, code=1)
    assert "--test no.tsv: does not exist" in result.stderr
    assert "train.tsv" not in result.stderr  # it was not read


def test_the_accuracy_that_is_claimed_is_that_of_the_model(run, files):
    """Printed, as JSON, in the file and on its card: what `predict` gets right, and no other."""
    rows, settings = files / "validation.svm", ("--bits", 4, "--decoder", "nearest")
    arguments = ["train", files / "train.svm", *QUICK, *settings, "--validation", rows]
    said = run(*arguments, "-o", "m").stdout
    record = json.loads(run(*arguments, "-o", "n", "--json").stdout)
    data, model = load_dataset(rows), dsnc.load("m")
    right = float(np.mean(model.predict(data.X) == data.labels))
    assert abs(record["best_epoch_accuracy"] - right) > 0.01  # training measures another one
    assert f"accuracy  {100 * right:.2f} % of 60 held-out rows of validation.svm\n" in said
    assert record["validation_accuracy"] == model.figures_["validation_accuracy"] == right
    assert f"| validation accuracy | {100 * right:.2f} % |" in Path("m/README.md").read_text()
    assert f"{100 * right:.2f} %" in run("inspect", "m").stdout
    assert json.loads(run("evaluate", "m", rows, "--json").stdout)["accuracy"] == right
