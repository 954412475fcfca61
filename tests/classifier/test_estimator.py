"""DSNCClassifier: what it learns and answers, and how it lives among other estimators."""

import copy
import importlib
import pickle
import tracemalloc

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

import dsnc
from dsnc import PAPER, PAPER_REGULARIZED, DSNCClassifier
from dsnc.codes import PackedCodes
from dsnc.errors import RENAMED, DsncWarning, InputError
from dsnc.gradients import Relaxed, StraightThrough

ANIMALS = np.array(["ant", "bee", "cat", "dog", "eel", "fox"])


def blobs(n=120, n_classes=6, n_features=8, seed=0, shift=0.0):
    """Rows around one point per class, far apart."""
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(0).normal(scale=6, size=(n_classes, n_features))
    y = np.arange(n) % n_classes
    return centers[y] + rng.normal(size=(n, n_features)) + shift, ANIMALS[y]


def quick(**settings):
    fast = {"n_bits": 16, "max_epochs": 10, "learning_rate": 0.1, "device": "cpu"}
    return DSNCClassifier(**fast | settings)


def same_model(a, b):
    mine, other = a.predictor_.arrays(), b.predictor_.arrays()
    return all(np.array_equal(mine[name], other[name]) for name in mine)


X, Y = blobs()
X_TEST, Y_TEST = blobs(seed=1, n=90)
X.flags.writeable = Y.flags.writeable = False


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
    model = quick(max_epochs=1, n_draws=1).fit(rows[:4000], np.arange(4000) % n_classes)
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


# Its own arithmetic


@pytest.mark.parametrize("shift", [0.0, 100.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_numpy_and_torch_give_the_same_bits(shift, sparse):
    """Bits may differ only where the logit is zero up to the rounding of its own sum."""
    rows, labels = blobs(n=240, shift=shift)
    many, _ = blobs(n=6000, seed=3, shift=shift)
    if sparse:
        rows, many = sp.csr_array(rows), sp.csr_array(many)
    model = quick().fit(rows, labels)
    encoder = model.predictor_.encoder
    ours = model.predictor_.logits(many)
    theirs = torch_logits(model, many)
    layer = encoder.layers[0]
    dense = np.abs(many.toarray() if sparse else many)
    if encoder.row_normalize:
        dense = dense / np.linalg.norm(dense, axis=1, keepdims=True)
    rounding = np.finfo(np.float32).eps * (dense @ np.abs(layer.weight) + np.abs(layer.bias))
    assert (np.abs(ours - theirs) <= 8 * rounding).all()
    differ = (ours > 0) != (theirs > 0)
    assert (np.abs(ours[differ]) <= 8 * rounding[differ]).all()
    assert differ.mean() < 1e-4


def test_numpy_and_torch_give_the_same_bits_after_hidden_layers():
    model = quick(encoder="mlp", hidden=(32, 16)).fit(X, Y)
    many, _ = blobs(n=6000, seed=3)
    ours, theirs = model.predictor_.logits(many), torch_logits(model, many)
    error = np.abs(ours - theirs).max()
    assert error < 1e-5 * np.abs(theirs).max()
    differ = (ours > 0) != (theirs > 0)
    assert np.abs(theirs[differ]).max(initial=0) <= error
    assert differ.mean() < 1e-4


def torch_logits(model, rows):
    """Return the logits of the module that was trained, in torch."""
    from dsnc.training.batches import make_source

    learner = model._learner
    source = make_source(rows, learner.world.device, unit_rows=learner.unit_rows)
    with torch.no_grad():
        batch = source.take(torch.arange(rows.shape[0]))
        return learner.objective.encoder.eval()(batch).numpy()


# The parts that can be chosen


@pytest.mark.parametrize("gradient", ["straight_through", "reinforce", "relaxed", "disarm"])
def test_gradients_by_name(gradient):
    model = quick(gradient=gradient, n_draws=4, max_epochs=25).fit(X, Y)
    assert model.score(X_TEST, Y_TEST) > 0.6


def test_gradients_as_instance_and_mapping():
    gradient = StraightThrough(n_draws=2, slope_growth=1.01)
    by_instance = quick(gradient=gradient).fit(X, Y)
    mapping = {"name": "straight_through", "n_draws": 2, "slope_growth": 1.01}
    by_mapping = quick(gradient=mapping).fit(X, Y)
    assert same_model(by_instance, by_mapping)
    assert same_model(by_instance, clone(by_instance).fit(X, Y))
    assert mapping == {"name": "straight_through", "n_draws": 2, "slope_growth": 1.01}
    assert not same_model(by_instance, quick(gradient=Relaxed(temperature=0.5)).fit(X, Y))


@pytest.mark.parametrize("recipe", [PAPER, PAPER_REGULARIZED])
def test_the_papers_recipes(recipe):
    model = quick(**{**recipe, "max_epochs": 20, "learning_rate": 0.1}).fit(X, Y)
    assert model.score(X_TEST, Y_TEST) > 0.8
    assert model.code_values == "bits"
    # It decodes as the paper does: the class of the highest score of the hard code.
    assert model.predictor_.decoder.name == "linear"
    bits = model.encode(X_TEST).to_bits() * 2.0 - 1
    linear = model.predictor_.decoder
    scores = bits @ linear.weight.T.astype(np.float64) + linear.bias
    assert model.predict(X_TEST).tolist() == model.classes_[scores.argmax(axis=1)].tolist()
    measured = model.history_.column("validation_accuracy")
    assert [number for number, value in enumerate(measured, 1) if value is not None] == [10, 20]
    regularized = "beta" in recipe
    assert (max(model.history_.column("inter")) > 0) == regularized


def test_every_training_code_is_known_or_it_is_said_loudly(monkeypatch):
    whole = quick(decoder="nearest").fit(X, Y)
    n_rows = len(whole._known_evidence().targets)
    assert n_rows == whole.data_["rows"]
    gather = importlib.import_module("dsnc.selection.gather")  # the function hides the module
    monkeypatch.setattr(gather, "_CODE_BYTES", 16 * (n_rows - 10))
    with pytest.warns(DsncWarning, match=f"'nearest', know {n_rows - 10}, evenly spaced"):
        some = quick(decoder="nearest").fit(X, Y)
    assert len(some._known_evidence().targets) == n_rows - 10


@pytest.mark.parametrize("value", [True, False, "worst", None])
def test_the_rule_of_the_factor_has_a_name(value):
    with pytest.raises(InputError, match="adaptive=.* Valid: best, none, previous"):
        quick(adaptive=value).fit(X, Y)


@pytest.mark.parametrize(
    "settings",
    [
        {"encoder": "mlp", "hidden": (32,)},
        {"encoder": "mlp", "hidden": [16, 16], "normalize": False},
        {"code_values": "bits"},
        {"scaling": "none", "learning_rate": 0.05},
        {"scaling": "unit_rows"},
        {"beta": 0.01, "gamma": 0.01},
        {"beta": 0.01, "gamma": 0.01, "adaptive": "previous"},
        {"beta": 0.01, "adaptive": "best"},
        {"validation_codes": "sampled"},
        {"label_smoothing": 0.1},
        {"schedule": "constant"},
        {"precision": "bfloat16"},
        {"weight_decay": 1e-4},
        {"batch_size": 7},
    ],
    ids=str,
)
def test_other_settings_learn_as_well(settings):
    assert quick(**settings).fit(X, Y).score(X_TEST, Y_TEST) > 0.8


class Net(nn.Module):
    """A module of one's own, the same at every birth."""

    def __init__(self, n_features=8, n_bits=16):
        super().__init__()
        self.layer = nn.Linear(n_features, n_bits)
        generator = torch.Generator().manual_seed(0)
        nn.init.normal_(self.layer.weight, generator=generator)
        nn.init.zeros_(self.layer.bias)

    def forward(self, rows):
        return self.layer(rows)


def test_a_module_of_ones_own(tmp_path):
    net = Net()
    model = quick(encoder=net).fit(X, Y)
    assert model.score(X_TEST, Y_TEST) > 0.8
    assert model.encode(X_TEST).n_bits == 16
    assert torch.equal(net.layer.weight, Net().layer.weight)  # what was passed is left alone
    again = clone(model).fit(X, Y)
    assert np.array_equal(again.predict_proba(X_TEST), model.predict_proba(X_TEST))
    copied = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copied.predict_proba(X_TEST), model.predict_proba(X_TEST))
    with pytest.raises(InputError, match="encoder ModuleEncoder .* model file"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_module_of_ones_own_sees_the_same_rows_in_training_and_after():
    rows = X * np.linspace(1, 50, len(X))[:, None]
    model = quick(encoder=Net(), scaling="unit_rows").fit(rows, Y)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(
        model.predictor_.logits(rows), model.predictor_.logits(unit), rtol=1e-3, atol=1e-4
    )


def test_a_module_of_ones_own_may_take_sparse_rows():
    class Bag(Net):
        accepts_sparse = True

        def forward(self, rows):
            weight = self.layer.weight.T
            bags = nn.functional.embedding_bag(
                rows.indices, weight, rows.offsets, mode="sum", per_sample_weights=rows.values
            )
            return bags + self.layer.bias

    rows = sp.csr_array(X)
    assert quick(encoder=Bag()).fit(rows, Y).score(rows, Y) > 0.8
    with pytest.raises(InputError, match="encoder: X is sparse .* accepts_sparse = True"):
        quick(encoder=Net()).fit(rows, Y)


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
    search = GridSearchCV(quick(), {"n_bits": [1, 16]}, cv=2).fit(X, Y)
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


# partial_fit


def test_partial_fit_learns_over_the_calls():
    model = quick(learning_rate=0.05)
    scores = []
    for call in range(12):
        rows = slice(call % 3, None, 3)
        model.partial_fit(X[rows], Y[rows], classes=ANIMALS if call == 0 else None)
        scores.append(model.score(X_TEST, Y_TEST))
    assert scores[-1] > max(0.9, scores[0])
    assert model.classes_.tolist() == ANIMALS.tolist()


def test_partial_fit_knows_classes_that_did_not_come_yet():
    some = Y != "fox"
    model = quick().partial_fit(X[some], Y[some], classes=ANIMALS)
    assert model.predict_proba(X).shape == (len(X), 6)
    for _ in range(6):
        model.partial_fit(X, Y)
    assert np.mean(model.predict(X)[Y == "fox"] == "fox") > 0.5


WAYS = [(way, kind) for way in ("at once", "pickled") for kind in ("linear", "mlp", "own")]
WAYS += [("loaded", "linear"), ("loaded", "mlp")]  # a module of one's own has no model file


@pytest.mark.parametrize(("way", "encoder"), WAYS)
@pytest.mark.parametrize("code_values", ["signs", "bits"])
def test_partial_fit_goes_on_from_a_model(way, code_values, encoder, tmp_path):
    """The steps are tiny: a model that was taken over rightly is still what it was."""
    rows, test_rows = X + 50, X_TEST + 50
    module = Net() if encoder == "own" else encoder
    scaling = "unit_rows" if encoder == "own" else "auto"
    model = quick(
        encoder=module, hidden=(16,), code_values=code_values, scaling=scaling, max_epochs=15
    ).fit(rows, Y)
    before = model.predictor_.logits(test_rows), model.predict_proba(test_rows)
    if way == "pickled":
        model = pickle.loads(pickle.dumps(model))
    elif way == "loaded":
        model.save(tmp_path / "model")
        model = dsnc.load(tmp_path / "model").set_params(device="cpu")
    model.set_params(learning_rate=1e-7).partial_fit(rows, Y)
    if way == "at once" and encoder == "mlp":  # its batch normalization goes on averaging
        assert model.score(test_rows, Y_TEST) > 0.8
        return
    scale = np.abs(before[0]).max()
    np.testing.assert_allclose(
        model.predictor_.logits(test_rows), before[0], rtol=1e-3, atol=1e-3 * scale
    )
    # a bit near zero may turn, which moves a few rows
    moved = np.abs(model.predict_proba(test_rows) - before[1]).max(axis=1) > 0.01
    assert moved.mean() < 0.05


def test_partial_fit_follows_set_params():
    model = quick().fit(X, Y)
    before = model.predictor_.decoder.weight
    model.set_params(learning_rate=1e-9).partial_fit(X, Y)
    with pytest.raises(InputError, match="learning_rate=0"):
        copy.deepcopy(model).set_params(learning_rate=0).partial_fit(X, Y)
    np.testing.assert_allclose(model.predictor_.decoder.weight, before, atol=1e-6)


def test_partial_fit_takes_sparse_and_dense_rows():
    rows = sp.csr_array(X)
    model = quick().partial_fit(rows, Y, classes=ANIMALS)
    for _ in range(8):
        model.partial_fit(X, Y).partial_fit(rows, Y)
    assert model.score(X, Y) > 0.8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "classes must name all labels at the first call"),
        ({"classes": ["ant"]}, "classes has one class, .*'ant'.*at least 2"),
        ({"classes": []}, "classes has no class"),
        ({"classes": ANIMALS[1:]}, r"y\[\d+\] is 'ant', which is none of the 5 classes"),
    ],
)
def test_wrong_first_calls_of_partial_fit(arguments, message):
    with pytest.raises(InputError, match=message):
        quick().partial_fit(X, Y, **arguments)


def test_wrong_later_calls_of_partial_fit(model):
    model = pickle.loads(pickle.dumps(model))
    with pytest.raises(InputError, match="classes differs from the classes of the first call"):
        model.partial_fit(X, Y, classes=["ant", "bee"])
    with pytest.raises(InputError, match=r"y\[\d+\] is 'yak', which is none of the 6 classes"):
        model.partial_fit(X, np.where(Y == "ant", "yak", Y))
    with pytest.raises(InputError, match=r"y\[0\] is 0, which is none of the 6 classes"):
        model.partial_fit(X, np.arange(len(X)) % 6)
    with pytest.raises(ValueError, match="X has 3 features"):
        model.partial_fit(X[:, :3], Y)
    model.partial_fit(X, Y, classes=ANIMALS[::-1])  # in any order


def test_fit_forgets_what_was_before(model):
    again = pickle.loads(pickle.dumps(model)).partial_fit(X_TEST, Y_TEST).fit(X, Y)
    assert same_model(again, model)
    other = quick().fit(X[:, :3], np.arange(len(X)) % 2)
    assert other.fit(X, Y).n_features_in_ == 8
    assert same_model(other, model)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Linear(3, 16), "your module cannot map rows of 8 features"),
        (nn.Linear(8, 7), r"your module maps 2 rows to shape \(2, 7\); expected n_bits=16"),
    ],
)
def test_a_module_of_the_wrong_width_is_named(module, message):
    with pytest.raises(InputError, match=message):
        quick(encoder=module).fit(*blobs())


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


def test_a_loaded_model_cannot_change_its_bits(tmp_path):
    quick().fit(*blobs()).save(tmp_path / "model")
    model = dsnc.load(tmp_path / "model").set_params(n_bits=9)
    with pytest.raises(InputError, match="n_bits=9, but the model has 16 bits"):
        model.partial_fit(*blobs())


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_old_names_of_parameters_are_refused_with_the_new_ones(old, new):
    with pytest.raises(InputError, match=f"parameter='{old}' .* It is called '{new}' now"):
        quick(**{old: 1})
