"""Scores of classes are scikit-learn's; pairs are those that one counts by hand."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_recall_fscore_support

from dsnc.errors import InputError
from dsnc.metrics import accuracy, class_scores, confused_pairs

NAMES = ["ant", "bee", "ox", "", "Ox"]
NUMBERS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40)


@given(NUMBERS, st.booleans())
def test_scores_are_those_of_scikit_learn(rows, named):
    y, predicted = (np.array(column) for column in zip(*rows, strict=True))
    if named:
        y, predicted = np.array(NAMES, dtype=object)[y], np.array(NAMES)[predicted]
    scores = class_scores(y, predicted)
    assert scores.classes.tolist() == sorted({*y.tolist(), *predicted.tolist()})
    truth, answers = (np.array(labels, dtype=object).astype(str) for labels in (y, predicted))
    order = [str(label) for label in scores.classes]
    known = precision_recall_fscore_support(truth, answers, labels=order, zero_division=0)
    for found, expected in zip(scores[1:5], known, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert scores.predicted.sum() == scores.support.sum() == len(rows)
    for average in ("macro", "weighted"):
        expected = f1_score(truth, answers, average=average, zero_division=0)
        assert getattr(scores, f"{average}_f1") == pytest.approx(expected)


@given(NUMBERS)
def test_pairs_are_counted(rows):
    y, predicted = zip(*rows, strict=True)
    pairs = confused_pairs(y, predicted)
    counted = Counter(row for row in rows if row[0] != row[1])
    expected = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    columns = (pairs.labels.tolist(), pairs.answers.tolist(), pairs.counts.tolist())
    assert [((a, b), n) for a, b, n in zip(*columns, strict=True)] == expected


def test_a_million_classes_are_no_matrix():
    rng = np.random.default_rng(0)
    y = rng.permutation(1_000_000)
    predicted = np.where(rng.random(len(y)) < 0.5, y, rng.integers(len(y), size=len(y)))
    scores, pairs = class_scores(y, predicted), confused_pairs(y, predicted)
    assert len(scores.classes) == len(y)
    assert scores.recall.mean() == pytest.approx(accuracy(y, predicted))
    assert pairs.counts.sum() == (y != predicted).sum()


def test_numbers_that_numpy_would_round_stay_apart():
    y = np.array([2**63, 2**63 + 1, 1], dtype=np.uint64)
    scores = class_scores(y, np.array([1, 1, 1]))
    assert scores.support.tolist() == [1, 1, 1]
    assert confused_pairs(y, np.array([1, 1, 1])).labels.tolist() == [2**63, 2**63 + 1]


@pytest.mark.parametrize("function", [class_scores, confused_pairs])
def test_what_cannot_be_compared_is_named(function):
    with pytest.raises(InputError, match="predicted has 1 rows and y has 2"):
        function([1, 2], [1])
    with pytest.raises(InputError, match="so no answer can be right"):
        function(["1"], [1])
    with pytest.raises(InputError, match="y and predicted mixes types"):
        function(np.array(["a", "b"], dtype=object), [1, 2])
