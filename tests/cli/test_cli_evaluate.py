"""``dsnc evaluate``: the figures are those of the metrics."""

import json

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

import dsnc
from dsnc.data import load_dataset
from dsnc.metrics import accuracy, expected_calibration_error, top_k_accuracy


def test_figures(run, files):
    data, model = load_dataset(files / "test.svm"), dsnc.load(files / "vectors")
    labels, shares = model.predict_top_k(data.X, k=3)
    arguments = ["evaluate", files / "vectors", files / "test.svm", "--top-k", "1", "3", "--json"]
    record = json.loads(run(*arguments).stdout)
    right = labels[:, 0] == data.labels
    assert record["accuracy"] == accuracy(data.labels, labels[:, 0])
    assert record["top_3_accuracy"] == top_k_accuracy(data.labels, labels)
    assert record["calibration_error"] == pytest.approx(
        expected_calibration_error(right, shares[:, 0])
    )
    each = [right[data.y == c].mean() for c in range(12)]
    assert record["macro_accuracy"] == pytest.approx(np.mean(each))
    assert record["rows_per_second"] > 0


def test_the_first_of_several_values_may_follow_an_equals_sign(run, files):
    arguments = ["evaluate", files / "vectors", files / "test.svm", "--top-k=2", "3", "--json"]
    assert {"top_2_accuracy", "top_3_accuracy"} <= set(json.loads(run(*arguments).stdout))


def test_mistakes_and_confusions(run, files, tmp_path):
    (tmp_path / "wrong.tsv").write_text(
        "label\ttext\nnight nurse\tsushi cook\nnight nurse\tsushi cook\nbus driver\tbus driver\n"
    )
    arguments = ["evaluate", files / "texts", "wrong.tsv", "--errors", 5, "--confusions", 5]
    record = json.loads(run(*arguments, "--json").stdout)
    assert [mistake["row"] for mistake in record["errors"]] == [1, 2]
    assert record["errors"][0]["text"] == "sushi cook"
    pair = {"label": "night nurse", "answer": "sushi cook", "rows": 2}
    assert record["confusions"] == [pair]
    shown = run(*arguments).stdout
    assert "The most confident mistakes" in shown
    assert "2     night nurse  sushi cook" in shown
    (tmp_path / "right.tsv").write_text("label\ttext\nbus driver\tbus driver\n")
    shown = run("evaluate", files / "texts", "right.tsv", "--errors", 1, "--confusions", 1).stdout
    assert "There are no mistakes." in shown
    assert "No pair was confused." in shown


def test_unknown_labels_count_as_wrong(run, files, tmp_path):
    (tmp_path / "a.tsv").write_text("label\ttext\nbus driver\tbus driver\nking\tbus driver\n")
    result = run("evaluate", files / "texts", "a.tsv", "--json")
    assert json.loads(result.stdout)["accuracy"] == 0.5
    assert "1 of 2 test rows have labels that were not learned, such as 'king'" in result.stderr


def test_another_decoder(run, files):
    arguments = ["evaluate", files / "vectors", files / "test.svm", "--json", "--decoder"]
    assert 0 <= json.loads(run(*arguments, "linear").stdout)["accuracy"] <= 1
    assert "training codes" in run(*arguments, "nearest", code=1).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["vectors", "test.tsv"], "was trained on numbers, but"),
        (["texts", "test.svm"], "was trained on texts, but"),
        (["vectors", "no.svm"], "no.svm: does not exist"),
        (["vectors", "test.svm", "--part", "train"], "--part train"),
    ],
)
def test_wrong_uses(run, files, arguments, message):
    model, data, *others = arguments
    result = run("evaluate", files / model, files / data, *others, code=1)
    assert message in result.stderr


def test_features_that_were_never_learned_are_left_out(run, files, tmp_path):
    (tmp_path / "wide.svm").write_text("1 1:1 20:1\n2 1:1\n")
    result = run("evaluate", files / "vectors", "wide.svm")
    assert "1 values of features above the 8" in result.stderr
    (tmp_path / "zero.svm").write_text("1 0:1\n")
    error = run("evaluate", files / "vectors", "zero.svm", code=1).stderr
    assert "has a feature 0" in error


@pytest.fixture(scope="module")
def doubtful(files, tmp_path_factory):
    """Rows of half of the classes, of which many are answered wrongly, and by other classes."""
    path = tmp_path_factory.mktemp("doubtful") / "rows.csv"
    titles = ["bus driver", "sushi cook", "truck", "triage", "night pilot", "cook nurse", "cargo"]
    labels = ["grill cook", "bus driver", "cargo pilot"]
    lines = [f"{label},{title}" for label in labels for title in titles for _ in range(2)]
    path.write_text("\n".join(["label,text", *lines, "night nurse,night nurse"]) + "\n")
    return path


def test_the_most_confident_mistakes_come_first(run, files, doubtful):
    arguments = ["evaluate", files / "texts", doubtful, "--json", "--errors"]
    mistakes = json.loads(run(*arguments, 1000).stdout)["errors"]
    sure = [mistake["probability"] for mistake in mistakes]
    assert len(set(sure)) > 3 and sure == sorted(sure, reverse=True)
    assert all(mistake["label"] != mistake["answer"] for mistake in mistakes)
    assert json.loads(run(*arguments, 3).stdout)["errors"] == mistakes[:3]


def test_macro_accuracy_is_that_of_scikit_learn(run, files, doubtful):
    figures = json.loads(run("evaluate", files / "texts", doubtful, "--json").stdout)
    data = load_dataset(doubtful)
    answers = dsnc.load(files / "texts").predict(data.X.tolist())
    assert not set(answers) <= set(data.labels)  # what is answered, but nobody's label
    with pytest.warns(UserWarning, match="y_pred contains classes not in y_true"):
        expected = balanced_accuracy_score(data.labels, answers)
    assert 0 < expected < 1
    assert figures["macro_accuracy"] == pytest.approx(expected, abs=1e-12)
    assert figures["accuracy"] == pytest.approx(np.mean(answers == data.labels), abs=1e-12)
