import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

import oracles
from dsnc.decoders.calibration import fit_confidence, fit_line
from dsnc.decoders.confidence import Confidence
from dsnc.errors import InputError
from dsnc.metrics import expected_calibration_error, novelty_auroc

SEEDS = st.integers(0, 2**32 - 1)
OTHERS = 3  # classes that are no candidates
CURVE = ((-2.0, 0.0, 3.0), (-1.0, 0.5, 2.0))


def shares(scores, confidence, n_others=OTHERS):
    """Probabilities of the candidates and, last, of none of them."""
    candidates, each = confidence.shares(scores, np.full(len(scores), n_others))
    return np.column_stack([candidates, n_others * each]).astype(np.float64)


def draw(scores, confidence, seed=0):
    """Columns of true candidates, -1 for none, as probable as the confidence says."""
    p = shares(scores, confidence)
    above = np.cumsum(p / p.sum(axis=1, keepdims=True), axis=1)
    column = (above > np.random.default_rng(seed).random((len(p), 1))).argmax(axis=1)
    return np.where(column == scores.shape[1], -1, column)


def some_scores(n, m=6, seed=1):
    """Best first."""
    return -np.sort(-np.random.default_rng(seed).normal(scale=3, size=(n, m)), axis=1)


@given(SEEDS, st.integers(1, 5), st.integers(0, 3), st.sampled_from([0.0, 0.4, 2.0]))
def test_shares_are_those_of_plain_loops(seed, width, n_others, margin):
    rng = np.random.default_rng(seed)
    confidence = Confidence(
        *(1.5, rng.normal(), 0.7, 0.8, margin, rng.normal(), 1.2, rng.normal(), CURVE)
    ).checked()
    scores = -np.sort(-rng.normal(size=(4, width)), axis=1)
    lengths = rng.integers(1, width + 1, 4)
    scores[np.arange(width) >= lengths[:, None]] = -np.inf
    found, each = confidence.shares(scores, np.full(4, n_others))
    for row, length in enumerate(lengths):
        expected, other = oracles.shares_of_candidates(
            scores[row, :length].tolist(), n_others, confidence
        )
        assert found[row, :length] == pytest.approx(expected, rel=1e-4, abs=1e-7)
        assert not found[row, length:].any()
        assert each[row] == pytest.approx(other, rel=1e-4, abs=1e-7)


@given(SEEDS, st.integers(2, 6))
def test_a_table_of_all_classes_is_a_list_that_leaves_none_out(seed, n_classes):
    rng = np.random.default_rng(seed)
    confidence = Confidence(2.0, unit=0.3, odds=0.9, margin=0.2, offset=-0.1, curve=CURVE)
    table = rng.normal(size=(5, n_classes)).astype(np.float32)
    order = np.argsort(-table, axis=1)
    expected, _ = confidence.shares(np.take_along_axis(table, order, 1), np.zeros(5, np.int64))
    confidence.softmax(table)
    assert np.take_along_axis(table, order, 1) == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(
    "known",
    [
        Confidence(1.0, 0.0),
        Confidence(4.0, 2.0),
        Confidence(0.5, -9.0),
        Confidence(0.3, -2.0, odds=0.5, offset=0.5),  # surer than it should be
        Confidence(1.0, 1.0, odds=1.5, offset=-0.5),
        Confidence(2.0, 0.5, odds=0.3, margin=0.8, offset=0.4),
        Confidence(1.0, 0.0, curve=((-3.0, 0.0, 3.0), (-1.0, 0.5, 0.6))),
    ],
)
def test_probabilities_of_a_known_model_are_found(known):
    scores = some_scores(10_000)
    found = fit_confidence(scores, draw(scores, known))
    fresh = some_scores(5_000, seed=2)
    expected, mine = shares(fresh, known), shares(fresh, found)
    assert np.abs(mine[:, 0] - expected[:, 0]).mean() < 0.03
    if known == Confidence(known.temperature, known.other):  # the softmax alone is the model
        assert np.abs(mine - expected).mean() < 0.015


def test_rows_of_one_candidate_have_a_line_of_their_own():
    """Their scores alone say little; those of the others say much."""
    rng = np.random.default_rng(0)
    n = 6000
    scores = some_scores(n, m=2)
    alone = rng.random(n) < 0.4
    scores[alone, 1] = -np.inf
    chance = np.where(alone, 0.95, expit(scores[:, 0] - np.where(alone, 0, scores[:, 1]) - 1.5))
    truth = np.where(rng.random(n) < chance, 0, -1)
    half = np.arange(n) < n // 2
    found = fit_confidence(scores[half], truth[half])
    p = shares(scores[~half], found)[:, 0]
    right, alone, chance = (truth == 0)[~half], alone[~half], chance[~half]
    for group in (alone, ~alone):
        assert abs(p[group].mean() - right[group].mean()) < 0.03
        assert expected_calibration_error(right[group], p[group]) < 0.05
    assert novelty_auroc(chance[~right], chance[right]) - novelty_auroc(p[~right], p[right]) < 0.02


def test_a_few_rows_with_huge_scores_do_not_decide_for_all():
    rng = np.random.default_rng(0)
    n = 6000
    lead = np.exp(rng.normal(size=n))
    chance = expit(2 * np.log(lead) + 0.5)
    truth = np.where(rng.random(n) < chance, 0, -1)
    scores = np.column_stack([lead, np.zeros(n)])
    scores[:: n // 50] *= 1e6  # features of one row in 120 are far from those of all others
    half = np.arange(n) < n // 2
    found = fit_confidence(scores[half], truth[half])
    p, right = shares(scores[~half], found, 1000)[:, 0], (truth == 0)[~half]
    assert expected_calibration_error(right, p) < 0.05
    difference = novelty_auroc(chance[~half][~right], chance[~half][right])
    assert difference - novelty_auroc(p[~right], p[right]) < 0.02


def test_log_odds_that_run_against_being_right_do_not_decide():
    """Few rivals make rows sure that are wrong more often than those with many."""
    rng = np.random.default_rng(0)
    n = 20_000
    lead = np.where(rng.random(n) < 0.1, 2.0, 1.0)
    n_rivals = rng.integers(1, 9, n)
    scores = np.where(np.arange(9) <= n_rivals[:, None], 0.0, -3.0)
    scores[:, 0] = lead
    truth = np.where(rng.random(n) < np.where(lead > 1, 0.95, 0.5 + 0.02 * n_rivals), 0, -1)
    half = np.arange(n) < n // 2
    found = fit_confidence(scores[half], truth[half], complete=True)
    p, right, lead = shares(scores[~half], found, 0)[:, 0], (truth == 0)[~half], lead[~half]
    assert novelty_auroc(-p[right], -p[~right]) > novelty_auroc(-lead[right], -lead[~right]) - 0.005


def test_weights_are_repeated_rows():
    scores = some_scores(3_000)
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, 7, len(scores))
    truth = draw(scores, Confidence(2.0, 0.0))
    truth = np.where(truth < lengths, truth, -1)
    scores[np.arange(6) >= lengths[:, None]] = -np.inf
    number = rng.integers(0, 3, len(scores)) + (truth != 0)  # wrong answers count more
    weighted = fit_confidence(scores, truth, number)
    repeated = fit_confidence(np.repeat(scores, number, axis=0), np.repeat(truth, number))
    assert weighted[:-1] == pytest.approx(repeated[:-1], rel=1e-2, abs=1e-3)
    assert shares(scores, weighted) == pytest.approx(shares(scores, repeated), abs=1e-3)
    assert fit_confidence(scores, truth, np.ones(len(scores))) == fit_confidence(scores, truth)


@pytest.mark.parametrize("factor", [1e-3, 0.1, 40.0, 1e4])
@pytest.mark.parametrize("shift", [-20, 0, 300])
def test_the_scale_and_the_origin_of_scores_change_nothing(factor, shift):
    scores = some_scores(200)
    truth = draw(scores, Confidence(2.0, 0.0))
    expected = fit_confidence(scores, truth)
    found = fit_confidence(factor * (scores + shift), truth)
    assert found.temperature == pytest.approx(factor * expected.temperature, rel=0.01)
    p, q = shares(scores, expected), shares(factor * (scores + shift), found)
    assert q == pytest.approx(p, abs=0.005)


@pytest.mark.parametrize("missing", [-np.inf, -2e30])
def test_missing_candidates_are_not_there(missing):
    scores = some_scores(500)
    truth = draw(scores, Confidence(2.0, 0.0))
    padded = np.concatenate([scores, np.full((500, 3), missing)], axis=1)
    expected = np.array(fit_confidence(scores, truth)[:-1])
    assert np.array(fit_confidence(padded, truth)[:-1]) == pytest.approx(expected, rel=1e-4)


def test_without_rows_or_candidates_scores_are_taken_as_they_are():
    for scores, truth in (
        (np.zeros((0, 3)), []),
        (np.zeros((0, 0)), []),
        ([[-np.inf, -np.inf]], [-1]),
    ):
        assert fit_confidence(scores, truth) == Confidence()


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("n", [1, 30, 1000])
def test_always_right_is_sure_but_not_certain(n, complete):
    scores = np.tile([[8.0, 1.0, 0.0]], (n, 1))
    found = fit_confidence(scores, np.zeros(n, dtype=int), complete=complete)
    best = shares(scores[:1], found, 0 if complete else OTHERS)[0, 0]
    assert 1 - 5 / n < best < 1
    assert best > 0.5


@pytest.mark.parametrize("truth", [2, -1])
def test_always_wrong_is_unsure(truth):
    scores = some_scores(300, m=3)
    found = fit_confidence(scores, np.full(300, truth))
    p = shares(scores, found, 50)
    assert p[:, 0].mean() < 0.4  # it stays the most probable of all classes
    if truth == -1:
        assert p[:, -1].mean() > 0.9


def test_equal_scores_have_a_confidence():
    found = fit_confidence(np.full((100, 4), 3.0), np.repeat([0, 1, 2, -1], 25))
    assert shares(np.full((1, 4), 3.0), found)[0, 0] == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], [0, 1]), r"scores has shape \(2,\)"),
        (([[np.nan, 1]], [1]), "scores contains nan"),
        (([[1.0]], [1]), r"truth\[0\] is 1; scores has 1 columns"),
        (([[1.0, -np.inf]], [1]), r"truth\[0\] is 1, and that candidate is missing"),
        (([[1.0]], [0], [-1.0]), "weight has .* 0 or more"),
    ],
)
def test_what_cannot_be_used_is_named(arguments, message):
    with pytest.raises(InputError, match=message):
        fit_confidence(*arguments)


def test_the_order_of_rows_and_places_that_nobody_fills_change_nothing():
    scores = some_scores(600)
    lengths = np.random.default_rng(3).integers(1, 7, 600)
    scores[np.arange(6) >= lengths[:, None]] = -np.inf
    truth = np.minimum(draw(np.maximum(scores, -50), Confidence(1.0, 0.0)), lengths - 1)
    found = fit_confidence(scores, truth)
    wider = np.concatenate([scores, np.full((600, 40), -np.inf)], axis=1)
    order = np.random.default_rng(4).permutation(600)
    again = fit_confidence(wider[order], truth[order])
    assert shares(scores, again) == pytest.approx(shares(scores, found), abs=1e-3)


# Lines and curves


def test_a_line_is_a_logistic_regression_drawn_a_little_to_the_log_odds_themselves():
    rng = np.random.default_rng(0)
    signals = rng.normal(size=(4000, 2))
    is_right = rng.random(4000) < expit(0.5 * signals[:, 0] + 1.5 * signals[:, 1] - 1)
    slopes, offset = fit_line(signals, is_right, np.ones(4000))
    assert [*slopes, offset] == pytest.approx([0.5, 1.5, -1], abs=0.15)
    slopes, offset = fit_line(signals[:0], is_right[:0], np.ones(0))
    assert [*slopes, offset] == [1, 0, 0]


def test_a_confidence_survives_a_file():
    found = fit_confidence(some_scores(1000), draw(some_scores(1000), Confidence(2.0, 0.5)))
    assert len(found.curve[0]) > 2
    assert Confidence.from_arrays(found.arrays()) == found


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"temperature": 0.0}, "temperature=0.0"),
        ({"temperature": np.nan}, "temperature=nan"),
        ({"temperature": 1e-60}, "temperature=0.0"),
        ({"other": np.inf}, "other=inf"),
        ({"unit": 0.0}, "unit=0.0"),
        ({"odds": -1.0}, "odds=-1.0"),
        ({"margin": np.inf}, "margin=inf"),
        ({"offset": -np.inf}, "offset=-inf"),
        ({"odds_alone": -0.1}, "odds_alone=-0.1"),
        ({"offset_alone": np.nan}, "offset_alone=nan"),
        ({"curve": ((0.0, 1.0), (0.0, np.nan))}, "must be finite, and ascend"),
        ({"curve": ((0.0, 0.0), (0.0, 1.0))}, "must be finite, and ascend"),
        ({"curve": ((0.0, 1.0), (0.0, -1.0))}, "must be finite, and ascend"),
        ({"curve": ((0.0, 1.0), (0.0, 1.0, 2.0))}, "as many knots as odds"),
        ({"curve": ((0.0,), (0.0,))}, "as many knots as odds: 2 to 64"),
        ({"curve": np.zeros((2, 99))}, "as many knots as odds"),
    ],
)
def test_numbers_that_cannot_be_are_refused(changed, message):
    with pytest.raises(InputError, match=message):
        Confidence()._replace(**changed).checked()


def test_a_file_of_other_numbers_is_refused():
    arrays = Confidence().arrays()
    with pytest.raises(InputError, match="confidence has 7 numbers; expected 8"):
        Confidence.from_arrays(arrays | {"confidence": arrays["confidence"][:-1]})
