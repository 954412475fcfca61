"""What a machine for each class would be worth, on the rows that were held out."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from cli_files import ROLES
from dsnc.classifier import one_vs_rest
from dsnc.classifier.one_vs_rest import compare_with_one_vs_rest
from many_classes import quick

N_CLASSES = 20


def blobs(n, seed, noise=1.0):
    centers = np.random.default_rng(7).normal(size=(N_CLASSES, 10))
    rng = np.random.default_rng(seed)
    y = rng.integers(0, N_CLASSES, n)
    return centers[y] + noise * rng.normal(size=(n, 10)), y


X, Y = blobs(1000, 0)
X_HELD, Y_HELD = blobs(400, 1)


def fast(**settings):
    usual = {"trainer": "fast", "decoder": "soft", "batch_size": "auto", "learning_rate": "auto"}
    return quick(**usual | settings)


@pytest.fixture(scope="module")
def model():
    return fast(n_bits=24).fit(X, Y, validation=(X_HELD, Y_HELD))


def test_it_is_as_good_as_that_of_scikit_learn(model):
    found = compare_with_one_vs_rest(model, X, Y, has_validation=True)
    scaled = (X - X.mean()) / X.std() / np.sqrt(10)
    held = (X_HELD - X.mean()) / X.std() / np.sqrt(10)
    machine = LinearSVC(dual=True).fit(scaled, Y)
    assert found.accuracy == pytest.approx(machine.score(held, Y_HELD), abs=0.02)
    assert found.model_accuracy == pytest.approx(model.figures_["validation_accuracy"])
    assert found.rows == 400


def words(n, seed):
    """Rows of counts, each class with words that it prefers."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, N_CLASSES, n)
    own = np.random.default_rng(7).integers(0, 300, (N_CLASSES, 12))
    columns = np.where(
        rng.random((n, 8)) < 0.4,
        own[y[:, None], rng.integers(0, 12, (n, 8))],
        rng.zipf(1.4, (n, 8)),
    )
    rows = sp.csr_matrix((np.ones(8 * n), (np.repeat(np.arange(n), 8), columns.ravel() % 300)))
    rows.resize(n, 300)
    return rows, y


def test_rows_of_words_have_length_1_for_it():
    (rows, labels), (held, truth) = words(1200, 0), words(400, 1)
    other = fast(n_bits=24).fit(rows, labels, validation=(held, truth))
    found = compare_with_one_vs_rest(other, rows, labels, has_validation=True)
    machine = LinearSVC(dual=True).fit(normalize(rows), labels)
    assert found.accuracy == pytest.approx(machine.score(normalize(held), truth), abs=0.015)


@pytest.mark.parametrize("kind", [sp.csr_matrix, np.float32])
def test_rows_of_any_kind(model, kind):
    expected = compare_with_one_vs_rest(model, X, Y, has_validation=True)
    rows = kind(X)
    other = fast(n_bits=24).fit(rows, Y, validation=(kind(X_HELD), Y_HELD))
    found = compare_with_one_vs_rest(other, rows, Y, has_validation=True)
    assert found.accuracy == pytest.approx(expected.accuracy, abs=0.01)


def test_rows_that_were_held_out_are_not_learned():
    """Each row has a feature of its own: who has seen it knows its class."""
    rows, labels = sp.identity(600, format="csr"), np.random.default_rng(0).integers(0, 5, 600)
    other = fast(validation_fraction=0.3).fit(rows, labels)
    found = compare_with_one_vs_rest(other, rows, labels)
    assert 150 < found.rows <= 180
    assert found.accuracy < 0.4


def test_texts():
    titles = [f"{special} {role}" for role, some in ROLES.items() for special in some] * 10
    texts = fast(n_bits=16).fit(titles, titles)
    found = compare_with_one_vs_rest(texts, titles, titles)
    assert found == (1.0, 1.0, 12, "alike")


def test_who_is_better():
    few_bits = fast(n_bits=5, max_epochs=1).fit(X, Y, validation=(X_HELD, Y_HELD))
    assert compare_with_one_vs_rest(few_bits, X, Y, has_validation=True).verdict == "worse"
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(800, 2))
    inside = np.hypot(*rows.T) < 1.2  # no line tells who is
    bent = quick(encoder="mlp", hidden=(32,), max_epochs=30, decoder="soft").fit(rows, inside)
    found = compare_with_one_vs_rest(bent, rows, inside)
    assert found.verdict == "better"
    assert found.model_accuracy > found.accuracy + 0.2


def test_classes_may_be_balanced():
    rare = np.where(Y < 10, Y, 19)
    balanced, plain = (
        fast(class_weight=w, validation_fraction=0.3).fit(X, rare) for w in ("balanced", None)
    )
    found = [compare_with_one_vs_rest(each, X, rare).accuracy for each in (balanced, plain)]
    assert found[0] != found[1]


def test_blocks_do_not_matter(model, monkeypatch):
    expected = compare_with_one_vs_rest(model, X, Y, has_validation=True)
    monkeypatch.setattr(one_vs_rest, "_SCORES", 1)
    assert compare_with_one_vs_rest(model, X, Y, has_validation=True) == expected
    monkeypatch.setattr(one_vs_rest, "_JUDGES", 50)
    assert compare_with_one_vs_rest(model, X, Y, has_validation=True).rows == 50


@pytest.mark.parametrize(
    ("constant", "value"), [("_SECONDS", 1e-4), ("_MOST_PAIRS", 10), ("MOST_CLASSES", N_CLASSES)]
)
def test_nothing_that_takes_long(model, monkeypatch, constant, value):
    monkeypatch.setattr(one_vs_rest, constant, value)
    assert compare_with_one_vs_rest(model, X, Y, has_validation=True) is None


def test_nothing_without_rows_that_are_known_to_be_held_out():
    assert compare_with_one_vs_rest(fast(validation_fraction=0).fit(X, Y), X, Y) is None
    assert compare_with_one_vs_rest(fast(random_state=None).fit(X, Y), X, Y) is None
