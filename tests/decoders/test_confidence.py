import numpy as np
import pytest
from scipy.special import expit, logsumexp

from dsnc.decoders.calibration import Confidence, fit_confidence
from dsnc.errors import InputError


def shares(scores, confidence):
    """Probabilities of the candidates and, last, of none of them; in the plainest words."""
    none = np.full((len(scores), 1), confidence.other)
    scaled = np.concatenate([scores, none], axis=1) / confidence.temperature
    others = logsumexp(scaled[:, 1:], axis=1)
    odds = confidence.slope * (scaled[:, 0] - others) + confidence.intercept
    best = expit(odds)
    rest = np.exp(scaled[:, 1:] - others[:, None]) * (1 - best)[:, None]
    return np.concatenate([best[:, None], rest], axis=1)


def draw(scores, confidence, seed=0):
    """Columns of true candidates, -1 for none, as probable as the confidence says."""
    p = shares(scores, confidence)
    above = np.cumsum(p, axis=1) > np.random.default_rng(seed).random((len(p), 1))
    column = above.argmax(axis=1)
    return np.where(column == scores.shape[1], -1, column)


def some_scores(n, m=6, seed=1):
    """Best first."""
    return -np.sort(-np.random.default_rng(seed).normal(scale=3, size=(n, m)), axis=1)


@pytest.mark.parametrize(
    "known",
    [
        Confidence(1.0, 0.0, 1.0, 0.0),
        Confidence(4.0, 2.0, 1.0, 0.0),
        Confidence(0.5, -9.0, 1.0, 0.0),
        Confidence(0.3, -2.0, 0.5, 0.5),  # surer than it should be, which the line mends
        Confidence(1.0, 1.0, 1.5, -0.5),
    ],
)
def test_probabilities_of_a_known_model_are_found(known):
    scores = some_scores(10_000)
    found = fit_confidence(scores, draw(scores, known))
    fresh = some_scores(5_000, seed=2)
    expected, mine = shares(fresh, known), shares(fresh, found)
    assert np.abs(mine[:, 0] - expected[:, 0]).mean() < 0.02
    if (known.slope, known.intercept) == (1, 0):  # the first stage alone is the model
        assert found.temperature == pytest.approx(known.temperature, rel=0.06)
        assert found.slope == pytest.approx(1, abs=0.1)
        assert found.intercept == pytest.approx(0, abs=0.1)
        assert np.abs(mine - expected).mean() < 0.01


def test_no_other_confidence_is_more_probable():
    known = Confidence(2.0, 0.5, 1.0, 0.0)
    scores = some_scores(3_000)
    truth = draw(scores, known)

    def log_likelihood(confidence):
        p = shares(scores, confidence)
        return np.log(p[np.arange(len(p)), truth]).sum()  # -1 is the last column

    found = fit_confidence(scores, truth)
    best = log_likelihood(found)
    assert best >= log_likelihood(known)
    for change in (
        {"temperature": found.temperature * 1.2},
        {"temperature": found.temperature / 1.2},
        {"other": found.other + 1},
        {"other": found.other - 1},
        {"slope": found.slope * 1.2},
        {"slope": found.slope / 1.2},
        {"intercept": found.intercept + 0.2},
        {"intercept": found.intercept - 0.2},
    ):
        assert log_likelihood(found._replace(**change)) < best


def test_weights_are_repeated_rows():
    scores = some_scores(3_000)
    truth = draw(scores, Confidence(2.0, 0.0, 1.0, 0.0))
    number = np.random.default_rng(5).integers(0, 4, len(scores))
    weighted = fit_confidence(scores, truth, number)
    repeated = fit_confidence(np.repeat(scores, number, axis=0), np.repeat(truth, number))
    assert weighted == pytest.approx(repeated, rel=0.01, abs=0.01)
    assert weighted != pytest.approx(fit_confidence(scores, truth), rel=0.001, abs=0.001)
    assert fit_confidence(scores, truth, np.ones(len(scores))) == fit_confidence(scores, truth)


@pytest.mark.parametrize("factor", [1e-3, 0.1, 40.0, 1e4])
@pytest.mark.parametrize("shift", [-20, 0, 300])
def test_the_scale_and_the_origin_of_scores_change_nothing(factor, shift):
    scores = some_scores(200)
    truth = draw(scores, Confidence(2.0, 0.0, 1.0, 0.0))
    expected = fit_confidence(scores, truth)
    found = fit_confidence(factor * (scores + shift), truth)
    assert found.temperature == pytest.approx(factor * expected.temperature, rel=0.01)
    p, q = shares(scores, expected), shares(factor * (scores + shift), found)
    assert q == pytest.approx(p, abs=0.005)
    surest = np.argsort(-p[:, 0])[::20]
    assert (np.diff(q[surest, 0]) < 0).all()


@pytest.mark.parametrize("missing", [-np.inf, -2e30])
def test_missing_candidates_are_not_there(missing):
    scores = some_scores(500)
    truth = draw(scores, Confidence(2.0, 0.0, 1.0, 0.0))
    padded = np.concatenate([scores, np.full((500, 3), missing)], axis=1)
    assert fit_confidence(padded, truth) == pytest.approx(fit_confidence(scores, truth), rel=1e-6)


def test_without_rows_or_candidates_scores_are_taken_as_they_are():
    for scores, truth in (
        (np.zeros((0, 3)), []),
        (np.zeros((0, 0)), []),
        ([[-np.inf, -np.inf]], [-1]),
    ):
        assert fit_confidence(scores, truth) == Confidence(1.0, -1e9, 1.0, 0.0)


@pytest.mark.parametrize("n", [1, 30, 1000])
def test_always_right_is_sure_but_not_certain(n):
    scores = np.tile([[8.0, 1.0, 0.0]], (n, 1))
    found = fit_confidence(scores, np.zeros(n, dtype=int))
    best = shares(scores[:1], found)[0, 0]
    assert np.isfinite(found).all()
    assert 1 - 5 / n < best < 1
    assert best > 0.5


@pytest.mark.parametrize("truth", [2, -1])
def test_always_wrong_is_unsure(truth):
    scores = some_scores(300, m=3)
    found = fit_confidence(scores, np.full(300, truth))
    assert np.isfinite(found).all()
    assert found.slope > 0
    p = shares(scores, found)
    assert p[:, 0].mean() < 0.1
    if truth == -1:
        assert p[:, -1].mean() > 0.9


def test_equal_scores_have_a_confidence():
    found = fit_confidence(np.full((100, 4), 3.0), np.repeat([0, 1, 2, -1], 25))
    assert np.isfinite(found).all()
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
    lengths = np.random.default_rng(3).integers(0, 7, 600)
    scores[np.arange(6) >= lengths[:, None]] = -np.inf
    truth = np.minimum(draw(np.maximum(scores, -50), Confidence(1.0, 0.0, 1.0, 0.0)), lengths - 1)
    found = fit_confidence(scores, truth)
    wider = np.concatenate([scores, np.full((600, 40), -np.inf)], axis=1)
    order = np.random.default_rng(4).permutation(600)
    again = fit_confidence(wider[order], truth[order])
    assert again == pytest.approx(found, rel=1e-4, abs=1e-4)
