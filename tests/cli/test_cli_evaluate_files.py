"""``dsnc evaluate``: tables and a page, written whole, and never over something by accident."""

import csv
import json
import sys

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_recall_fscore_support

import dsnc
from dsnc.cli.table_files import write_table
from dsnc.data import load_dataset


@pytest.fixture(scope="module")
def known(files):
    """Labels, answers and probabilities of the model of vectors."""
    data, model = load_dataset(files / "test.svm"), dsnc.load(files / "vectors")
    answers, shares = model.predict_top_k(data.X, k=1)
    return data.labels, answers[:, 0], shares[:, 0]


def test_f1_is_that_of_scikit_learn(run, files, known):
    labels, answers, _ = known
    record = json.loads(run("evaluate", files / "vectors", files / "test.svm", "--json").stdout)
    for average in ("macro", "weighted"):
        expected = f1_score(labels, answers, average=average, zero_division=0)
        assert record[f"{average}_f1"] == pytest.approx(expected)
    wrong = sum(pair["rows"] for pair in record["confusions"])
    assert wrong == (labels != answers).sum()
    shown = run("evaluate", files / "vectors", files / "test.svm").stdout
    assert "macro F1" in shown and "weighted F1" in shown


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_tables(run, files, known, tmp_path, ending):
    names = f"new/classes.{ending}", f"new/deeper/rows.{ending}"
    arguments = ["evaluate", files / "vectors", files / "test.svm"]
    run(*arguments, "--per-class", names[0], "--predictions", names[1])
    classes, rows = (read(tmp_path / name) for name in names)
    labels, answers, shares = known
    numbers = np.unique([labels, answers])
    assert [int(row["class"]) for row in classes] == numbers.tolist()
    expected = precision_recall_fscore_support(labels, answers, labels=numbers, zero_division=0)
    for name, column in zip(("precision", "recall", "f1", "support"), expected, strict=True):
        np.testing.assert_allclose([float(row[name]) for row in classes], column)
    assert sum(int(row["predicted"]) for row in classes) == len(labels)
    assert [int(row["row"]) for row in rows] == list(range(1, 61))
    assert [int(row["label"]) for row in rows] == labels.tolist()
    assert [int(row["predicted"]) for row in rows] == answers.tolist()
    np.testing.assert_allclose([float(row["probability"]) for row in rows], shares, atol=1e-6)


def read(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in lines]
    delimiter = "\t" if path.suffix == ".tsv" else ","
    return list(csv.DictReader(lines, delimiter=delimiter))


def test_odd_labels_stay_in_their_cells(tmp_path):
    odd = 'a\t"b",\nc\r\\ \udcff'
    for ending in ("csv", "tsv", "jsonl"):
        write_table(tmp_path / f"t.{ending}", ["label", "n"], [[odd, 1], ["x", 2]])
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file))[1] == [odd.replace("\udcff", "\\udcff"), "1"]
    tsv = (tmp_path / "t.tsv").read_text(encoding="utf-8")
    assert tsv == 'label\tn\na\\t"b",\\nc\\r\\\\ \\udcff\t1\nx\t2\n'
    lines = (tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["n"] for line in lines] == [1, 2]


def test_no_cell_is_a_formula_in_a_spreadsheet(tmp_path):
    for ending in ("csv", "tsv", "jsonl"):
        write_table(tmp_path / f"t.{ending}", ["label", "n"], [["=1+1", -1], [["@a", "b"], -0.5]])
        [first, second] = read(tmp_path / f"t.{ending}")[-2:]
        if ending == "jsonl":
            assert (first, second) == (
                {"label": "=1+1", "n": -1},
                {"label": ["@a", "b"], "n": -0.5},
            )
        else:
            expected = {"label": "'=1+1", "n": "-1"}, {"label": "'@a|b", "n": "-0.5"}
            assert (first, second) == expected


def test_a_page(run, files, tmp_path):
    (tmp_path / "wrong.tsv").write_text("label\ttext\nnight nurse\tsushi cook\n<b>\tsushi cook\n")
    result = run("evaluate", files / "texts", "wrong.tsv", "--html", "new/page.html")
    page = (tmp_path / "new" / "page.html").read_text(encoding="utf-8")
    assert "page: new/page.html" in result.stderr
    for words in ("macro F1", "<svg", "night nurse", "&lt;b&gt;", "texts on wrong.tsv"):
        assert words in page


def test_older_files_are_refused_before_anything_is_measured(run, files, tmp_path):
    (tmp_path / "a.csv").write_text("mine")
    for option in ("--per-class", "--predictions", "--html"):
        error = run("evaluate", "no model", "no.tsv", option, "a.csv", code=1).stderr
        assert f"{option} a.csv exists; choose another name, or replace it with --force" in error
    assert (tmp_path / "a.csv").read_text() == "mine"
    run("evaluate", files / "texts", files / "test.tsv", "--per-class", "a.csv", "--force")
    assert len(read(tmp_path / "a.csv")) == 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--per-class", "a.xlsx"], "--per-class a.xlsx must end in one of .csv, .tsv, .jsonl"),
        (["--predictions", "a"], "--predictions a must end in one of"),
        (["--html", "."], "--html . is a folder"),
        (["--per-class", "a.csv", "--predictions", "./a.csv"], "--predictions both name a.csv"),
    ],
)
def test_files_that_cannot_be(run, files, arguments, message):
    result = run("evaluate", files / "texts", files / "test.tsv", *arguments, code=1)
    assert message in result.stderr


def test_without_the_extra_the_pip_line_comes_first(run, files, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    error = run("evaluate", "no model", "no.tsv", "--html", "a.html", code=1).stderr
    assert "pip install 'dsnc[report]'" in error
