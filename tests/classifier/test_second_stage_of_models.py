"""Models in which features decide among the candidates: fit, predict, and what comes after."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import dsnc
from cli_files import ROLES
from dsnc.errors import DsncWarning, InputError
from many_classes import FEW, NAMES, X_TEST, Y_TEST, X, Y, quick, reloaded, same_answers

TITLES = [f"{special} {role}" for role, some in ROLES.items() for special in some] * 20
DECORATED = [f"{word} {title}" for word, title in zip(["senior", ""] * 120, TITLES, strict=True)]
FIXED = {"name": "shortlist", "known": "training", "size": 30, "sharpness": 0.25}


def second(**settings):
    """A model that has a second stage, whose decoder is not chosen among many."""
    return quick(**{"decoder": FIXED, "reranker": "features", **settings})


@pytest.fixture(scope="module")
def dense():
    return second().fit(X, Y)


@pytest.fixture(scope="module", params=["dense", "sparse", "texts"])
def kind(request, dense):
    """A model of each kind of rows, and such rows."""
    if request.param == "dense":
        return dense, X_TEST
    if request.param == "sparse":
        return second().fit(sp.csr_matrix(X), Y), sp.csr_matrix(X_TEST)
    return second(n_bits=16, batch_size=20).fit(DECORATED, TITLES), DECORATED[:40]


def accuracy(model):
    return model.score(X_TEST, Y_TEST)


# fit


def test_auto_takes_it_where_held_out_rows_gain(dense):
    without = second(reranker=None).fit(X, Y)
    assert without.predictor_.reranker is None
    assert "features" not in str(without.decoder_report_)
    auto = second(reranker="auto").fit(X, Y)
    assert auto.predictor_.reranker is not None
    same_answers(auto, dense)
    assert accuracy(auto) > accuracy(without) + 0.05


def test_auto_has_none_where_few_rows_are_held_out(small):
    model = quick(reranker="auto", decoder="soft").fit(*small)
    assert model.predictor_.reranker is None
    for fraction in (0.1, 0.0):  # asked for, it is made all the same
        model = second(decoder="soft", validation_fraction=fraction).fit(*small)
        assert model.predictor_.reranker is not None
        assert (model.predict(small[0]) == small[1]).mean() > 0.8


def test_settings(small):
    given = {"budget": 300, "size": 3, "mix": 0.5, "reach": 2.0, "C": 5.0}
    reranker = second(decoder="soft", reranker=given).fit(*small).predictor_.reranker
    assert (reranker.size, reranker.mix, reranker.reach) == (3, 0.5, 2.0)
    assert 0 < len(reranker.vectors) <= 100
    with pytest.raises(InputError, match="reranker='feature' is not known"):
        second(reranker="feature").fit(*small)
    with pytest.raises(InputError, match="size=0 must be"):
        second(reranker={"size": 0}).fit(*small)


def test_the_report_says_what_it_is_worth_and_costs(dense):
    report = dense.decoder_report_
    trial = report.trials[-1]
    assert trial.decoder == "+ features"
    assert trial.n_bytes == dense.predictor_.reranker.vectors.nbytes
    assert dense.figures_["validation_accuracy"] == pytest.approx(trial.accuracy)
    assert trial.accuracy == pytest.approx(accuracy(dense), abs=0.08)
    line = str(report).splitlines()[-1]
    assert all(unit in line for unit in ("%", "us", "MB"))
    assert "features decide among its candidates" in report.reason


@pytest.mark.parametrize("trainer", ["torch", "fast"])
def test_the_same_bits_for_a_seed_and_any_number_of_threads(small, trainer):
    kept = [
        second(trainer=trainer, n_jobs=n_jobs, random_state=seed).fit(*small).predictor_.arrays()
        for n_jobs, seed in ((1, 3), (2, 3), (1, 4))
    ]
    same = [all(np.array_equal(kept[0][n], other[n]) for n in kept[0]) for other in kept[1:]]
    assert same == [True, False]


def test_rows_of_no_weight_do_not_count(small):
    rows, labels = small
    wrong = np.concatenate([labels, np.roll(labels, 1)])
    weight = np.repeat([1.0, 0.0], len(labels))
    twice = np.concatenate([rows, rows])
    weighted = second(decoder="soft").fit(twice, wrong, weight)
    assert (weighted.predict(rows) == labels).mean() > 0.8
    alone = second(decoder="soft").fit(rows, labels, np.full(len(labels), 3.0))
    plain = second(decoder="soft").fit(rows, labels)
    one, other = (m.predictor_.reranker.vectors.matrix() for m in (alone, plain))
    np.testing.assert_allclose(one.toarray(), other.toarray(), atol=1e-5)


@pytest.mark.parametrize("encoder", ["mlp", "module"])
def test_encoders_of_torch(encoder, tmp_path):
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(24, 14), torch.nn.Tanh())
    settings = {"encoder": "mlp", "hidden": (24,)} if encoder == "mlp" else {"encoder": module}
    model = second(decoder="soft", max_epochs=2, **settings).fit(X[FEW], Y[FEW])
    assert model.predictor_.reranker is not None
    assert np.array_equal(model.predict_proba(X_TEST).argmax(axis=1), numbers(model))
    if encoder == "mlp":
        same_answers(reloaded(model, tmp_path), model)


def numbers(model):
    """Return what a model predicts, as numbers of classes."""
    return np.searchsorted(model.classes_, model.predict(X_TEST))


def test_a_table_finds_candidates_too(tmp_path):
    model = second(decoder={"name": "table", "probes": 8}).fit(X, Y)
    assert model.predictor_.reranker is not None
    assert accuracy(model) > accuracy(second(decoder="table", reranker=None).fit(X, Y))
    same_answers(reloaded(model, tmp_path), model)


@pytest.mark.parametrize("fraction", [0.0, 0.2])
def test_training_that_leaves_no_time_leaves_it_out(small, fraction):
    settings = {"validation_fraction": fraction, "time_limit": 1e-6, "decoder": "soft"}
    with pytest.warns(DsncWarning, match="before the second stage was trained; it is left out"):
        model = second(**settings).fit(*small)
    assert model.predictor_.reranker is None
    assert len(model.predict(X_TEST)) == len(X_TEST)


def test_baselines_have_none(small):
    assert "reranker" not in dsnc.baselines.NearestCentroidBaseline().get_params()
    model = dsnc.baselines.NearestCentroidBaseline().fit(*small)
    assert model.predictor_.reranker is None


# predict


def test_answers_agree_with_each_other(kind):
    model, rows = kind
    predicted, proba = model.predict(rows), model.predict_proba(rows)
    assert np.array_equal(model.classes_[proba.argmax(axis=1)], predicted)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-4)
    for k in (1, 3, 12):
        labels, shares = model.predict_top_k(rows, k=k)
        assert np.array_equal(labels[:, 0], predicted)
        assert (np.diff(shares, axis=1) <= 1e-7).all()
        assert all(len(set(row)) == k for row in labels.tolist())
        of_proba = -np.sort(-proba, axis=1)[:, :k]
        np.testing.assert_allclose(shares, of_proba, rtol=1e-5)


def test_confidence_is_honest(dense):
    sure = dense.predict_top_k(X_TEST, k=1)[1].mean()
    assert sure == pytest.approx(accuracy(dense), abs=0.06)


def test_rows_one_by_one_and_in_threads(kind):
    model, rows = kind
    expected = model.predict(rows)
    alone = [model.predict(rows[i : i + 1])[0] for i in range(12)]
    assert np.array_equal(alone, expected[:12])
    assert np.array_equal(clone_fitted(model, n_jobs=2).predict(rows), expected)


def clone_fitted(model, **params):
    return pickle.loads(pickle.dumps(model)).set_params(**params)


# What comes after


def test_files_and_pickles_give_the_same_answers(kind, tmp_path):
    model, rows = kind
    loaded = reloaded(model, tmp_path)
    same_answers(loaded, model, rows)
    same_answers(pickle.loads(pickle.dumps(model)), model, rows)
    assert loaded.decoder_report_ == model.decoder_report_
    assert loaded.figures_ == model.figures_
    assert str(loaded.predictor_.reranker) == str(model.predictor_.reranker)
    same_answers(reloaded(loaded, tmp_path), model, rows)


@pytest.mark.parametrize("name", NAMES)
def test_another_decoder_of_a_fitted_model_has_one_of_its_own(dense, name, tmp_path):
    other = dense.with_decoder(name)
    assert other.predictor_.reranker is not None
    assert other.decoder_report_.trials[-1].decoder == "+ features"
    without = clone_fitted(dense, reranker=None).with_decoder(name, X, Y)
    assert without.predictor_.reranker is None
    assert accuracy(other) > accuracy(without) + 0.05
    same_answers(reloaded(other, tmp_path), other)


def test_another_decoder_of_a_loaded_model_keeps_it(dense, tmp_path):
    loaded = reloaded(dense, tmp_path)
    vectors = loaded.predictor_.reranker.vectors
    for name in ("linear", "soft", {"name": "shortlist", "known": "weights"}):
        other = loaded.with_decoder(name)
        assert other.predictor_.reranker.vectors is vectors
        assert accuracy(other) > accuracy(clone_fitted(loaded, reranker=None).with_decoder(name))
    with pytest.warns(DsncWarning, match="second stage is left out"):
        assert loaded.with_decoder("nearest").predictor_.reranker is None
    same_answers(loaded, dense)  # as it was


def test_more_rows_keep_it(dense, tmp_path):
    vectors = dense.predictor_.reranker.arrays()
    for model in (pickle.loads(pickle.dumps(dense)), reloaded(dense, tmp_path)):
        model.set_params(device="cpu").partial_fit(X[FEW], Y[FEW])
        kept = model.predictor_.reranker.arrays()
        assert all(np.array_equal(kept[name], vectors[name]) for name in vectors)
        assert accuracy(model) == pytest.approx(accuracy(dense), abs=0.1)
        same_answers(reloaded(model, tmp_path / "more"), model)


def test_a_first_pass_over_some_rows_has_none(small):
    classes = np.unique(small[1])
    model = quick(reranker="auto", decoder="soft").partial_fit(*small, classes=classes)
    assert model.predictor_.reranker is None
    with pytest.raises(InputError, match="set it before calling fit"):
        second(decoder="soft").partial_fit(*small, classes=classes)


def test_one_cannot_be_asked_for_when_training_is_over(small, tmp_path):
    model = quick(decoder="soft").fit(*small)
    for known in (model, reloaded(model, tmp_path)):
        assert known.set_params(reranker="auto").with_decoder("linear").predictor_.reranker is None
        with pytest.raises(InputError, match="reranker='features' cannot be trained here"):
            known.set_params(reranker="features").with_decoder("linear")


def test_parameters_go_round(dense):
    choice = {"name": "features", "budget": 1000}
    model = quick(reranker=choice)
    assert clone(model).get_params()["reranker"] == choice
    assert model.set_params(reranker="auto").get_params()["reranker"] == "auto"
    again = clone(dense)
    assert again.get_params()["reranker"] == "features"
    assert not hasattr(again, "predictor_")
    assert dsnc.DSNCClassifier().reranker == "auto"
    assert dsnc.DSNCClassifier(**dsnc.PAPER).reranker is None
