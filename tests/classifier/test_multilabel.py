"""Sets of labels: what goes in, what comes out."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from made_sets import N_FEATURES, N_LABELS, as_csr, as_lists, make_sets
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import dsnc
from dsnc.errors import InputError
from dsnc.metrics import f1_of_sets

X, Y = make_sets()
TEST_X, TEST_Y = make_sets(seed=1)
SMALL = {"n_bits": 24, "max_epochs": 12}


@pytest.fixture(scope="module")
def model():
    return dsnc.DSNCMultiLabelClassifier(**SMALL).fit(X, as_csr(Y))


def test_sets_are_learned(model):
    assert f1_of_sets(TEST_Y, model.predict(TEST_X)) > 0.9
    assert model.score(TEST_X, TEST_Y) > 0.9 * (TEST_Y.any(axis=1)).mean()


def test_sets_come_back_as_csr(model):
    found = model.predict(TEST_X)
    assert isinstance(found, sp.csr_matrix) and found.shape == TEST_Y.shape
    assert set(found.data.tolist()) == {1} and found.has_sorted_indices
    assert model.classes_.tolist() == list(range(N_LABELS))


@pytest.mark.parametrize(
    "form",
    [
        lambda Y: sp.csr_array(Y),
        lambda Y: sp.coo_matrix(Y.astype(np.float32)),
        lambda Y: Y.astype(bool),
        lambda Y: Y.astype(np.float64),
        lambda Y: pd.DataFrame(Y),
        lambda Y: as_lists(Y, range(N_LABELS)),
        lambda Y: [set(row) for row in as_lists(Y, range(N_LABELS))],
        lambda Y: pd.Series(as_lists(Y, range(N_LABELS))),
        lambda Y: Y.tolist(),
    ],
    ids=["csr_array", "coo", "bool", "float", "frame", "lists", "sets", "series", "nested"],
)
def test_any_form_of_sets_learns_the_same(model, form):
    other = dsnc.DSNCMultiLabelClassifier(**SMALL).fit(X, form(Y))
    found = other.predict(TEST_X)
    found = found if isinstance(found, np.ndarray) else found.toarray()
    assert np.array_equal(found, model.predict(TEST_X).toarray())


def test_plain_arrays_come_back_as_plain_arrays():
    found = dsnc.DSNCMultiLabelClassifier(**SMALL).fit(X, Y).predict(TEST_X)
    assert isinstance(found, np.ndarray) and found.dtype == np.int64


def test_labels_have_names():
    names = [f"label {k:02}" for k in range(N_LABELS)]
    model = dsnc.DSNCMultiLabelClassifier(**SMALL).fit(X, as_lists(Y))
    assert model.classes_.tolist() == names
    of_columns = dsnc.DSNCMultiLabelClassifier(**SMALL).fit(X, as_csr(Y), classes=names)
    assert of_columns.predict_sets(TEST_X) == model.predict_sets(TEST_X)
    sets = [set(labels) for labels in model.predict_sets(TEST_X)]
    rows = [set(np.array(names)[row.indices]) for row in model.predict(TEST_X)]
    assert sets == rows
    assert model.score(TEST_X, as_lists(TEST_Y)) == of_columns.score(TEST_X, as_csr(TEST_Y))


def test_the_best_labels_come_with_probabilities_of_their_own(model):
    labels, likely = model.predict_top_k(TEST_X, 4)
    assert labels.shape == likely.shape == (len(TEST_X), 4)
    assert (np.diff(likely, axis=1) <= 0).all() and likely.min() >= 0 and likely.max() <= 1
    assert likely.sum(axis=1).max() > 1.2  # several labels at once are probable
    everything = model.predict_proba(TEST_X)
    np.testing.assert_array_equal(np.take_along_axis(everything, labels, axis=1), likely)


def test_probabilities_are_honest(model):
    likely, truth = model.predict_proba(TEST_X).ravel(), TEST_Y.ravel()
    assert likely.mean() == pytest.approx(truth.mean(), abs=0.02)
    sure = likely > 0.9
    assert truth[sure].mean() > 0.85


def test_candidates_alone_are_sparse(model):
    dense, sparse = model.predict_proba(TEST_X), model.predict_proba(TEST_X, sparse=True)
    assert isinstance(sparse, sp.csr_matrix)
    rows, columns = sparse.nonzero()
    np.testing.assert_array_equal(sparse[rows, columns].A1, dense[rows, columns])


def test_scores_are_log_odds(model):
    scores, likely = model.decision_function(TEST_X), model.predict_proba(TEST_X)
    np.testing.assert_allclose(1 / (1 + np.exp(-scores)), likely, rtol=1e-4, atol=1e-6)


def test_too_large_a_table_is_refused(model, monkeypatch):
    monkeypatch.setattr("dsnc.model.fitted._MAX_TABLE", 100)
    with pytest.raises(InputError, match=r"more than 100 bytes.*predict_proba\(X, sparse=True\)"):
        model.predict_proba(TEST_X)
    assert model.predict_proba(TEST_X, sparse=True).shape == TEST_Y.shape


@pytest.mark.parametrize("decoder", ["linear", "soft", "shortlist", {"name": "soft", "prior": 0.5}])
def test_decoders(model, decoder):
    other = model.with_decoder(decoder)
    assert f1_of_sets(TEST_Y, other.predict(TEST_X)) > 0.85


@pytest.mark.parametrize("decoder", ["nearest", "table"])
def test_decoders_of_one_class_for_each_code_are_refused(model, decoder):
    with pytest.raises(InputError, match="the decoder knows only one class for each code"):
        dsnc.DSNCMultiLabelClassifier(n_bits=12, max_epochs=1, decoder=decoder).fit(X, Y)


def test_a_second_stage(tmp_path):
    model = dsnc.DSNCMultiLabelClassifier(**SMALL, reranker="features").fit(X, as_csr(Y))
    assert model.predictor_.reranker is not None
    assert f1_of_sets(TEST_Y, model.predict(TEST_X)) > 0.9
    model.save(tmp_path / "m")
    same = dsnc.load(tmp_path / "m")
    assert (model.predict(TEST_X) != same.predict(TEST_X)).nnz == 0


def test_a_second_stage_where_rows_have_many_labels():
    rng = np.random.default_rng(0)
    many = rng.random((300, 120)) < 0.15
    rows = (many @ rng.normal(size=(120, 60))).astype(np.float32)
    settings = {"decoder": "shortlist", "reranker": "features", "random_state": 0}
    model = dsnc.DSNCMultiLabelClassifier(n_bits=32, max_epochs=3, **settings)
    assert model.fit(rows, as_csr(many)).predictor_.reranker is not None


@pytest.mark.parametrize("form", [as_csr, as_lists, np.asarray])
def test_a_file_brings_back_all(form, tmp_path):
    model = dsnc.DSNCMultiLabelClassifier(**SMALL, per_label_threshold=True).fit(X, form(Y))
    model.save(tmp_path / "m")
    same = dsnc.load(tmp_path / "m")
    assert type(same) is dsnc.DSNCMultiLabelClassifier
    assert same.get_params() == model.get_params()
    first, second = model.predict(TEST_X), same.predict(TEST_X)
    assert type(first) is type(second) and (first != second).sum() == 0
    for one, other in zip(model.predict_top_k(TEST_X), same.predict_top_k(TEST_X), strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(same.label_counts_, model.label_counts_)
    with_shortlist = same.with_decoder("linear")
    assert f1_of_sets(TEST_Y, with_shortlist.predict(TEST_X)) > 0.85


@pytest.mark.parametrize("decoder", ["soft", "shortlist"])
def test_labels_go(decoder, tmp_path):
    second = {"name": "features", "mix": 0.5, "reach": 50.0, "size": 3}
    settings = {"decoder": decoder, "reranker": None if decoder == "soft" else second}
    settings |= {"per_label_threshold": True}
    model = dsnc.DSNCMultiLabelClassifier(**SMALL, **settings).fit(X, as_csr(Y))
    model.save(tmp_path / "m")
    loaded, gone, stays = dsnc.load(tmp_path / "m"), [1, 5], np.delete(np.arange(N_LABELS), [1, 5])
    loaded.remove_classes(gone).save(tmp_path / "m", overwrite=True)
    for smaller in (loaded, dsnc.load(tmp_path / "m")):
        assert smaller.classes_.tolist() == stays.tolist()
        assert (smaller.label_counts_ == model.label_counts_[stays]).all()
        if decoder == "soft":
            expected = model.predict_proba(TEST_X)[:, stays]
            np.testing.assert_allclose(smaller.predict_proba(TEST_X), expected, atol=1e-6)
            expected = model.predict(TEST_X).toarray()[:, stays]
            assert np.array_equal(smaller.predict(TEST_X).toarray(), expected)
        assert f1_of_sets(TEST_Y[:, stays], smaller.predict(TEST_X)) > 0.85
    rows = Y[:, 1] == 1
    loaded.add_classes(X[rows], [[1]] * rows.sum())  # removed labels return to their place
    assert loaded.classes_.tolist() == np.sort([1, *stays]).tolist()
    loaded.remove_classes([1])
    with pytest.raises(InputError, match="at least two must remain"):
        loaded.remove_classes(stays[1:])
    assert (loaded.label_counts_ == model.label_counts_[stays]).all()


def test_passes_over_some_rows():
    model = dsnc.DSNCMultiLabelClassifier(n_bits=24)
    for _ in range(12):
        model.partial_fit(X[:200], as_csr(Y[:200])).partial_fit(X[200:], as_csr(Y[200:]))
    assert model.score(TEST_X, TEST_Y) > 0.85 * TEST_Y.any(axis=1).mean()
    named = dsnc.DSNCMultiLabelClassifier(n_bits=24)
    names = [f"label {k:02}" for k in range(N_LABELS)]
    assert named.partial_fit(X, as_lists(Y), classes=names).classes_.tolist() == names


def test_rare_labels_may_count_more():
    rare = dsnc.DSNCMultiLabelClassifier(**SMALL, class_weight={3: 50.0}).fit(X, Y)
    usual = dsnc.DSNCMultiLabelClassifier(**SMALL).fit(X, Y)
    likely = [m.predictor_.top_k(TEST_X, N_LABELS) for m in (rare, usual)]
    ranks = [(classes == 3).argmax(axis=1).mean() for classes, _ in likely]
    assert ranks[0] < ranks[1]
    for named in ("propensity", "balanced"):
        dsnc.DSNCMultiLabelClassifier(n_bits=8, max_epochs=1, class_weight=named).fit(X, Y)


def test_texts_and_explanations():
    words = ["sun", "rain", "wind", "snow"]
    rng = np.random.default_rng(0)
    sets = [[w for w in words if rng.random() < 0.4] for _ in range(300)]
    texts = [" ".join(["today", *labels]) for labels in sets]
    model = dsnc.DSNCMultiLabelClassifier(n_bits=16, max_epochs=10).fit(texts, sets)
    assert model.predict_sets(["today sun wind"])[0] in (["sun", "wind"], ["wind", "sun"])
    explanation = model.explain(["today sun"])[0]
    assert explanation.label == "sun"
    labels, likely = model.predict_top_k(["today sun"], 1)
    assert (labels[0, 0], likely[0, 0]) == (explanation.label, np.float32(explanation.probability))


def test_with_other_tools_of_scikit_learn():
    pipeline = make_pipeline(StandardScaler(), dsnc.DSNCMultiLabelClassifier(n_bits=16))
    pipeline.set_params(dsncmultilabelclassifier__max_epochs=4)
    grid = GridSearchCV(pipeline, {"dsncmultilabelclassifier__n_bits": [8, 16]}, cv=2).fit(X, Y)
    assert 0 < grid.best_score_ <= 1
    for form in (np.asarray, as_csr):
        found = cross_val_predict(pipeline, X, form(Y), cv=2)
        assert found.shape == Y.shape and sp.issparse(found) == (form is as_csr)


CHECKS = [
    (estimator, check)
    for estimator, check in estimator_checks_generator(
        dsnc.DSNCMultiLabelClassifier(n_bits=8, max_epochs=3)
    )
    if "multilabel" in check.func.__name__
]


@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=lambda it: getattr(it, "func", None))
def test_what_scikit_learn_asks_of_sets(estimator, check):
    check(estimator)


def test_scikit_learn_has_checks_of_sets():
    assert len(CHECKS) >= 4


# Bad input

WRONG = {
    "values of 2": (np.full((400, 3), 2), r"y\[0, 0\] is 2; give 1 where a row has the label"),
    "negative values": (-Y, r"y\[\d+, \d+\] is -1"),
    "NaN": (np.where(Y, np.nan, 0.0), "is nan"),
    "one column": (Y[:, :1], "y has only one label, 0; to predict whether a row has it"),
    "one label": ([["a"]] * 400, "y has only one label, 'a'"),
    "no label": (np.zeros_like(Y), "y has no label in any row"),
    "empty lists": ([[]] * 400, "y has no label in any row"),
    "one label a row": (Y.argmax(axis=1), "For one label per row, use DSNCClassifier"),
    "strings": (["a", "b"] * 200, r"y\[0\] is 'a' of type str; give a list of labels for each row"),
    "missing": ([["a", None], ["b"]] * 200, r"y\[0\] has a missing label"),
    "too few rows": (Y[:5], "X has 400 rows and y has 5"),
    "nothing": (None, "requires y to be passed"),
    "a number": (7, "y is of type int; expected an indicator"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_labels_that_are_refused(wrong):
    y, message = WRONG[wrong]
    model = dsnc.DSNCMultiLabelClassifier(**SMALL)
    with pytest.raises(InputError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "predictor_")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"threshold": "best"}, "threshold='best' is not one of micro, macro, samples"),
        ({"threshold": 1.5}, "threshold=1.5"),
        ({"threshold": 0.5, "per_label_threshold": True}, "is given for all labels"),
        ({"class_weight": "rare"}, "class_weight='rare' is not valid; use 'propensity'"),
        ({"class_weight": {"unknown": 1.0}}, "class_weight"),
        ({"class_weight": {0: -1.0}}, "below 0 or NaN"),
    ],
    ids=str,
)
def test_settings_that_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        dsnc.DSNCMultiLabelClassifier(n_bits=8, max_epochs=1, **settings).fit(X, Y)


def test_labels_unseen_in_training_are_refused():
    model = dsnc.DSNCMultiLabelClassifier(**SMALL).fit(X, as_lists(Y))
    with pytest.raises(InputError, match=r"y\[1\] has 'new', which is not one of the 12 labels"):
        model.score(X[:2], [[], ["new"]])
    with pytest.raises(InputError, match="y has 3 columns, but the model has 12 labels"):
        model.score(X, Y[:, :3])


def test_rows_of_another_width_are_refused(model):
    with pytest.raises(ValueError, match=f"expecting {N_FEATURES} features"):
        model.predict(X[:, :3])
