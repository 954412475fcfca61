"""dsnc classes, and rows of no class on the command line."""

import json
import shutil

import pytest

import dsnc
from cli_files import QUICK


@pytest.fixture
def model(files, tmp_path):
    shutil.copytree(files / "texts", tmp_path / "model")
    return tmp_path / "model"


def test_list(run, model):
    lines = run("classes", "list", model).stdout.splitlines()
    assert len(lines) == 12
    assert "night nurse" in lines
    assert json.loads(run("classes", "list", model, "--json").stdout)["removed"] == []


def test_add_replaces_the_model(run, model, tmp_path):
    rows = "label\ttext\n" + "welder\tmig welder\nwelder\tsenior tig welder\n" * 5
    (tmp_path / "new.tsv").write_text(rows)
    said = run("classes", "add", model, tmp_path / "new.tsv").stderr
    assert "1 class added from 10 rows; 13 classes in all" in said
    assert "welder" in dsnc.load(model).classes_
    assert "Changes since training" in (model / "README.md").read_text()


def test_describe_replaces_the_model(run, model, tmp_path):
    lines = "label,text\nambulance,night truck driver\nambulance,triage\nnight nurse,a nurse\n"
    (tmp_path / "new.csv").write_text(lines)
    said = run("classes", "describe", model, tmp_path / "new.csv").stderr
    assert "2 classes described, 1 of them new; 13 classes in all" in said
    again = dsnc.load(model)
    assert "ambulance" in again.classes_
    assert again._memory.described.sum() == 3


def test_describe_by_several_columns_and_json_lines(run, model, tmp_path):
    (tmp_path / "new.tsv").write_text("label\tname\tlong\nhelper\tnurse\tward nurse at night\n")
    options = ("--text-column", "name", "--text-column", "long", "-o", tmp_path / "other")
    run("classes", "describe", model, tmp_path / "new.tsv", *options)
    assert dsnc.load(tmp_path / "other")._memory.described.sum() == 2
    (tmp_path / "new.jsonl").write_text('{"label": "chef", "description": "grill cook"}\n' * 2)
    run("classes", "describe", tmp_path / "other", tmp_path / "new.jsonl")
    assert "chef" in dsnc.load(tmp_path / "other").classes_


def test_describe_refuses(run, model, tmp_path):
    before = (model / "model.json").read_bytes()
    (tmp_path / "new.csv").write_text("label,text\nchef,?! - ...\n")
    said = run("classes", "describe", model, tmp_path / "new.csv", code=1).stderr
    assert "no n-gram that the model knows" in said
    (tmp_path / "new.csv").write_text("label,a,b\nchef,1,2\n")
    said = run("classes", "describe", model, tmp_path / "new.csv", code=1).stderr
    assert "only 0 classes with rows have attributes" in said
    (tmp_path / "new.csv").write_text("label,a,b\nchef,1,2\nchef,3,2\n")
    said = run("classes", "describe", model, tmp_path / "new.csv", code=1).stderr
    assert "attributes of 'chef' twice" in said
    assert (model / "model.json").read_bytes() == before


def test_train_with_descriptions(run, files, tmp_path):
    (tmp_path / "said.tsv").write_text(
        "label\ttext\nnight nurse\tnurse at night\nchef\tgrill cook\n"
    )
    options = ("-o", tmp_path / "new", "--descriptions", tmp_path / "said.tsv", *QUICK)
    run("train", files / "train.tsv", *options)
    assert "chef" in dsnc.load(tmp_path / "new").classes_
    others = (*options[:4], "--method", "nearest_centroid", "--force")
    said = run("train", files / "train.tsv", *others, code=1).stderr
    assert "--descriptions does not work with --method nearest_centroid" in said


def test_remove_writes_elsewhere(run, model, tmp_path):
    (tmp_path / "gone.txt").write_text("bus driver\n\n")
    other = tmp_path / "other"
    run("classes", "remove", model, "night nurse", "--from", tmp_path / "gone.txt", "-o", other)
    assert len(dsnc.load(model).classes_) == 12
    listed = json.loads(run("classes", "list", other, "--json").stdout)
    assert sorted(listed["removed"]) == ["bus driver", "night nurse"]
    assert listed["changes"] == [{"classes removed": 2, "classes in all": 10}]


def test_labels_that_are_numbers(run, files, tmp_path):
    run("classes", "remove", files / "vectors", "3", "-o", tmp_path / "fewer")
    assert 3 not in dsnc.load(tmp_path / "fewer").classes_


def test_refusals_leave_the_model_alone(run, model):
    before = (model / "model.json").read_bytes()
    said = run("classes", "remove", model, "night nurs", code=1).stderr
    assert "not one of the 12 classes" in said
    assert "night nurse" in said
    run("classes", "remove", model, code=1)
    assert (model / "model.json").read_bytes() == before


def test_predict_unknown(run, files, tmp_path):
    lines = (files / "test.svm").read_text().splitlines()[:20]
    far = "1 " + " ".join(f"{j}:{(-1) ** j * 0.01}" for j in range(1, 9))
    (tmp_path / "rows.svm").write_text("\n".join([*lines, far]) + "\n")
    options = ("predict", files / "vectors", tmp_path / "rows.svm")
    plain = run(*options).stdout.splitlines()
    marked = run(*options, "--unknown", "other", "--unknown-share", "0.2").stdout.splitlines()
    assert marked[-1] == "other"
    assert sum(a != b for a, b in zip(plain[:-1], marked[:-1], strict=True)) < 12
    record = json.loads(run(*options, "--unknown", "other", "--json").stdout.splitlines()[-1])
    assert record["labels"] == ["other"]
    assert record["probabilities"] == []


def test_predict_unknown_in_tables(run, files, tmp_path):
    rows = (files / "test.tsv").read_text().splitlines()[:6]
    (tmp_path / "rows.tsv").write_text("\n".join([*rows, "x\tzzqq xxyy"]) + "\n")
    options = ("predict", files / "texts", tmp_path / "rows.tsv", "--unknown-share", "0.3")
    table = run(*options, "--unknown", "other").stdout.splitlines()
    assert table[-1].split("\t")[2:] == ["other", ""]


def test_evaluate_unknown(run, files):
    options = ("evaluate", files / "vectors", files / "test.svm", "--json")
    figures = json.loads(run(*options, "--unknown", files / "validation.svm").stdout)
    assert 0.3 < figures["novelty_auroc"] < 0.7  # rows of the same classes
    assert 0 <= figures["known_rows_lost"] <= 1
