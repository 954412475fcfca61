import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import expit

from dsnc.decoders import calibration
from dsnc.decoders.calibration import fit_curve, fit_line, fit_temperature
from dsnc.errors import InputError


def row_losses(scores, temperature):
    """-log softmax(scores / temperature) of one row's candidates, one by one."""
    values = [s / temperature for s in scores if s > -1e30]
    top = max(values)
    return [top + math.log(sum(math.exp(v - top) for v in values)) - v for v in values]


def loss(scores, truth, weight, temperature):
    """What fit_temperature minimizes, in the plainest words."""
    total = extra = 0.0
    for row, column, w in zip(scores.tolist(), truth, weight, strict=True):
        if column >= 0:
            losses = row_losses(row, temperature)
            total += w * losses[sum(s > -1e30 for s in row[:column])]
            extra += w * sum(losses) / len(losses)
    return total + extra / sum(w for w, column in zip(weight, truth, strict=True) if column >= 0)


@st.composite
def problems(draw):
    n, m = draw(st.integers(1, 8)), draw(st.integers(2, 5))
    scores = draw(hnp.arrays(np.float32, (n, m), elements=st.floats(-9, 9, width=16)))
    truth = draw(hnp.arrays(np.int64, n, elements=st.integers(-1, m - 1)))
    missing = draw(hnp.arrays(np.bool_, (n, m)))
    missing[np.arange(n), truth] = False
    scores[missing] = -np.inf
    weight = draw(hnp.arrays(np.float64, n, elements=st.integers(1, 3)))
    return scores, truth, weight


@given(problems(), st.floats(0.01, 100))
def test_no_temperature_is_better(problem, other):
    scores, truth, weight = problem
    temperature = fit_temperature(scores, truth, weight)
    assert temperature > 0
    if (truth < 0).all():
        assert temperature == 1
        return
    best = loss(scores, truth, weight, temperature)
    variances = np.array([row[row > -np.inf].var(dtype=np.float64) for row in scores[truth >= 0]])
    limit = 1000 * math.sqrt(np.average(variances, weights=weight[truth >= 0]))
    for rival in (1.0, other, temperature * 0.99, temperature * 1.01):
        if rival <= limit:
            assert best <= loss(scores, truth, weight, rival) + 1e-9


@given(problems(), st.floats(0.1, 3))
def test_slope_and_curvature_are_those_of_the_likelihood(problem, beta):
    scores, truth, weight = (array[problem[1] >= 0] for array in problem)

    def value(at):
        rows = zip(scores.tolist(), truth, weight, strict=True)
        return sum(
            w * row_losses(row, 1 / at)[sum(s > -1e30 for s in row[:column])]
            for row, column, w in rows
        )

    step = 1e-4
    low, middle, high = (value(beta + shift) for shift in (-step, 0, step))
    slope, curvature = calibration._sums(scores, truth, weight, beta)
    assert slope == pytest.approx((high - low) / (2 * step), abs=1e-3, rel=1e-4)
    assert curvature == pytest.approx((high - 2 * middle + low) / step**2, abs=1e-3, rel=1e-3)


@given(problems(), st.sampled_from([2.0**-20, 0.25, 2.0**20]))
def test_temperature_scales_with_the_scores(problem, factor):
    scores, truth, weight = problem
    found = fit_temperature(scores * np.float32(factor), truth, weight)
    expected = fit_temperature(scores, truth, weight)
    assert found == pytest.approx(expected * factor, rel=1e-6) or found == expected == 1


@given(problems(), st.integers(1, 9))
def test_weights_are_repetitions_and_blocks_change_nothing(problem, block):
    scores, truth, weight = problem
    expected = fit_temperature(scores, truth, weight)
    repeated = [np.repeat(array, weight.astype(int), axis=0) for array in (scores, truth)]
    assert fit_temperature(*repeated) == pytest.approx(expected, rel=1e-6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "_BLOCK", block)
        assert fit_temperature(scores, truth, weight) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("temperature", [0.1, 1.0, 7.0])
def test_a_known_temperature_is_found(temperature):
    rng = np.random.default_rng(0)
    scores = (rng.normal(size=(40_000, 10)) * 2 * temperature).astype(np.float32)
    noise = rng.gumbel(size=scores.shape)  # its argmax is a draw from the softmax
    truth = np.argmax(scores / temperature + noise, axis=1)
    truth[::7] = -1
    found = fit_temperature(scores, truth)
    assert found == pytest.approx(temperature, rel=0.02)
    rows = np.flatnonzero(truth >= 0)

    def likelihood(t):
        logs = scores[rows] / t
        return (logs[np.arange(len(rows)), truth[rows]] - np.log(np.exp(logs).sum(axis=1))).sum()

    assert likelihood(found) >= max(likelihood(temperature), likelihood(1))


def test_every_outcome_in_its_share_gives_exactly_that_temperature():
    # All three classes as the true one, weighted by their probability: no sampling error left.
    scores = np.repeat(np.float64([[0, 1, 3], [2, 0, -1]]) * 5, 3, axis=0)
    p = np.exp(scores / 5)[np.arange(6), [0, 1, 2] * 2] / np.exp(scores / 5).sum(axis=1)
    assert fit_temperature(scores, [0, 1, 2] * 2, p * 1e9) == pytest.approx(5, rel=1e-6)


def test_missing_candidates_are_not_there():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(50, 4)).astype(np.float32)
    truth = rng.integers(4, size=50)
    expected = fit_temperature(scores, truth)
    for missing in (-np.inf, np.finfo(np.float32).min, -2e30):
        padded = np.concatenate([scores, np.full((50, 3), missing, dtype=np.float32)], axis=1)
        assert fit_temperature(padded, truth) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [1, 100, 10_000])
def test_never_wrong_is_not_certain(n):
    scores = np.tile(np.float32([[0, 8, 0]]), (n, 1))
    temperature = fit_temperature(scores, np.ones(n, dtype=int))
    odds = 2 * math.exp(-8 / temperature)
    # The additional row: a third of it is right, two thirds of one in n + 1 are wrong.
    assert odds / (1 + odds) == pytest.approx(2 / 3 / (n + 1), rel=1e-6)


def test_always_wrong_is_as_uncertain_as_can_be():
    scores = np.tile(np.float32([[5, 1, 0]]), (30, 1))
    temperature = fit_temperature(scores, np.full(30, 2))
    assert temperature == pytest.approx(1000 * scores[0].std(), rel=1e-6)


@pytest.mark.parametrize(
    ("scores", "truth"),
    [
        (np.zeros((0, 3)), []),
        (np.zeros((0, 0)), np.zeros(0, dtype=int)),
        ([[1, 2], [3, 4]], [-1, -1]),
        ([[7.0]], [0]),
        ([[3, 3, 3]], [1]),
        ([[3, -np.inf]], [0]),
        ([[-np.inf, -np.inf]], [-1]),
    ],
)
def test_where_nothing_depends_on_it_temperature_is_one(scores, truth):
    assert fit_temperature(scores, truth) == 1


def test_scores_of_any_size_have_a_temperature():
    for size in (1e-30, 1.0, 1e28):
        scores = np.float32([[1, 0], [1, 0], [1, 0], [0, 1]]) * np.float32(size)
        temperature = fit_temperature(scores, [0, 0, 0, 0])
        # 3.5 of 5 rows took the better class, the additional row being half of it.
        assert temperature == pytest.approx(size / math.log(3.5 / 1.5), rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], [0, 1]), r"scores has shape \(2,\)"),
        (([[1.0]], [0, 0]), r"scores has shape \(1, 1\).*expected numbers of shape \(2, m\)"),
        (([["a"]], [0]), "scores has .* type <U1"),
        (([[np.nan, 1]], [1]), "scores contains nan"),
        (([[np.inf, 1]], [1]), "scores contains inf"),
        (([[1.0]], [1]), r"truth\[0\] is 1; scores has 1 columns"),
        (([[1.0]], [-2]), "truth contains -2"),
        (([[1.0]], [0.0]), "truth has shape .* type float64"),
        (([[1.0, -np.inf]], [1]), r"truth\[0\] is 1, and that candidate is missing"),
        (([[1.0]], [0], [1.0, 2.0]), r"weight has shape \(2,\)"),
        (([[1.0]], [0], [-1.0]), "weight has .* 0 or more"),
        (([[1.0]], [0], [np.nan]), "weight has .* finite"),
    ],
)
def test_what_cannot_be_used_is_named(arguments, message):
    with pytest.raises(InputError, match=message):
        fit_temperature(*arguments)


# A curve from scores to log-odds


def answers(n, seed=0):
    """Scores, and whether answers are right: the surer, the less a score says."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n)
    return scores, rng.random(n) < expit(3 * np.tanh(scores) - 1)


def test_a_curve_bends_where_log_odds_do():
    scores, is_right = answers(20_000)
    knots, odds = fit_curve(scores, is_right, np.ones(len(scores)))
    fresh, truth = answers(20_000, seed=1)
    likely = expit(np.interp(fresh, knots, odds))
    (slope,), intercept = fit_line(scores[:, None], is_right, np.ones(len(scores)))
    off = {}
    for name, p in (("curve", likely), ("line", expit(slope * fresh + intercept))):
        ranges = [(p >= low) & (p < low + 0.1) for low in np.arange(0.1, 0.85, 0.1)]
        off[name] = max(abs(truth[some].mean() - p[some].mean()) for some in ranges)
    assert off["curve"] < 5 * 0.5 / np.sqrt(1000) < off["line"]


def test_a_curve_never_descends():
    scores, is_right = answers(300)
    for truth in (is_right, ~is_right, np.zeros(300, bool), np.ones(300, bool)):
        knots, odds = fit_curve(scores, truth, np.ones(300))
        assert (np.diff(knots) > 0).all() and (np.diff(odds) > 0).all()
        assert knots[[0, -1]] == pytest.approx([scores.min(), scores.max()], rel=1e-6)


def test_a_curve_weighs_answers_in_any_order():
    scores, is_right = answers(400)
    number = np.random.default_rng(1).integers(0, 4, 400)
    wanted = fit_curve(scores, is_right, number.astype(float))
    copies = np.random.default_rng(2).permutation(np.repeat(np.arange(400), number))
    found = fit_curve(scores[copies], is_right[copies], np.ones(len(copies)))
    places = np.linspace(-2, 2, 9)
    curves = [np.interp(places, *curve) for curve in (wanted, found)]
    assert curves[0] == pytest.approx(curves[1], abs=0.02)


@pytest.mark.parametrize("n", [0, 5])
def test_a_curve_of_one_score_is_a_line(n):
    knots, odds = fit_curve(np.full(n, 2.0), np.arange(n) < 3, np.ones(n))
    assert knots.tolist() == [0, 1]
    assert odds[1] > odds[0]
