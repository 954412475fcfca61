"""The choice of a decoder: by name, the best one for the data, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from dsnc.codes import Encoded
from dsnc.decoders import (
    CodebookDecoder,
    Evidence,
    HeldOut,
    LinearDecoder,
    NearestDecoder,
    ShortlistDecoder,
    SoftDecoder,
    TableDecoder,
)
from dsnc.decoders.known_codes import weight_codes
from dsnc.decoders.shortlist import KNOWN
from dsnc.decoders.shortlist_tuning import tune_shortlist
from dsnc.errors import InputError
from dsnc.rerank import ClassVectors
from dsnc.selection import DecoderReport, SelectionSettings, Trial, choose
from dsnc.selection.auto import _Rival, _trials
from dsnc.targets import Targets
from made_evidence import make_decoder, problem

SETTINGS = ["size", "flips", "sharpness", "prior", "closeness"]


@pytest.fixture(scope="module")
def evidence():
    return problem()


@pytest.fixture(scope="module")
def many():
    """Enough classes for a search to be worth it."""
    return problem(n_classes=6000, n=1500, noise=0.5)


@pytest.fixture(scope="module")
def best(many):
    return make_decoder("auto", many)


def accuracy(decoder, rows):
    return rows.right(decoder).mean()


# By name


def test_the_linear_decoder(evidence):
    decoder, report = make_decoder("linear", evidence)
    assert type(decoder) is LinearDecoder
    assert np.array_equal(decoder.weight, evidence.linear.weight)
    assert decoder.confidence.temperature != 1  # that of the held-out rows
    assert (report.chosen, report.settings, report.trials) == ("linear", {}, [])
    assert report.reason == "as asked for"
    bare, _ = make_decoder("linear", Evidence(evidence.linear))
    assert bare.confidence.temperature == 1


def test_the_soft_decoder(evidence):
    decoder, report = make_decoder({"name": "soft"}, evidence)
    assert type(decoder) is SoftDecoder
    assert decoder.inputs == "soft_signs"
    assert np.array_equal(decoder.bias, evidence.linear.bias)
    assert decoder.confidence.temperature != 1
    scoring = {"sharpness": decoder.sharpness, "prior": decoder.prior}
    assert (report.chosen, report.settings) == ("soft", scoring)
    bare = make_decoder("soft", Evidence(evidence.linear))[0]
    assert (bare.confidence.temperature, bare.sharpness, bare.prior) == (1, 1, 1)
    asked = {"name": "soft", "sharpness": 0.5, "prior": 0.25}
    assert make_decoder(asked, evidence)[1].settings == {"sharpness": 0.5, "prior": 0.25}


def test_rows_held_out_may_be_none(evidence):
    none = slice(0, 0)
    empty = HeldOut(evidence.held_out.encoded.take(none), evidence.held_out.targets.take(none))
    for name in ("linear", "soft", "shortlist"):
        decoder, _ = make_decoder(name, Evidence(evidence.linear, held_out=empty))
        assert decoder.confidence.temperature == 1


def test_the_nearest_decoder(evidence):
    decoder, report = make_decoder("nearest", evidence)
    assert type(decoder) is NearestDecoder
    own = NearestDecoder.from_examples(evidence.codes, evidence.targets.y, 30)
    assert np.array_equal(
        decoder.predict(Encoded(codes=evidence.held_out.encoded.codes)),
        own.predict(Encoded(codes=evidence.held_out.encoded.codes)),
    )
    assert report.settings == {"n_neighbors": 1}
    settings = {"name": "nearest", "label": "predicted", "n_neighbors": 3}
    voting, report = make_decoder(settings, evidence)
    assert report.settings == {"n_neighbors": 3}
    assert np.array_equal(voting.labels, evidence.linear.predict(Encoded(codes=voting.codes)))
    assert settings == {"name": "nearest", "label": "predicted", "n_neighbors": 3}


def test_the_table_decoder(evidence):
    decoder, report = make_decoder("table", evidence)
    assert type(decoder) is TableDecoder
    nearest = NearestDecoder.from_examples(evidence.codes, evidence.targets.y, 30)
    codes = evidence.held_out.encoded.codes
    assert np.array_equal(
        decoder.predict(Encoded(codes=codes)), nearest.predict(Encoded(codes=codes))
    )
    soft = make_decoder("soft", evidence)[1].settings
    assert (decoder.probes, report.settings) == (16, {"probes": 16, **soft})
    asked = {"name": "table", "source": "linear", "probes": 2, "sharpness": 0.5, "prior": 0.5}
    linear, report = make_decoder(asked, evidence)
    assert np.array_equal(
        linear.predict(Encoded(codes=codes)), evidence.linear.predict(Encoded(codes=codes))
    )
    assert report.settings == {"probes": 2, "sharpness": 0.5, "prior": 0.5}
    without = Evidence(evidence.linear)
    assert make_decoder({"name": "table", "source": "linear"}, without)[0].probes == 16


def test_the_shortlist_decoder_is_tuned_and_honest(evidence):
    decoder, report = make_decoder("shortlist", evidence)
    assert type(decoder) is ShortlistDecoder
    assert report.settings == {key: pytest.approx(getattr(decoder, key)) for key in SETTINGS}
    for known in ("weights", "training"):
        chosen, _ = make_decoder({"name": "shortlist", "known": known}, evidence)
        only = {known: (chosen.codes, chosen.labels)}
        tuned = tune_shortlist(evidence.linear, only, evidence.held_out)[1].decoder
        assert chosen.arrays().keys() == tuned.arrays().keys()
        honest = tuned.calibrated(evidence.held_out).arrays()
        for name, array in chosen.arrays().items():
            assert np.array_equal(array, honest[name])
        is_weights = chosen.codes == weight_codes(evidence.linear)[0]
        assert is_weights == (known == "weights")


def test_what_is_set_of_a_shortlist_stays(evidence):
    settings = {"size": 7, "closeness": 0.25, "sharpness": 2.0, "prior": 0.5}
    for given in (evidence, Evidence(evidence.linear)):
        decoder, report = make_decoder({"name": "shortlist", **settings}, given)
        assert report.settings == {**settings, "flips": 0}
        assert (decoder.confidence.other > -1e9) == (
            given is evidence
        )  # calibrated where it can be
    decoder, _ = make_decoder({"name": "shortlist", "size": 3}, evidence)
    assert decoder.size == 3


def test_a_shortlist_without_held_out_rows_takes_training_codes_if_there_are_any(evidence):
    bare = Evidence(evidence.linear)
    decoder, _ = make_decoder("shortlist", bare)
    assert decoder.codes == weight_codes(evidence.linear)[0]
    assert (decoder.size, decoder.flips) == (16, 0)
    decoder, _ = make_decoder(
        "shortlist", Evidence(evidence.linear, evidence.codes, evidence.targets)
    )
    assert len(decoder.codes) > 100


# What is refused


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"name": "shortlist", "known": "trainig"}, "known='trainig' .*Did you mean 'training'"),
        ({"name": "shortlist", "size": 0}, "size=0"),
        ({"name": "shortlist", "flips": -1}, "flips=-1"),
        ({"name": "shortlist", "closeness": "high"}, "closeness='high'"),
        ({"name": "table", "source": "liner"}, "source='liner' .*Did you mean 'linear'"),
        ({"name": "table", "probes": 3}, "probes=3 is not a power of 2"),
        ({"name": "nearest", "label": "treu"}, "label='treu' .*Did you mean 'true'"),
        ({"name": "nearest", "n_neighbors": 0}, "n_neighbors=0"),
    ],
)
def test_settings_that_cannot_be_used_are_named(evidence, choice, message):
    with pytest.raises(InputError, match=message):
        make_decoder(choice, evidence)


@pytest.mark.parametrize("choice", ["nearest", "table", {"name": "shortlist", "known": "training"}])
def test_without_training_codes_the_error_says_what_to_do(evidence, choice):
    bare = Evidence(evidence.linear, held_out=evidence.held_out)
    with pytest.raises(InputError, match="has no training codes; pass the training rows as X an"):
        make_decoder(choice, bare)
    with pytest.raises(InputError, match="or use decoder='shortlist' with known='weights'"):
        bare.training()


# The best one for the data


@pytest.mark.parametrize("has_rows", [True, False])
def test_few_classes_are_all_scored(evidence, has_rows):
    given = evidence if has_rows else Evidence(evidence.linear)
    decoder, report = make_decoder("auto", given)
    assert type(decoder) is SoftDecoder
    assert (report.chosen, report.trials) == ("soft", [])
    assert report.settings == pytest.approx(
        {"sharpness": decoder.sharpness, "prior": decoder.prior}
    )
    assert report.reason == "scoring all 30 classes takes almost no time"
    assert str(report) == "soft: scoring all 30 classes takes almost no time"
    assert (decoder.confidence.temperature != 1) == has_rows


def test_among_many_classes_a_shortlist_is_cheaper(many, best):
    decoder, report = best
    assert type(decoder) is ShortlistDecoder
    assert report.chosen == "shortlist"
    assert report.settings == {key: pytest.approx(getattr(decoder, key)) for key in SETTINGS}
    assert [trial.decoder for trial in report.trials] == [
        "shortlist",
        "shortlist",
        "soft",
        "linear",
    ]
    assert [trial.settings.get("known") for trial in report.trials[:2]] == list(KNOWN)
    assert accuracy(decoder, many.held_out) >= max(t.accuracy for t in report.trials) - 0.001
    costs = [trial.nanoseconds for trial in report.trials]
    assert min(costs[:2]) < costs[2] == costs[3]
    assert decoder.confidence.other > -1e9  # calibrated
    soft = SoftDecoder(many.linear.weight, many.linear.bias, **report.trials[2].settings)
    assert report.trials[2].accuracy == accuracy(soft, many.held_out)
    assert report.trials[3].accuracy == accuracy(many.linear, many.held_out)


def test_the_report_can_be_read(best):
    report = best[1]
    first, *lines = str(report).splitlines()
    assert first.startswith("shortlist: no other is clearly more accurate on held-out rows")
    assert "scoring all 6,000 classes would take" in first
    assert "; it looks among codes of " in first
    assert len(lines) == len(report.trials)
    for line, trial in zip(lines, report.trials, strict=True):
        assert line.split()[:2] == [trial.decoder, f"{100 * trial.accuracy:.2f}"]
        assert f"{trial.nanoseconds / 1000:.2f} us" in line
        assert all(f"{key}={value}" in line for key, value in trial.settings.items())
    trial = Trial("soft", {"a": 1, "b": 2}, 0.25, 1500.0)
    text = str(DecoderReport("soft", {}, "why", [trial]))
    assert text == "soft: why\n  soft        25.00 %      1.50 us  a=1, b=2"


def test_the_choice_is_the_same_twice(many, best):
    (one, first), (other, second) = best, make_decoder("auto", many)
    assert first == second
    for name, array in one.arrays().items():
        assert np.array_equal(array, other.arrays()[name])


def test_many_classes_without_held_out_rows(many):
    for given, n_codes in (
        (Evidence(many.linear), 6000),
        (Evidence(many.linear, many.codes, many.targets), None),
    ):
        decoder, report = make_decoder("auto", given)
        assert type(decoder) is ShortlistDecoder
        assert n_codes in (None, len(decoder.codes))
        assert (
            report.reason == "there are 6,000 classes, but no held-out rows to choose a decoder by"
        )
        plain = {"sharpness": 1, "prior": 1, "closeness": 0}
        assert report.settings == {"size": 16, "flips": 0, **plain}


def bits_that_mislead(scale):
    """Eleven bits say the class, ten with weights of nearly nothing are random and far from 0."""
    rng = np.random.default_rng(0)
    signs = 2 * (np.arange(2048)[:, None] >> np.arange(11) & 1) - 1
    weight = np.concatenate([10.0 * signs, rng.choice([-0.01, 0.01], (2048, 10))], axis=1)
    y = rng.integers(0, 2048, 1000)
    logits = np.concatenate([scale * signs[y], rng.choice([-20, 20], (1000, 10))], axis=1)
    logits = logits.astype(np.float32)
    held_out = HeldOut(Encoded(logits), Targets(y, 2048))
    return Evidence(LinearDecoder(weight, np.zeros(2048)), held_out=held_out)


@pytest.mark.parametrize(("scale", "name"), [(0.5, "soft"), (0.0001, "linear")])
def test_where_no_shortlist_is_as_accurate_all_classes_are_scored(scale, name):
    decoder, report = make_decoder("auto", bits_that_mislead(scale))
    assert report.chosen == decoder.name == name
    worth = {trial.decoder: trial.accuracy for trial in report.trials}
    assert worth[name] == max(worth.values()) == 1 > worth["shortlist"]
    assert report.reason.endswith("scoring all classes is the fastest")


def test_decoders_are_compared_on_the_same_rows():
    """Half of the rows are wrong for everybody: other rows would give others by chance."""
    given = problem(n_classes=1200, n=6000, noise=0.3)
    rng = np.random.default_rng(0)
    rows = given.held_out
    mixed = np.where(rng.random(6000) < 0.5, rng.integers(0, 1200, 6000), rows.targets.y)
    rows = rows._replace(targets=Targets(mixed, 1200))
    report = make_decoder("auto", Evidence(given.linear, held_out=rows))[1]
    soft = SoftDecoder(given.linear.weight, given.linear.bias)
    some = rows.take(4096)
    worth = {trial.decoder: trial.accuracy for trial in report.trials}
    assert worth["soft"] == accuracy(soft, some) != accuracy(soft, rows)
    assert report.chosen == "shortlist"


# One that is made already


def test_an_instance_is_taken_as_it_is(evidence):
    made = CodebookDecoder(weight_codes(evidence.linear)[0])
    chosen = choose(evidence, SelectionSettings(made))
    assert chosen.decoder is made
    assert (chosen.report.chosen, chosen.report.reason) == ("codebook", "as asked for")
    assert chosen.trained is evidence.linear  # which the decoder does not hold
    for made in (SoftDecoder, LinearDecoder):
        own = made(evidence.linear.weight + 1, evidence.linear.bias)
        chosen = choose(evidence, SelectionSettings(own))
        assert chosen.decoder is own and chosen.trained is evidence.linear
        known = Evidence.left_by(chosen.decoder, chosen.trained)  # as a file would
        assert known.linear is evidence.linear
    made = CodebookDecoder(weight_codes(evidence.linear)[0])
    other = problem(n_classes=31)
    with pytest.raises(InputError, match="decoder has 30 classes; the model has 31"):
        choose(other, SelectionSettings(made))
    with pytest.raises(InputError, match="decoder has 12 bits, but n_bits=10"):
        choose(problem(n_bits=10), SelectionSettings(made))


# After more training


def test_a_decoder_goes_on_unless_another_is_asked_for(evidence):
    decoder, _ = make_decoder({"name": "shortlist", "size": 9}, evidence)
    moved = LinearDecoder(evidence.linear.weight[::-1], evidence.linear.bias + 1)
    further = Evidence(moved, before=decoder)
    for choice in ("auto", "shortlist", {"name": "shortlist", "size": 3}):
        chosen = choose(further, SelectionSettings(choice))
        assert (chosen.decoder.linear, chosen.decoder.size) == (moved, 9)
        assert (chosen.report, chosen.evidence.before) == (None, None)
    chosen = choose(further, SelectionSettings("linear"))
    assert type(chosen.decoder) is LinearDecoder
    assert chosen.report.chosen == "linear"


def test_two_copies_that_were_tried_on_different_rows_tie():
    rows = problem(n=2000, noise=1.2).held_out
    weight = np.random.default_rng(1).random(2000).astype(np.float32)
    rows = rows._replace(weight=weight)
    decoder = problem().linear
    rivals = [_Rival(decoder, 1.0, rows.take(n).right(decoder)) for n in (2000, 500, 300)]
    one, *others = (trial.accuracy for trial in _trials(rivals, rows))
    assert 0.2 < one < 0.8
    assert others == [one, one]


def test_confidence_is_honest_where_all_classes_name_the_candidates():
    """Few bits, many classes, and features that know which of the candidates it is."""
    n_classes, n = 4000, 800
    known = problem(n_classes, n=n, noise=0.5)
    rng = np.random.default_rng(7)
    own = rng.normal(size=(n_classes, 64)).astype(np.float32)
    vectors = ClassVectors.from_matrix(own, -np.square(own).sum(axis=1) / 2)

    def rows(logits, y):
        X = own[y] + rng.normal(size=(len(y), 64)).astype(np.float32)
        return HeldOut(Encoded(logits, source=(X, slice(0, len(y)))), Targets(y, n_classes))

    held_out, _, _ = known.held_out
    held_out = rows(held_out.logits, known.held_out.targets.y)
    evidence = replace(known, held_out=held_out, train_vectors=lambda *settings: [vectors])
    chosen = choose(evidence, SelectionSettings("auto", reranker="features"))
    assert chosen.report.reason.startswith("features decide best among the highest-scoring")
    y = rng.integers(0, n_classes, 2000)
    logits = known.linear.weight[y] / 2 + 0.5 * rng.normal(size=(2000, 12)).astype(np.float32)
    fresh = rows(logits, y)
    confidence = chosen.decoder.proba(fresh.encoded).max(axis=1)
    assert confidence.mean() == pytest.approx(fresh.right(chosen.decoder).mean(), abs=0.06)
