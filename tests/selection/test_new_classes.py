"""A model that classes come to looks no farther for candidates than it has to."""

import copy

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import dsnc
from dsnc.codes import Encoded
from dsnc.rerank.reranker import ALL
from dsnc.selection.lesson import Learning, Rows
from dsnc.selection.new_classes import _as_often, _below_best, _lesson

X, Y = make_blobs(4500, centers=75, n_features=24, cluster_std=3.5, random_state=0)
X = X.astype(np.float32)
IS_OLD = Y < 60
SECOND = {"name": "features", "reach": 0.5, "size": 4}


def fitted(**settings):
    model = dsnc.DSNCClassifier(n_bits=32, max_epochs=5, reranker=SECOND, **settings)
    return model.fit(X[IS_OLD], Y[IS_OLD])


@pytest.fixture(scope="module")
def base():
    return fitted(decoder={"name": "shortlist", "known": "training", "size": 8})


def come(model, n_rows):
    places = np.concatenate([np.flatnonzero(k == Y)[:n_rows] for k in range(60, 75)])
    return copy.deepcopy(model).add_classes(X[places], Y[places])


@pytest.mark.parametrize("n_rows", [1, 5, 60])
def test_settings_stay_and_few_rows_get_a_longer_list(base, n_rows):
    before, after = base.predictor_, come(base, n_rows).predictor_
    assert after.decoder.flips == before.decoder.flips
    assert after.decoder.size == (8 if n_rows == 60 else 32)
    assert after.reranker.size == before.reranker.size
    assert before.reranker.reach <= after.reranker.reach < ALL


@pytest.mark.parametrize("n_rows", [1, 60])
def test_held_out_rows_keep_their_classes_within_reach(base, n_rows):
    model = come(base, n_rows)
    within = [
        np.mean(_below_best(m.predictor_.decoder, m._memory, 960) <= m.predictor_.reranker.reach)
        for m in (base, model)
    ]
    assert 0 < within[0] <= within[1]
    logits, classes = base._memory.held_out.logits(), base._memory.held_out_classes
    found, scores = base.predictor_.decoder.candidates(Encoded(logits), 16)
    below = [
        row[0] - (row[list(near).index(own)] if own in near else -np.inf)
        for near, row, own in zip(found, scores, classes, strict=True)
    ]
    assert np.array_equal(_below_best(base.predictor_.decoder, base._memory, 960), np.sort(below))


@pytest.mark.parametrize(("n_rows", "expected"), [(1, 1.0), (4, 1.0), (8, 0.25), (None, 0.25)])
def test_few_rows_are_rehearsed_with_sharp_bits(base, n_rows, expected):
    predictor = base.predictor_
    blunt = predictor.with_decoder(predictor.decoder.with_settings(sharpness=0.25))
    lesson = _lesson(blunt, Learning(32), n_rows)
    assert lesson.sharpness == expected
    assert lesson.decoder.sharpness == 0.25  # which predictions keep


def test_a_new_class_gets_no_more_codes_than_others_have(base):
    before, after = base.predictor_.decoder, come(base, 1).predictor_.decoder
    of_new = np.bincount(after.labels)[60:]
    assert 2 < of_new.max() <= 1 + min(16, len(before.codes) // 60)  # one of its vector, too
    assert np.array_equal(after.codes.words[: len(before.codes)], before.codes.words)


def test_one_code_for_each_class_is_enough_for_new_ones_too():
    model = fitted(decoder={"name": "shortlist", "known": "weights", "size": 8})
    before, after = model.predictor_.decoder, come(model, 1).predictor_.decoder
    assert (after.size, len(after.codes)) == (before.size, 75)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([0, 1, 2, 9], [0, 2, 5, 9], 5),  # three of four are within 2 of the best, then within 5
        ([0, 1, 2, 9], [0, 1, 1, 9], 2),  # never shorter
        ([0, 1, 2, 9], [0, 9, np.inf, np.inf], ALL),
        ([0, 1, 1, 2], [0, 5, 5, 5], 2),  # all were within: none tells how far is too far
        ([3, 4, 5, 9], [0, 0, 0, 0], 2),  # none was
        ([0, 1, 9], [0, 1], 2),  # rows of a class that has gone
        ([], [], 2),
    ],
)
def test_a_reach_is_as_far_as_it_takes(before, after, expected):
    found = _as_often(2.0, *(np.array(x, np.float32) for x in (before, after)))
    assert found == pytest.approx(expected)


def test_codes_are_drawn_as_bits_say():
    logits = np.array([[0.0, 2.0, -1.0, 30.0], [30.0, 30.0, 30.0, -30.0]], np.float32)
    rows = Rows(logits, np.array([3, 1]))
    drawn = rows.and_drawn(20_000, 0)
    assert np.array_equal(drawn.logits[:2], logits)
    assert np.bincount(drawn.classes).tolist() == [0, 20_000, 0, 20_000]
    shares = (drawn.logits[drawn.classes == 3] > 0).mean(axis=0)
    assert np.abs(shares - 1 / (1 + np.exp(-logits[0]))).max() < 0.02  # five standard errors
    again = rows.and_drawn(20_000, 0)
    assert np.array_equal(again.logits, drawn.logits)


def test_enough_rows_need_none_drawn():
    rows = Rows(np.ones((12, 2), np.float32), np.array([0] * 9 + [1] * 3))
    assert np.bincount(rows.and_drawn(16, 0).classes).tolist() == [9, 15]
