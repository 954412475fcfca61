"""What each contestant adds: settings, answers and confidences in the form that all share."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dsnc.metrics import expected_calibration_error
from peers.contestants import CONTESTANTS
from peers.contestants.fasttext_supervised import FastText
from peers.contestants.napkinxc_tree import NapkinXC
from peers.contestants.omikuji_trees import Omikuji
from peers.data import Data, Part, read
from peers.measure import measure
from peers.rankings import calibration_error


@pytest.mark.parametrize(
    ("name", "changed", "ranks", "is_sure"),
    [
        ("linear-svc", {}, True, False),
        ("sgd", {"alpha": 1e-3, "loss": "modified_huber"}, True, True),
        ("output-code", {"n_bits": 12}, False, False),
        ("nearest-centroid", {}, False, False),
        ("centroid-cosine", {}, True, False),
        ("nearest-neighbors", {}, True, True),
        ("mlp", {"n_units": 8, "batch_size": 8}, True, True),
        ("dsnc", {"n_bits": 8, "max_epochs": 5}, True, True),
    ],
)
def test_contestants_of_our_environment(
    name, changed, ranks, is_sure, three_classes_folder, tmp_path, monkeypatch
):
    monkeypatch.setattr("peers.measure.SINGLE", 2)
    kind, usual = CONTESTANTS[name]
    contestant = kind(usual | kind.choices[0] | changed, 1, tmp_path)
    data = read(three_classes_folder, "rows")
    figures = measure(contestant, data)
    assert figures["top-1 %"] > 90 and figures["validation %"] > 90
    assert (figures["top-5 %"] == 100) == ranks
    assert figures["answers"].shape[0] == 60
    assert 100 * (figures["answers"][:, 0] == data.test.y).mean() == figures["top-1 %"]
    assert (figures["ECE"] is not None) == is_sure
    if is_sure:
        confidences = contestant.confidences(data.test.X)
        assert confidences.shape == (60,) and confidences.min() > 1 / 3 - 1e-6


@pytest.mark.parametrize("name", ["sgd", "mlp", "nearest-neighbors"])
def test_label_sets(name, tmp_path):
    rng = np.random.default_rng(0)
    Y = sp.csr_matrix(rng.random((80, 4)) < 0.5, dtype=np.float32)
    X = sp.csr_matrix(np.repeat(Y.toarray(), 2, axis=1) + rng.random((80, 8)) / 9, dtype=np.float32)
    part = Part(X, Y, None)
    kind, usual = CONTESTANTS[name]
    few = {"mlp": {"max_epochs": 3, "label_smoothing": 0.1}, "sgd": {"loss": "modified_huber"}}.get(
        name, {}
    )
    contestant = kind(usual | kind.choices[0] | few, 1, tmp_path)
    figures = measure(contestant, Data("sets", 4, False, part, part, part))
    precisions = [figures[f"P@{k} %"] for k in (1, 3, 5)]
    assert figures["validation %"] == pytest.approx(np.mean(precisions))
    assert figures["P@1 %"] > 60 and 0 <= figures["ECE"] < 1


def test_fasttext_writes_all_labels_of_a_row_that_has_some(tmp_path):
    Y = sp.csr_matrix([[1, 0, 1], [0, 0, 0], [0, 1, 0]])
    part = Part(None, Y, ["one two", "none", "three"])
    FastText({}, 1, tmp_path).prepare(Data("sets", 3, True, part, part, part))
    lines = (tmp_path / "train.txt").read_text().splitlines()
    assert [line.split() for line in lines] == [
        ["__label__0", "__label__2", "one", "two"],
        ["__label__1", "three"],
    ]
    one_each = part._replace(y=np.array([2, 0, 1]))
    FastText({}, 1, tmp_path).prepare(Data("one", 3, True, one_each, one_each, one_each))
    assert (tmp_path / "train.txt").read_text().split("\n")[0].split()[0] == "__label__2"


def test_fasttext_crops_copies_of_rows(tmp_path):
    text = " ".join("abcdefgh")
    part = Part(None, np.zeros(40, dtype=np.int32), [text] * 40)
    FastText({"crop": 0.3}, 1, tmp_path).prepare(Data("one", 1, True, part, part, part))
    lines = (tmp_path / "train.txt").read_text().splitlines()
    words = [" ".join(line.split()[1:]) for line in lines]
    assert len(words) == 200 and all(some and some in text for some in words)
    assert 0.15 < np.mean([some != text for some in words]) < 0.45


def test_omikuji_writes_rows_with_features_and_labels_and_answers_others_with_nothing(tmp_path):
    X = sp.csr_matrix([[1.5, 0, 2], [0, 0, 0], [0, 3, 0], [1, 0, 0]])
    Y = sp.csr_matrix([[1, 1], [1, 0], [0, 1], [0, 0]])
    part = Part(X, Y, None)
    contestant = Omikuji({}, 1, tmp_path)
    contestant.prepare(Data("sets", 2, False, part, part, part))
    assert (tmp_path / "train.txt").read_text() == "2 3 2\n0,1 0:1.5 2:2\n1 1:3\n"

    class Model:
        def predict(self, pairs, top_k):
            return [(len(pairs), 0.75), (0, 0.5)][:top_k]

    contestant.model = Model()
    assert contestant.numbers(contestant.predict(X, 2)).tolist() == [
        [2, 0],
        [-1, -1],
        [1, 0],
        [1, 0],
    ]
    assert contestant.confidences(X).tolist() == [0.75, 0, 0.75, 0.75]


class Trained:
    """A model whose answers for two rows are known, the second without any."""

    def predict(self, rows, k):
        return [("__label__1",), ()], [np.array([1.00001]), np.array([])]

    def predict_proba(self, rows, top_k):
        return [[(1, 1.2)], []]


@pytest.mark.parametrize("kind", [FastText, NapkinXC])
def test_confidences_are_shares_and_0_where_there_is_no_answer(kind, tmp_path):
    contestant = kind({}, 1, tmp_path)
    contestant.model = Trained()
    assert contestant.confidences(["a", "b"]).tolist() == [1, 0]


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_calibration_is_that_of_the_library(seed):
    rng = np.random.default_rng(seed)
    confidences = rng.integers(0, 31, 50) / 30  # some of them on the edges of bins
    is_right = rng.random(50) < confidences
    expected = expected_calibration_error(is_right, confidences)
    assert calibration_error(is_right, confidences) == pytest.approx(expected, abs=1e-9)
