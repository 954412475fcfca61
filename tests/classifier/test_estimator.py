"""DSNCClassifier: what it learns and answers, and how it lives among other estimators."""

import copy
import pickle
import tracemalloc

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from animals import ANIMALS, X_TEST, Y_TEST, X, Y, blobs, quick
from comparing import same_model
from dsnc import DSNCClassifier
from dsnc.codes import PackedCodes
from dsnc.errors import InputError


@pytest.fixture(scope="module")
def model():
    return quick().fit(X, Y)


# Answers


def test_it_learns_and_generalizes(model):
    assert model.score(X_TEST, Y_TEST) > 0.95
    assert model.n_features_in_ == 8
    assert model.n_iter_ == len(model.history_) == 10
    assert model.classes_.tolist() == ANIMALS.tolist()
    losses = model.history_.column("loss")
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("rows", [X_TEST, X_TEST.astype(np.float32), sp.csr_array(X_TEST)])
def test_probabilities(model, rows):
    probabilities = model.predict_proba(rows)
    assert probabilities.shape == (len(X_TEST), 6)
    assert probabilities.min() >= 0
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    assert np.array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(rows))


@pytest.mark.parametrize("k", [1, 2, 5, 6])
def test_top_k_are_the_largest_probabilities(model, k):
    classes, probabilities = model.predict_top_k(X_TEST, k=k)
    everything = model.predict_proba(X_TEST)
    assert classes.shape == probabilities.shape == (len(X_TEST), k)
    assert classes.dtype == model.classes_.dtype
    assert (np.diff(probabilities, axis=1) <= 0).all()
    assert np.array_equal(probabilities, -np.sort(-everything, axis=1)[:, :k])
    columns = np.searchsorted(model.classes_, classes)
    assert np.array_equal(np.take_along_axis(everything, columns, axis=1), probabilities)
    assert np.array_equal(classes[:, 0], model.predict(X_TEST))
    assert all(len(set(row)) == k for row in classes)


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (7, "k=7 must be a whole number from 1 to 6"),
        (0, "k=0 must be a whole number from 1 to 6"),
        (-1, "k=-1"),
        (1.5, "k=1.5 must be a whole number"),
        (True, "k=True must be a whole number"),
    ],
)
def test_impossible_k(model, k, message):
    with pytest.raises(InputError, match=message):
        model.predict_top_k(X_TEST, k=k)


def test_codes_are_the_signs_of_the_logits(model):
    codes = model.encode(X_TEST)
    assert isinstance(codes, PackedCodes)
    assert codes.n_bits == 16
    assert len(codes) == len(X_TEST)
    logits = model.predictor_.logits(X_TEST)
    assert np.array_equal(codes.to_bits(), logits > 0)


def test_rows_of_one_class_share_few_codes():
    model = quick(max_epochs=30).fit(X, Y)
    codes = model.encode(X)
    bits = codes.to_bits()
    within = np.mean([bits[label == Y].std(axis=0).mean() for label in ANIMALS])
    assert within < bits.std(axis=0).mean() / 2
    assert len(codes.unique().codes) >= 6


def test_another_decoder_on_the_same_codes(model):
    other = model.with_decoder("linear")
    assert other is not model
    assert (other.decoder, model.decoder) == ("linear", "auto")
    assert other.encode(X_TEST) == model.encode(X_TEST)
    assert (other.predict(X_TEST) == model.predict(X_TEST)).mean() > 0.9
    assert other.encode(X_TEST) == model.encode(X_TEST)
    with pytest.raises(InputError, match="decoder='lin' is not known. Did you mean 'linear'"):
        model.with_decoder("lin")
    other.partial_fit(X, Y)
    assert not same_model(model, other)
    assert model.score(X_TEST, Y_TEST) > 0.95


@pytest.mark.parametrize("rows", [X_TEST, sp.csr_array(X_TEST)], ids=["dense", "sparse"])
def test_blocks_do_not_change_the_answer(model, rows, monkeypatch):
    whole = (
        model.predict(rows),
        model.predict_proba(rows),
        *model.predict_top_k(rows, k=3),
        model.encode(rows).to_bits(),
    )
    monkeypatch.setattr("dsnc.rows._MAX_ROWS", 7)
    monkeypatch.setattr("dsnc.decoders.base._PROBABILITIES", 20)
    monkeypatch.setattr("dsnc.decoders.linear._BLOCK", 40)
    monkeypatch.setattr("dsnc.decoders.linear._MIN_ROWS", 2)
    parts = (
        model.predict(rows),
        model.predict_proba(rows),
        *model.predict_top_k(rows, k=3),
        model.encode(rows).to_bits(),
    )
    for one, other in zip(whole, parts, strict=True):
        if one.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)
        else:
            assert np.array_equal(one, other)


def test_memory_does_not_grow_with_rows_times_classes():
    n_rows, n_classes = 20_000, 2_000
    rows = np.random.default_rng(0).normal(size=(n_rows, 4)).astype(np.float32)
    model = quick(max_epochs=1).fit(rows[:4000], np.arange(4000) % n_classes)
    model.predict(rows[:10])
    peaks = {}
    for name, answer in {"predict": model.predict, "top_k": model.predict_top_k}.items():
        tracemalloc.start()
        answer(rows)
        peaks[name] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    scores = n_rows * n_classes * 4
    assert peaks["predict"] < scores / 10
    assert peaks["top_k"] < scores / 5


# When training ends


def test_callbacks_patience_and_time(capsys):
    seen = []

    def stop_at_three(progress):
        seen.append(progress.epoch.epoch)
        if progress.epoch.epoch == 3:
            progress.stop()

    stop = quick(callbacks=[stop_at_three])
    assert stop.fit(X, Y).n_iter_ == 3
    assert seen == [1, 2, 3]
    patient = quick(max_epochs=200, patience=2).fit(X, Y)
    assert patient.n_iter_ < 200
    assert "no progress in 2 validations" in repr(patient.history_)
    late = quick(max_epochs=100_000, time_limit=0.2).fit(X, Y)
    assert late.history_.stopped == "time_limit reached"
    quick(max_epochs=2, verbose=True).fit(X, Y)
    assert "loss" in capsys.readouterr().err


def test_a_run_goes_on_where_it_was_stopped(tmp_path):
    whole = quick().fit(X, Y)
    stopping = [lambda progress: progress.epoch.epoch == 4 and progress.stop()]
    first = quick(checkpoint=tmp_path, callbacks=stopping).fit(X, Y)
    assert first.n_iter_ == 4
    second = quick(checkpoint=tmp_path).fit(X, Y)
    assert second.n_iter_ == 10
    assert same_model(whole, second)
    with pytest.raises(OSError, match="belongs to a run with other data or settings"):
        quick(checkpoint=tmp_path, n_bits=15).fit(X, Y)


# Among other estimators


def test_clone_and_parameters():
    model = quick(hidden=(3, 4), gradient={"name": "relaxed"}, class_weight={"ant": 2})
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(n_bits=5, beta=0.5) is model
    assert (model.get_params()["n_bits"], model.beta) == (5, 0.5)
    with pytest.raises(ValueError, match="Invalid parameter 'bits'"):
        model.set_params(bits=5)
    assert "n_bits=5" in repr(model)
    with pytest.raises(TypeError):
        DSNCClassifier(64)


def test_in_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), quick(scaling="none"))
    pipeline.set_output(transform="default")
    assert pipeline.fit(X, Y).score(X_TEST, Y_TEST) > 0.9
    assert np.array_equal(pipeline[:1].transform(X[:3]), pipeline[0].transform(X[:3]))
    assert pipeline[-1].n_bits == 16
    pipeline.set_params(dsncclassifier__n_bits=9).fit(X, Y)
    assert pipeline[-1].encode(X).n_bits == 9


def test_texts_in_a_pipeline():
    jobs = {"nurse": "ward patient care", "driver": "truck road wheel", "cook": "kitchen pan oven"}
    texts = [f"{word} {a} {b}" for job in jobs.values() for word in job.split()
             for a in job.split() for b in ("the", "a", "some")]  # fmt: skip
    labels = [name for name in jobs for _ in range(27)]
    pipeline = make_pipeline(TfidfVectorizer(), quick()).fit(texts, labels)
    assert pipeline.predict(["a patient", "oven and kitchen"]).tolist() == ["nurse", "cook"]
    assert pipeline[-1].data_["sparse"]


def test_in_searches():
    search = GridSearchCV(quick(), {"n_bits": [3, 16]}, cv=2).fit(X, Y)
    assert search.best_params_ == {"n_bits": 16}
    assert cross_val_score(quick(), X, Y, cv=2).min() > 0.8


def test_copies(model, tmp_path):
    joblib.dump(model, tmp_path / "model.joblib")
    for other in (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        copy.copy(model),
        joblib.load(tmp_path / "model.joblib"),
    ):
        assert same_model(other, model)
        assert np.array_equal(other.predict_proba(X_TEST), model.predict_proba(X_TEST))
        assert other.get_params() == model.get_params()
        assert other.history_.records() == model.history_.records()
    assert len(pickle.dumps(model)) < 20_000  # the state of training stays behind


# Settings that are refused


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("encoder", ["linear"], "encoder=.* is not known"),
        ("checkpoint", 5, "checkpoint=5 must be the path of a folder"),
    ],
)
def test_settings_of_the_wrong_kind_are_named(parameter, value, message):
    with pytest.raises(InputError, match=message):
        quick(**{parameter: value}).fit(*blobs())


def test_names_of_classes_in_the_same_order_change_no_number(model):
    names = {label: f"class {i:03}" for i, label in enumerate(np.unique(Y))}
    renamed = quick().fit(X, [names[label] for label in Y])
    assert np.array_equal(renamed.predict_proba(X_TEST), model.predict_proba(X_TEST))
    assert renamed.predict(X_TEST).tolist() == [names[k] for k in model.predict(X_TEST)]
