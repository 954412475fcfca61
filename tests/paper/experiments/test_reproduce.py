import numpy as np
import pytest

from dsnc.errors import InputError
from dsnc.paper.experiments import EXPERIMENTS, METHODS, Plan, cost_curve, reproduce
from dsnc.paper.experiments.record import FITTED
from dsnc.paper.experiments.trial import run


@pytest.fixture(scope="module")
def everything(tiny, tmp_path_factory):
    """All experiments with all methods and recipes on tiny data, once."""
    runs = tmp_path_factory.mktemp("runs")
    plan = Plan(bits=(6,), seeds=(0,), settings={"max_epochs": 2}, select=False)
    tables, records = reproduce(list(EXPERIMENTS), tiny, plan, runs, beside="DMOZ-1K")
    return tables, records, runs


def test_every_experiment_and_every_method_runs(everything):
    tables, records, _ = everything
    assert [record.error for record in records if record.error] == []
    assert {record.definition.method for record in records} == set(METHODS)
    assert len(tables) == 2 * len(EXPERIMENTS)  # for each recipe
    assert all(table.rows for table in tables)


def test_a_record_has_what_tables_and_reports_need(everything):
    _, records, _ = everything
    record = next(r for r in records if r.definition.method == "dsnc")
    decoders = {"linear", "nearest", "soft", "shortlist", "table"}
    assert set(record.outcomes) == {*decoders, FITTED}
    n_test = len(record.arrays["y"])
    for name, figures in record.outcomes.items():
        top = record.arrays[f"top.{name}"]
        assert top.shape == (n_test, 5)
        assert figures["accuracy"] == pytest.approx((top[:, 0] == record.arrays["y"]).mean())
        assert 0 <= figures["calibration_error"] <= 1
        assert (figures.get("microseconds", 0) > 0) == (name in decoders)
    assert len(record.test_codes) == n_test
    assert record.codes["train"]["codes"] >= 1 and record.history["epochs"]
    assert record.versions["dsnc"] and record.machine["cores"]


def test_decoding_is_measured_in_one_run(everything):
    _, records, runs = everything
    for curve in cost_curve.curves(records, runs):
        assert all(point.microseconds > 0 for point in curve.points)
        assert curve.front("microseconds")


def test_times_of_other_runs_on_the_data_are_measured_again(everything):
    _, records, runs = everything
    kept = [r for r in records if r.has_decoders]
    cost_curve.measure(kept[:1], runs)
    for curve in cost_curve.curves(records, runs):
        assert all(point.microseconds > 0 for point in curve.points)


def test_the_same_definition_gives_the_same_answers(everything, tmp_path):
    _, records, _ = everything
    record = next(r for r in records if r.definition.method == "dsnc_reg")
    again = run(record.definition, tmp_path)
    for name, figures in record.outcomes.items():
        assert again.outcomes[name]["accuracy"] == figures["accuracy"]


def test_classes_of_one_to_three_rows_run_to_the_end(tmp_path, in_process):
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(40), np.arange(25), np.arange(15)])  # three, two rows, or one
    X = rng.poisson(0.2, (80, 60)) + 2 * (rng.random((40, 60)) < 0.1)[y]
    (tmp_path / "few").mkdir()
    np.save(tmp_path / "few" / "X.npy", X)
    np.save(tmp_path / "few" / "y.npy", y)
    plan = Plan(bits=(6,), seeds=(0,), settings={"max_epochs": 1, "learning_rate": 0.01})
    tables, records = reproduce(list(EXPERIMENTS), str(tmp_path / "few"), plan, tmp_path / "runs")
    assert not any(record.error for record in records)
    assert {record.definition.method for record in records} == set(METHODS)
    said = "Left out, since no training row has their class: "
    assert sum(note.startswith(said) for table in tables for note in table.notes) == 4


def test_an_unknown_experiment_is_refused(tiny, tmp_path):
    with pytest.raises(InputError, match="Did you mean 'latent'"):
        reproduce(["latnt"], tiny, Plan(), tmp_path)
