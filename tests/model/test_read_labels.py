"""Labels of a model file: none is changed, and none makes the others take room."""

import json
import tracemalloc

import numpy as np
import pytest

import dsnc
from dsnc.errors import InputError, ModelFileError
from dsnc.labels import Labels
from dsnc.model import read_labels

TEXTS = [f"class {i}" for i in range(3000)]


@pytest.fixture
def model():
    X = np.eye(4, 8, dtype=np.float32).repeat(30, axis=0) * 3
    ids = np.array([7, 2**53, 2**53 + 1, 2**53 + 2]).repeat(30)
    return dsnc.DSNCClassifier(n_bits=8, max_epochs=3, random_state=0).fit(X, ids)


def test_a_long_text_does_not_widen_the_others():
    tracemalloc.start()
    found = read_labels([*TEXTS, "x" * 20_000], "text")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6
    assert found.dtype == object
    assert found.tolist()[:3000] == TEXTS
    assert read_labels(TEXTS, "text").dtype.kind == "U"


@pytest.mark.parametrize("labels", [[1, 2], ["a", 1], [True]])
def test_numbers_are_no_texts(labels):
    with pytest.raises(InputError, match="not of kind 'text'"):
        read_labels(labels, "text")


def test_labels_are_counted_before_they_are_read(model, tmp_path):
    model.save(tmp_path / "model")
    header = json.loads((tmp_path / "model/model.json").read_text())
    header["classes"] = [*TEXTS, "x" * 20_000]
    header["features"]["label_kind"] = "text"
    (tmp_path / "model/model.json").write_text(json.dumps(header))
    with pytest.raises(ModelFileError, match="3001 classes for 4 scores"):
        dsnc.load(tmp_path / "model")


def test_large_labels_that_come_change_no_others_and_are_saved(model, tmp_path):
    before, X = model.classes_.tolist(), np.ones((3, 8), np.float32)
    model.add_classes(X, [2**63] * 3)
    model.save(tmp_path / "model")
    for each in (model, dsnc.load(tmp_path / "model")):
        assert each.classes_.tolist() == [*before, 2**63]
        assert set(each.predict(3 * np.eye(4, 8, dtype=np.float32)).tolist()) <= {*before, 2**63}
    with pytest.raises(InputError, match="use one type"):
        model.add_classes(X, [2.0] * 3)


def test_what_could_not_be_read_is_not_written(model, tmp_path):
    model._labels = Labels(np.array([7, 2**53, 2**53 + 1, 5], np.float64))
    with pytest.raises(InputError, match="a class occurs more than once"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
