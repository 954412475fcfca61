"""Strings in place of rows, through every door."""

import functools
import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import dsnc
from dsnc import DSNCClassifier
from dsnc.baselines import ECOCBaseline, MLPBaseline, NearestCentroidBaseline, OneVsRestBaseline
from dsnc.errors import InputError, ModelFileError
from dsnc.features import TextFeatures
from dsnc.predictor import Predictor

JOBS = {
    "nurse": ["night nurse", "nurse in a ward", "Nurse, children's", "head nurse", "nursing aide"],
    "driver": ["bus driver", "truck driver", "driver of a tram", "taxi driver (night)", "drivers"],
    "cook": ["cook", "head cook", "pastry cook", "cook in a school", "short-order cook"],
}
TEXTS = [text for texts in JOBS.values() for text in texts] * 4
LABELS = [label for label, texts in JOBS.items() for _ in texts] * 4
NEW = ["a nurse", "tram driver", "school cook", "", "字"]
QUICK = {"max_epochs": 8, "device": "cpu"}
MODELS = {
    "dsnc": DSNCClassifier(n_bits=8, learning_rate=0.1, **QUICK),
    "mlp": MLPBaseline(n_units=8, learning_rate=0.1, **QUICK),
    "ecoc": ECOCBaseline(n_bits=15, **QUICK),
    "base": ECOCBaseline(n_bits=8, codebook="random", base=LogisticRegression()),
    "one_vs_rest": OneVsRestBaseline(loss="logistic", **QUICK),
    "nearest_centroid": NearestCentroidBaseline(),
}


@functools.cache
def fitted(name="dsnc"):
    return clone(MODELS[name]).fit(TEXTS, LABELS)


def same_answers(model, other, texts, rows):
    assert model.predict(texts).tolist() == other.predict(rows).tolist()
    assert np.array_equal(model.predict_proba(texts), other.predict_proba(rows))
    for mine, others in zip(
        model.predict_top_k(texts, k=2), other.predict_top_k(rows, k=2), strict=True
    ):
        assert np.array_equal(mine, others)


@pytest.mark.parametrize("name", MODELS)
def test_strings_are_rows_of_text_features(name):
    features = TextFeatures().fit(TEXTS)
    rows = features.transform(NEW)
    on_numbers = clone(MODELS[name]).fit(features.transform(TEXTS), LABELS)
    model = fitted(name)
    same_answers(model, on_numbers, NEW, rows)
    same_answers(model, on_numbers, rows, rows)
    assert model.score(TEXTS, LABELS) > 0.9
    assert model.n_features_in_ == features.n_features_
    assert on_numbers.predictor_.features is None


def test_a_pipeline_says_the_same():
    pipeline = make_pipeline(TextFeatures(), clone(MODELS["dsnc"])).fit(TEXTS, LABELS)
    assert pipeline.predict(NEW).tolist() == fitted().predict(NEW).tolist()
    assert fitted().predict(["the nurse of the night"]).tolist() == ["nurse"]


@pytest.mark.parametrize("make", [tuple, np.array, lambda t: np.array(t, dtype=object)])
def test_any_sequence_of_strings(make):
    model = clone(MODELS["dsnc"]).fit(make(TEXTS), LABELS)
    assert np.array_equal(model.predict_proba(make(NEW)), fitted().predict_proba(NEW))
    for text in NEW:
        assert model.predict(make([text])).tolist() == fitted().predict([text]).tolist()


def test_every_door_takes_strings():
    model = fitted()
    rows = model.predictor_.features.transform(NEW)
    assert np.array_equal(model.encode(NEW).words, model.encode(rows).words)
    assert np.array_equal(model.predictor_.logits(NEW), model.predictor_.logits(rows))
    assert model.predict(NEW, reject_below=1.0, rejected="?").tolist() == ["?"] * len(NEW)
    nearest = model.with_decoder("nearest", TEXTS, LABELS)
    assert nearest.score(TEXTS, LABELS) > 0.9
    known = NEW[:3]  # of the others nothing is known
    assert model.with_decoder("linear").predict(known).tolist() == model.predict(known).tolist()
    assert fitted("ecoc").with_decoding("soft").score(TEXTS, LABELS) > 0.9


def test_blocks_and_threads(monkeypatch):
    texts = [f"{text} {i}" for i, text in enumerate(TEXTS * 5)]
    model = fitted()
    expected = model.predict_top_k(texts, k=2)
    monkeypatch.setattr("dsnc.rows._BLOCK", 2000)
    threads = pickle.loads(pickle.dumps(model)).set_params(n_jobs=3)
    for mine, others in zip(threads.predict_top_k(texts, k=2), expected, strict=True):
        assert np.array_equal(mine, others)
    assert np.array_equal(model.predict_proba(texts).argmax(axis=1).shape, [len(texts)])


def test_validation_rows_may_be_strings():
    own = clone(MODELS["dsnc"]).fit(TEXTS, LABELS, validation=(TEXTS[:15], LABELS[:15]))
    rows = own.predictor_.features.transform(TEXTS[:15])
    same = clone(MODELS["dsnc"]).fit(TEXTS, LABELS, validation=(rows, LABELS[:15]))
    assert np.array_equal(own.predict_proba(NEW), same.predict_proba(NEW))
    assert own.predictor_.features.n_rows_ == len(TEXTS)
    with pytest.raises(InputError, match="X holds texts, but the model was trained on rows"):
        clone(MODELS["dsnc"]).fit(np.eye(15), LABELS[:15], validation=(TEXTS[:15], LABELS[:15]))


def test_cross_validation_takes_strings():
    scores = cross_val_score(clone(MODELS["dsnc"]), np.array(TEXTS), np.array(LABELS), cv=2)
    assert scores.min() > 0.8


@pytest.mark.parametrize("name", ["dsnc", "mlp"])
def test_more_strings_later(name):
    model = clone(MODELS[name])
    for _ in range(6):
        model.partial_fit(TEXTS, LABELS, classes=sorted(JOBS))
    assert model.score(TEXTS, LABELS) > 0.9
    features = model.predictor_.features
    model.partial_fit(["other words"], ["cook"])
    assert model.predictor_.features is features
    model.partial_fit(features.transform(TEXTS), LABELS)
    assert model.predict(["a nurse"]).tolist() == ["nurse"]


def test_a_model_of_numbers_again():
    model = clone(MODELS["dsnc"]).fit(TEXTS, LABELS)
    model.fit(np.eye(15).repeat(4, axis=0), np.repeat(LABELS[:15], 4))
    with pytest.raises(InputError, match="X holds texts, but the model was trained on rows"):
        model.predict(NEW)
    with pytest.raises(InputError, match="pass rows of numbers, or fit it to texts"):
        model.partial_fit(TEXTS, LABELS)


# The parameter


@pytest.mark.parametrize("text", [{"characters": None}, TextFeatures(characters=None)])
def test_settings_of_the_features(text):
    model = clone(MODELS["dsnc"]).set_params(text=text).fit(TEXTS, LABELS)
    assert model.predictor_.features.characters is None
    assert not hasattr(text, "buckets_")
    assert clone(model).get_params()["text"] is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ({"word": (1, 2)}, "text='word' is not known. Did you mean 'words'?"),
        ({"words": (2, 1)}, r"words=\(2, 1\) is not a range"),
        ({"words": [1] * 999}, r"words=\[1, 1, .{,60}\.\.\. \(2997 characters\) is not a range"),
        ("words", "text='words': give settings such as"),
        (TextFeatures(n_hashes=3), "n_hashes=3 is not a power of two"),
    ],
)
@pytest.mark.parametrize("name", ["dsnc", "one_vs_rest", "nearest_centroid"])
def test_settings_that_cannot_work(name, text, message):
    for X in (TEXTS, np.eye(len(TEXTS))):
        with pytest.raises(InputError, match=message):
            clone(MODELS[name]).set_params(text=text).fit(X, LABELS)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("nurse", r"X is one string; pass a list, such as \[text\]"),
        ((text for text in TEXTS), "X is of type generator, which has no length; pass a list"),
        (["nurse", None], r"texts\[1\] is None of type NoneType; give missing texts as ''"),
        (["nurse", 3.5], r"texts\[1\] is 3.5 of type float"),
    ],
)
def test_what_is_no_list_of_strings(X, message):
    for method in (fitted().predict, fitted().predict_proba, fitted().encode):
        with pytest.raises(InputError, match=message):
            method(X)
    with pytest.raises(InputError, match=message):
        clone(MODELS["dsnc"]).fit(X, ["nurse", "cook"])


def test_empty_lists_and_other_lengths():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clone(MODELS["dsnc"]).fit(TEXTS, LABELS[:-1])
    for X in ([], (), np.array([], dtype=object)):  # as a model of numbers says
        with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
            fitted().predict(X)


def test_features_of_another_width():
    model = fitted()
    other = TextFeatures().fit(["something else"] * 2)
    with pytest.raises(InputError, match="features, but the encoder expects"):
        Predictor(model.predictor_.encoder, model.predictor_.decoder, other)


# Files


@pytest.mark.parametrize("name", [name for name in MODELS if name != "base"])
def test_save_and_load(name, tmp_path):
    model = fitted(name)
    model.save(tmp_path / "model")
    loaded = dsnc.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(NEW), model.predict_proba(NEW))
    assert loaded.predict(["a nurse"]).tolist() == model.predict(["a nurse"]).tolist()
    loaded.save(tmp_path / "again")
    for file in ("model.json", "model.safetensors"):
        assert (tmp_path / "model" / file).read_bytes() == (tmp_path / "again" / file).read_bytes()
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(NEW), model.predict_proba(NEW))


@pytest.mark.parametrize(
    "text",
    [
        {"words": (1, 1)},
        {"words": (np.int64(1), np.int64(1)), "max_features": np.int32(50)},
        TextFeatures(words=(1, 1), n_jobs=2),
    ],
)
def test_settings_are_kept_in_the_file(text, tmp_path):
    model = clone(MODELS["dsnc"]).set_params(text=text).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    kept = json.loads((tmp_path / "model/model.json").read_text())["parameters"]["text"]
    assert kept["words"] == [1, 1]
    assert "n_jobs" not in kept
    loaded = dsnc.load(tmp_path / "model")
    assert loaded.text["words"] == (1, 1)
    loaded.partial_fit(TEXTS, LABELS)
    assert clone(loaded).fit(TEXTS, LABELS).predictor_.features.words == (1, 1)


def test_a_file_with_forged_features(tmp_path):
    from dsnc.persistence import read_model, write_model

    fitted().save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    for name, value, message in [
        ("features.buckets", arrays["features.buckets"][::-1], "buckets do not ascend"),
        ("features.n_hashes", np.array([7]), "n_hashes=7 is not a power of two"),
        ("features.idf", arrays["features.idf"][:3], "expected the same number"),
    ]:
        write_model(tmp_path / "forged", header, {**arrays, name: value}, overwrite=True)
        with pytest.raises(ModelFileError, match=message):
            dsnc.load(tmp_path / "forged")
