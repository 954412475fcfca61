import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders import HeldOut, LinearDecoder, ShortlistDecoder, SoftDecoder
from dsnc.decoders import base as base_module
from dsnc.decoders import shortlist_tuning as tuning
from dsnc.decoders.confidence import Confidence
from dsnc.decoders.known_codes import training_codes, weight_codes
from dsnc.decoders.scoring import TOLERANCE
from dsnc.decoders.shortlist_tuning import tune_shortlist
from dsnc.targets import Targets

SETTINGS = ["size", "flips", "closeness"]


def problem(n=1500, n_classes=200, n_bits=24, noise=1.0, scale=0.2, seed=0, part=0):
    """Classes around random codes; logits are their signs and noise, times the scale."""
    centers = np.where(np.random.default_rng(seed).random((n_classes, n_bits)) < 0.5, -1, 1)
    rng = np.random.default_rng([seed, part])
    y = rng.integers(0, n_classes, n)
    logits = scale * (centers[y] + noise * rng.normal(size=(n, n_bits)))
    linear = LinearDecoder(2 * centers, np.zeros(n_classes))
    return linear, held_out(logits, y)


def held_out(logits, y, weight=None):
    logits = np.asarray(logits, dtype=np.float32)
    return HeldOut(Encoded(logits), Targets(np.asarray(y), 200), weight)


def codes_and_classes(rows):
    return rows.encoded.codes, rows.targets


def accuracy(decoder, rows):
    return rows.right(decoder).mean()


def replaced(decoder, **settings):
    return ShortlistDecoder(
        decoder.linear, decoder.codes, decoder.labels, **{**decoder.chosen_settings(), **settings}
    )


def soft(linear):
    return SoftDecoder(linear.weight, linear.bias)


# The choice of settings


@pytest.mark.parametrize("noise", [0.3, 0.8, 1.2])
def test_the_chosen_setting_loses_no_more_than_it_may(noise):
    linear, rows = problem(noise=noise)
    fresh = problem(noise=noise, part=1)[1]
    name, tuned, tried = tune_shortlist(linear, {"weights": weight_codes(linear)}, rows)
    assert name == "weights"
    assert tried["weights"] is tuned
    decoder = tuned.decoder
    assert accuracy(decoder, rows) == pytest.approx(tuned.accuracy)
    everything = soft(linear)
    longest = replaced(decoder, size=linear.n_classes)
    assert (rows.right(longest) & ~rows.right(decoder)).mean() <= TOLERANCE
    # What rows that chose nothing say; the deviation is that of the rows in which both differ.
    differ = decoder.predict(fresh.encoded) != everything.predict(fresh.encoded)
    lost = accuracy(everything, fresh) - accuracy(decoder, fresh)
    assert lost <= TOLERANCE + 3 * max(differ.sum(), 1) ** 0.5 / len(fresh.targets.y)
    assert decoder.size < linear.n_classes


def test_more_noise_needs_more_candidates():
    found = []
    for noise in (0.0, 0.6, 1.0):
        linear, rows = problem(noise=noise)
        found.append(tune_shortlist(linear, {"weights": weight_codes(linear)}, rows)[1])
    assert found[0].accuracy == 1
    sizes, costs = [t.decoder.size for t in found], [t.nanoseconds for t in found]
    assert sizes[0] == 1
    assert sizes == sorted(set(sizes))
    assert costs == sorted(set(costs))


def test_the_same_rows_give_the_same_settings():
    linear, rows = problem(n=600)
    sets = {
        "weights": weight_codes(linear),
        "training": training_codes(linear, *codes_and_classes(problem(n=2000, part=1)[1])),
    }
    first, second = (tune_shortlist(linear, sets, rows) for _ in range(2))
    assert first[0] == second[0]
    for name, tuned in first[2].items():
        again = second[2][name]
        assert tuned[1:-1] == again[1:-1]
        assert np.array_equal(tuned.right, again.right)
        for key, array in tuned.decoder.arrays().items():
            assert np.array_equal(array, again.decoder.arrays()[key])


@pytest.mark.parametrize("order", [["weights", "training"], ["training", "weights"]])
def test_of_two_sets_that_are_alike_the_cheaper_is_taken(order):
    linear, rows = problem(noise=0.5)
    codes, labels = weight_codes(linear)
    sets = {
        "weights": (codes, labels),
        "training": (PackedCodes.concatenate([codes] * 20), np.tile(labels, 20)),
    }
    name, tuned, tried = tune_shortlist(linear, {key: sets[key] for key in order}, rows)
    assert tried["weights"].accuracy == tried["training"].accuracy
    assert tried["weights"].nanoseconds < tried["training"].nanoseconds
    assert name == "weights"
    assert tuned is tried["weights"]


def test_a_cheap_set_that_is_clearly_worse_is_not_taken():
    linear, rows = problem(noise=0.5, n_classes=2000)
    codes, labels = weight_codes(linear)
    sets = {
        "weights": (codes, np.roll(labels, 1)),
        "training": (PackedCodes.concatenate([codes] * 20), np.tile(labels, 20)),
    }
    name, tuned, tried = tune_shortlist(linear, sets, rows)
    assert name == "training"
    assert tuned.accuracy > tried["weights"].accuracy + 0.1


def test_luck_does_not_make_up_for_what_a_short_list_loses():
    linear, rows = problem(noise=0.8, n_bits=16)
    trial = tuning._try_out(ShortlistDecoder(linear, *weight_codes(linear), size=200), rows)
    short = trial.is_right(1)
    lost, won = (trial.most & ~short).sum(), (short & ~trial.most).sum()
    assert lost > 10
    assert won > 0
    assert trial.loss(1) == pytest.approx((lost + lost**0.5) / len(rows.targets.y))


def test_doubt_counts_where_it_helps():
    """With saturated bits the sure and the very sure look alike, and the doubt tells them apart."""
    found = {}
    for scale in (0.1, 3.0):
        linear, rows = problem(scale=scale, n_bits=16)
        tuned = tune_shortlist(linear, {"weights": weight_codes(linear)}, rows)[1]
        found[scale] = tuned.decoder.closeness
        if scale > 1:
            assert tuned.accuracy > accuracy(soft(linear), rows)
    assert found[0.1] == 0 < found[3.0]


@pytest.mark.parametrize("n_classes", [1, 2, 3, 64])
def test_few_classes_can_all_be_candidates(n_classes):
    linear, rows = problem(n=3000, n_classes=n_classes, n_bits=4 if n_classes < 9 else 6)
    tuned = tune_shortlist(linear, {"weights": weight_codes(linear)}, rows)[1]
    assert tuned.decoder.size <= n_classes
    assert accuracy(tuned.decoder, rows) >= accuracy(soft(linear), rows) - TOLERANCE


@pytest.mark.parametrize("flips", [0, 8])
def test_every_size_is_worth_what_the_decoder_of_it_is(flips):
    linear, rows = problem(n=300, noise=1.3)
    widest = ShortlistDecoder(linear, *weight_codes(linear), size=200, flips=flips)
    trial = tuning._try_out(widest, rows)
    for size in (1, 3, 16, 200):
        decoder = widest.with_settings(size=size, **trial.scoring._asdict())
        assert np.array_equal(trial.is_right(size), rows.right(decoder))


def test_likely_codes_are_looked_up_where_codes_are_many(monkeypatch):
    linear, rows = problem(noise=0.8, n_classes=2000)
    known = training_codes(linear, *codes_and_classes(problem(n=9000, n_classes=2000, part=1)[1]))
    exact = tune_shortlist(linear, {"training": known}, rows)[1]
    monkeypatch.setattr(tuning, "_FEWEST_CODES", 5000)
    alike = tune_shortlist(linear, {"training": known}, rows)[1]
    assert alike.decoder.flips == 0  # a lookup would find so many that all are scanned sooner
    monkeypatch.setattr(tuning, "_FOUND_NS", 0)
    likely = tune_shortlist(linear, {"training": known}, rows)[1]
    assert exact.decoder.flips == 0 < likely.decoder.flips
    assert np.array_equal(likely.right, rows.right(likely.decoder))
    assert likely.accuracy >= exact.accuracy - 0.01


def test_what_a_lookup_finds_is_counted(monkeypatch):
    """Codes of two parts: how many share a part with one of them, by looking at all pairs."""
    monkeypatch.setattr(tuning, "_FLIP_NS", 0)
    monkeypatch.setattr(tuning, "_FOUND_NS", 1)
    bits = np.random.default_rng(0).random((300, 16)) < 0.2
    halves = [bits[:, :8], bits[:, 8:]]
    shared = [(half[:, None] == half[None]).all(axis=2).sum() / 300 for half in halves]
    codes = PackedCodes.from_bits(bits)
    assert tuning._flip_nanoseconds(codes) == pytest.approx(sum(shared))
    monkeypatch.setattr(tuning, "_COUNTED", 150)
    assert tuning._flip_nanoseconds(codes) == pytest.approx(sum(shared), rel=0.3)


# Known codes


@given(st.integers(0, 2**32 - 1))
def test_training_codes_give_every_class_a_code(seed):
    rng = np.random.default_rng(seed)
    n_classes, n_bits, n = int(rng.integers(1, 9)), int(rng.integers(1, 70)), rng.integers(0, 20)
    linear = LinearDecoder(rng.integers(-2, 3, (n_classes, n_bits)), np.zeros(n_classes))
    bits = (rng.random((n, n_bits)) < 0.5) & (np.arange(n_bits) < 2)
    y = rng.integers(0, n_classes, n)
    codes, labels = training_codes(
        linear, PackedCodes.from_bits(bits), Targets(y, linear.n_classes)
    )
    majority = oracles.majority(bits, y.tolist())
    without = sorted(set(range(n_classes)) - set(majority))
    assert labels.tolist() == majority + without
    assert codes.to_bits()[: len(majority)].tolist() == bits[oracles.unique(bits)[0]].tolist()
    assert codes.to_bits()[len(majority) :].tolist() == (linear.weight[without] > 0).tolist()
    ShortlistDecoder(linear, codes, labels)  # which would refuse a class without one


def test_weight_codes_are_the_signs_of_the_weights():
    linear = LinearDecoder([[0.5, -1, 0], [-2, 3, 4]], [9, -9])
    codes, labels = weight_codes(linear)
    assert codes.to_bits().tolist() == [[True, False, False], [False, True, True]]
    assert labels.tolist() == [0, 1]


# Honest probabilities


def log_loss(decoder, rows):
    proba = decoder.proba(rows.encoded)[np.arange(len(rows.targets.y)), rows.targets.y]
    return -np.log(np.maximum(proba, 1e-9)).mean()


def calibration_error(decoder, rows):
    """How far confidence is from accuracy, on average over ten groups of equally sure rows."""
    classes, proba = decoder.top_k_proba(rows.encoded, 1)
    order = np.argsort(proba[:, 0])
    right, sure = (classes[:, 0] == rows.targets.y)[order], proba[order, 0]
    groups = zip(np.array_split(right, 10), np.array_split(sure, 10), strict=True)
    return np.mean([abs(a.mean() - b.mean()) for a, b in groups])


@pytest.mark.parametrize("scale", [0.2, 3.0])
def test_calibration_is_honest_on_fresh_rows(scale):
    linear, rows = problem(n=3000, scale=scale)
    fresh = problem(n=3000, scale=scale, part=1)[1]
    decoder = ShortlistDecoder(linear, *weight_codes(linear), size=16, closeness=0.1)
    honest = decoder.calibrated(rows)
    assert log_loss(honest, fresh) < log_loss(decoder, fresh)
    assert calibration_error(honest, fresh) < 0.03 < calibration_error(decoder, fresh)
    assert np.array_equal(honest.predict(fresh.encoded), decoder.predict(fresh.encoded))
    for name in SETTINGS:
        assert getattr(honest, name) == getattr(decoder, name)
    assert honest.codes is decoder.codes


def test_calibration_weighs_rows():
    """Rows of half the classes are made wrong; what these weigh decides how sure one may be."""
    linear, rows = problem(n=2000, noise=0.5)
    wrong = rows.targets.y < 100
    rows = rows._replace(
        targets=Targets(np.where(wrong, (rows.targets.y + 1) % 200, rows.targets.y), 200)
    )
    decoder = ShortlistDecoder(linear, *weight_codes(linear))

    def confidence(weight_of_wrong):
        weight = np.where(wrong, weight_of_wrong, 1).astype(np.float32)
        honest = decoder.calibrated(rows._replace(weight=weight))
        return honest.top_k_proba(rows.encoded, 1)[1].mean()

    expected = [w / (1 + w) for w in (4, 1, 0.25)]
    found = [1 - confidence(w) for w in (4, 1, 0.25)]
    assert found == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("kind", [LinearDecoder, SoftDecoder])
def test_the_temperature_of_a_linear_decoder_is_honest(kind, monkeypatch):
    linear, rows = problem(n=3000, n_classes=50)
    fresh = problem(n=3000, n_classes=50, part=1)[1]
    decoder = kind(linear.weight, linear.bias)
    temperature = decoder.calibrated(rows).confidence.temperature
    losses = [
        log_loss(decoder.with_confidence(Confidence(t * temperature)), fresh)
        for t in (1.0, 0.7, 1.4, 1 / temperature)
    ]
    assert losses[0] == min(losses)
    monkeypatch.setattr(base_module, "_MAX_SCORES", 50 * 1000)
    monkeypatch.setattr(base_module, "_BEST", 20)
    assert decoder.calibrated(rows).confidence.temperature == pytest.approx(temperature, rel=0.15)
