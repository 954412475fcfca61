"""What a model file or a pickle keeps of a decoder, and what it can become afterwards."""

import pickle

import numpy as np
import pytest

from dsnc.errors import InputError
from many_classes import CHOICES, NAMES, NO_CODES, X_TEST, Y_TEST, X, Y, reloaded, same_answers


@pytest.mark.parametrize("choice", ["auto", *CHOICES], ids=str)
def test_a_model_file_brings_back_the_same_answers(others, choice, tmp_path):
    other = others(choice)
    loaded = reloaded(other, tmp_path)
    assert loaded.decoder == choice
    assert type(loaded.predictor_.decoder) is type(other.predictor_.decoder)
    same_answers(loaded, other)
    same_answers(pickle.loads(pickle.dumps(other)), other)
    for name, array in other.predictor_.decoder.arrays().items():
        assert np.array_equal(array, loaded.predictor_.decoder.arrays()[name])


ALONE = "a model with only the 'nearest' decoder does not contain the linear one"
TRAINING = {"name": "shortlist", "known": "training"}
WEIGHTS = {"name": "shortlist", "known": "weights"}


@pytest.mark.parametrize(
    ("kept", "wanted", "error"),
    [
        (TRAINING, NAMES, None),
        (WEIGHTS, ["linear", "soft", "shortlist", WEIGHTS], None),
        (WEIGHTS, ["nearest", "table", TRAINING], NO_CODES),
        ("soft", ["linear", "soft", "shortlist", "auto"], None),
        ("soft", ["nearest", "table", TRAINING], NO_CODES),
        ("linear", ["linear", "soft", "shortlist"], None),
        ("linear", ["nearest"], NO_CODES),
        ("table", ["linear", "soft", "shortlist"], None),
        ("table", ["nearest"], NO_CODES),
        ("nearest", NAMES, ALONE),
    ],
    ids=str,
)
def test_what_a_loaded_model_can_become(model, others, kept, wanted, error, tmp_path):
    loaded = reloaded(others(kept), tmp_path)
    for choice in wanted:
        if error:
            with pytest.raises(InputError, match=error):
                loaded.with_decoder(choice)
            continue
        next_one = loaded.with_decoder(choice)
        assert next_one.encode(X_TEST) == model.encode(X_TEST)
        assert next_one.score(X_TEST, Y_TEST) > 0.25
        if (
            choice in ("linear", "nearest") or choice == kept == "soft"
        ):  # held-out rows change others
            expected = others(choice).predict(X_TEST)
            # A shortlist also knows codes for classes that no training code is left of.
            assert np.mean(next_one.predict(X_TEST) == expected) > 0.95


def test_a_pickle_holds_what_a_file_holds(others):
    kept = pickle.loads(pickle.dumps(others(TRAINING)))
    nearest = kept.with_decoder("nearest")
    from_file = kept.with_decoder(TRAINING).with_decoder("nearest")
    assert np.array_equal(nearest.predict(X_TEST), from_file.predict(X_TEST))
    assert np.mean(nearest.predict(X_TEST) == others("nearest").predict(X_TEST)) > 0.95
    for choice, error in (("soft", NO_CODES), (WEIGHTS, NO_CODES), ("nearest", ALONE)):
        with pytest.raises(InputError, match=error):
            pickle.loads(pickle.dumps(others(choice))).with_decoder("nearest")


def test_a_loaded_model_takes_the_training_rows(model, others, tmp_path):
    loaded = reloaded(others("soft"), tmp_path)
    nearest = loaded.with_decoder("nearest", X, Y)
    assert len(nearest.predictor_.decoder.codes) == len(model.encode(X).unique().codes)
    assert nearest.score(X_TEST, Y_TEST) > 0.25
    table = nearest.with_decoder("table")  # it still knows them
    assert table.predictor_.decoder.name == "table"


def test_a_pickle_leaves_the_training_rows_behind(others):
    models = {name: others(name) for name in ("soft", "nearest")}
    remembered = len(pickle.dumps(models["soft"]._memory))
    sizes = {name: len(pickle.dumps(m)) - remembered for name, m in models.items()}
    # The rows of the decoder, and those that were trained with the codes.
    assert sizes["soft"] < 2 * 720 * 15 * 4 + 24 * 14 * 4 + 20_000
    assert sizes["nearest"] < 4000 * 16 + 20_000
