"""DSNCClassifier and its decoders: chosen, exchanged, a parameter as any."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from dsnc import DSNCClassifier
from dsnc.decoders import SoftDecoder
from dsnc.decoders.confidence import Confidence
from dsnc.decoders.known_codes import weight_codes
from dsnc.errors import InputError
from many_classes import CHOICES, FEW, X_TEST, Y_TEST, X, Y, quick, reloaded, same_answers

# The choice


def test_the_best_decoder_is_chosen_on_held_out_rows(others):
    best = others("auto")
    decoder, report = best.predictor_.decoder, best.decoder_report_
    assert report.chosen == decoder.name
    assert report.settings == {key: pytest.approx(getattr(decoder, key)) for key in report.settings}
    tried = [trial.decoder for trial in report.trials]
    assert tried == ["shortlist", "shortlist", "soft", "linear"]
    n_held_out = best.data_["validation"]["rows"]
    for trial in report.trials:
        assert round(trial.accuracy * n_held_out, 6).is_integer()
    assert best.score(X_TEST, Y_TEST) > 0.4
    for choice in ("soft", "shortlist"):
        assert best.score(X_TEST, Y_TEST) > others(choice).score(X_TEST, Y_TEST) - 0.05
    assert decoder.confidence.temperature != 1  # calibrated


def test_few_classes_are_all_scored(small):
    model = quick(max_epochs=2).fit(*small)
    assert isinstance(model.predictor_.decoder, SoftDecoder)
    assert model.decoder_report_.reason == "scoring all 10 classes takes almost no time"


def test_without_rows_held_out_nothing_is_tuned(small):
    choice = {"name": "shortlist"}
    model = quick(max_epochs=1, validation_fraction=0, decoder=choice).fit(*small)
    plain = {"sharpness": 1, "prior": 1, "closeness": 0}
    assert model.decoder_report_.settings == {"size": 16, "flips": 0, **plain}
    assert model.predictor_.decoder.confidence == Confidence()


def test_rows_given_for_validation_choose_as_well(small):
    model = quick(max_epochs=2, decoder="soft").fit(*small, validation=small)
    assert model.predictor_.decoder.confidence.temperature != 1


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_another_decoder_on_the_same_codes(model, others, choice):
    before = model.predict(X_TEST)
    other = others(choice)
    name = choice if isinstance(choice, str) else choice["name"]
    decoder = other.predictor_.decoder
    assert (other.decoder, model.decoder) == (choice, "shortlist")
    assert (decoder.name, other.decoder_report_.chosen) == (name, name)
    assert other.encode(X_TEST) == model.encode(X_TEST)
    assert other.predictor_.encoder is model.predictor_.encoder
    assert other.score(X_TEST, Y_TEST) > 0.25
    assert np.array_equal(model.predict(X_TEST), before)
    if isinstance(choice, dict):
        shown = set(choice) & {"size", "closeness", "n_neighbors", "probes"}
        assert all(getattr(decoder, key) == choice[key] for key in shown)
    if name == "shortlist":
        is_weights = decoder.codes == weight_codes(decoder.linear)[0]
        known = choice.get("known") if isinstance(choice, dict) else None
        assert known is None or is_weights == (known == "weights")


def test_the_choice_can_be_made_anew(model):
    again = model.with_decoder("shortlist")
    assert str(again.decoder_report_) == str(model.decoder_report_)
    same_answers(again, model)


def test_from_one_decoder_to_the_next_and_back(model, others):
    chain = model
    for name in ("linear", "nearest", "soft", "table", "auto", "shortlist"):
        chain = chain.with_decoder(name)
        same_answers(chain, others(name))
    same_answers(chain, model)


def test_a_name_that_is_none_is_refused_before_any_work(model, small):
    with pytest.raises(InputError, match="Did you mean 'nearest'"):
        model.with_decoder("neerest")
    with pytest.raises(InputError, match="Did you mean 'flips'"):
        quick(decoder={"name": "shortlist", "filps": 2}).fit(*small)
    with pytest.raises(InputError, match="Did you mean 'soft'"):
        quick(decoder="sotf").fit(*small)


def test_rows_can_be_given_for_their_codes(model):
    other = model.with_decoder("nearest", X[FEW], Y[FEW])
    codes = model.encode(X[FEW]).unique().codes
    assert len(other.predictor_.decoder.codes) == len(codes)
    assert np.isin(other.predict(X_TEST), Y[FEW]).all()
    sparse = model.with_decoder("nearest", sp.csr_array(X[FEW]), Y[FEW])
    assert len(sparse.predictor_.decoder.codes) == len(codes)
    with pytest.raises(InputError, match=r"y\[\d+\] is .*5.*, which is not one of the 720 classes"):
        model.with_decoder("nearest", X[FEW], np.full(400, 5))
    with pytest.raises(ValueError, match="requires y"):
        model.with_decoder("nearest", X[FEW])
    with pytest.raises(ValueError, match="X has 3 features"):
        model.with_decoder("nearest", X[FEW, :3], Y[FEW])


# Threads


def test_threads_change_nothing(model):
    threaded = pickle.loads(pickle.dumps(model)).set_params(n_jobs=2)
    assert np.array_equal(threaded.predict(X_TEST), model.predict(X_TEST))
    for mine, other in zip(
        threaded.predict_top_k(X_TEST), model.predict_top_k(X_TEST), strict=True
    ):
        np.testing.assert_allclose(mine, other, rtol=1e-4)
    answers = [m.predict(X_TEST, reject_below=0.5, rejected=-1) for m in (model, threaded)]
    assert np.mean(answers[0] == answers[1]) > 0.995


@pytest.mark.parametrize("n_jobs", [0, -3, 1.5, "all", True])
def test_what_is_no_number_of_threads_is_refused(model, small, n_jobs):
    with pytest.raises(InputError, match=f"n_jobs={n_jobs!r} is not a number of threads"):
        quick(n_jobs=n_jobs).fit(*small)
    with pytest.raises(InputError, match="n_jobs="):
        pickle.loads(pickle.dumps(model)).set_params(n_jobs=n_jobs).predict(X_TEST)


# As an estimator


def test_a_decoder_with_settings_is_a_parameter_as_any(small, tmp_path):
    choice = {"name": "shortlist", "size": 3, "closeness": 0.5}
    model = quick(max_epochs=2, decoder=choice).fit(*small)
    assert model.get_params()["decoder"] == choice
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert choice == {"name": "shortlist", "size": 3, "closeness": 0.5}
    settings = model.decoder_report_.settings
    assert {key: settings[key] for key in choice if key != "name"} == {
        "size": 3,
        "closeness": 0.5,
    }
    same_answers(copied.fit(*small), model)
    loaded = reloaded(model, tmp_path)
    assert loaded.get_params()["decoder"] == choice
    same_answers(loaded, model)
    assert model.set_params(decoder="soft").fit(*small).predictor_.decoder.name == "soft"


def test_settings_may_be_numbers_of_numpy(small, tmp_path):
    choice = {"name": "shortlist", "size": np.int64(3), "closeness": np.float32(0.5)}
    model = quick(max_epochs=1, decoder=choice).fit(*small)
    loaded = reloaded(model, tmp_path)
    assert loaded.decoder == choice
    same_answers(loaded, model)


def test_the_same_seed_gives_the_same_decoder(model):
    again = quick(decoder="shortlist").fit(X, Y)
    assert str(again.decoder_report_) == str(model.decoder_report_)
    for name, array in model.predictor_.arrays().items():
        assert np.array_equal(array, again.predictor_.arrays()[name])
    same_answers(again, model)


@pytest.mark.parametrize(
    ("decoder", "n_bits", "named"),
    [
        ("table", 40, "n_bits=40"),
        ({"name": "shortlist", "size": 0}, 16, "size=0"),
        ({"name": "shortlist", "flips": -1}, 16, "flips=-1"),
        ({"name": "table", "probes": 3}, 16, "probes=3"),
        ({"name": "nearest", "n_neighbors": 0}, 16, "n_neighbors=0"),
    ],
)
def test_what_cannot_work_is_refused_before_training(decoder, n_bits, named):
    def too_late(progress):
        raise AssertionError("it has been trained")

    model = DSNCClassifier(n_bits=n_bits, decoder=decoder, callbacks=[too_late], device="cpu")
    with pytest.raises(InputError, match=named):
        model.fit(np.eye(6), np.arange(6) % 3)
