"""partial_fit: which decoder there is afterwards, and how sure it is."""

import pickle

import numpy as np
import pytest

from dsnc.decoders.known_codes import weight_codes
from dsnc.errors import InputError
from many_classes import (
    FEW,
    NO_CODES,
    X_TEST,
    Y_TEST,
    X,
    Y,
    quick,
    reloaded,
    same_answers,
)


@pytest.mark.parametrize("way", ["pickled", "loaded", "twice"])
def test_partial_fit_keeps_settings_and_confidence(model, way, tmp_path):
    is_loaded = way == "loaded"
    other = reloaded(model, tmp_path) if is_loaded else pickle.loads(pickle.dumps(model))
    other.set_params(learning_rate=1e-6, device="cpu").partial_fit(X[FEW], Y[FEW])
    if way == "twice":
        other.partial_fit(X[FEW], Y[FEW])
    before, after = model.predictor_.decoder, other.predictor_.decoder
    names = ["size", "flips", "closeness", "confidence"]
    assert [getattr(after, name) for name in names] == [getattr(before, name) for name in names]
    assert after.codes == weight_codes(after.linear)[0]
    assert not np.array_equal(after.linear.weight, before.linear.weight)
    assert other.score(X_TEST, Y_TEST) > model.score(X_TEST, Y_TEST) - 0.1
    assert other.with_decoder("soft").score(X_TEST, Y_TEST) > 0.4
    with pytest.raises(InputError, match=NO_CODES):
        other.with_decoder("nearest")


def test_partial_fit_keeps_the_temperature(model):
    other = model.with_decoder("soft").set_params(learning_rate=1e-6)
    before = other.predictor_.decoder.confidence
    other.partial_fit(X[FEW], Y[FEW])
    assert other.predictor_.decoder.confidence == before
    assert before.temperature != 1


def test_partial_fit_takes_the_decoder_that_was_set(model):
    other = model.with_decoder("soft").set_params(decoder="linear", learning_rate=1e-6)
    assert other.partial_fit(X[FEW], Y[FEW]).predictor_.decoder.name == "linear"


@pytest.mark.parametrize("name", ["nearest", "table"])
def test_partial_fit_that_is_refused_changes_no_answer(model, name):
    other = model.with_decoder(name)
    before = other.predict(X_TEST)
    with pytest.raises(InputError, match=f"the '{name}' decoder needs the codes of all rows"):
        other.partial_fit(X[FEW], Y[FEW])
    assert np.array_equal(other.predict(X_TEST), before)
    same_answers(other.with_decoder("shortlist"), model)


def test_partial_fit_from_nothing():
    other = quick().partial_fit(X[FEW], Y[FEW], classes=np.unique(Y))
    decoder = other.predictor_.decoder
    assert decoder.codes == weight_codes(decoder.linear)[0]
    assert "no held-out rows" in other.decoder_report_.reason
    with pytest.raises(InputError, match=NO_CODES):
        quick(decoder="nearest").partial_fit(X[FEW], Y[FEW], classes=np.unique(Y))
