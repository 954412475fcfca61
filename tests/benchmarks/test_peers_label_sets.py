"""Label sets: the same arrays for everybody, and figures as `dsnc.metrics` has them."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dsnc import metrics
from peers.command import Entry, compare, entries, left_out, parse, show_set
from peers.contestants.pecos_xlinear import Pecos
from peers.data import read, read_about
from peers.prepare import prepare
from peers.rankings import KS, ranking_figures


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 7))
def test_figures_are_those_of_the_library(seed, width):
    rng = np.random.default_rng(seed)
    train, truth = (sp.csr_matrix(rng.random((20, 8)) < 0.3, dtype=np.float32) for _ in range(2))
    answers = np.argsort(rng.random((20, 8)), axis=1)[:, :width]
    answers[rng.random(20) < 0.2, -1] = -1
    padded = np.full((20, 8), -1)
    padded[:, :width] = answers
    found = ranking_figures(train, truth, answers)
    propensity = metrics.propensities(train)
    for name, figures in (
        ("P", metrics.precision_at_k(truth, padded, KS)),
        ("PSP", metrics.psprecision_at_k(truth, padded, KS, propensity)),
    ):
        assert [found[f"{name}@{k} %"] for k in KS] == pytest.approx((100 * figures).tolist())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Five labels, each by features of its own; of the last, no training row has one."""
    place = tmp_path_factory.mktemp("sets")
    rng = np.random.default_rng(0)
    Y = rng.random((120, 5)) < 0.4
    Y[:60, 4] = False
    X = np.repeat(Y, 2, axis=1) * (1 + rng.random((120, 10)))
    (place / "tags").mkdir()
    sp.save_npz(place / "tags" / "X.npz", sp.csr_array(X.astype(np.float32)))
    sp.save_npz(place / "tags" / "Y.npz", sp.csr_array(Y.astype(np.int8)))
    np.save(place / "tags" / "split.npy", np.repeat([0, 2], 60).astype(np.int8))
    return prepare(str(place / "tags"), place / "prepared")


def test_labels_without_a_training_row_are_left_out(folder):
    data, about = read(folder, "rows"), read_about(folder)
    assert data.has_sets and about["label sets"] and about["classes"] == 4
    assert data.train.y.shape == (54, 4) and data.test.y.shape == (60, 4)
    assert set(data.train.y.data) == {1}
    assert left_out(Entry("output-code", {}), about, False) == "left out: one label a row"


def test_a_set_without_validation_rows_takes_some_of_its_training_rows(folder):
    data = read(folder, "rows")
    assert data.validation.y.shape == (6, 4) and data.validation.X.shape[0] == 6
    features = [part.X.toarray() > 0 for part in (data.train, data.validation)]
    labels = [part.y.toarray() > 0 for part in (data.train, data.validation)]
    for X, Y in zip(features, labels, strict=True):
        np.testing.assert_array_equal(X[:, :8:2], Y)


WHO = ("linear-svc", "nearest-centroid")


def test_a_comparison_of_label_sets(folder, tmp_path, capsys):
    arguments = parse(["--repeats", "1", "--tune", "0", "--results", str(tmp_path), "--only", *WHO])
    rows, _ = compare(folder, entries(arguments), arguments)
    svc = rows[0]
    assert svc["label sets"] and svc["PSP@1 %"] > 90 and svc["µs/row"] > 0
    assert svc["P@1 %"] > 80 and svc["P@5 %"] < svc["P@1 %"]  # some rows have no label
    show_set(rows)
    shown = capsys.readouterr().out
    assert "PSP@5" in shown and "nearest-centroid: left out: one label a row" in shown
    (turn,) = map(json.loads, (tmp_path / "peers_turns.jsonl").read_text().splitlines())
    assert turn["P@1 %"] == svc["P@1 %"]


def test_scores_of_pecos_are_put_in_order(tmp_path):
    scores = sp.csr_matrix([[0.2, 0, 0.9, 0], [0, 0.1, 0, 0]])
    assert Pecos({}, 1, tmp_path).numbers(scores).tolist() == [[2, 0], [1, -1]]
