import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsnc.decoders.set_rule import SetRule
from dsnc.errors import InputError


def test_scores_become_probabilities_of_their_own():
    rule = SetRule([0, 1], [-1, 1])
    scores = np.array([[0.5, 3.0, -np.inf]], dtype=np.float32)
    np.testing.assert_allclose(rule.probabilities(scores), [[0.5, 1 / (1 + np.exp(-5)), 0]])
    assert rule.log_odds(scores).tolist() == [[0, 5, -np.inf]]


def test_a_slope_of_0_knows_nothing_of_missing_candidates():
    flat = SetRule([0, 1], [0, 0])
    assert flat.probabilities(np.float32([[1, -np.inf]])).tolist() == [[0.5, 0]]


def test_the_first_and_the_last_piece_of_a_curve_go_on():
    rule = SetRule([-1, 0, 2], [-3, 0, 1])
    scores = np.float32([-2, -1, -0.5, 0, 1, 2, 6])
    assert rule.log_odds(scores).tolist() == [-6, -3, -1.5, 0, 0.5, 1, 3]


@given(st.integers(0, 2**31), st.booleans())
def test_sets_are_what_is_probable_enough(seed, each):
    rng = np.random.default_rng(seed)
    threshold = rng.random(6 if each else 1).astype(np.float32)
    classes = rng.permuted(np.tile(np.arange(6), (4, 1)), axis=1)[:, :3]
    classes[0, 2] = -1
    scores = np.where(classes < 0, -np.inf, rng.normal(size=(4, 3))).astype(np.float32)
    rule = SetRule([-1, 0, 1], [-2.5, 0.1, 0.5], threshold)
    likely = rule.probabilities(scores)
    expected = [
        [k >= 0 and p >= threshold[k if each else 0] for k, p in zip(*row, strict=True)]
        for row in zip(classes.tolist(), likely, strict=True)
    ]
    assert rule.chosen(classes, scores).tolist() == expected


def test_arrays_and_back():
    rule = SetRule([1, 2, 4], [-2, 0.5, 0.5], [0.1, 0.2, 0.3], 40)
    same = SetRule.from_arrays(rule.arrays())
    assert (same.knots.tolist(), same.odds.tolist()) == ([1, 2, 4], [-2, 0.5, 0.5])
    assert same.size == 40
    assert same.threshold.tolist() == rule.threshold.tolist()
    same.check_classes(3)
    with pytest.raises(InputError, match="threshold has 3 values for 4 labels"):
        same.check_classes(4)


@pytest.mark.parametrize(
    "change",
    [
        {"knots": np.float32([0, np.nan])},
        {"knots": np.float32([0, np.inf])},
        {"knots": np.float32([1, 1])},
        {"knots": np.float32([0])},
        {"knots": np.float32([0]), "odds": np.float32([0])},
        {"odds": np.float32([0, -1])},
        {"odds": np.float32([-np.inf, 0])},
        {"odds": np.float32([0, 1, 2])},
        {"threshold": np.float32([])},
        {"threshold": np.float32([-0.1])},
        {"threshold": np.float32([np.nan])},
        {"size": np.int64([0])},
        {"size": np.float32([3])},
        {"other": np.float32([1])},
    ],
    ids=str,
)
def test_arrays_of_a_hostile_file_are_refused(change):
    with pytest.raises(InputError):
        SetRule.from_arrays(SetRule().arrays() | change)
