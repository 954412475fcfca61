import math
from dataclasses import replace

import numpy as np
import pytest

from dsnc.codes import Encoded
from dsnc.decoders import HeldOut, LinearDecoder, SoftDecoder
from dsnc.decoders import scoring as module
from dsnc.decoders.scoring import (
    CLOSENESS,
    FEWEST,
    PLAIN,
    Candidates,
    Scoring,
    accuracy,
    best_scoring,
    lower_bound,
    valid_scoring,
)
from dsnc.errors import InputError
from dsnc.targets import Targets


def problem(scale=1.0, bias=0.0, n=1200, n_classes=200, n_bits=16, seed=0):
    """Classes around random codes, with random biases that say nothing."""
    rng = np.random.default_rng(seed)
    centers = np.where(rng.random((n_classes, n_bits)) < 0.5, -1, 1)
    y = rng.integers(0, n_classes, n)
    logits = (scale * (centers[y] + rng.normal(size=(n, n_bits)))).astype(np.float32)
    return LinearDecoder(2 * centers, bias * rng.normal(size=n_classes)), logits, y


def all_classes(linear, logits, y, doubts=None):
    classes = np.tile(np.arange(linear.n_classes), (len(y), 1))
    doubts = np.zeros(classes.shape, dtype=np.float32) if doubts is None else doubts
    return Candidates(linear, logits, classes, doubts, Targets(y, linear.n_classes))


def test_scores_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    linear = LinearDecoder(rng.normal(size=(5, 3)), rng.normal(size=5))
    logits = rng.normal(size=(4, 3)).astype(np.float32)
    classes = rng.integers(0, 5, (4, 2))
    doubts = rng.random((4, 2)).astype(np.float32)
    found = Candidates(
        linear, logits, classes, doubts, Targets(np.zeros(4, dtype=np.int64), linear.n_classes)
    )
    scores = found.scores(Scoring(0.7, 0.25, 0.5))
    for i in range(4):
        for place, k in enumerate(classes[i]):
            bits = [math.tanh(0.7 * x / 2) for x in logits[i]]
            worth = 0.25 * linear.bias[k] + np.dot(bits, linear.weight[k]) - 0.5 * doubts[i, place]
            assert scores[i, place] == pytest.approx(worth, rel=1e-5)


def test_bits_that_are_too_sure_are_softened():
    linear, logits, y = problem(scale=5.0)
    rows = all_classes(linear, logits, y).first(200)
    scoring = best_scoring(rows)
    assert scoring.sharpness < 1
    assert rows.right(rows.scores(scoring)).mean() > rows.right(rows.scores(PLAIN)).mean()


def test_biases_that_say_nothing_do_not_count():
    linear, logits, y = problem(bias=3.0)
    rows = all_classes(linear, logits, y)
    assert best_scoring(rows).prior < 0.5
    assert best_scoring(all_classes(*problem())) == PLAIN  # where there are none


def test_doubt_counts_only_where_it_may():
    linear, logits, y = problem()
    doubts = (np.arange(200) != y[:, None]).astype(np.float32)  # it knows the answer
    rows = all_classes(linear, logits, y, doubts)
    assert best_scoring(rows).closeness > CLOSENESS[1]
    assert best_scoring(rows, {"closeness": 0.0}).closeness == 0


def test_what_is_fixed_stays_and_the_rest_goes_with_it():
    linear, logits, y = problem(scale=5.0, bias=3.0)
    rows = all_classes(linear, logits, y)
    free, fixed = best_scoring(rows), best_scoring(rows, {"prior": 1.0})
    assert free.prior < fixed.prior == 1
    assert fixed.sharpness > free.sharpness  # louder bits, against biases that say nothing
    assert best_scoring(rows, {"sharpness": 0.9})[0] == 0.9
    few = all_classes(linear, logits[:9], y[:9])
    assert best_scoring(few, {"sharpness": 0.9}) == Scoring(0.9, 1, 0)


@pytest.mark.parametrize("n", [1, 2, FEWEST - 1])
def test_few_rows_change_nothing(n):
    linear, logits, y = problem(bias=3.0)
    assert best_scoring(all_classes(linear, logits[:n], y[:n])) == PLAIN


def test_rows_count_by_their_weight():
    """Biases are right for the rows of one half, and wrong for the others."""
    linear, logits, y = problem(n=1000, n_classes=60)
    linear = LinearDecoder(linear.weight, np.where(np.arange(60) < 30, 0, -9.0))
    rows = all_classes(linear, logits, y)
    for half, prior in ((y < 30, 1), (y >= 30, 0)):
        chosen = best_scoring(replace(rows, weight=half.astype(np.float32)))
        assert chosen.prior == prior
    weight = np.array([1, 0, 3], dtype=np.float32)
    assert accuracy(np.array([True, True, False]), weight) == 0.25


def test_the_lower_bound_is_the_gain_less_a_deviation():
    right, reference = np.array([1, 1, 1, 0, 1], bool), np.array([0, 0, 1, 1, 1], bool)
    assert lower_bound(right, reference) == pytest.approx((1 - math.sqrt(3)) / 5)
    assert lower_bound(right, right) == 0
    weight = np.array([0, 0, 0, 5, 0], dtype=np.float32)
    assert lower_bound(right, reference, weight) == pytest.approx(-2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [((0, 1), "sharpness=0"), ((math.nan, 1), "sharpness=nan"), ((1, 1.5), "prior=1.5")],
)
def test_what_cannot_be_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        valid_scoring(*settings)


def test_all_classes_are_scored_as_held_out_rows_like_best(monkeypatch):
    linear, logits, y = problem(scale=5.0, bias=3.0)
    held_out = HeldOut(Encoded(logits), Targets(y, linear.n_classes))
    decoder, right = SoftDecoder.tuned(linear, held_out)
    accuracy = right.mean()
    assert accuracy == pytest.approx((decoder.predict(held_out.encoded) == y).mean(), abs=2e-3)
    plain = SoftDecoder(linear.weight, linear.bias)
    assert accuracy > (plain.predict(held_out.encoded) == y).mean() + 0.05
    kept = decoder.renewed(linear)
    assert (kept.sharpness, kept.prior) == (decoder.sharpness, decoder.prior) != (1, 1)
    monkeypatch.setattr(module, "_MAX_PRODUCTS", 1)
    decoder, right = SoftDecoder.tuned(linear, held_out)
    assert (decoder.sharpness, decoder.prior, len(right)) == (1, 1, 0)


def test_a_soft_decoder_has_the_scores_of_the_formula():
    linear, logits, _ = problem(bias=1.0, n=3, n_classes=4)
    decoder = SoftDecoder(linear.weight, linear.bias, sharpness=0.5, prior=0.25)
    classes, scores = decoder.top_k(Encoded(logits), 4)
    for i in range(3):
        worth = np.tanh(logits[i] / 4) @ linear.weight.T + 0.25 * linear.bias
        np.testing.assert_allclose(scores[i], worth[classes[i]], rtol=1e-5)
    again = SoftDecoder.from_arrays(decoder.arrays())
    assert (again.sharpness, again.prior) == (0.5, 0.25)
