"""What the demo compares and draws, without training anything."""

import numpy as np

from dsnc.data.dataset import Dataset, Split
from dsnc.paper import demo
from dsnc.paper.experiments import find_records
from report_records import N_CLASSES, N_TEST, write_one, write_runs


def test_the_most_accurate_model_comes_first(tmp_path):
    write_runs(tmp_path, ("dsnc", "mlp"), (24, 64), (0,))
    records = list(find_records(tmp_path))
    found = demo.compare(records, tmp_path)
    assert sorted(found, key=lambda model: -model.accuracy) == found
    assert {model.title for model in found} >= {"DSNC shortlist", "DSNC NN", "MLP"}
    assert {model.n_bits for model in found} == {24, 64}
    assert all(model.top_5 == 0.9 and model.n_bytes == 100 for model in found)


def test_answers_are_right_then_wrong(tmp_path, monkeypatch):
    rows = np.arange(N_TEST * 20, dtype=float).reshape(N_TEST, 20)
    y = np.arange(N_TEST) % N_CLASSES
    part = Dataset(rows, y, np.array(list("abcdef")), image_shape=(4, 5))
    write_one(tmp_path, "dsnc", 64)
    (record,) = find_records(tmp_path)

    class Prepared:
        parts, image_shape = Split(part, part, part), (4, 5)

    monkeypatch.setattr(demo, "prepare", lambda source: Prepared)
    found = demo.answers([record], 6)
    assert [answer.is_right for answer in found] == [True] * 3 + [False] * 3
    assert all((answer.said[0] == answer.truth) == answer.is_right for answer in found)
    assert all(len(answer.said) == 3 and 0 <= answer.confidence <= 1 for answer in found)
    assert demo.answers([], 6) == []


def test_a_run_that_failed_answers_nothing(tmp_path):
    write_one(tmp_path, "dsnc", 64, error="died")
    assert demo.answers(list(find_records(tmp_path)), 6) == []


def test_a_picture_becomes_text():
    assert demo.drawn(np.array([[0.0, 4.0], [1.0, 0.0], [0.0, 2.0]])) == "  ░█\n   ▒"
    assert demo.drawn(np.zeros((2, 3))) == " " * 5
