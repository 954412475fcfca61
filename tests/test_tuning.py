import pytest
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, RandomizedSearchCV

from dsnc import DSNCClassifier
from dsnc.baselines import MLPBaseline, NearestCentroidBaseline
from dsnc.data import make_dense_codes
from dsnc.errors import InputError

optuna = pytest.importorskip("optuna", reason="needs the extra 'tune'")

from dsnc.tuning import PAPER_SPACE, _distribution, spread, tune  # noqa: E402

DATA = make_dense_codes(n_rows=300, n_classes=10, n_features=8)
X, Y = DATA.X, DATA.labels


def quick(**options):
    settings = {"n_bits": 8, "max_epochs": 2, "decoder": "linear", "device": "cpu", **options}
    return DSNCClassifier(**settings)


def test_the_best_of_a_list_is_found():
    found = tune(quick(max_epochs=5), X, Y, space={"learning_rate": [1e-6, 0.05]}, n_trials=4)
    assert found.parameters == {"learning_rate": 0.05}
    assert found.estimator.learning_rate == 0.05 and found.estimator.n_bits == 8
    assert not hasattr(found.estimator, "predictor_")
    assert found.accuracy == max(trial["accuracy"] for trial in found.trials)


def test_the_papers_factor_is_both_weights():
    found = tune(quick(), X, Y, n_trials=2)
    assert set(found.parameters) == {"learning_rate", "beta", "gamma"}
    assert found.parameters["beta"] == found.parameters["gamma"]
    assert spread({"factor": 2, "n_bits": 3}) == {"beta": 2, "gamma": 2, "n_bits": 3}
    assert spread({"hidden": 512}) == {"hidden": (512,)}
    assert set(PAPER_SPACE) == {"learning_rate", "factor"}


def test_the_same_seed_makes_the_same_study():
    one, other = (tune(quick(), X, Y, n_trials=3, random_state=5) for _ in range(2))
    assert one.trials == other.trials
    assert tune(quick(), X, Y, n_trials=3, random_state=6).trials != one.trials


def test_a_study_goes_on_from_its_file(tmp_path):
    path = tmp_path / "new" / "study.log"
    first = tune(quick(), X, Y, n_trials=2, study=path)
    second = tune(quick(), X, Y, n_trials=3, study=path)
    assert second.trials[:2] == first.trials and len(second.trials) == 3
    third = tune(quick(), X, Y, n_trials=3, study=path)  # nothing is left to do
    assert third.trials == second.trials


def test_several_processes_work_on_one_study(tmp_path):
    found = tune(quick(), X, Y, n_trials=4, study=tmp_path / "study.log", n_jobs=2)
    assert len([t for t in found.trials if t["state"] in ("complete", "pruned")]) >= 4


def test_hopeless_trials_end_early():
    space = {"learning_rate": [0.05, 1e-7]}
    found = tune(quick(max_epochs=8, n_bits=16), X, Y, space=space, n_trials=16)
    states = {trial["learning_rate"]: set() for trial in found.trials}
    for trial in found.trials:
        states[trial["learning_rate"]].add(trial["state"])
    assert "pruned" in states[1e-7] or len(states) == 1
    assert found.parameters["learning_rate"] == 0.05


def test_validation_rows_decide_if_given():
    found = tune(quick(), X, Y, space={"n_bits": [4]}, n_trials=1, validation=(X[:50], Y[:50]))
    model = found.estimator.fit(X, Y, validation=(X[:50], Y[:50]))
    assert found.accuracy == model.score(X[:50], Y[:50])


@pytest.mark.parametrize("options", [{}, {"decoder": "auto"}, {"random_state": 3}])
def test_a_model_with_the_best_parameters_is_as_good_as_its_trial(options):
    found = tune(quick(**options), X, Y, space={"n_bits": [6, 8]}, n_trials=2, random_state=9)
    assert found.estimator.fit(X, Y).figures_["validation_accuracy"] == found.accuracy


def test_all_trials_hold_out_the_same_rows_whatever_the_seed():
    found = tune(quick(random_state=None), X, Y, space={"n_bits": [8]}, n_trials=2)
    assert found.trials[0]["accuracy"] == found.trials[1]["accuracy"]


def test_without_rows_to_choose_by_nothing_is_chosen():
    with pytest.raises(InputError, match="validation_fraction=0 leaves no validation rows"):
        tune(quick(validation_fraction=0), X, Y, n_trials=1)


def test_baselines_with_epochs_are_tuned_too():
    model = MLPBaseline(n_units=8, max_epochs=2, device="cpu")
    found = tune(model, X, Y, space={"activation": ["tanh", "relu"]}, n_trials=2)
    assert found.parameters["activation"] in ("tanh", "relu")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e-3..1e-1 log", optuna.distributions.FloatDistribution(1e-3, 1e-1, log=True)),
        ("0..0.5", optuna.distributions.FloatDistribution(0, 0.5)),
        ("2..8", optuna.distributions.IntDistribution(2, 8)),
        ([1, 2], optuna.distributions.CategoricalDistribution((1, 2))),
    ],
)
def test_ranges_are_read(text, expected):
    assert _distribution("x", text) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"space": {"n_bit": [1]}}, "space='n_bit' is not known. Did you mean 'n_bits'"),
        ({"space": {"n_bits": "many"}}, "n_bits='many' is not a range; write '1e-3..1e-1 log'"),
        ({"space": {"n_bits": "8..2"}}, "n_bits='8..2' is not a range"),
        ({"space": {"n_bits": []}}, "'n_bits' has no values"),
        ({"space": {}}, "space is empty"),
        ({"n_trials": 0}, "n_trials=0 must be"),
        ({"n_jobs": 2}, "give study='study.log'"),
    ],
)
def test_wrong_use_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        tune(quick(), X, Y, **options)


def test_an_estimator_without_epochs_is_refused():
    with pytest.raises(InputError, match="NearestCentroidBaseline; give one that has epochs"):
        tune(NearestCentroidBaseline(), X, Y)


@pytest.mark.parametrize("search", [GridSearchCV, HalvingGridSearchCV, RandomizedSearchCV])
def test_scikit_learns_own_searches_work(search):
    options = {"n_iter": 2} if search is RandomizedSearchCV else {}
    found = search(quick(), {"learning_rate": [0.01, 0.1]}, cv=2, **options).fit(X, Y)
    assert found.best_params_["learning_rate"] in (0.01, 0.1)
    assert 0 < found.best_score_ <= 1
