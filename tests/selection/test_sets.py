"""Thresholds and probabilities of labels, against all that could have been chosen."""

import numpy as np
import pytest
import scipy.sparse as sp

from dsnc.codes import Encoded
from dsnc.decoders import HeldOut, LinearDecoder, ShortlistDecoder, SoftDecoder
from dsnc.decoders.evidence import Evidence
from dsnc.decoders.known_codes import known_codes, weight_codes
from dsnc.errors import InputError
from dsnc.metrics import f1_of_sets, precision_at_k
from dsnc.selection.sets import SetSettings, fit_rule, wide_enough
from dsnc.targets import Targets

N_LABELS, N_BITS = 30, 24


def make(n=300, seed=0):
    """Labels with vectors of their own, and rows near the sum of those they have."""
    rng = np.random.default_rng(seed)
    linear = LinearDecoder(rng.normal(size=(N_LABELS, N_BITS)), rng.normal(size=N_LABELS) - 4)
    logits = rng.normal(size=(n, N_BITS)).astype(np.float32)
    odds = np.tanh(logits / 2) @ linear.weight.T + linear.bias
    has = rng.random(odds.shape) < 1 / (1 + np.exp(-odds))
    return linear, HeldOut(Encoded(logits), Targets(sp.csr_array(has), N_LABELS)), has


def soft(linear):
    return SoftDecoder(linear.weight, linear.bias)


def predicted(rule, decoder, rows):
    classes, scores = decoder.candidates(rows.encoded, rule.size)
    chosen = rule.chosen(classes, scores)
    result = np.zeros((len(classes), decoder.n_classes), dtype=int)
    row, place = np.nonzero(chosen)
    result[row, classes[row, place]] = 1
    return result


class Lists:
    """A decoder whose lists leave out a third of the labels, also of those that rows have."""

    n_classes = N_LABELS

    def __init__(self, linear):
        self.linear = linear

    def all_scores(self, encoded):
        scores = np.tanh(encoded.numbers() / 2) @ self.linear.weight.T + self.linear.bias
        is_missing = np.random.default_rng(2).random(scores.shape) < 1 / 3
        return np.where(is_missing, -np.inf, scores).astype(np.float32)

    def candidates(self, encoded, k):
        scores = self.all_scores(encoded)
        classes = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        scores = np.take_along_axis(scores, classes, axis=1)
        return np.where(np.isneginf(scores), -1, classes), scores


@pytest.mark.parametrize("average", ["micro", "macro", "samples"])
def test_no_other_threshold_is_better(average):
    linear, rows, has = make()
    lists = Lists(linear)
    rule = fit_rule(lists, rows, SetSettings(average), rows.targets.most)
    found = f1_of_sets(has, predicted(rule, lists, rows), average)
    likely = rule.probabilities(lists.all_scores(rows.encoded))
    cuts = np.unique(likely[likely > 0])[:: 8 if average == "micro" else 40]
    best = max(f1_of_sets(has, (likely >= cut).astype(int), average) for cut in cuts)
    assert found >= best - (1e-9 if average == "micro" else 0.005)


def test_no_other_threshold_of_a_label_is_better():
    linear, rows, has = make()
    lists = Lists(linear)
    rule = fit_rule(lists, rows, SetSettings(per_label=True), rows.targets.most)
    likely = rule.probabilities(lists.all_scores(rows.encoded))
    frequent = np.flatnonzero(has.sum(axis=0) >= 10)
    assert len(frequent) > 5
    for k in frequent:
        own = has[:, k]

        def f1(cut, own=own, likely=likely[:, k]):
            return 2 * (own & (likely >= cut)).sum() / ((likely >= cut).sum() + own.sum())

        best = max(map(f1, np.unique(likely[likely[:, k] > 0, k])))
        assert f1(rule.threshold[k]) == pytest.approx(best)


def test_scores_that_are_log_odds_stay_so():
    linear, rows, _ = make(n=4000)
    rule = fit_rule(soft(linear), rows, SetSettings(), rows.targets.most)
    odds = np.float32([-6, -3, -1, 0, 1, 3])
    assert rule.log_odds(odds) == pytest.approx(odds, abs=0.3)


def test_probabilities_hold_in_every_range_where_scores_are_no_log_odds():
    linear, _, _ = make()
    decoder, halves = soft(linear), []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        logits = rng.normal(size=(4000, N_BITS)).astype(np.float32)
        scores = np.tanh(logits / 2) @ linear.weight.T + linear.bias
        has = rng.random(scores.shape) < 1 / (1 + np.exp(-4 * np.tanh(scores / 2)))
        halves.append((HeldOut(Encoded(logits), Targets(sp.csr_array(has), N_LABELS)), scores, has))
    (rows, _, _), (_, scores, has) = halves
    rule = fit_rule(decoder, rows, SetSettings(), rows.targets.most)
    likely = rule.probabilities(scores.astype(np.float32))
    for low, high in ((0.05, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 0.95)):
        some = (likely >= low) & (likely < high)
        assert has[some].mean() == pytest.approx(likely[some].mean(), abs=2.5 / np.sqrt(some.sum()))


def test_a_threshold_of_its_own_for_each_label_that_is_frequent():
    linear, rows, has = make(n=2000)
    one = fit_rule(soft(linear), rows, SetSettings("macro"), rows.targets.most)
    each = fit_rule(soft(linear), rows, SetSettings("macro", per_label=True), rows.targets.most)
    assert len(each.threshold) == N_LABELS
    rare = has.sum(axis=0) < 10
    assert (each.threshold[rare] == one.threshold[0]).all()
    better = [f1_of_sets(has, predicted(rule, soft(linear), rows), "macro") for rule in (each, one)]
    assert better[0] > better[1]


def test_a_threshold_that_is_given():
    linear, rows, _ = make()
    rule = fit_rule(soft(linear), rows, SetSettings(0.25), rows.targets.most)
    assert rule.threshold.tolist() == [0.25]
    without = fit_rule(soft(linear), None, SetSettings("micro"), 5)
    assert without.log_odds(np.float32([-2, 3])).tolist() == [-2, 3]
    assert without.threshold.tolist() == [0.5]


def test_rows_that_have_no_label_choose_nothing():
    linear, rows, has = make(n=300)
    empty = rows._replace(targets=Targets(sp.csr_array(np.zeros_like(has)), N_LABELS))
    for average in ("micro", "macro", "samples"):
        rule = fit_rule(soft(linear), empty, SetSettings(average), 0)
        assert 0 <= rule.threshold[0] <= 1


def test_a_shortlist_is_long_enough_for_sets():
    linear, rows, _ = make()
    short = ShortlistDecoder(linear, *weight_codes(linear), size=1)
    evidence = Evidence(linear, held_out=rows)
    wide = wide_enough(short, evidence)
    assert rows.worth(wide).mean() >= rows.worth(soft(linear)).mean() - 0.001
    assert rows.worth(short).mean() < rows.worth(soft(linear)).mean() - 0.001
    assert wide_enough(soft(linear), evidence).name == "soft"
    assert wide_enough(short, Evidence(linear)).size == 64


def test_many_labels_are_not_all_scored():
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(600, 64))
    linear = LinearDecoder(vectors, np.full(600, -8.0))
    own = rng.integers(0, 600, (300, 2))
    logits = (vectors[own].sum(axis=1) * 3).astype(np.float32)
    has = np.zeros((300, 600), dtype=bool)
    np.put_along_axis(has, own, True, axis=1)
    rows = HeldOut(Encoded(logits), Targets(sp.csr_array(has), 600))
    found = wide_enough(soft(linear), Evidence(linear, held_out=rows))
    assert (found.name, found.size) == ("shortlist", 64)
    assert rows.worth(found).mean() >= rows.worth(soft(linear)).mean() - 0.001


def test_all_are_scored_where_no_list_is_good_enough():
    rng = np.random.default_rng(3)
    linear = LinearDecoder(rng.normal(size=(600, 24)) * rng.exponential(2, (600, 1)), np.zeros(600))
    logits = rng.normal(size=(300, 24)).astype(np.float32)
    order = soft(linear).top_k(Encoded(logits), 5)[0]
    has = np.zeros((300, 600), dtype=bool)
    np.put_along_axis(has, order, True, axis=1)
    rows = HeldOut(Encoded(logits), Targets(sp.csr_array(has), 600))
    evidence = Evidence(linear, held_out=rows)
    short = ShortlistDecoder(linear, *weight_codes(linear), size=10)
    assert wide_enough(short, evidence).name == "soft"
    still = wide_enough(short, evidence, short=True)
    assert still.name == "shortlist"
    assert rows.worth(short).mean() < rows.worth(still).mean() < 1


def test_what_an_answer_is_worth():
    linear, rows, has = make()
    order = soft(linear).top_k(rows.encoded, 5)[0]
    expected = np.mean([precision_at_k(has.astype(int), order, k) for k in (1, 3, 5)])
    assert rows.worth(soft(linear)).mean() == pytest.approx(expected)
    assert rows.targets.worth(np.ones((len(has), 5), bool)) == pytest.approx(1)
    scores = np.tanh(rows.encoded.numbers() / 2) @ linear.weight.T + linear.bias
    assert rows.targets.worth_of_scores(scores, has).mean() == pytest.approx(expected)


def test_a_code_is_known_once_for_each_class_of_its_rows():
    linear, rows, has = make(n=60)
    evidence = Evidence(linear, rows.encoded.codes, rows.targets)
    codes, labels = known_codes(evidence, "training")["training"]
    bits = rows.encoded.codes.to_bits()
    pairs = {(tuple(bits[i]), k) for i, k in zip(*np.nonzero(has), strict=True)}
    without = np.flatnonzero(~has.any(axis=0))
    found = list(zip(map(tuple, codes.to_bits()), labels.tolist(), strict=True))
    assert set(found[: len(pairs)]) == pairs and labels[len(pairs) :].tolist() == without.tolist()


@pytest.mark.parametrize(
    "settings", [SetSettings("best"), SetSettings(2.0), SetSettings(0.5, True)]
)
def test_settings_are_checked(settings):
    with pytest.raises(InputError, match="threshold"):
        settings.check()
