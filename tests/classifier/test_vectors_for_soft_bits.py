"""Rows for soft bits: who gets them, and that they stay with the model."""

import pickle

import numpy as np
import pytest

from dsnc.errors import DsncWarning, InputError
from dsnc.training import learner
from dsnc.training.soft_vectors import SoftVectorsObjective
from many_classes import FEW, X_TEST, Y_TEST, X, Y, quick, reloaded, same_answers


@pytest.fixture(scope="module")
def softened():
    """Trained for long enough to have class vectors for soft bits: a fifth of its epochs."""
    return quick(decoder="shortlist", max_epochs=20).fit(X, Y)


def test_short_codes_get_rows_for_soft_bits(softened, tmp_path):
    trained = softened.predictor_.trained
    assert trained is not None and softened.predictor_.decoder.sharpness < 1
    assert not np.array_equal(trained.weight, softened.predictor_.decoder.linear.weight)
    without = quick(decoder="shortlist", max_epochs=20, soft_vectors=False).fit(X, Y)
    assert without.predictor_.trained is None
    assert np.array_equal(without.encode(X_TEST).words, softened.encode(X_TEST).words)
    assert np.array_equal(without.predictor_.decoder.linear.weight, trained.weight)
    assert softened.score(X_TEST, Y_TEST) > without.score(X_TEST, Y_TEST)
    for name in ("linear", "nearest"):  # they see no soft bits
        same_answers(softened.with_decoder(name), without.with_decoder(name))
    loaded = reloaded(softened, tmp_path)
    same_answers(
        loaded.with_decoder("linear").with_decoder("linear"), loaded.with_decoder("linear")
    )
    assert np.array_equal(loaded.predictor_.trained.weight, trained.weight)


def test_what_a_report_says_makes_the_same_decoder(softened):
    for name in ("soft", "shortlist", "table"):
        own = softened.with_decoder(name)
        asked = own.with_decoder({"name": name, **own.decoder_report_.settings})
        assert np.mean(asked.predict(X_TEST) == own.predict(X_TEST)) > 0.95


def test_hard_decoders_do_without_them():
    for choice in ("linear", "nearest", {"name": "soft", "sharpness": 1.5}):
        assert quick(max_epochs=1, decoder=choice).fit(X[FEW], Y[FEW]).predictor_.trained is None


@pytest.mark.parametrize("way", ["pickled", "loaded"])
def test_partial_fit_goes_on_with_both_kinds_of_rows(softened, way, tmp_path):
    model = softened
    other = reloaded(model, tmp_path) if way == "loaded" else pickle.loads(pickle.dumps(model))
    other.set_params(learning_rate=1e-4, device="cpu").partial_fit(X[FEW], Y[FEW])
    before, after = model.predictor_, other.predictor_
    for old, new in [
        (before.trained, after.trained),
        (before.decoder.linear, after.decoder.linear),
    ]:
        assert 0 < np.abs(new.weight - old.weight).max() < 0.01
    assert other.score(X_TEST, Y_TEST) > model.score(X_TEST, Y_TEST) - 0.05
    again = pickle.loads(pickle.dumps(other))
    for choice in ("soft", "shortlist", "linear"):  # in memory and from a file
        same_answers(other.with_decoder(choice), again.with_decoder(choice))
    assert other.with_decoder("soft").predictor_.trained is not None


def test_partial_fit_with_another_decoder_takes_them_along(softened):
    model = softened
    other = pickle.loads(pickle.dumps(model)).set_params(decoder="soft", learning_rate=1e-4)
    other.set_params(device="cpu").partial_fit(X[FEW], Y[FEW])
    assert other.predictor_.decoder.name == "soft" and other.predictor_.trained is not None
    assert other.score(X_TEST, Y_TEST) > model.score(X_TEST, Y_TEST) - 0.05


def test_a_warning_about_them_points_at_the_call_of_fit(monkeypatch):
    whole = learner.train

    def interrupted(steps, *arguments, **options):
        if isinstance(steps.objective, SoftVectorsObjective):
            raise KeyboardInterrupt
        return whole(steps, *arguments, **options)

    monkeypatch.setattr(learner, "train", interrupted)
    with pytest.warns(DsncWarning, match="before class vectors for soft bits") as warned:
        model = quick(decoder={"name": "soft", "sharpness": 0.5}, max_epochs=1).fit(X[FEW], Y[FEW])
    assert [warning.filename for warning in warned] == [__file__]
    assert model.predictor_.trained is None


@pytest.mark.parametrize("soft_vectors", [1, "yes", None])
def test_soft_vectors_are_a_yes_or_a_no(soft_vectors):
    with pytest.raises(InputError, match="soft_vectors=.* must be True or False"):
        quick(soft_vectors=soft_vectors).fit(X[FEW], Y[FEW])
