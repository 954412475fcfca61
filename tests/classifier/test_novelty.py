"""Rows of no known class are strange, and a fitted threshold says how many known ones are lost."""

import copy

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import dsnc
from dsnc.classifier import open_world
from dsnc.errors import InputError
from dsnc.metrics import novelty_auroc

X, Y = make_blobs(8000, centers=40, n_features=16, cluster_std=2.0, random_state=1)
X = X.astype(np.float32)
OLD, TEST = Y < 30, np.arange(len(Y)) % 4 == 0


@pytest.fixture(scope="module")
def model():
    settings = {"n_bits": 32, "max_epochs": 5, "reranker": None, "validation_fraction": 0.3}
    return dsnc.DSNCClassifier(**settings).fit(X[OLD & ~TEST], Y[OLD & ~TEST])


def test_new_classes_are_strange(model):
    known, strange = (model.novelty(X[TEST & part]) for part in (OLD, ~OLD))
    assert novelty_auroc(known, strange) > 0.9


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_the_threshold_loses_the_share_that_is_asked_for(model, share):
    answers = model.predict(X[OLD & TEST], unknown=-1, unknown_share=share)
    assert abs((answers == -1).mean() - share) < 0.04
    assert answers.dtype == Y.dtype


def test_labels_of_another_type_become_objects(model):
    answers = model.predict(X[~OLD], unknown="other")
    assert answers.dtype == object
    assert (answers == "other").mean() > 0.4
    both = model.predict(X, unknown="other", reject_below=1.0, rejected=None)
    assert {"other", None} <= set(both.tolist())


def test_files_and_changes_keep_it(model, tmp_path):
    model.save(tmp_path / "model")
    again = dsnc.load(tmp_path / "model")
    assert np.allclose(again.novelty(X[:50]), model.novelty(X[:50]))
    assert str(again._novelty) == str(model._novelty)
    assert f"| unknown rows | {model._novelty} |" in (tmp_path / "model/README.md").read_text()
    again.add_classes(X[~OLD & ~TEST], Y[~OLD & ~TEST])
    assert str(again._novelty) == str(model._novelty)
    assert again.novelty(X[~OLD & TEST]).mean() < model.novelty(X[~OLD & TEST]).mean()
    assert (again.predict(X[OLD & TEST], unknown=-1) == -1).mean() < 0.1


def test_without_a_memory_class_vectors_tell():
    settings = {"n_bits": 32, "max_epochs": 5, "reranker": None, "memory": 0}
    model = dsnc.DSNCClassifier(**settings).fit(X[OLD & ~TEST], Y[OLD & ~TEST])
    known, strange = (model.novelty(X[TEST & part]) for part in (OLD, ~OLD))
    assert novelty_auroc(known, strange) > 0.85
    assert model._novelty.usual[1, 2] == 0  # nothing could tell how scores move later


@pytest.mark.parametrize("decoder", ["linear", "nearest", "table"])
@pytest.mark.parametrize("n_classes", [2, 30])
def test_every_decoder_can_tell(decoder, n_classes):
    mine = Y < n_classes
    model = dsnc.DSNCClassifier(n_bits=12, max_epochs=2, decoder=decoder, reranker=None)
    model.fit(X[mine & ~TEST], Y[mine & ~TEST])
    known, strange = (model.novelty(X[TEST & part]) for part in (mine, ~OLD))
    assert np.isfinite(known).all() and np.isfinite(strange).all()
    assert novelty_auroc(known, strange) > 0.6


def lost(model):
    return (model.predict(X[OLD & TEST], unknown=-1) == -1).mean()


def test_lines_move_with_the_decoder_where_no_row_is_left(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = dsnc.load(tmp_path / "model")
    assert 0.02 < lost(loaded.with_decoder("linear")) < 0.08
    grown = loaded.add_classes(X[~OLD & ~TEST], Y[~OLD & ~TEST])
    assert 0.02 < lost(grown.with_decoder("linear")) < 0.1


def moves(model, n, monkeypatch):
    """Return how far the lines move with so many known rows, if a class goes; and the model."""
    monkeypatch.setattr(open_world, "_MOVERS", n)
    fewer = copy.deepcopy(model).remove_classes([3])
    return fewer._novelty.quantiles - model._novelty.quantiles, fewer


def test_some_known_rows_tell_how_far_lines_move(model, monkeypatch):
    far, _ = moves(model, 1 << 10, monkeypatch)
    near, fewer = moves(model, 300, monkeypatch)
    assert len(fewer._memory.held_out) > 1000
    assert len(vars(fewer._novelty)["before"]) == len(fewer._novelty.signs) == 300
    # They are the same rows before and after: most of these say what they said.
    assert np.abs(near - far)[50:-50].mean() < 0.02
    grown = copy.deepcopy(model).add_classes(X[~OLD & ~TEST], Y[~OLD & ~TEST])
    assert 0.02 < lost(grown) < 0.09
    assert 0.02 < lost(grown.with_decoder("linear")) < 0.1


def test_lines_move_with_training(model):
    further = copy.deepcopy(model)
    for _ in range(5):
        further.partial_fit(X[OLD & ~TEST], Y[OLD & ~TEST])
    assert 0.01 < lost(further) < 0.1


def test_nonsense_is_strange():
    texts = [f"{a} {b}" for a in ("red", "green", "blue", "black") for b in ("fox", "dog")] * 30
    model = dsnc.DSNCClassifier(n_bits=16, max_epochs=3).fit(texts, [t.split()[0] for t in texts])
    assert model.predict(["zzqxv wkkyj", texts[0]], unknown="?").tolist()[0] == "?"
    nonsense, nothing, known = model.novelty(["zzqxv wkkyj", "?!", texts[0]])
    assert np.isinf(nothing) and nonsense > 10 * max(known, 1)


def test_refusals(model):
    with pytest.raises(InputError, match="unknown_share=2 must be a number from 0 to 1"):
        model.predict(X[:5], unknown=-1, unknown_share=2)
    settings = {"n_bits": 16, "max_epochs": 2, "validation_fraction": 0}
    blind = dsnc.DSNCClassifier(**settings).fit(X[OLD], Y[OLD])
    with pytest.raises(InputError, match="held out too few rows"):
        blind.novelty(X[:5])
