"""Model files of the classifier: what comes back, and what stays the same."""

import hashlib
import json
import os
import random
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
import torch

import dsnc
from dsnc.errors import InputError, OutputExistsError
from dsnc.gradients import Relaxed
from dsnc.labels import Labels, object_array
from three_classes import X, Y, contents, quick

# There and back


@pytest.mark.parametrize(
    "labels",
    [
        np.array([2**53 + 1, 2**62, -(2**63)]),
        np.array([1, 2, 3], dtype=np.int32),
        np.array([1, 2, 3], dtype=np.uint8),
        np.array([0, 2**63, 2**64 - 1], dtype=np.uint64),
        np.array([1.0, -0.0, 2.0**53]),
        np.array([1.0, 2.0, 3e9], dtype=np.float32),
        np.array([1.0, 2.0, 4.0], dtype=np.float16),
        np.array(["ä\0b", "字", "𝔸\n\"'\\"]),
        np.array(["a\0", "a", "\0"], dtype=object),
        np.array(["\ud800", "", " "], dtype=object),
        np.array(["a", "b", "x" * 10_000]),
    ],
    ids=lambda labels: f"{labels.dtype}-{labels[0]!r}",
)
def test_labels_come_back(labels, tmp_path):
    model = quick().fit(X, labels[Y])
    model.save(tmp_path / "model")
    loaded = dsnc.load(tmp_path / "model")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert [type(a) for a in loaded.classes_.tolist()] == [type(a) for a in labels.tolist()]
    predicted = loaded.predict(X)
    assert predicted.dtype == labels.dtype
    assert np.array_equal(predicted, model.predict(X))


def test_truth_values_come_back(tmp_path):
    model = quick().fit(X, Y > 0)
    model.save(tmp_path / "model")
    loaded = dsnc.load(tmp_path / "model")
    assert loaded.classes_.dtype == bool
    assert np.array_equal(loaded.predict(X), model.predict(X))


def test_labels_that_no_file_can_hold(fitted, tmp_path):
    for labels in ([b"a", b"b", b"c"], [(1,), (2,), (3,)], [np.inf, 1.0, 2.0]):
        model = quick().fit(X, Y)
        model._labels = Labels(object_array(labels))
        with pytest.raises(InputError, match="classes"):
            model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    "settings",
    [
        {"encoder": "mlp", "hidden": (7, 6)},
        {"encoder": "mlp", "hidden": [np.int64(7)], "normalize": False},
        {"scaling": "unit_rows", "beta": np.float64(0.5), "gamma": np.float32(0.25)},
        {"code_values": "bits", "gradient": {"name": "straight_through", "slope_growth": 1.01}},
        {"gradient": Relaxed(temperature=np.float32(0.5))},
        {"class_weight": {0: 1, np.int64(1): np.float32(2), 2: 0.5}},
        {"class_weight": "balanced", "label_smoothing": 0.1},
        {"patience": 3, "time_limit": 100.0, "schedule": "constant", "weight_decay": 1e-5},
        {"random_state": np.int64(5), "validation_fraction": 0},
        {"random_state": np.random.RandomState(0)},
        {"random_state": None},
        {"decoder": "linear", "precision": "bfloat16", "verbose": False},
    ],
    ids=lambda settings: "-".join(settings),  # workers must agree on a name: no addresses
)
def test_everything_comes_back(settings, tmp_path):
    model = quick(**settings).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = dsnc.load(tmp_path / "model")
    for ask in ("predict", "predict_proba"):
        assert np.array_equal(getattr(loaded, ask)(X), getattr(model, ask)(X))
    assert all(map(np.array_equal, loaded.predict_top_k(X, k=2), model.predict_top_k(X, k=2)))
    assert loaded.encode(X) == model.encode(X)
    assert loaded.score(X, Y) == model.score(X, Y)
    mine, other = model.get_params(), loaded.get_params()
    changed = {name for name in mine if name not in settings and mine[name] != other[name]}
    assert changed == {"device"}  # of the run, not of the model
    for name in set(settings) - {"random_state", "gradient"}:
        value = tuple(settings[name]) if name == "hidden" else settings[name]
        assert other[name] == value
    assert loaded.n_features_in_ == 5
    assert loaded.n_iter_ == model.n_iter_
    assert loaded.data_ == model.data_
    assert loaded.history_.best_accuracy == model.history_.best_accuracy
    loaded.save(tmp_path / "again")
    again = dsnc.load(tmp_path / "again")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    loaded.set_params(device="cpu").partial_fit(X, Y)


def test_saving_what_was_loaded_gives_the_same_bytes(saved, tmp_path):
    dsnc.load(saved).save(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(saved)


def test_names_of_features_come_back(fitted, tmp_path):
    model = quick().fit(X, Y)
    names = np.array(["a", "b", "ü", "", "e\n"], dtype=object)
    model.feature_names_in_ = names
    model.save(tmp_path / "model")
    loaded = dsnc.load(tmp_path / "model")
    assert loaded.feature_names_in_.dtype == object
    assert np.array_equal(loaded.feature_names_in_, names)
    assert not hasattr(reload(fitted, tmp_path / "other"), "feature_names_in_")


def reload(model, folder):
    model.save(folder)
    return dsnc.load(folder)


def test_nothing_is_replaced_unasked(fitted, saved):
    before = contents(saved)
    with pytest.raises(OutputExistsError, match="overwrite=True"):
        fitted.save(saved)
    assert contents(saved) == before
    fitted.save(saved, overwrite=True)
    assert contents(saved) == before


def test_only_the_first_of_several_processes_writes(fitted, tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    fitted.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_lone_rank_is_no_other_process(fitted, tmp_path, monkeypatch):
    """Batch systems set RANK for purposes of their own."""
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setenv("RANK", "3")
    fitted.save(tmp_path / "model")
    assert dsnc.load(tmp_path / "model").n_bits == fitted.n_bits


def test_arrays_are_mapped_and_nobody_can_change_them(saved):
    weight = dsnc.load(saved).predictor_.encoder.layers[0].weight
    assert not weight.flags.writeable
    assert not weight.flags.owndata
    base = weight
    while not isinstance(base, np.memmap) and base.base is not None:
        base = base.base
    assert isinstance(base, np.memmap) or type(base).__name__ == "mmap"


def test_a_loaded_model_answers_without_torch(saved, fitted):
    code = """
        import sys
        import numpy as np
        import dsnc
        model = dsnc.load(sys.argv[1])
        X = np.load(sys.argv[2])
        model.predict_proba(X), model.predict_top_k(X, k=2), model.encode(X)
        model.score(X, np.zeros(len(X)))
        model.with_decoder("linear"), repr(model), repr(model.history_)
        assert not {name for name in sys.modules if name.partition(".")[0] in ("torch", "numba")}
        sys.stdout.write(" ".join(map(str, model.predict(X))))
    """
    np.save(saved.parent / "X.npy", X)
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code), saved, saved.parent / "X.npy"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert run.stdout == " ".join(map(str, fitted.predict(X)))


# The same model twice


@pytest.mark.slow  # imports torch in a new process; within this one, see the global seed
def test_the_same_seed_gives_the_same_bytes(saved, tmp_path):
    quick().fit(X, Y).save(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(saved)
    code = """
        import sys
        import numpy as np
        import dsnc
        X, y = np.load(sys.argv[1]), np.arange(60) % 3
        dsnc.DSNCClassifier(n_bits=10, max_epochs=2, device="cpu").fit(X, y).save(sys.argv[2])
    """
    np.save(tmp_path / "X.npy", X)
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), tmp_path / "X.npy", tmp_path / "other"],
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "123"},
    )
    assert contents(tmp_path / "other") == contents(saved)


def test_another_seed_gives_another_model(fitted):
    other = quick(random_state=1).fit(X, Y)
    assert not np.array_equal(other.predictor_.decoder.weight, fitted.predictor_.decoder.weight)
    first, second = (quick(random_state=None).fit(X, Y) for _ in range(2))
    assert not np.array_equal(first.predictor_.decoder.weight, second.predictor_.decoder.weight)


def global_states():
    legacy = np.random.get_state()  # noqa: NPY002 - the one that must not be touched
    return random.getstate(), legacy[1].tolist(), legacy[2], torch.get_rng_state().tolist()


def test_no_global_generator_is_touched():
    before = global_states()
    quick(encoder="mlp", hidden=(4,), gradient="relaxed", beta=0.1, gamma=0.1).fit(X, Y).predict(X)
    quick().partial_fit(X, Y, classes=Y)
    assert global_states() == before


def test_the_global_seed_does_not_matter(saved, tmp_path):
    with torch.random.fork_rng():
        torch.manual_seed(99)
        quick().fit(X, Y).save(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(saved)


# The same on every machine


def golden_models(repository):
    return sorted(path.parent for path in (repository / "tests/data/golden").glob("*/model.json"))


def test_golden_models_give_the_same_answers(repository):
    folders = golden_models(repository)
    kinds = ("", "_changed", "_reranker", "_sets", "_shortlist")
    names = [f"format1{kind}" for kind in kinds]
    assert [folder.name for folder in folders] == names
    for folder in folders:
        assert sum(map(len, contents(folder).values())) < 20_000
        expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
        rows = np.array(expected["X"])
        model = dsnc.load(folder)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            assert model.encode(rows).to_bits().astype(int).tolist() == expected["bits"]
            assert model.predict(rows).tolist() == expected["labels"]
            probabilities = model.predict_proba(rows)
        np.testing.assert_allclose(probabilities, expected["probabilities"], atol=1e-5)


def test_the_first_golden_model_is_the_file_it_was(repository):
    folder = repository / "tests/data/golden/format1"
    header = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    assert header["format"] == 1
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert digest == header["sha256"]
    model = dsnc.load(folder)
    assert model.classes_.tolist() == ["ant", "bée", "字 cat"]
    assert model.feature_names_in_.tolist() == ["length", "width", "Höhe", "w/h"]
    assert (model.n_bits, model.n_features_in_, model.n_iter_) == (8, 4, 20)


def test_a_golden_shortlist_still_knows_what_it_was_made_of(repository):
    folder = repository / "tests/data/golden/format1_shortlist"
    model = dsnc.load(folder)
    rows = np.array(json.loads((folder / "expected.json").read_text(encoding="utf-8"))["X"])
    decoder, trained = model.predictor_.decoder, model.predictor_.trained
    assert (decoder.name, decoder.codes_of) == ("shortlist", "training")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        linear, nearest = model.with_decoder("linear"), model.with_decoder("nearest")
        assert np.array_equal(linear.predictor_.decoder.weight, trained.weight)
        assert np.array_equal(nearest.predict(rows), model.predict(rows))
        model.set_params(device="cpu").partial_fit(rows, model.predict(rows))


def test_a_golden_second_stage_still_decides(repository):
    folder = repository / "tests/data/golden/format1_reranker"
    model = dsnc.load(folder)
    reranker = model.predictor_.reranker
    assert (reranker.size, reranker.mix, reranker.reach) == (3, 0.5, 50)
    assert (reranker.vectors.n_features, len(reranker.vectors)) == (4, 12)
    rows = np.array(json.loads((folder / "expected.json").read_text(encoding="utf-8"))["X"])
    alone = model.predictor_.with_decoder(model.predictor_.decoder)
    assert not np.allclose(alone.proba(rows), model.predictor_.proba(rows), atol=1e-3)
