"""``dsnc explain``: a text, rows of files, for people, as JSON and as a page."""

import json
import sys

import pytest

from dsnc.cli.explain import colored
from dsnc.model import read_fitted


def test_a_text(run, files):
    said = run("explain", files / "texts", "senior Night nurse", "--top", 2).stdout
    lines = said.splitlines()
    assert lines[0] == "senior Night nurse"
    assert lines[1].startswith("night nurse, ")
    assert lines[2] == "decided by the code alone"
    assert lines[3].startswith("code ")
    assert lines[-1].endswith("total")
    assert "other features" in said


def test_json(run, files):
    record = json.loads(run("explain", files / "texts", "night nurse", "--json").stdout)
    assert record["label"] == "night nurse"
    assert len(record["bits"]) == len(record["code"]) == 16
    values = [term["value"] for term in record["terms"]]
    assert sum(values) == pytest.approx(record["lead"], abs=1e-4)
    assert "night" in {term["name"] for term in record["terms"]}


def test_rows_of_files(run, files):
    said = run("explain", files / "vectors", files / "test.svm", "--rows", 3, "--json").stdout
    records = [json.loads(line) for line in said.splitlines()]
    assert len(records) == 3
    predicted = run("predict", files / "vectors", files / "test.svm").stdout.splitlines()[:3]
    assert [str(record["label"]) for record in records] == predicted
    names = {t["name"] for t in records[0]["terms"] if t["kind"] == "feature"}
    assert names == {f"feature {j}" for j in range(1, 9)}  # as svmlight has it
    told = run("explain", files / "texts", files / "test.tsv", "--rows", 2).stdout
    assert told.count("total") == 2
    told = run("explain", files / "texts", "-", "--rows", 2, input="nurse\n\nbus driver\n").stdout
    assert told.count("total") == 2


def test_a_page(run, files, tmp_path, monkeypatch):
    result = run("explain", files / "texts", "<b>nurse", "--html", "page.html")
    assert "page: page.html" in result.stderr
    page = (tmp_path / "page.html").read_text()
    assert "&lt;" in page and "<b>" not in page
    assert "<mark class=" in page
    monkeypatch.setitem(sys.modules, "jinja2", None)
    arguments = ["explain", files / "texts", "nurse", "--html", "new.html"]
    assert "pip install 'dsnc[report]'" in run(*arguments, code=1).stderr


def test_colors(files):
    model = read_fitted(files / "texts")
    text = colored(model.explain(["truck driver\x1b[31m"])[0])
    assert text.plain == "truck driver\\x1b[31m"
    assert any("green" in str(span.style) for span in text.spans)


@pytest.mark.parametrize(
    ("model", "source", "message"),
    [
        ("texts", "nowhere.tsv", "nowhere.tsv: cannot be opened"),
        ("vectors", "some text", "some text: does not exist. Expected a file"),
        ("nowhere", "nurse", "does not exist; give the folder of a model"),
    ],
)
def test_wrong_uses(run, files, model, source, message):
    assert message in " ".join(run("explain", files / model, source, code=1).stderr.split())


def test_no_rows(run, files):
    assert "- has no rows" in run("explain", files / "texts", "-", input="", code=1).stderr


def test_a_model_without_codes_is_refused(run, files):
    run("train", files / "train.svm", "-o", "m", "--method", "nearest_centroid")
    said = run("explain", "m", files / "test.svm", code=1).stderr
    assert "is of kind 'nearest_centroid', which has no codes" in said
