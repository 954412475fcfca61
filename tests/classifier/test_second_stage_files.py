"""Model files whose second stage is damaged, or made to do harm: refused, or loaded as they are."""

import copy
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dsnc
from dsnc.errors import ModelFileError
from dsnc.persistence import read_model, write_model
from dsnc.rerank import Space
from three_classes import X, Y, quick

SECOND = {"name": "features", "size": 3, "mix": 0.5, "reach": 100.0}
SECOND["budget"] = 42  # not all weights, so that those that are there have to be named


@pytest.fixture(scope="module")
def model():
    return quick(reranker=SECOND, decoder="soft").fit(X, Y)


@pytest.fixture(scope="module")
def of_centers(model):
    """The same with several vectors of a class, made up, which are centers."""
    changed, known = copy.deepcopy(model), model.predictor_
    space = Space.of(5, np.arange(5), np.linspace(0.5, 2, 5))
    centers = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
    vectors = space.vectors(centers, np.array([0, 2, 3, 6]))
    second = replace(known.reranker, vectors=vectors)
    changed.predictor_ = known.with_decoder(known.decoder, known.trained, second)
    return changed


@pytest.fixture
def saved(model, tmp_path):
    model.save(tmp_path / "model")
    return tmp_path / "model"


def forge(folder, change):
    """Change the arrays of the second stage, and write the file as whoever forges one would."""
    header, arrays = read_model(folder)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    change(arrays)
    write_model(folder, header, arrays, overwrite=True)


def refused(folder, message):
    with pytest.raises(ModelFileError, match=f"(?s){message}") as caught:
        dsnc.load(folder)
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["counts", "features", "weights", "scales", "bias", "unit_rows", "n_features", "mix", "size"],
)
def test_an_array_that_is_missing_or_cut(saved, name):
    before = {path: path.read_bytes() for path in saved.iterdir()}
    for change in (
        lambda arrays: arrays.pop(f"reranker.{name}"),
        lambda arrays: arrays.update({f"reranker.{name}": arrays[f"reranker.{name}"][:-1]}),
        lambda arrays: arrays.update({f"reranker.{name}": arrays[f"reranker.{name}"][None]}),
    ):
        forge(saved, change)
        refused(saved, "")
        for path, content in before.items():
            path.write_bytes(content)
    dsnc.load(saved)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("features", np.array([5], np.uint16), "features has 5; there are 5"),
        ("counts", np.array([2**32 - 1], np.uint32), "do not fit starts"),
        ("bias", np.array([np.nan], np.float32), "bias has values"),
        ("scales", np.array([np.inf], np.float32), "scales has values"),
        ("n_features", np.array([6], np.int64), "expects 6 features, but the encoder expects 5"),
        ("n_features", np.array([-1], np.int64), "features"),
        ("n_features", np.array([2**62], np.int64), "features, but the encoder expects 5"),
        ("size", np.array([0], np.int64), "size=0"),
        ("mix", np.array([-1], np.float32), "mix=-1"),
        ("reach", np.array([np.nan], np.float32), "reach"),
        ("confidence", np.array([0], np.float32), "temperature"),
    ],
)
def test_a_wrong_value(saved, name, value, message):
    def change(arrays):
        arrays[f"reranker.{name}"][:1] = value

    forge(saved, change)
    refused(saved, message)


def test_another_number_of_classes(saved):
    def change(arrays):
        for name in ("counts", "scales", "bias"):
            array = arrays[f"reranker.{name}"]
            arrays[f"reranker.{name}"] = np.append(array, array[:1] * 0)

    forge(saved, change)
    refused(saved, "the decoder has 3 classes, but the reranker has 4")


def test_an_array_that_nobody_knows(saved):
    forge(saved, lambda arrays: arrays.update({"reranker.more": np.zeros(1)}))
    refused(saved, "unknown arrays")


def test_without_its_arrays_the_model_has_one_stage(model, saved):
    def change(arrays):
        for name in [name for name in arrays if name.startswith("reranker.")]:
            del arrays[name]

    forge(saved, change)
    loaded = dsnc.load(saved)
    assert loaded.predictor_.reranker is None
    assert np.array_equal(loaded.encode(X).words, model.encode(X).words)


def test_files_of_the_present_are_small(saved):
    _, arrays = read_model(saved)
    second = {name: array for name, array in arrays.items() if name.startswith("reranker.")}
    assert sum(array.nbytes for array in second.values()) < 200
    assert second["reranker.features"].dtype == np.uint16


def test_centers_come_back(of_centers, tmp_path):
    of_centers.save(tmp_path / "m")
    again = dsnc.load(tmp_path / "m")
    assert np.array_equal(again.predict_proba(X), of_centers.predict_proba(X))
    assert again.predictor_.reranker.vectors.firsts.tolist() == [0, 2, 3, 6]


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_any_numbers_do_no_harm(model, of_centers, tmp_path, data):
    chosen = data.draw(st.sampled_from([model, of_centers]))
    chosen.save(tmp_path / "m", overwrite=True)

    def change(arrays):
        names = sorted(name for name in arrays if name.startswith("reranker."))
        for name in data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2)):
            array = arrays[name]
            octets = array.view(np.uint8).copy().reshape(-1)
            if name.endswith("unit_rows"):
                octets[:] = data.draw(st.booleans())
            else:
                place = data.draw(st.integers(0, len(octets) - 1))
                octets[place] = data.draw(st.integers(0, 255))
            arrays[name] = octets.view(array.dtype).reshape(array.shape)

    forge(tmp_path / "m", change)
    try:
        loaded = dsnc.load(tmp_path / "m")
    except ModelFileError as error:
        assert str(tmp_path / "m") in str(error)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # sums of what is huge
        assert set(loaded.predict(X)) <= {0, 1, 2}
        assert loaded.predict_proba(X).shape == (60, 3)
        assert loaded.predict_top_k(X, k=2)[0].shape == (60, 2)
