"""Labels come to a model of label sets; the others stay as they are."""

import numpy as np
import pytest
import scipy.sparse as sp
from made_sets import N_LABELS, as_csr, as_lists, make_sets
from sklearn.metrics import average_precision_score

import dsnc
from dsnc.errors import DsncWarning, InputError

X, Y = make_sets(n=600)
TEST_X, TEST_Y = make_sets(seed=1)
OLD, NEW = np.arange(N_LABELS - 2), np.array([N_LABELS - 2, N_LABELS - 1])
HAS_NEW = Y[:, NEW].any(axis=1)
SMALL = {"n_bits": 24, "max_epochs": 12}
TOPICS, WORDS, EACH = 16, 12, 30


def fitted(**settings):
    model = dsnc.DSNCMultiLabelClassifier(**{**SMALL, **settings})
    return model.fit(X[~HAS_NEW], as_csr(Y[~HAS_NEW][:, OLD]))


def some_rows(each=10, others=40):
    """Return rows of the new labels, so many of each, and rows that have none of them."""
    rows = [np.flatnonzero(Y[:, k])[:each] for k in NEW]
    return np.unique(np.concatenate([*rows, np.flatnonzero(~HAS_NEW)[:others]]))


def precision(model, labels, rows=TEST_X, truth=TEST_Y):
    """Return the mean average precision of some labels."""
    likely = model.predict_proba(rows, sparse=True).toarray()
    places = [model.classes_.tolist().index(k) for k in labels]
    return np.mean(
        [
            average_precision_score(truth[:, k], likely[:, j])
            for k, j in zip(labels, places, strict=True)
        ]
    )


def topics(n=400, seed=0):
    """Return rows of counts: each topic has words of its own, and there are words of none."""
    rng = np.random.default_rng(seed)
    sets = rng.random((n, TOPICS)) < 1.5 / TOPICS
    rates = np.kron(sets, np.full(WORDS, 0.35)) + 0.02
    rates = np.hstack([rates, np.full((n, 40), 0.15)])
    return sp.csr_matrix((rng.random(rates.shape) < rates).astype(np.float32)), sets.astype(int)


@pytest.mark.parametrize(
    ("decoder", "reranker", "least"),
    [
        ("linear", None, 0.35),  # bits know little of labels that the encoder has not learned
        ("soft", None, 0.35),
        ("soft", "features", 0.9),
        ("shortlist", "features", 0.9),
    ],
)
def test_new_labels_are_learned_and_others_stay(decoder, reranker, least, tmp_path):
    model = fitted(decoder=decoder, reranker=reranker)
    old, rows = model.decision_function(TEST_X), some_rows()
    is_old = TEST_Y[:, OLD].any(axis=1) & ~TEST_Y[:, NEW].any(axis=1)
    before = model.score(TEST_X[is_old], as_csr(TEST_Y[is_old][:, OLD]))
    model.add_classes(X[rows], as_csr(Y[rows]))
    assert model.classes_.tolist() == list(range(N_LABELS))
    assert precision(model, NEW) > least
    if reranker is None:  # else more candidates are looked at
        np.testing.assert_allclose(model.decision_function(TEST_X)[:, OLD], old, atol=1e-4)
    assert model.score(TEST_X[is_old], as_csr(TEST_Y[is_old])) > before - 0.03
    assert np.array_equal(model.label_counts_[NEW], Y[rows][:, NEW].sum(axis=0))
    model.save(tmp_path / "m")
    same = dsnc.load(tmp_path / "m")
    assert (same.predict(TEST_X) != model.predict(TEST_X)).nnz == 0
    assert same.predict(TEST_X).shape == TEST_Y.shape
    assert same.label_counts_.tolist() == model.label_counts_.tolist()


def test_a_loaded_model_learns_the_same(tmp_path):
    model, rows = fitted(), some_rows()
    model.save(tmp_path / "m")
    loaded = dsnc.load(tmp_path / "m")
    for each in (model, loaded):
        each.add_classes(X[rows], as_lists(Y[rows], range(N_LABELS)))
    np.testing.assert_array_equal(model.predict_proba(TEST_X), loaded.predict_proba(TEST_X))
    assert loaded.data_["changes"] == [
        {"classes added": 2, "rows": len(rows), "classes in all": N_LABELS}
    ]


def test_labels_may_come_one_by_one_and_go():
    model = fitted(decoder="soft", reranker="features")
    for k in NEW:
        rows = some_rows()
        model.add_classes(X[rows], as_lists(Y[rows][:, : k + 1], range(N_LABELS)))
    assert precision(model, NEW) > 0.9
    everything = model.predict_proba(TEST_X)
    model.remove_classes([NEW[0]])
    assert model.classes_.tolist() == [*OLD, NEW[1]]
    kept = np.delete(everything, NEW[0], axis=1)
    np.testing.assert_allclose(model.predict_proba(TEST_X), kept, atol=1e-5)


@pytest.mark.parametrize("reranker", ["auto", "features", None])
def test_features_tell_new_labels_apart(reranker, tmp_path):
    X, Y = topics()
    rows, truth = topics(seed=1)
    old = np.arange(TOPICS - 1)
    has_new = Y[:, -1] == 1
    model = dsnc.DSNCMultiLabelClassifier(n_bits=24, max_epochs=8, reranker=reranker)
    model.fit(X[~has_new], as_csr(Y[~has_new][:, old]))
    had = model.predictor_.reranker is not None
    before = model.decision_function(rows)
    few = np.flatnonzero(has_new)[:8]
    model.add_classes(X[few], as_csr(Y[few]))
    assert (model.predictor_.reranker is not None) == (reranker is not None)
    assert reranker is None or precision(model, [TOPICS - 1], rows, truth) > 0.8
    if not had:
        order = np.argsort(before, axis=1)
        now = model.decision_function(rows)[:, old]
        np.testing.assert_allclose(now, before, rtol=1e-3, atol=1e-3)
        assert np.array_equal(np.argsort(now, axis=1), order)
    model.save(tmp_path / "m")
    loaded = dsnc.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict_proba(rows), model.predict_proba(rows))


def test_new_words_speak_for_a_new_label():
    texts = ["photo editor", "photo viewer", "text editor", "music player", "music tagger"] * 20
    tags = [["image", "edit"], ["image"], ["edit"], ["sound"], ["sound", "edit"]] * 20
    model = dsnc.DSNCMultiLabelClassifier(n_bits=16).fit(texts, tags)
    width = model.n_features_in_
    come = ["zebra crossing", "zebra atlas", "photo of a zebra", "photo viewer", "music"]
    model.add_classes(come, [["zoo"], ["zoo"], ["zoo", "image"], ["image"], ["sound"]])
    assert model.n_features_in_ > width
    likely = model.predict_proba(["zebra", "photo viewer", "music player"])
    zoo = model.classes_.tolist().index("zoo")
    assert likely[0, zoo] > 2 * likely[1:, zoo].max()
    assert model.predict_sets(["photo viewer"]) == [["image"]]


def test_thresholds_of_labels_come_with_the_median():
    model, rows = fitted(per_label_threshold=True), some_rows()
    thresholds = model.predictor_.rule.threshold
    model.add_classes(X[rows], as_csr(Y[rows]))
    assert np.array_equal(model.predictor_.rule.threshold[OLD], thresholds)
    assert (model.predictor_.rule.threshold[NEW] == np.median(thresholds)).all()


def test_a_model_remembers_codes_under_one_label_each():
    model = fitted(memory=12 * 3)
    memory = model._memory
    assert np.bincount(memory.classes, minlength=len(OLD)).max() == 3
    assert len(memory.codes) > 2 * len(OLD)
    rows = some_rows()
    model.add_classes(X[rows], as_csr(Y[rows]))
    assert np.bincount(model._memory.classes)[NEW].tolist() == [3, 3]
    model.remove_classes([0])
    assert len(model._memory.counts) == N_LABELS - 1


def test_a_model_that_remembers_nothing_says_so():
    model, rows = fitted(memory=0), some_rows()
    assert model._memory is None
    with pytest.warns(DsncWarning, match="remembers nothing of its classes"):
        model.add_classes(X[rows], as_csr(Y[rows]))
    assert precision(model, NEW) > 0.3


def test_what_cannot_be_added_is_refused():
    model = fitted()
    likely = model.predict_proba(TEST_X)
    lists = as_lists(Y[:5], range(N_LABELS))
    wrong = {
        "y has no label that is new": (X[:5], [[0], [1], [], [2], [3]]),
        "X has 5 rows and y has 4": (X[:5], lists[:4]),
        "X has 5 features": (X[:5, :5], lists),
        "Input X contains NaN": (np.full_like(X[:5], np.nan), lists),
        r"y\[1\] has a missing label": (X[:2], [[11], [None]]),
        "give a list of labels for": (X[:2], ["ab", "cd"]),
        "'cow' of type str, but classes such as 0": (X[:2], [["ox"], ["cow"]]),
        "y is an indicator with 4 columns": (X[:5], as_csr(Y[:5, :4])),
        "y has no row with the new label 10": (X[:5], sp.csr_matrix(np.eye(5, 13, 12))),
        "expected an indicator": (X[:5], np.arange(5)),
    }
    for said, (rows, sets) in wrong.items():
        with pytest.raises((InputError, ValueError), match=said):
            model.add_classes(rows, sets)
    named = dsnc.DSNCMultiLabelClassifier(**SMALL).fit(X, as_lists(Y))
    with pytest.raises(InputError, match="Give lists of labels instead"):
        named.add_classes(X[:5], as_csr(np.eye(5, N_LABELS + 1)))
    np.testing.assert_array_equal(model.predict_proba(TEST_X), likely)
    with pytest.raises(InputError, match="add labels of sets from rows"):
        model.add_described_classes(["new"], ["a text"])
