"""Label sets on the command line, from training to predictions, without a word about them."""

import csv
import io
import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import f1_score, precision_score, recall_score
from typer.testing import CliRunner

import dsnc
from dsnc import metrics
from dsnc.cli import app
from dsnc.cli.predict import Joint
from dsnc.data import load_dataset

WORDS = {"big": "huge", "wet": "sea", "tame": "farm", "wild": "wood", "old": "stone"}
QUICK = ["--epochs", "15", "--bits", "16", "--seed", "0"]


def rows_of_tags(n, seed):
    """Yield (labels, text): a word for each label, and one that says nothing."""
    rng = np.random.default_rng(seed)
    for number in range(n):
        labels = [label for label in WORDS if rng.random() < 0.35]
        yield labels, " ".join([*(WORDS[label] for label in labels), f"w{number % 5}"])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with tags.csv, test.csv and the model that learned from the first."""
    folder = tmp_path_factory.mktemp("tags")
    for name, n, seed in (("tags", 240, 0), ("test", 60, 1)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            rows = ((number, ";".join(s), t) for number, (s, t) in enumerate(rows_of_tags(n, seed)))
            csv.writer(file).writerows([("id", "tags", "text"), *rows])
    files = [folder / "tags.csv", "-o", folder / "m", "--test", folder / "test.csv"]
    words = ["train", "--verbose", *files, "--label-separator", ";", *QUICK]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, (result.stderr, result.exception)
    (folder / "said.txt").write_text(result.stderr)
    (folder / "report.txt").write_text(result.stdout)
    return folder


def test_training_says_that_there_are_label_sets(place):
    said, report = (place / "said.txt").read_text(), (place / "report.txt").read_text()
    assert "tags.csv: comma, header, label 'tags' separated by ';', text 'text', 240 rows" in said
    assert "; label sets, 5 labels, 1." in said
    assert "tags: 240 rows, 60 to test, texts, label sets, 5 labels, 1." in said
    assert "rows without a label: " in said
    for words in ("5 labels from 216 rows", "held-out rows, ", "test PSP@3", "test micro F1"):
        assert words in report
    assert "one_vs_rest" not in said


def test_figures_are_those_of_the_library(run, place):
    record = json.loads(run("evaluate", place / "m", place / "test.csv", "--json").stdout)
    model = dsnc.load(place / "m")
    assert isinstance(model, dsnc.DSNCMultiLabelClassifier)
    data = load_dataset(place / "test.csv", label_separator=";", classes=model.classes_)
    texts = data.X.tolist()
    best = np.searchsorted(model.classes_, model.predict_top_k(texts, k=5)[0])
    answers = sp.csr_array(model.predict(texts))
    propensity = metrics.propensities_of_counts(model.label_counts_, model.data_["rows"])
    for k in (1, 3, 5):
        assert record[f"precision_at_{k}"] == metrics.precision_at_k(data.Y, best, k)
        assert record[f"recall_at_{k}"] == metrics.recall_at_k(data.Y, best, k)
        assert record[f"ndcg_at_{k}"] == metrics.ndcg_at_k(data.Y, best, k)
        expected = metrics.psprecision_at_k(data.Y, best, k, propensity)
        assert record[f"psprecision_at_{k}"] == pytest.approx(expected)
    for average in ("micro", "macro", "samples"):
        expected = f1_score(data.Y, answers, average=average, zero_division=0)
        assert record[f"{average}_f1"] == pytest.approx(expected)
    assert record["micro_f1"] > 0.9
    likely = model.predict_proba(texts)
    for row in record["thresholds"]:
        chosen = (likely >= row["threshold"]).astype(int)
        for name, average in (("micro_f1", "micro"), ("macro_f1", "macro")):
            assert row[name] == pytest.approx(f1_score(data.Y, chosen, average=average))
        assert row["recall"] == pytest.approx(recall_score(data.Y, chosen, average="micro"))
        expected = precision_score(data.Y, chosen, average="micro", zero_division=0)
        assert row["precision"] == pytest.approx(expected)
    missed = {entry["label"]: entry["rows"] for entry in record["missed"]}
    right = data.Y.toarray() & answers.toarray()
    lost = dict(zip(model.classes_, (data.Y.toarray() - right).sum(axis=0).tolist(), strict=True))
    assert missed == {label: rows for label, rows in lost.items() if rows}


def test_tables_and_a_page(run, place, tmp_path):
    files = ["--per-class", "c.csv", "--predictions", "p.csv", "--html", "e.html"]
    result = run("evaluate", place / "m", place / "test.csv", *files, "--errors", "3", "--top-k", 2)
    assert "P@2" in result.stdout and "P@1" not in result.stdout
    assert "threshold  precision  recall  micro F1  macro F1" in result.stdout
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text().splitlines()))
    assert list(rows[0]) == ["id", "line", "labels", "predicted", "best", "probability"]
    assert [set(row["labels"].split(";")) - {""} for row in rows] == [
        set(labels) for labels, _ in rows_of_tags(60, 1)
    ]
    assert "" in {row["predicted"] for row in rows}
    classes = list(csv.DictReader((tmp_path / "c.csv").read_text().splitlines()))
    assert [row["class"] for row in classes] == sorted(WORDS)
    assert all(float(row["f1"]) > 0.8 for row in classes)
    page = (tmp_path / "e.html").read_text(encoding="utf-8")
    assert "micro F1" in page and "Confused pairs" not in page
    run("evaluate", place / "m", place / "test.csv", "--predictions", "p.jsonl")
    first = json.loads((tmp_path / "p.jsonl").read_text().splitlines()[0])
    assert first["labels"] == sorted(next(rows_of_tags(60, 1))[0])


def test_labels_that_were_not_learned_count_as_missed(run, place, tmp_path):
    lines = ["tags,text", "big;strange,huge w1", "wet,sea w2", ",w3"]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    result = run("evaluate", place / "m", "t.csv", "--json")
    assert "1 of 3 labels of the test rows were not learned, such as 'strange'" in result.stderr
    record = json.loads(result.stdout)
    assert record["recall_at_5"] == pytest.approx((0.5 + 1 + 0) / 3)
    surest = record["thresholds"][5]  # "big" and "wet" are found, "strange" is missed
    assert (surest["threshold"], surest["macro_f1"]) == (0.5, pytest.approx(2 / 3))
    assert {"label": "strange", "rows": 1, "of": 1, "wrongly given": 0} in record["missed"]
    (tmp_path / "u.csv").write_text("tags,text\np,a\nq,b\n")
    assert "None of the 2 labels" in run("evaluate", place / "m", "u.csv", code=1).stderr


def test_a_file_of_single_labels_is_read_as_sets(run, place, tmp_path):
    for name, content in {
        "one.jsonl": '{"tags": "big", "text": "huge"}\n{"text": "w1"}\n',
        "one.txt": "__label__big huge\nw1\n",
        "one.csv": "text,tags\nhuge,big\nw1,\n",
    }.items():
        (tmp_path / name).write_text(content)
        reader = ["--reader", "fasttext"] if name == "one.txt" else []
        result = run("evaluate", place / "m", name, "--json", *reader)
        assert "label sets, 1 label, 0.5 a row, 1 row without any" in result.stderr
        assert json.loads(result.stdout)["precision_at_1"] == 0.5


TEXTS = "huge sea w1\nw2\nfarm w3\n"
EXPECTED = [{"big", "wet"}, set(), {"tame"}]


def test_lines_get_their_sets(run, place):
    plain = run("predict", place / "m", "-", input=TEXTS).stdout
    lines = plain.removesuffix("\n").split("\n")
    assert [set(line.split("\t")) - {""} for line in lines] == EXPECTED
    records = run("predict", place / "m", "-", "--json", input=TEXTS).stdout.splitlines()
    record = json.loads(records[0])
    assert record["labels"] == lines[0].split("\t")
    assert record["probabilities"] == sorted(record["probabilities"], reverse=True)
    shares = run("predict", place / "m", "-", "--proba", input=TEXTS).stdout.splitlines()
    assert shares[0].split("\t")[::2] == record["labels"] and shares[1] == ""
    joined = run("predict", place / "m", "-", "--label-separator", "; ", input=TEXTS).stdout
    assert set(joined.splitlines()[0].split("; ")) == EXPECTED[0]
    top = run("predict", place / "m", "-", "--top-k", 2, input=TEXTS).stdout.splitlines()
    assert [len(line.split("\t")) for line in top] == [2, 2, 2]
    sure = run("predict", place / "m", "-", "--reject-below", 1, input=TEXTS).stdout
    assert sure == "\n\n\n"


def test_fasttext_lines_get_fasttext_labels(run, place, tmp_path):
    (tmp_path / "t.txt").write_text(
        "__label__old huge sea w1\nw2\n__label__big __label__old farm\n"
    )
    lines = run("predict", place / "m", "t.txt").stdout.split("\n")
    assert set(lines[0].split()) == {"__label__big", "__label__wet"}
    assert lines[1:] == ["", "__label__tame", ""]


def test_a_label_of_fasttext_is_one_word_without_orders_for_a_terminal():
    assert Joint(" ", "__label__").written("a b\t\x1b[31mc\\d") == "__label__a_b_\\x1b[31mc\\d"


def test_tables_come_back_with_sets(run, place, tmp_path):
    rows = list(csv.DictReader(io.StringIO(run("predict", place / "m", place / "test.csv").stdout)))
    found = [set(row["prediction"].split(";")) - {""} for row in rows]
    assert (
        np.mean([a == set(b) for a, (b, _) in zip(found, rows_of_tags(60, 1), strict=True)]) > 0.9
    )
    sizes = [len(row["probability"].split(";")) if row["probability"] else 0 for row in rows]
    assert sizes == [len(some) for some in found]
    out = run("predict", place / "m", place / "test.csv", "--json").stdout.splitlines()
    assert [set(json.loads(line)["prediction"]) for line in out] == found
    other = run("predict", place / "m", place / "test.csv", "--label-separator", "i")
    assert "contains 'i', which separates labels" in other.stderr
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"text": [row["text"] for row in rows]}), tmp_path / "t.parquet")
    run("predict", place / "m", "t.parquet", "-o", "p.parquet")
    back = pq.read_table(tmp_path / "p.parquet").to_pydict()
    assert [set(some) for some in back["prediction"]] == found


def test_inspect_tells_what_makes_a_set(run, place):
    shown = run("inspect", place / "m").stdout
    assert "fitted for micro F1" in shown and "validation P@1" in shown and "test P@1" in shown
    assert "labels       " in shown


def test_settings_of_label_sets(run, place, tmp_path):
    (tmp_path / "tags.svm").write_text(
        "".join(f"{i % 3},{3 + i % 2} {1 + i % 6}:1\n" for i in range(60))
    )
    (tmp_path / "val.svm").write_text("9 1:1\n0 2:1\n1,3 2:1\n")
    options = ["--threshold", "0.4", "--bits", "8", "--epochs", "3", "--validation", "val.svm"]
    result = run("train", "tags.svm", "-o", "m", *options, "--json")
    assert json.loads(result.stdout)["label_sets"] is True
    assert "1 of 4 labels of the validation rows were not learned, such as 9" in result.stderr
    assert dsnc.load(tmp_path / "m").threshold == 0.4
    assert "0.4 or more (as given)" in run("inspect", "m").stdout
    (tmp_path / "one.svm").write_text("1 1:1\n2 2:1\n" * 5)
    error = run("train", "no.svm", "-o", "n", "--threshold", "best", code=1).stderr
    assert "--threshold 'best' is not one of micro, macro, samples" in error
    error = run("train", "one.svm", "-o", "n", "--set", "threshold=0.4", code=1).stderr
    assert "--threshold 0.4 is for label sets, but each row of one has one label" in error


def test_no_label_in_any_row(run, place, tmp_path):
    (tmp_path / "e.csv").write_text("tags,text\n,w1\n,w2\n,w3\n")
    error = run("train", "e.csv", "-o", "n", "--label-separator", ";", code=1).stderr
    assert "e has no label in any row, so that nothing can be learned" in error
    result = run("evaluate", place / "m", "e.csv", "--json")
    assert "no row of e has a label" in result.stderr
    record = json.loads(result.stdout)
    assert (record["macro_f1"], record["precision_at_1"], record["missed"]) == (0, 0, [])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["train", "--method", "nearest_centroid", "-o", "n"],
            "nearest_centroid learns one label a row",
        ),
        (["tune"], "has label sets, which dsnc tune does not support"),
    ],
)
def test_what_is_not_for_label_sets_says_so(run, place, words, message):
    arguments = [words[0], place / "tags.csv", "--label-separator", ";", *words[1:]]
    assert message in run(*arguments, code=1).stderr


def test_a_model_of_single_labels_refuses_sets(run, files, tmp_path):
    (tmp_path / "sets.jsonl").write_text('{"label": ["a", "b"], "text": "night nurse"}\n')
    error = run("evaluate", files / "texts", "sets.jsonl", code=1).stderr
    assert (
        "sets.jsonl has rows with several labels, but only one label a row is allowed here" in error
    )


def test_show_tells_of_sets(run, place):
    shown = run("data", "show", place / "tags.csv", "--label-separator", ";").stdout
    assert "label sets, 5 labels" in shown and "rows without a label" in shown
    record = json.loads(
        run("data", "show", place / "tags.csv", "--label-separator", ";", "--json").stdout
    )
    assert record["has_label_sets"] and record["classes"] == 5


def test_labels_of_sets_come_and_go(run, place, tmp_path):
    rows = [f"{i},{'zoo;big' if i % 2 else 'zoo'},huge zebra w{i}" for i in range(12)]
    rows += [f"{i},big,huge w{i}" for i in range(4)]
    (tmp_path / "new.csv").write_text("\n".join(["id,tags,text", *rows]) + "\n")
    said = run("classes", "add", place / "m", "new.csv", "-o", "more").stderr
    assert "1 class added from 16 rows" in said
    more = dsnc.load(tmp_path / "more")
    assert "zoo" in more.predict_top_k(["zebra"], 2)[0]
    run("classes", "remove", place / "m", "big", "wet", "-o", "smaller")
    assert dsnc.load(tmp_path / "smaller").classes_.tolist() == sorted({*WORDS} - {"big", "wet"})
