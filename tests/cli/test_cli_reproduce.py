"""``dsnc reproduce``, ``dsnc tune`` and ``dsnc demo``, from the outside."""

import json
import tomllib

import pytest

import dsnc

pytest.importorskip("optuna", reason="needs the extra 'tune'")

NOT_THERE = "does not exist. Expected a file, a folder or a catalog name (aloi, "
FAST = ["--bits", "6", "--seeds", "0", "--recipes", "default", "--epochs", "1"]


def test_reproduce_prints_the_tables_and_goes_on(run, files):
    options = ["--data", files / "train.svm", *FAST, "--methods", "dsnc", "nearest_centroid"]
    first = run("reproduce", "accuracy", *options)
    assert "DSNC shortlist" in first.stdout and "nearest centroid" in first.stdout
    assert "dsnc report runs" in first.stderr
    again = run("reproduce", "accuracy", *options, "--json")
    (table,) = json.loads(again.stdout)
    assert table["columns"][0] == "bits" and table["rows"][0][0]["text"] == "6"


def test_reproduce_selects_and_fixes(run, files, tmp_path):
    fast = [
        "--bits",
        "6",
        "--seeds",
        "0",
        "--recipes",
        "paper",
        "--epochs",
        "1",
        "--methods",
        "mlp",
    ]
    options = ["--data", files / "train.svm", *fast, "--select", "-o", "runs"]
    said = run("reproduce", "accuracy", *options, "--set", "validation_every=1", "weighting=tfidf")
    assert "Chosen for each cell on validation rows" in said.stdout
    trials = [json.loads(p.read_text()) for p in tmp_path.glob("runs/*/*-trial-*/record.json")]
    rates = {trial["definition"]["selected"]["learning_rate"] for trial in trials}
    assert rates == {0.003, 0.01, 0.03, 0.1}
    assert all(trial["definition"]["settings"]["validation_every"] == 1 for trial in trials)
    assert {trial["definition"]["weighting"] for trial in trials} == {"tfidf"}
    fixed = run("reproduce", "accuracy", *options, "--set", "learning_rate=0.05")
    assert "Chosen" not in fixed.stdout


def test_a_run_that_fails_is_told(run, files):
    options = ["--data", files / "train.svm", *FAST, "--methods", "mlp", "--device", "nonsense"]
    result = run("reproduce", "accuracy", *options, code=1)
    assert "failed, and left out" in result.stderr and "device='nonsense'" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["accuracy", "--methods", "dsn"], "Did you mean 'dsnc'"),
        (["accuracy", "--recipes", "papr"], "Did you mean 'paper'"),
        (["accuracy", "--beside", "DMOZ"], "Did you mean"),
        (["accuracy", "--set", "learning_rat=1"], "Did you mean 'learning_rate'"),
        (["accuracy", "--set", "learning_rate"], "has no value; write --set NAME=VALUE"),
        (["accuracy", "--data", "nowhere"], f"error: --data nowhere: {NOT_THERE}"),
        (["accuracy", "--data", "no.tsv"], f"error: --data no.tsv: {NOT_THERE}"),
        (["accuracy", "--data", "glpyhs"], "does not exist. Did you mean 'glyphs'? Expected"),
    ],
)
def test_wrong_use_of_reproduce(run, files, arguments, said):
    data = [] if "--data" in arguments else ["--data", files / "train.svm"]
    assert said in run("reproduce", *arguments, *data, code=1).stderr


def test_tune_finds_and_writes_settings(run, files, tmp_path):
    best = tmp_path / "best.toml"
    space = ["--space", "learning_rate=1e-3..1e-1:log", "n_bits=6,8"]
    others = ["--set", "max_epochs=1", "--trials", "2", "--study", tmp_path / "study.log"]
    result = run("tune", files / "train.svm", *space, *others, "-o", best)
    assert "best:" in result.stdout
    model = tomllib.loads(best.read_text())["model"]
    assert model["n_bits"] in (6, 8) and 1e-3 <= model["learning_rate"] <= 1e-1
    assert model["max_epochs"] == 1
    record = json.loads(run("tune", files / "train.svm", *space, *others, "--json").stdout)
    assert len(record["trials"]) == 2  # the study was complete already


QUICK_STUDY = ["--space", "n_bits=6", "--set", "max_epochs=1", "--trials", "1"]


def test_tune_makes_the_folder_of_its_output(run, files, tmp_path):
    run("tune", files / "train.svm", *QUICK_STUDY, "-o", "new/folder/best.toml")
    assert tomllib.loads((tmp_path / "new/folder/best.toml").read_text())["model"]["n_bits"] == 6


def test_tune_refuses_a_bad_output_before_the_first_trial(run, files, tmp_path):
    (tmp_path / "file").write_text("")
    options = [*QUICK_STUDY, "--study", "study.log", "-o", "file/best.toml"]
    result = run("tune", files / "train.svm", *options, code=1)
    assert "-o file/best.toml cannot be written" in result.stderr
    assert not (tmp_path / "study.log").exists()


def test_tune_leaves_out_validation_rows_with_unknown_labels(run, files, tmp_path):
    rows = (files / "validation.svm").read_text()
    (tmp_path / "v.svm").write_text(f"99 1:1\n{rows}")
    result = run("tune", files / "train.svm", *QUICK_STUDY, "--validation", "v.svm")
    assert "1 of 61 validation rows have labels that were not learned" in result.stderr


def test_a_trial_that_fails_is_told_in_one_sentence(start, files):
    options = ["--space", "learning_rate=-2", "--trials", "1"]
    out, err = start("tune", files / "train.svm", *options).communicate()
    assert "error: learning_rate=-2 must be a number above 0" in err.decode().splitlines()[-1]
    assert "Traceback" not in err.decode()
    assert "Trial 0 failed" not in err.decode()
    assert not out


@pytest.mark.parametrize(
    ("options", "said", "code"),
    [
        (["--space", "n_bit=1,2"], "Did you mean 'n_bits'", 1),
        (["--space", "n_bits"], "has no values", 2),
        (["--space", "learning_rate=a..b"], "is not a range", 1),
        (["--jobs", "2"], "give --study", 1),
    ],
)
def test_wrong_use_of_tune(run, files, options, said, code):
    result = run("tune", files / "train.svm", *options, code=code)
    assert said in " ".join(result.stderr.replace("│", " ").split())


def test_demo_trains_compares_draws_and_reports(run, tmp_path):
    out = tmp_path / "demo"
    result = run("demo", "--classes", "12", "--epochs", "1", "-o", out)
    assert "DSNC shortlist" in result.stdout and "MLP" in result.stdout and "█" in result.stdout
    said = ("Trained on", "for strangers", "without retraining", "decided by")
    assert all(words in result.stdout for words in said)
    assert all((out / name).read_text().startswith("<!") for name in ("report.html", "model.html"))
    assert len(dsnc.load(out / "model").classes_) == 12
    assert "dsnc train FILE" in result.stderr
