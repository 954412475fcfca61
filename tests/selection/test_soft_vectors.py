"""Class vectors for soft bits: at which sharpness they are trained, who gets them, who does not."""

from dataclasses import replace

import numpy as np
import pytest

from dsnc.decoders import Evidence, LinearDecoder, SoftDecoder
from dsnc.errors import InputError
from dsnc.selection import SelectionSettings, choose
from dsnc.selection.soft_vectors import with_soft_vectors
from made_evidence import make_decoder, problem


def with_poor_vectors(n=600):
    """Vectors that are right on hard bits only: some bits of each class weigh too much."""
    good = problem(n=n, noise=1.2)
    factor = np.random.default_rng(5).choice([0.1, 3.0], size=good.linear.weight.shape)
    poor = LinearDecoder(good.linear.weight * factor, good.linear.bias)
    return replace(good, linear=poor), good.linear


def trained(evidence, vectors):
    """Train, so to speak."""
    return with_soft_vectors(replace(evidence, train_soft=lambda sharpness: vectors))[0]


def test_they_must_be_clearly_better():
    evidence, better = with_poor_vectors()
    assert trained(evidence, better).soft is better
    assert trained(evidence, evidence.linear).soft is None
    assert trained(replace(evidence, linear=better), evidence.linear).soft is None
    assert trained(replace(evidence, held_out=None), better).soft is None
    assert with_soft_vectors(evidence)[0] is evidence  # there is nothing to train on


def asked_sharpness(evidence, fixed):
    """Return the sharpness at which vectors are trained."""
    asked = []
    train_soft = lambda sharpness: asked.append(sharpness) or evidence.linear  # noqa: E731
    with_soft_vectors(replace(evidence, train_soft=train_soft), fixed)
    return asked[0]


def test_the_sharpness_to_train_at():
    sure = problem(scale=8.0, noise=1.2)
    wanted = SoftDecoder.tuned(sure.linear, sure.held_out).decoder.sharpness
    assert wanted < 1
    assert asked_sharpness(sure, {}) == pytest.approx(0.7 * wanted)
    assert asked_sharpness(sure, {"sharpness": 0.6}) == pytest.approx(0.6)
    assert asked_sharpness(sure, {"sharpness": 1.5}) == 1.5  # which leaves them as they are
    assert asked_sharpness(replace(sure, held_out=None), {}) == 1
    assert make_decoder("soft", sure)[0].evidence().scoring.sharpness == wanted
    assert sure.linear.evidence().scoring == (1, 1, 0)


@pytest.mark.parametrize(
    ("settings", "is_asked"),
    [
        (SelectionSettings("auto"), True),
        (SelectionSettings("table"), True),
        (SelectionSettings("soft", soft_vectors=False), False),
        (SelectionSettings("linear"), False),
        (SelectionSettings("nearest"), False),
    ],
)
def test_only_decoders_of_soft_bits_have_them_trained(settings, is_asked):
    evidence, better = with_poor_vectors()
    asked = []
    train_soft = lambda sharpness: asked.append(sharpness) or better  # noqa: E731
    chosen = choose(replace(evidence, train_soft=train_soft), settings)
    assert bool(asked) == is_asked
    assert (chosen.evidence.soft is better) == is_asked
    assert chosen.evidence.train_soft is None  # it would keep the rows in memory


@pytest.mark.parametrize("name", ["soft", "table", "shortlist", "auto"])
def test_decoders_of_soft_bits_score_by_them(name):
    evidence, better = with_poor_vectors()
    chosen = choose(replace(evidence, soft=better), SelectionSettings(name))
    vectors = getattr(chosen.decoder, "linear", chosen.decoder)
    assert np.array_equal(vectors.weight, better.weight)
    assert chosen.trained is evidence.linear
    again = Evidence.left_by(chosen.decoder, chosen.trained)
    assert np.array_equal(again.linear.weight, evidence.linear.weight)
    assert np.array_equal(again.scorer.weight, better.weight)
    assert choose(evidence, SelectionSettings(name)).trained is None


@pytest.mark.parametrize("name", ["linear", "nearest"])
def test_decoders_of_hard_bits_do_not(name):
    evidence, better = with_poor_vectors()
    chosen = choose(replace(evidence, soft=better), SelectionSettings(name))
    plain, _ = make_decoder(name, evidence)
    assert np.array_equal(
        chosen.decoder.predict(evidence.held_out.encoded),
        plain.predict(evidence.held_out.encoded),
    )
    assert chosen.trained is None
    assert chosen.evidence.soft is better  # for the next choice


def test_answers_of_a_table_are_those_of_the_hard_bits():
    evidence, better = with_poor_vectors()
    choice = {"name": "table", "source": "linear"}
    tables = [make_decoder(choice, replace(evidence, soft=soft))[0] for soft in (None, better)]
    assert np.array_equal(tables[0].table.labels, tables[1].table.labels)


@pytest.mark.parametrize("name", ["soft", "table", "shortlist"])
def test_bits_that_are_set_to_be_hard_are_scored_by_the_vectors_of_training(name):
    evidence, better = with_poor_vectors()
    for sharpness, vectors in [(1.0, evidence.linear), (0.5, better)]:
        settings = SelectionSettings({"name": name, "sharpness": sharpness})
        chosen = choose(replace(evidence, soft=better), settings)
        own = getattr(chosen.decoder, "linear", chosen.decoder)
        assert np.array_equal(own.weight, vectors.weight)
        assert (chosen.trained is None) == (vectors is evidence.linear)
    with pytest.raises(InputError, match="sharpness='high'"):
        make_decoder({"name": name, "sharpness": "high"}, replace(evidence, soft=better))


def test_the_reason_names_them():
    many = problem(n_classes=2000, n=400, noise=0.7)
    report = make_decoder("auto", replace(many, soft=many.linear))[1]
    assert report.chosen == "shortlist" and "class vectors trained further" in report.reason
    assert "trained further" not in make_decoder("auto", many)[1].reason
