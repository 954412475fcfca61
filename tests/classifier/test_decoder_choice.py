"""DSNCClassifier and its decoders: chosen, exchanged, saved, and how sure they are."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import dsnc
from dsnc import DSNCClassifier
from dsnc.data.synthetic import make_dense_codes
from dsnc.decoders import SoftDecoder
from dsnc.decoders.known_codes import weight_codes
from dsnc.errors import InputError

PROBLEM = {"n_classes": 720, "n_features": 24, "n_bits": 14, "feature_noise": 0.3}
NAMES = ["linear", "soft", "nearest", "table", "shortlist"]
CHOICES = [
    *NAMES,
    {"name": "nearest", "label": "predicted", "n_neighbors": 3},
    {"name": "table", "source": "linear", "probes": 4},
    {"name": "shortlist", "size": 5, "radius": 2, "closeness": 0.25},
    {"name": "shortlist", "known": "weights"},
    {"name": "shortlist", "known": "training"},
]
CONFIDENCE = ["temperature", "other", "slope", "intercept"]


def rows_and_labels(n, part):
    """Labels are numbers that are not those of the classes."""
    data = make_dense_codes(n, part=part, **PROBLEM)
    return data.X, 3 * data.y + 1000


def quick(**settings):
    fast = {"n_bits": 14, "max_epochs": 6, "learning_rate": 0.1, "n_draws": 1, "batch_size": 200}
    return DSNCClassifier(**{**fast, "device": "cpu", **settings})


X, Y = rows_and_labels(4000, part=0)
X_TEST, Y_TEST = rows_and_labels(400, part=1)
FEW = slice(0, 400)
X.flags.writeable = Y.flags.writeable = False


@pytest.fixture(scope="module")
def model():
    return quick(decoder="shortlist").fit(X, Y)


@pytest.fixture(scope="module")
def others(model):
    """Makes each decoder once; for tests that change nothing."""
    made = {}

    def with_decoder(choice):
        if str(choice) not in made:
            made[str(choice)] = model.with_decoder(choice)
        return made[str(choice)]

    return with_decoder


@pytest.fixture(scope="module")
def small():
    """Ten classes, for what needs a training of its own."""
    few = np.unique(Y)[:10]
    return X[np.isin(Y, few)], Y[np.isin(Y, few)]


def same_answers(one, other, rows=X_TEST):
    assert np.array_equal(one.predict(rows), other.predict(rows))
    assert np.array_equal(one.predict_proba(rows), other.predict_proba(rows))
    for mine, theirs in zip(one.predict_top_k(rows), other.predict_top_k(rows), strict=True):
        assert np.array_equal(mine, theirs)


def saved(model, folder):
    model.save(folder / "model", overwrite=True)
    return dsnc.load(folder / "model")


# The choice


def test_the_best_decoder_is_chosen_on_held_out_rows(others):
    best = others("auto")
    decoder, report = best.predictor_.decoder, best.decoder_report_
    assert report.chosen == decoder.name
    assert report.settings == {key: pytest.approx(getattr(decoder, key)) for key in report.settings}
    tried = [trial.decoder for trial in report.trials]
    assert tried == ["shortlist", "shortlist", "shortlist", "soft", "linear"]
    n_held_out = 400
    for trial in report.trials:
        assert round(trial.accuracy * n_held_out, 6).is_integer()
    assert best.score(X_TEST, Y_TEST) > 0.4
    for choice in ("soft", "shortlist"):
        assert best.score(X_TEST, Y_TEST) > others(choice).score(X_TEST, Y_TEST) - 0.05
    assert decoder.temperature != 1  # calibrated


def test_few_classes_are_all_scored(small):
    model = quick(max_epochs=2).fit(*small)
    assert isinstance(model.predictor_.decoder, SoftDecoder)
    assert model.decoder_report_.reason == "10 classes are all scored in no time"


def test_without_rows_held_out_nothing_is_tuned(small):
    choice = {"name": "shortlist", "radius": 2}
    model = quick(max_epochs=1, validation_fraction=0, decoder=choice).fit(*small)
    plain = {"sharpness": 1, "prior": 1, "closeness": 0}
    assert model.decoder_report_.settings == {"size": 16, "radius": 2, **plain}
    assert model.predictor_.decoder.other == -1e9


def test_rows_given_for_validation_choose_as_well(small):
    model = quick(max_epochs=2, decoder="soft").fit(*small, validation=small)
    assert model.predictor_.decoder.temperature != 1


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
        shown = set(choice) & {"size", "radius", "closeness", "n_neighbors", "probes"}
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
    with pytest.raises(InputError, match="Did you mean 'radius'"):
        quick(decoder={"name": "shortlist", "raduis": 2}).fit(*small)
    with pytest.raises(InputError, match="Did you mean 'soft'"):
        quick(decoder="sotf").fit(*small)


def test_rows_can_be_given_for_their_codes(model):
    other = model.with_decoder("nearest", X[FEW], Y[FEW])
    codes = model.encode(X[FEW]).unique().codes
    assert len(other.predictor_.decoder.codes) == len(codes)
    assert np.isin(other.predict(X_TEST), Y[FEW]).all()
    sparse = model.with_decoder("nearest", sp.csr_array(X[FEW]), Y[FEW])
    assert len(sparse.predictor_.decoder.codes) == len(codes)
    with pytest.raises(InputError, match=r"y\[\d+\] is .*5.*, which is none of the 720 classes"):
        model.with_decoder("nearest", X[FEW], np.full(400, 5))
    with pytest.raises(ValueError, match="requires y"):
        model.with_decoder("nearest", X[FEW])
    with pytest.raises(ValueError, match="X has 3 features"):
        model.with_decoder("nearest", X[FEW, :3], Y[FEW])


# Files and pickles


@pytest.mark.parametrize("choice", ["auto", *CHOICES], ids=str)
def test_a_model_file_brings_back_the_same_answers(others, choice, tmp_path):
    other = others(choice)
    loaded = saved(other, tmp_path)
    assert loaded.decoder == choice
    assert type(loaded.predictor_.decoder) is type(other.predictor_.decoder)
    same_answers(loaded, other)
    same_answers(pickle.loads(pickle.dumps(other)), other)
    for name, array in other.predictor_.decoder.arrays().items():
        assert np.array_equal(array, loaded.predictor_.decoder.arrays()[name])


ALONE = "a model with the 'nearest' decoder alone does not know the linear one"
NO_CODES = "the model knows no training codes; pass the training rows as X and y"
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
    loaded = saved(others(kept), tmp_path)
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
    loaded = saved(others("soft"), tmp_path)
    nearest = loaded.with_decoder("nearest", X, Y)
    assert len(nearest.predictor_.decoder.codes) == len(model.encode(X).unique().codes)
    assert nearest.score(X_TEST, Y_TEST) > 0.25
    table = nearest.with_decoder("table")  # it still knows them
    assert table.predictor_.decoder.name == "table"


def test_a_pickle_leaves_the_training_rows_behind(others):
    sizes = {name: len(pickle.dumps(others(name))) for name in ("soft", "nearest")}
    # The rows of the decoder, and those that were trained with the codes.
    assert sizes["soft"] < 2 * 720 * 15 * 4 + 24 * 14 * 4 + 20_000
    assert sizes["nearest"] < 4000 * 16 + 20_000


# How sure it is


def test_rows_that_are_too_unsure_are_rejected(model):
    sure = model.predict_top_k(X_TEST, k=1)[1][:, 0]
    limit = float(np.sort(sure)[len(sure) // 2])  # a row that is just sure enough is kept
    answers = model.predict(X_TEST, reject_below=limit)
    assert answers.dtype == object
    is_rejected = np.array([answer is None for answer in answers])
    assert np.array_equal(is_rejected, sure < limit)
    assert 0.3 < is_rejected.mean() < 0.7
    kept = ~is_rejected
    assert answers[kept].tolist() == model.predict(X_TEST)[kept].tolist()
    assert np.mean(answers[kept] == Y_TEST[kept]) > model.score(X_TEST, Y_TEST) + 0.1


def test_what_rejected_rows_get_decides_the_type(model):
    answers = model.predict(X_TEST, reject_below=0.5, rejected=-1)
    assert answers.dtype == model.classes_.dtype
    assert np.array_equal(answers == -1, model.predict_top_k(X_TEST, k=1)[1][:, 0] < 0.5)
    for rejected in ("unknown", 0.5, None):
        answers = model.predict(X_TEST, reject_below=0.5, rejected=rejected)
        assert answers.dtype == object
        assert rejected in answers.tolist()
        assert {type(answer) for answer in answers.tolist()} == {int, type(rejected)}


@pytest.mark.parametrize(
    ("rejected", "kind"), [("?", "U"), ("many letters", "O"), (-1, "O"), (None, "O")]
)
def test_rejected_rows_among_text_labels(small, rejected, kind):
    rows, numbers = small
    model = quick(max_epochs=1).fit(rows, np.array([f"no. {number}" for number in numbers]))
    answers = model.predict(rows, reject_below=1.0, rejected=rejected)
    assert answers.dtype.kind == kind
    assert set(answers.tolist()) == {rejected}


def test_all_or_none_are_rejected(model):
    assert np.array_equal(model.predict(X_TEST, reject_below=0), model.predict(X_TEST))
    assert (model.predict(X_TEST, reject_below=0, rejected=-1) != -1).all()
    answers = model.predict(X_TEST, reject_below=1.0, rejected=-1)
    assert np.array_equal(answers == -1, model.predict_top_k(X_TEST, k=1)[1][:, 0] < 1)


@pytest.mark.parametrize("limit", [1.5, -0.1, np.nan])
def test_what_is_no_probability_is_refused(model, limit):
    with pytest.raises(InputError, match=f"reject_below={limit} is not a probability, 0 to 1"):
        model.predict(X_TEST, reject_below=limit)


@pytest.mark.parametrize("choice", ["auto", *NAMES])
@pytest.mark.parametrize("k", [1, 10, 200, 720])
def test_probabilities_of_the_best_are_those_of_all(others, choice, k):
    other, rows = others(choice), X_TEST[:60]
    labels, some = other.predict_top_k(rows, k=k)
    everything = other.predict_proba(rows)
    np.testing.assert_allclose(everything.sum(axis=1), 1, rtol=1e-4)
    assert (some.sum(axis=1) <= 1 + 1e-4).all()
    columns = np.searchsorted(other.classes_, labels)
    np.testing.assert_allclose(np.take_along_axis(everything, columns, axis=1), some, rtol=1e-5)
    assert np.array_equal(labels[:, 0], other.predict(rows))
    assert np.array_equal(everything.argmax(axis=1), columns[:, 0])
    assert all(len(set(row)) == k for row in labels.tolist())


def test_confidence_is_honest_on_fresh_rows(others):
    rows, labels = rows_and_labels(3000, part=2)
    for name in ("auto", "soft", "linear"):
        answers, sure = others(name).predict_top_k(rows, k=1)
        assert sure.mean() == pytest.approx((answers[:, 0] == labels).mean(), abs=0.08)


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


# Going on


@pytest.mark.parametrize("way", ["pickled", "loaded", "twice"])
def test_partial_fit_keeps_settings_and_confidence(model, way, tmp_path):
    is_loaded = way == "loaded"
    other = saved(model, tmp_path) if is_loaded else pickle.loads(pickle.dumps(model))
    other.set_params(learning_rate=1e-6, device="cpu").partial_fit(X[FEW], Y[FEW])
    if way == "twice":
        other.partial_fit(X[FEW], Y[FEW])
    before, after = model.predictor_.decoder, other.predictor_.decoder
    names = ["size", "radius", "closeness", *CONFIDENCE]
    assert [getattr(after, name) for name in names] == [getattr(before, name) for name in names]
    assert after.codes == weight_codes(after.linear)[0]
    assert not np.array_equal(after.linear.weight, before.linear.weight)
    assert other.score(X_TEST, Y_TEST) > model.score(X_TEST, Y_TEST) - 0.1
    assert other.with_decoder("soft").score(X_TEST, Y_TEST) > 0.4
    with pytest.raises(InputError, match=NO_CODES):
        other.with_decoder("nearest")


def test_partial_fit_keeps_the_temperature(model):
    other = model.with_decoder("soft").set_params(learning_rate=1e-6)
    temperature = other.predictor_.decoder.temperature
    other.partial_fit(X[FEW], Y[FEW])
    assert other.predictor_.decoder.temperature == temperature != 1


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
    assert "no rows were held out" in other.decoder_report_.reason
    with pytest.raises(InputError, match=NO_CODES):
        quick(decoder="nearest").partial_fit(X[FEW], Y[FEW], classes=np.unique(Y))


# As an estimator


def test_a_decoder_with_settings_is_a_parameter_as_any(small, tmp_path):
    choice = {"name": "shortlist", "size": 3, "radius": 2, "closeness": 0.5}
    model = quick(max_epochs=2, decoder=choice).fit(*small)
    assert model.get_params()["decoder"] == choice
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert choice == {"name": "shortlist", "size": 3, "radius": 2, "closeness": 0.5}
    settings = model.decoder_report_.settings
    assert {key: settings[key] for key in choice if key != "name"} == {
        "size": 3,
        "radius": 2,
        "closeness": 0.5,
    }
    same_answers(copied.fit(*small), model)
    loaded = saved(model, tmp_path)
    assert loaded.get_params()["decoder"] == choice
    same_answers(loaded, model)
    assert model.set_params(decoder="soft").fit(*small).predictor_.decoder.name == "soft"


def test_settings_may_be_numbers_of_numpy(small, tmp_path):
    choice = {"name": "shortlist", "size": np.int64(3), "closeness": np.float32(0.5)}
    model = quick(max_epochs=1, decoder=choice).fit(*small)
    loaded = saved(model, tmp_path)
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
        ({"name": "shortlist", "radius": -1}, 16, "radius=-1"),
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
