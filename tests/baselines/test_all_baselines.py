"""What every baseline promises, whatever it does inside."""

import copy
import json
import pickle
import subprocess
import sys
import textwrap
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

import dsnc
from dsnc.baselines import (
    BASELINES,
    ECOCBaseline,
    MLPBaseline,
    NearestCentroidBaseline,
    NearestNeighborsBaseline,
    OneVsRestBaseline,
)
from dsnc.errors import InputError, ModelFileError

ANIMALS = np.array(["ant", "bee", "cat", "dog", "eel", "fox"])


def blobs(n=120, n_features=8, seed=0):
    """Rows around one point per class, far apart."""
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(0).normal(scale=6, size=(6, n_features))
    y = np.arange(n) % 6
    return centers[y] + rng.normal(size=(n, n_features)), ANIMALS[y]


X, Y = blobs()
X_TEST, Y_TEST = blobs(n=90, seed=1)
X.flags.writeable = Y.flags.writeable = False

FAST = {"max_epochs": 20, "device": "cpu"}
VARIANTS = {
    "mlp": lambda **s: MLPBaseline(**{"n_units": 16, "learning_rate": 0.1} | FAST | s),
    "ecoc": lambda **s: ECOCBaseline(**{"n_bits": 24} | FAST | s),
    "ecoc-soft": lambda **s: ECOCBaseline(**{"n_bits": 24, "decoding": "soft"} | FAST | s),
    "one_vs_rest": lambda **s: OneVsRestBaseline(**FAST | s),
    "one_vs_rest-logistic": lambda **s: OneVsRestBaseline(**{"loss": "logistic"} | FAST | s),
    "nearest_centroid": NearestCentroidBaseline,
    "nearest_neighbors": NearestNeighborsBaseline,
}
EACH = pytest.mark.parametrize("name", VARIANTS)
LEARNED = pytest.mark.parametrize("name", [n for n in VARIANTS if not n.startswith("nearest")])


@pytest.fixture(scope="module")
def fitted():
    return {name: make().fit(X, Y) for name, make in VARIANTS.items()}


def same_model(a, b):
    mine, other = a.predictor_.arrays(), b.predictor_.arrays()
    return all(np.array_equal(mine[name], other[name]) for name in mine)


def test_every_member_is_held_to_it():
    assert {name.partition("-")[0] for name in VARIANTS} == set(BASELINES)
    assert all(kind.kind == name for name, kind in BASELINES.items())


@EACH
def test_it_learns_and_generalizes(name, fitted):
    model = fitted[name]
    assert model.score(X_TEST, Y_TEST) > 0.95
    assert model.classes_.tolist() == ANIMALS.tolist()
    assert model.n_features_in_ == 8


@EACH
@pytest.mark.parametrize("kind", [sp.csr_array, sp.coo_matrix])
def test_sparse_rows(name, kind):
    rows = kind(X)
    model = VARIANTS[name]().fit(rows, Y)
    assert model.score(kind(X_TEST), Y_TEST) > 0.9
    assert np.array_equal(model.predict(X_TEST), model.predict(kind(X_TEST)))


@EACH
def test_probabilities(name, fitted):
    model = fitted[name]
    probabilities = model.predict_proba(X_TEST)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    assert np.array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X_TEST))


@EACH
def test_the_best_come_first(name, fitted):
    model = fitted[name]
    labels, values = model.predict_top_k(X_TEST, k=4)
    assert labels.shape == values.shape == (90, 4)
    assert np.array_equal(labels[:, 0], model.predict(X_TEST))
    assert (np.diff(values, axis=1) <= 0).all()
    assert np.array_equal(values[:, 0], model.predict_proba(X_TEST).max(axis=1))
    assert all(len(set(row)) == 4 for row in labels)
    with pytest.raises(InputError, match="k=7 must be a whole number from 1 to 6"):
        model.predict_top_k(X_TEST, k=7)


@EACH
def test_it_costs_something(name, fitted):
    encoding, decoding = fitted[name].cost()
    assert min(encoding.operations, encoding.bytes, decoding.operations, decoding.bytes) > 0
    width = len(X) if name == "nearest_neighbors" else fitted[name].predictor_.n_bits
    assert encoding.operations == 8 * width


@EACH
def test_a_model_file_brings_it_back(name, fitted, tmp_path):
    model = fitted[name]
    model.save(tmp_path / "model")
    loaded = dsnc.load(tmp_path / "model")
    assert type(loaded) is type(model)
    assert same_model(loaded, model)
    assert np.array_equal(loaded.predict(X_TEST), model.predict(X_TEST))
    ours, theirs = model.get_params(), loaded.get_params()
    run = {"device", "checkpoint", "callbacks", "verbose"}
    assert {k: v for k, v in ours.items() if k not in run} == {
        k: v for k, v in theirs.items() if k not in run
    }
    assert loaded.cost() == model.cost()
    loaded.save(tmp_path / "again")
    again = json.loads((tmp_path / "again" / "model.json").read_text())
    assert again["kind"] == name.partition("-")[0]


@EACH
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header.update(kind="oracle"), "is of kind 'oracle'. Expected 'dsnc'"),
        (lambda header: header.update(decoder="linear"), "missing arrays|do not fit together"),
        (lambda header: header["parameters"].update(scaling="big"), "scaling='big' is not known"),
        (lambda header: header["parameters"].update(__class__="os"), "'__class__' is not known"),
        (lambda header: header["classes"].pop(), "5 classes for 6 scores"),
    ],
)
def test_a_wrong_model_file_is_refused(name, change, message, fitted, tmp_path):
    fitted[name].save(tmp_path / "model")
    path = tmp_path / "model" / "model.json"
    header = json.loads(path.read_text())
    change(header)
    path.write_text(json.dumps(header))
    with pytest.raises(ModelFileError, match=message):
        dsnc.load(tmp_path / "model")


def test_a_loaded_model_answers_without_torch(fitted, tmp_path):
    for name, model in fitted.items():
        model.save(tmp_path / name)
    np.save(tmp_path / "X.npy", X_TEST)
    code = """
        import sys
        import numpy as np
        import dsnc
        dsnc.baselines.MLPBaseline()
        X = np.load(sys.argv[1])
        for folder in sys.argv[2:]:
            model = dsnc.load(folder)
            sys.stdout.write(" ".join(model.predict(X)) + "\\n")
            model.predict_top_k(X, k=2), model.cost()
        assert not {name for name in sys.modules if name.partition(".")[0] == "torch"}
    """
    folders = [tmp_path / name for name in fitted]
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), tmp_path / "X.npy", *folders],
        check=True,
        capture_output=True,
        text=True,
    )
    answers = [line.split() for line in run.stdout.splitlines()]
    assert answers == [model.predict(X_TEST).tolist() for model in fitted.values()]


@EACH
def test_copies_and_clones(name, fitted):
    model = fitted[name]
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert same_model(other, model)
        assert np.array_equal(other.predict(X_TEST), model.predict(X_TEST))
    assert same_model(clone(model).fit(X, Y), model)


@EACH
def test_weights_count(name):
    """Rows with wrong labels and next to no weight do no harm."""
    rows, labels = np.concatenate([X, X]), np.concatenate([Y, np.roll(Y, 1)])
    weight = np.repeat([1.0, 1e-6], len(X))
    model = VARIANTS[name]().fit(rows, labels, sample_weight=weight)
    assert model.score(X_TEST, Y_TEST) > 0.95


@EACH
@pytest.mark.parametrize(
    "labels", [np.array([3, 1, 2, 9, 7, 5]), np.array([1.5, 0, -2, 4, 8, 6]) * 2]
)
def test_labels_of_any_kind(name, labels, tmp_path):
    y = labels[np.searchsorted(ANIMALS, Y)]
    model = VARIANTS[name]().fit(X, y)
    assert set(model.predict(X_TEST)) <= set(labels)
    model.save(tmp_path / "model")
    assert dsnc.load(tmp_path / "model").classes_.tolist() == sorted(labels.tolist())


@EACH
def test_texts_in_a_pipeline(name):
    jobs = {"nurse": "ward patient care", "driver": "truck road wheel", "cook": "kitchen pan oven"}
    texts = [f"{a} {b} the" for job in jobs.values() for a in job.split() for b in job.split()] * 4
    labels = np.repeat(list(jobs), 9).tolist() * 4
    pipeline = make_pipeline(TfidfVectorizer(), VARIANTS[name]()).fit(texts, labels)
    assert pipeline.predict(["a patient", "oven and kitchen"]).tolist() == ["nurse", "cook"]


@EACH
def test_memory_does_not_grow_with_rows_times_classes(name):
    n_rows, n_classes = 20_000, 1_000
    rows = np.random.default_rng(0).normal(size=(n_rows, 4)).astype(np.float32)
    settings = {} if name.startswith("nearest") else {"max_epochs": 1}
    model = VARIANTS[name](**settings).fit(rows[:4000], np.arange(4000) % n_classes)
    model.predict(rows[:10])
    tracemalloc.start()
    model.predict(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n_rows * n_classes * 4 / 2


@LEARNED
def test_the_epoch_with_the_best_validation_is_kept(name):
    model = VARIANTS[name](max_epochs=4).fit(X, Y, validation=(X_TEST, Y_TEST))
    assert model.history_.best_accuracy == pytest.approx(model.score(X_TEST, Y_TEST), abs=1e-6)
    assert model.n_iter_ == 4


@LEARNED
@pytest.mark.parametrize("rows", [X, sp.csr_array(X)], ids=["dense", "sparse"])
def test_a_run_goes_on_where_it_was_stopped(name, rows, tmp_path):
    settings = {"max_epochs": 6}
    whole = VARIANTS[name](**settings).fit(rows, Y)
    stop = [lambda progress: progress.epoch.epoch == 3 and progress.stop()]
    VARIANTS[name](**settings, checkpoint=tmp_path, callbacks=stop).fit(rows, Y)
    second = VARIANTS[name](**settings, checkpoint=tmp_path).fit(rows, Y)
    assert second.n_iter_ == 6
    assert same_model(whole, second)


@LEARNED
@pytest.mark.parametrize("way", ["at once", "loaded"])
def test_partial_fit_goes_on_from_a_model(name, way, fitted, tmp_path):
    model = copy.deepcopy(fitted[name])
    before = model.predictor_.logits(X_TEST)
    if way == "loaded":
        model.save(tmp_path / "model")
        model = dsnc.load(tmp_path / "model").set_params(device="cpu")
    model.set_params(learning_rate=1e-7).partial_fit(X, Y)
    scale = np.abs(before).max()
    np.testing.assert_allclose(
        model.predictor_.logits(X_TEST), before, rtol=1e-3, atol=1e-3 * scale
    )
    assert model.score(X_TEST, Y_TEST) > 0.95


@LEARNED
def test_partial_fit_learns_over_the_calls(name):
    model = VARIANTS[name](learning_rate=0.05)
    for call in range(20):
        model.partial_fit(X, Y, classes=ANIMALS if call == 0 else None)
    assert model.score(X_TEST, Y_TEST) > 0.9


@LEARNED
@pytest.mark.parametrize(
    ("parameter", "value"),
    [("max_epochs", 0), ("batch_size", 0), ("learning_rate", -1), ("scaling", "big")],
)
def test_wrong_settings_are_named(name, parameter, value):
    with pytest.raises(InputError, match=f"{parameter}={value!r}"):
        VARIANTS[name](**{parameter: value}).fit(X, Y)
