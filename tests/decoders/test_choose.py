from dataclasses import replace

import numpy as np
import pytest

from dsnc.codes import Encoded
from dsnc.decoders import (
    CodebookDecoder,
    LinearDecoder,
    NearestDecoder,
    ShortlistDecoder,
    SoftDecoder,
    TableDecoder,
)
from dsnc.decoders.choose import (
    CHOICES,
    KNOWN,
    DecoderReport,
    Material,
    Trial,
    make_decoder,
    material_of,
    parse_choice,
    renewed,
    scoring_of,
    trained_beside,
    wanted_sharpness,
    with_soft_rows,
)
from dsnc.decoders.tune import HeldOut, calibrate, tune_shortlist, tune_soft, weight_codes
from dsnc.errors import InputError

SETTINGS = ["size", "radius", "sharpness", "prior", "closeness"]


def problem(n_classes=30, n_bits=12, n=400, noise=0.8, scale=1.0, seed=0):
    """What training leaves: classes around random codes."""
    rng = np.random.default_rng(seed)
    centers = np.where(rng.random((n_classes, n_bits)) < 0.5, -1, 1)
    linear = LinearDecoder(2 * centers, rng.normal(size=n_classes) / 10)
    sets = []
    for _ in range(2):
        y = rng.integers(0, n_classes, n)
        logits = scale * (centers[y] + noise * rng.normal(size=(n, n_bits)))
        logits = logits.astype(np.float32)
        sets.append(HeldOut(Encoded(logits), y))
    training, held_out = sets
    return Material(linear, training.encoded.codes, training.y, held_out)


@pytest.fixture(scope="module")
def material():
    return problem()


@pytest.fixture(scope="module")
def many():
    """Enough classes for a search to be worth it."""
    return problem(n_classes=1200, n=1500, noise=0.7)


@pytest.fixture(scope="module")
def best(many):
    return make_decoder("auto", many)


def accuracy(decoder, rows):
    return rows.right(decoder).mean()


# By name


def test_the_linear_decoder(material):
    decoder, report = make_decoder("linear", material)
    assert type(decoder) is LinearDecoder
    assert np.array_equal(decoder.weight, material.linear.weight)
    assert decoder.temperature != 1  # that of the held-out rows
    assert (report.chosen, report.settings, report.trials) == ("linear", {}, [])
    assert report.reason == "as asked for"
    bare, _ = make_decoder("linear", Material(material.linear))
    assert bare.temperature == 1


def test_the_soft_decoder(material):
    decoder, report = make_decoder({"name": "soft"}, material)
    assert type(decoder) is SoftDecoder
    assert decoder.inputs == "soft_signs"
    assert np.array_equal(decoder.bias, material.linear.bias)
    assert decoder.temperature != 1
    scoring = {"sharpness": decoder.sharpness, "prior": decoder.prior}
    assert (report.chosen, report.settings) == ("soft", scoring)
    bare = make_decoder("soft", Material(material.linear))[0]
    assert (bare.temperature, bare.sharpness, bare.prior) == (1, 1, 1)
    asked = {"name": "soft", "sharpness": 0.5, "prior": 0.25}
    assert make_decoder(asked, material)[1].settings == {"sharpness": 0.5, "prior": 0.25}


def test_rows_held_out_may_be_none(material):
    none = slice(0, 0)
    empty = HeldOut(material.held_out.encoded.take(none), material.held_out.y[none])
    for name in ("linear", "soft", "shortlist"):
        decoder, _ = make_decoder(name, Material(material.linear, held_out=empty))
        assert decoder.temperature == 1


def test_the_nearest_decoder(material):
    decoder, report = make_decoder("nearest", material)
    assert type(decoder) is NearestDecoder
    own = NearestDecoder.from_examples(material.codes, material.y, 30)
    assert np.array_equal(
        decoder.predict(Encoded(codes=material.held_out.encoded.codes)),
        own.predict(Encoded(codes=material.held_out.encoded.codes)),
    )
    assert report.settings == {"n_neighbors": 1}
    settings = {"name": "nearest", "label": "predicted", "n_neighbors": 3}
    voting, report = make_decoder(settings, material)
    assert report.settings == {"n_neighbors": 3}
    assert np.array_equal(voting.labels, material.linear.predict(Encoded(codes=voting.codes)))
    assert settings == {"name": "nearest", "label": "predicted", "n_neighbors": 3}


def test_the_table_decoder(material):
    decoder, report = make_decoder("table", material)
    assert type(decoder) is TableDecoder
    nearest = NearestDecoder.from_examples(material.codes, material.y, 30)
    codes = material.held_out.encoded.codes
    assert np.array_equal(
        decoder.predict(Encoded(codes=codes)), nearest.predict(Encoded(codes=codes))
    )
    soft = make_decoder("soft", material)[1].settings
    assert (decoder.probes, report.settings) == (16, {"probes": 16, **soft})
    asked = {"name": "table", "source": "linear", "probes": 2, "sharpness": 0.5, "prior": 0.5}
    linear, report = make_decoder(asked, material)
    assert np.array_equal(
        linear.predict(Encoded(codes=codes)), material.linear.predict(Encoded(codes=codes))
    )
    assert report.settings == {"probes": 2, "sharpness": 0.5, "prior": 0.5}
    without = Material(material.linear)
    assert make_decoder({"name": "table", "source": "linear"}, without)[0].probes == 16


def test_the_shortlist_decoder_is_tuned_and_honest(material):
    decoder, report = make_decoder("shortlist", material)
    assert type(decoder) is ShortlistDecoder
    assert report.settings == {key: pytest.approx(getattr(decoder, key)) for key in SETTINGS}
    for known in ("weights", "training"):
        chosen, _ = make_decoder({"name": "shortlist", "known": known}, material)
        only = {known: (chosen.codes, chosen.labels)}
        of_all = tune_soft(material.linear, material.held_out)[1]
        tuned = tune_shortlist(material.linear, only, material.held_out, of_all=of_all)[1].decoder
        assert chosen.arrays().keys() == tuned.arrays().keys()
        honest = calibrate(tuned, material.held_out).arrays()
        for name, array in chosen.arrays().items():
            assert np.array_equal(array, honest[name])
        is_weights = chosen.codes == weight_codes(material.linear)[0]
        assert is_weights == (known == "weights")


def test_what_is_set_of_a_shortlist_stays(material):
    settings = {"size": 7, "radius": 5, "closeness": 0.25, "sharpness": 2.0, "prior": 0.5}
    for given in (material, Material(material.linear)):
        decoder, report = make_decoder({"name": "shortlist", **settings}, given)
        assert report.settings == settings
        assert (decoder.other > -1e9) == (given is material)  # calibrated where it can be
    decoder, _ = make_decoder({"name": "shortlist", "size": 3}, material)
    assert decoder.size == 3


def test_a_shortlist_without_held_out_rows_takes_training_codes_if_there_are_any(material):
    bare = Material(material.linear)
    decoder, _ = make_decoder("shortlist", bare)
    assert decoder.codes == weight_codes(material.linear)[0]
    assert (decoder.size, decoder.radius) == (16, 4)
    decoder, _ = make_decoder("shortlist", Material(material.linear, material.codes, material.y))
    assert len(decoder.codes) > 100


# What is refused


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("shortlst", "decoder='shortlst' is not known. Did you mean 'shortlist'"),
        ("Soft", "decoder='Soft' is not known. Did you mean 'soft'"),
        ("codebook", "decoder='codebook' is not known.*Valid: auto, linear, nearest"),
        (None, "decoder=None is not known"),
        (5, "decoder=5 is not known"),
        (["soft"], "decoder=.* is not known"),
        ({}, "decoder=None is not known"),
        ({"size": 5}, "decoder=None is not known"),
        ({"name": "tabel"}, "Did you mean 'table'"),
        (
            {"name": "shortlist", "radus": 5},
            "decoder setting of 'shortlist'='radus' is not known. Did you mean 'radius'",
        ),
        ({"name": "nearest", "neighbors": 5}, "Did you mean 'n_neighbors'"),
        (
            {"name": "table", "size": 5},
            "'size' is not known.*Valid: prior, probes, sharpness, source",
        ),
        ({"name": "soft", "size": 5}, "decoder setting of 'soft'='size' is not known"),
        ({"name": "auto", "size": 5}, "decoder setting of 'auto'='size' is not known"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(material, choice, message):
    with pytest.raises(InputError, match=message):
        parse_choice(choice)
    with pytest.raises(InputError, match=message):
        make_decoder(choice, material)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"name": "shortlist", "known": "trainig"}, "known='trainig' .*Did you mean 'training'"),
        ({"name": "shortlist", "size": 0}, "size=0"),
        ({"name": "shortlist", "radius": -1}, "radius=-1"),
        ({"name": "shortlist", "closeness": "high"}, "closeness='high'"),
        ({"name": "table", "source": "liner"}, "source='liner' .*Did you mean 'linear'"),
        ({"name": "table", "probes": 3}, "probes=3 is not a power of 2"),
        ({"name": "nearest", "label": "treu"}, "label='treu' .*Did you mean 'true'"),
        ({"name": "nearest", "n_neighbors": 0}, "n_neighbors=0"),
    ],
)
def test_settings_that_cannot_be_used_are_named(material, choice, message):
    with pytest.raises(InputError, match=message):
        make_decoder(choice, material)


@pytest.mark.parametrize("choice", ["nearest", "table", {"name": "shortlist", "known": "training"}])
def test_without_training_codes_the_error_says_what_to_do(material, choice):
    bare = Material(material.linear, held_out=material.held_out)
    with pytest.raises(InputError, match="knows no training codes; pass the training rows as X an"):
        make_decoder(choice, bare)
    with pytest.raises(InputError, match="or take decoder='shortlist' with known='weights'"):
        bare.training()


def test_parts_of_a_choice():
    for name in CHOICES:
        assert parse_choice(name) == parse_choice({"name": name}) == (name, {})
    settings = {"name": "shortlist", "known": "weights", "size": 2, "radius": 1, "closeness": 0.5}
    assert parse_choice(settings)[1] == {k: v for k, v in settings.items() if k != "name"}


# The best one for the data


@pytest.mark.parametrize("has_rows", [True, False])
def test_few_classes_are_all_scored(material, has_rows):
    given = material if has_rows else Material(material.linear)
    decoder, report = make_decoder("auto", given)
    assert type(decoder) is SoftDecoder
    assert (report.chosen, report.trials) == ("soft", [])
    assert report.settings == pytest.approx(
        {"sharpness": decoder.sharpness, "prior": decoder.prior}
    )
    assert report.reason == "30 classes are all scored in no time"
    assert str(report) == "soft: 30 classes are all scored in no time"
    assert (decoder.temperature != 1) == has_rows


def test_among_many_classes_a_shortlist_is_cheaper(many, best):
    decoder, report = best
    assert type(decoder) is ShortlistDecoder
    assert report.chosen == "shortlist"
    assert report.settings == {key: pytest.approx(getattr(decoder, key)) for key in SETTINGS}
    assert [trial.decoder for trial in report.trials] == [
        "shortlist",
        "shortlist",
        "shortlist",
        "soft",
        "linear",
    ]
    assert [trial.settings.get("known") for trial in report.trials[:3]] == list(KNOWN)
    assert accuracy(decoder, many.held_out) >= max(t.accuracy for t in report.trials) - 0.001
    costs = [trial.nanoseconds for trial in report.trials]
    assert min(costs[:3]) < costs[3] == costs[4]
    assert decoder.other > -1e9  # calibrated
    soft = SoftDecoder(many.linear.weight, many.linear.bias, **report.trials[3].settings)
    assert report.trials[3].accuracy == accuracy(soft, many.held_out)
    assert report.trials[4].accuracy == accuracy(many.linear, many.held_out)


def test_the_report_can_be_read(best):
    report = best[1]
    first, *lines = str(report).splitlines()
    assert first.startswith("shortlist: as accurate as any, as far as the held-out rows tell")
    assert "scoring all 1,200 classes would take" in first
    assert first.endswith(tuple(f"codes of {name}" for name in KNOWN))
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
        (Material(many.linear), 1200),
        (Material(many.linear, many.codes, many.y), None),
    ):
        decoder, report = make_decoder("auto", given)
        assert type(decoder) is ShortlistDecoder
        assert n_codes in (None, len(decoder.codes))
        assert report.reason == "there are 1,200 classes; no rows were held out to choose by"
        plain = {"sharpness": 1, "prior": 1, "closeness": 0}
        assert report.settings == {"size": 16, "radius": 4, **plain}


def bits_that_mislead(scale):
    """Eleven bits say the class, ten with weights of nearly nothing are random and far from 0."""
    rng = np.random.default_rng(0)
    signs = 2 * (np.arange(2048)[:, None] >> np.arange(11) & 1) - 1
    weight = np.concatenate([10.0 * signs, rng.choice([-0.01, 0.01], (2048, 10))], axis=1)
    y = rng.integers(0, 2048, 1000)
    logits = np.concatenate([scale * signs[y], rng.choice([-20, 20], (1000, 10))], axis=1)
    logits = logits.astype(np.float32)
    held_out = HeldOut(Encoded(logits), y)
    return Material(LinearDecoder(weight, np.zeros(2048)), held_out=held_out)


@pytest.mark.parametrize(("scale", "name"), [(0.5, "soft"), (0.0001, "linear")])
def test_where_no_shortlist_is_as_accurate_all_classes_are_scored(scale, name):
    decoder, report = make_decoder("auto", bits_that_mislead(scale))
    assert report.chosen == decoder.name == name
    worth = {trial.decoder: trial.accuracy for trial in report.trials}
    assert worth[name] == max(worth.values()) == 1 > worth["shortlist"]
    assert report.reason == "scoring all classes is the cheapest that is as accurate"


def test_decoders_are_compared_on_the_same_rows():
    """Half of the rows are wrong for everybody: other rows would give others by chance."""
    given = problem(n_classes=1200, n=6000, noise=0.3)
    rng = np.random.default_rng(0)
    rows = given.held_out
    mixed = np.where(rng.random(6000) < 0.5, rng.integers(0, 1200, 6000), rows.y)
    report = make_decoder("auto", Material(given.linear, held_out=rows._replace(y=mixed)))[1]
    soft = SoftDecoder(given.linear.weight, given.linear.bias)
    some = rows._replace(y=mixed).take(4096)
    worth = {trial.decoder: trial.accuracy for trial in report.trials}
    assert worth["soft"] == accuracy(soft, some) != accuracy(soft, rows._replace(y=mixed))
    assert report.chosen == "shortlist"


# From one decoder to the next


def test_what_decoders_still_hold(material):
    for choice in ("linear", "soft", "shortlist", "table"):
        decoder, _ = make_decoder(choice, material)
        held = material_of(decoder)
        assert type(held.linear) is LinearDecoder
        assert np.array_equal(held.linear.weight, material.linear.weight)
        assert np.array_equal(held.linear.bias, material.linear.bias)
        assert held.held_out is None
    with pytest.raises(InputError, match="the 'nearest' decoder alone does not know the linear"):
        material_of(make_decoder("nearest", material)[0])


def test_a_shortlist_still_holds_training_codes_but_signs_of_weights_are_none(material):
    decoder, _ = make_decoder({"name": "shortlist", "known": "training"}, material)
    held = material_of(decoder)
    nearest, _ = make_decoder("nearest", held)
    codes = material.held_out.encoded.codes
    assert np.array_equal(
        nearest.predict(Encoded(codes=codes)),
        make_decoder("nearest", material)[0].predict(Encoded(codes=codes)),
    )
    decoder, _ = make_decoder({"name": "shortlist", "known": "weights"}, material)
    with pytest.raises(InputError, match="knows no training codes"):
        make_decoder("nearest", material_of(decoder))


def test_weights_that_were_trained_further_keep_the_settings(material):
    moved = LinearDecoder(material.linear.weight[::-1], material.linear.bias + 1)
    for choice in ("linear", "soft"):
        decoder, _ = make_decoder(choice, material)
        again = renewed(decoder, moved)
        assert type(again) is type(decoder)
        assert np.array_equal(again.weight, moved.weight)
        assert again.temperature == decoder.temperature != 1
    for known in ("weights", "training"):
        decoder, _ = make_decoder({"name": "shortlist", "known": known, "size": 9}, material)
        again = renewed(decoder, moved)
        assert again.linear is moved
        assert again.codes == weight_codes(moved)[0]
        names = ["size", "radius", "closeness", "temperature", "other", "slope", "intercept"]
        assert all(getattr(again, name) == getattr(decoder, name) for name in names)
        assert again.size == 9


def test_decoders_that_need_the_codes_of_all_rows_cannot_be_trained_further(material):
    codebook = CodebookDecoder(weight_codes(material.linear)[0])
    decoders = [make_decoder(name, material)[0] for name in ("nearest", "table")]
    for decoder in (*decoders, codebook):
        with pytest.raises(
            InputError, match=f"'{decoder.name}' decoder needs the codes of all row"
        ):
            renewed(decoder, material.linear)


# Rows for soft bits


def with_poor_rows(n=600):
    """Rows that are right on hard bits only: some bits of each class weigh too much."""
    good = problem(n=n, noise=1.2)
    factor = np.random.default_rng(5).choice([0.1, 3.0], size=good.linear.weight.shape)
    poor = LinearDecoder(good.linear.weight * factor, good.linear.bias)
    return replace(good, linear=poor), good.linear


def test_rows_for_soft_bits_must_be_clearly_better():
    material, better = with_poor_rows()
    assert with_soft_rows(material, better).soft is better
    assert with_soft_rows(material, material.linear).soft is None
    assert with_soft_rows(replace(material, linear=better), material.linear).soft is None
    nobody = replace(material, held_out=None)
    assert with_soft_rows(nobody, better) is nobody


@pytest.mark.parametrize("name", ["soft", "table", "shortlist", "auto"])
def test_decoders_of_soft_bits_score_by_them(name):
    material, better = with_poor_rows()
    decoder, _ = make_decoder(name, replace(material, soft=better))
    rows = getattr(decoder, "linear", decoder)
    assert np.array_equal(rows.weight, better.weight)
    assert trained_beside(decoder, material) is material.linear
    again = material_of(decoder, material.linear)
    assert np.array_equal(again.linear.weight, material.linear.weight)
    assert np.array_equal(again.scorer.weight, better.weight)


@pytest.mark.parametrize("name", ["linear", "nearest"])
def test_decoders_of_hard_bits_do_not(name):
    material, better = with_poor_rows()
    decoder, _ = make_decoder(name, replace(material, soft=better))
    plain, _ = make_decoder(name, material)
    held_out = material.held_out
    assert np.array_equal(decoder.predict(held_out.encoded), plain.predict(held_out.encoded))
    assert trained_beside(decoder, material) is None


def test_rows_that_differ_in_the_bias_alone_are_others(material):
    other = LinearDecoder(material.linear.weight, material.linear.bias + 1)
    assert trained_beside(other, material) is material.linear


def test_answers_of_a_table_are_those_of_the_hard_bits():
    material, better = with_poor_rows()
    choice = {"name": "table", "source": "linear"}
    tables = [make_decoder(choice, replace(material, soft=soft))[0] for soft in (None, better)]
    assert np.array_equal(tables[0].table.labels, tables[1].table.labels)


@pytest.mark.parametrize("name", ["soft", "table", "shortlist"])
def test_bits_that_are_set_to_be_hard_are_scored_by_the_rows_of_training(name):
    material, better = with_poor_rows()
    for sharpness, rows in [(1.0, material.linear), (0.5, better)]:
        choice = {"name": name, "sharpness": sharpness}
        decoder, _ = make_decoder(choice, replace(material, soft=better))
        own = getattr(decoder, "linear", decoder)
        assert np.array_equal(own.weight, rows.weight)
    with pytest.raises(InputError, match="sharpness='high'"):
        make_decoder({"name": name, "sharpness": "high"}, replace(material, soft=better))


def test_the_sharpness_that_is_wanted():
    sure = problem(scale=8.0, noise=1.2)
    assert wanted_sharpness(replace(sure, held_out=None)) == 1
    assert wanted_sharpness(sure) == tune_soft(sure.linear, sure.held_out)[0].sharpness < 1
    assert scoring_of(make_decoder("soft", sure)[0]).sharpness == wanted_sharpness(sure)
    assert scoring_of(sure.linear) == (1, 1, 0)
    assert wanted_sharpness(sure, {"sharpness": 0.6}) == pytest.approx(0.6)


def test_the_reason_names_them(many):
    report = make_decoder("auto", replace(many, soft=many.linear))[1]
    assert report.chosen == "shortlist" and "rows trained on soft bits" in report.reason
    assert "soft bits" not in make_decoder("auto", many)[1].reason
