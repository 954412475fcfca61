"""How a model was made: `train` writes it down, `inspect` shows it, `tune` and `train` agree."""

import json
import sys

import pytest

import dsnc
from cli_files import QUICK


def test_what_train_knows_inspect_shows(run, files, tmp_path):
    parts = ["--validation", files / "validation.tsv", "--test", files / "test.tsv"]
    record = json.loads(
        run("train", files / "train.tsv", "-o", "m", *parts, *QUICK, "--json").stdout
    )
    shown = json.loads(run("inspect", "m", "--json").stdout)
    metrics, data = shown["metrics"], shown["data"]
    assert metrics["validation_accuracy"] == record["validation_accuracy"]
    assert metrics["best_epoch_accuracy"] == record["best_epoch_accuracy"]
    same = {key: v for key, v in record["test"].items() if "second" not in key}
    assert metrics["test"] == same
    assert [epoch["epoch"] for epoch in shown["history"]] == [1, 2, 3]
    marks = {part["fingerprint"] for part in (data, data["validation"], data["test"])}
    assert len(marks) == 3
    text = run("inspect", "m").stdout
    for line in (
        f"240 rows (checksum {data['fingerprint']})",
        f"tested on               60 rows (checksum {data['test']['fingerprint']})",
        "test macro accuracy",
        "3 epochs, loss ",
        "before a decoder was chosen); max_epochs reached",
    ):
        assert line in text
    assert "train.tsv" not in (tmp_path / "m" / "model.json").read_text()
    assert "240 rows of train.tsv" in (tmp_path / "m" / "README.md").read_text()


def test_the_same_run_from_other_names_is_the_same_model(run, files, tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.svm").write_bytes((files / "train.svm").read_bytes())
        run("train", f"{name}.svm", "-o", name, *QUICK, "--test", files / "test.svm")
    for file in ("model.json", "model.safetensors"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_force_keeps_an_edited_card(run, files, tmp_path):
    arguments = ["train", files / "train.svm", "-o", "m", *QUICK]
    run(*arguments)
    (tmp_path / "m" / "README.md").write_text("mine")
    run(*arguments, "--force")
    assert (tmp_path / "m" / "README.md").read_text() == "mine"
    assert dsnc.load("m").n_bits == 16


@pytest.mark.parametrize("ending", ["svm", "tsv"])
def test_train_says_what_tune_said(run, files, ending):
    pytest.importorskip("optuna", reason="needs the extra 'tune'")
    options = ["--space", "n_bits=6,8", "--set", "max_epochs=2", "device=cpu", "--trials", "2"]
    data = files / f"train.{ending}"
    tuned = json.loads(run("tune", data, *options, "--seed", "5", "-o", "a.toml", "--json").stdout)
    trained = json.loads(run("train", data, "--config", "a.toml", "-o", "a", "--json").stdout)
    assert trained["validation_accuracy"] == tuned["validation_accuracy"]


def test_rows_that_decided_in_tune_decide_in_train(run, files):
    pytest.importorskip("optuna", reason="needs the extra 'tune'")
    options = ["--space", "n_bits=8", "--set", "max_epochs=2", "device=cpu", "--trials", "1"]
    data, given = files / "train.svm", ["--validation", files / "validation.svm"]
    tuned = json.loads(run("tune", data, *options, *given, "-o", "a.toml", "--json").stdout)
    result = run("train", data, "--config", "a.toml", "-o", "a", "--json")
    assert "60 to validate" in result.stderr
    assert json.loads(result.stdout)["validation_accuracy"] == tuned["validation_accuracy"]


# Manners


def test_resume_starts_where_there_is_nothing_to_resume(run, files, tmp_path):
    result = run("train", files / "train.svm", "-o", "m", *QUICK, "--resume")
    assert (
        "--resume: there is no m.checkpoint to continue from; starting a new run." in result.stderr
    )
    (tmp_path / "n.checkpoint").mkdir()  # killed before the first epoch was complete
    run("train", files / "train.svm", "-o", "n", *QUICK, "--resume")
    same = [(tmp_path / name / "model.json").read_bytes() for name in ("m", "n")]
    assert same[0] == same[1]


def test_few_classes_get_a_hint(run, files):
    hint = "compare with --method one_vs_rest"
    arguments = ["train", files / "train.svm", *QUICK, "--set", "validation_fraction=0"]
    assert hint in run(*arguments, "-o", "a").stderr  # without rows to compare on
    assert hint not in run(*arguments, "-o", "b", "--quiet").stderr
    other = ["--method", "one_vs_rest", "--epochs", "1", "--device", "cpu"]
    assert hint not in run("train", files / "train.svm", "-o", "c", *other).stderr


def test_a_hidden_layer_of_seven_units(run, files):
    arguments = ["--encoder", "mlp", "--set", "hidden=[7]"]
    run("train", files / "train.svm", "-o", "m", *QUICK, *arguments)
    assert dsnc.load("m").hidden == (7,)


def test_too_few_bits_are_warned_of(run, files):
    result = run("train", files / "train.svm", "-o", "m", *QUICK, "--bits", "3")
    assert "warning: --bits 3 cannot tell 12 classes apart" in result.stderr


@pytest.mark.parametrize(
    ("option", "nearest"),
    [("--lr", "--learning-rate"), ("--n_bits", "--bits"), ("--max-epochs", "--epochs")],
)
def test_unknown_options_name_the_nearest(run, option, nearest):
    said = run("train", "a.svm", "-o", "m", option, "3", code=2).stderr
    assert f"No such option: {option} (Possible options: {nearest})" in said


def test_flags_have_no_type(run):
    for command in (["train"], ["data", "show"], []):
        assert "<bool>" not in run(*command, "-h").stdout


def test_demo_fails_at_the_door_without_its_extra(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    said = run("demo", "--classes", "12", "-o", "d", code=1).stderr
    assert said.startswith("error: dsnc demo needs 'jinja2'")
    assert not (tmp_path / "d").exists()
