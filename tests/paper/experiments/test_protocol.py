"""The paper's protocol: what must not change without anybody noticing."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from dsnc.classifier import PAPER, PAPER_REGULARIZED, DSNCClassifier
from dsnc.codes import PackedCodes
from dsnc.decoders import CodebookDecoder, LinearDecoder, NearestDecoder, TableDecoder
from dsnc.errors import InputError
from dsnc.paper.experiments import METHODS, RECIPES, Plan, Source, cost_curve, published, reproduce
from dsnc.paper.experiments.prepare import prepare
from dsnc.paper.experiments.record import find_records
from dsnc.paper.experiments.selection import select, trials_of
from dsnc.paper.experiments.trial import fit
from dsnc.tuning import PAPER_SPACE, tune

FACTORS = (0.0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
TERMS = {"beta": 1e-3, "gamma": 1e-3, "adaptive": "previous"}
SCRIPT = {  # for what the paper does not say
    "schedule": "constant",
    "learning_rate": 1e-2,
    "batch_size": 1000,
    "max_epochs": 50,
    "validation_every": 10,
    "patience": 20,
    "scaling": "none",
    "precision": "float32",
}


# The recipe


def test_the_papers_recipe():
    assert dict(PAPER) == {
        **SCRIPT,
        "trainer": "torch",
        "gradient": {"name": "straight_through", "n_draws": 1, "slope_growth": 1.0001},
        "code_values": "bits",
        "loss": "softmax",
        "soft_share": 0.0,
        "decoder": "linear",
        "reranker": None,
        "validation_codes": "hard",
    }
    assert dict(PAPER_REGULARIZED) == {**PAPER, **TERMS}


def test_the_recipe_of_every_method():
    def settings(method):
        return METHODS[method].settings("paper", {})

    assert settings("dsnc") == dict(PAPER)
    assert settings("dsnc_reg") == {**PAPER, **TERMS}
    assert settings("mlp") == {**SCRIPT, "weight_decay": 0.0}
    assert settings("mlp_reg") == {**SCRIPT, "weight_decay": 0.0, **TERMS}
    assert settings("ecoc") == {"scaling": "none", "codebook": "random", "loss": "logistic"}
    assert settings("one_vs_rest") == settings("nearest_centroid") | {"scaling": "none"}
    assert RECIPES["paper"].weighting == "none" and RECIPES["default"].weighting == "tfidf"


def test_what_is_selected_among():
    grid = {"learning_rate": (3e-3, 1e-2, 3e-2, 1e-1), "factor": FACTORS}
    assert dict(RECIPES["paper"].grid) == grid and not RECIPES["default"].grid
    sizes = {name: len(list(m.candidates("paper", {}))) for name, m in METHODS.items()}
    assert sizes == {
        "dsnc": 4,
        "dsnc_reg": 24,
        "mlp": 4,
        "mlp_reg": 24,
        "ecoc": 0,
        "one_vs_rest": 0,
        "nearest_centroid": 0,
    }


@pytest.mark.parametrize(
    ("fixed", "left"),
    [
        ({"learning_rate": 0.1}, [{"factor": f} for f in FACTORS]),
        ({"learning_rate": 0.1, "factor": 1e-3}, []),
        ({"learning_rate": 0.1, "beta": 1e-3}, []),
    ],
)
def test_what_the_user_sets_is_not_selected(fixed, left):
    assert list(METHODS["dsnc_reg"].candidates("paper", fixed)) == left


def test_the_factor_is_of_the_regularized_methods_only():
    own = {"factor": 0.5, "adaptive": "best", "max_epochs": 3}
    plain, regularized = (METHODS[name].settings("paper", own) for name in ("dsnc", "dsnc_reg"))
    assert "beta" not in plain and (regularized["beta"], regularized["gamma"]) == (0.5, 0.5)
    assert regularized["adaptive"] == "best" and regularized["max_epochs"] == 3
    assert "max_epochs" not in METHODS["nearest_centroid"].settings("paper", own)


@pytest.mark.parametrize("kind", ["dsnc", "mlp"])
def test_with_a_factor_of_0_the_terms_are_left_out(tiny, define, kind):
    prepared = prepare(Source(path=tiny), "none")
    settings = {"max_epochs": 4, "validation_every": 2, "device": "cpu"}
    fitted = []
    for name, chosen in ((kind, {}), (f"{kind}_reg", {"factor": 0.0})):
        method = METHODS[name]
        own = method.settings("paper", settings)
        run = define(name, recipe="paper", settings=own, selected=chosen)
        fitted.append(fit(method.estimator(run), prepared))
    plain, regularized = fitted
    rows = prepared.parts.test.X
    assert regularized.adaptive == "previous"
    assert np.array_equal(plain.predictor_.logits(rows), regularized.predictor_.logits(rows))


def test_tuning_maximizes_what_the_paper_maximizes(tiny):
    pytest.importorskip("optuna", reason="needs the extra 'tune'")
    train, validation, _ = prepare(Source(path=tiny), "none").parts
    model = DSNCClassifier(**{**PAPER, "n_bits": 8, "max_epochs": 10, "device": "cpu"})
    found = tune(
        model,
        train.X,
        train.y,
        validation=(validation.X, validation.y),
        space={"learning_rate": [0.1], "factor": [1e-3]},
        n_trials=1,
    )
    assert set(PAPER_SPACE) == {"learning_rate", "factor"}
    best = found.estimator.fit(train.X, train.y, validation=(validation.X, validation.y))
    assert best.predictor_.decoder.name == "linear"
    assert found.accuracy == best.score(validation.X, validation.y)


# Data


def write(folder, X, y, split=None):
    folder.mkdir()
    sp.save_npz(folder / "X.npz", sp.csr_matrix(X))
    np.save(folder / "y.npy", np.asarray(y, dtype=np.int32))
    if split is not None:
        np.save(folder / "split.npy", np.asarray(split, dtype=np.int8))
    return str(folder)


def test_the_split_is_80_10_10_at_random(tmp_path):
    n = 1000
    X = np.arange(1, n + 1)[:, None]  # a row's number is its only feature
    parts = prepare(Source(path=write(tmp_path / "d", X, np.arange(n) % 7)), "none").parts
    rows = [part.X.toarray().ravel().astype(int) for part in parts]
    assert [len(part) for part in rows] == [800, 100, 100]
    assert sorted(np.concatenate(rows)) == list(range(1, n + 1))
    for part in rows:  # the mean of numbers drawn at random, within four deviations
        assert abs(part.mean() - 500.5) < 4 * 289 / np.sqrt(len(part))


def test_rows_of_classes_without_a_training_row_are_left_out(tmp_path):
    y = [0, 0, 1, 1, 0, 2, 1, 3, 3]
    folder = write(tmp_path / "d", np.eye(9), y, [0, 0, 0, 0, 1, 1, 2, 2, 2])
    prepared = prepare(Source(path=folder))
    assert [part.y.tolist() for part in prepared.parts] == [[0, 0, 1, 1], [0], [1]]
    assert prepared.left_out == (1, 2)
    assert prepared.rows == {
        "train": 4,
        "validation": 1,
        "test": 1,
        "classes": 4,
        "validation left out": 1,
        "test left out": 2,
        "classes left out": 0,
    }
    only = write(tmp_path / "only", np.eye(4), [0, 1, 0, 2], [0, 0, 1, 2])
    with pytest.raises(InputError, match="no test rows of classes that have training rows"):
        prepare(Source(path=only))


def test_features_stay_as_they_are_in_the_file_or_are_weighed(tmp_path):
    X = np.array([[3, 0, 1], [0, 2, 1]] * 10)
    source = Source(path=write(tmp_path / "d", X, [0, 1] * 10, [0] * 16 + [1, 1, 2, 2]))
    assert np.array_equal(prepare(source, "none").parts.test.X.toarray(), X[18:])
    weighed = prepare(source, "tfidf").parts.test.X.toarray()
    tf = 1 + np.log(np.array([3, 0, 1]), where=[True, False, True], out=np.full(3, -1.0))
    expected = tf * [1 + np.log(17 / 9), 1 + np.log(17 / 9), 1]
    np.testing.assert_allclose(weighed[0], expected / np.linalg.norm(expected), rtol=1e-6)


def test_text_becomes_a_bag_of_words(tmp_path):
    path = tmp_path / "titles.tsv"
    path.write_text("".join(f"{k % 2}\tred red {'car bus'.split()[k % 2]}\n" for k in range(40)))
    X = prepare(Source(path=str(path)), "none").parts.train.X
    assert X.shape[1] == 3 and sorted(X.toarray()[0]) == [0, 1, 2]


# Selection


@pytest.fixture(scope="module")
def chosen(tmp_path_factory, in_process):
    """Selection on tiny data, twice: with labels of test rows as they are, and with wrong ones."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 6
    X = rng.poisson(0.3, (300, 12)) + 3 * (np.arange(12) // 2 == y[:, None])
    split = np.arange(300) // 6 % 10
    split = np.where(split < 8, 0, split - 7)
    found = []
    for name, labels in {"right": y, "wrong": np.where(split == 2, (y + 1) % 6, y)}.items():
        folder = tmp_path_factory.mktemp(name)
        data = write(folder / "data", X, labels, split)
        plan = Plan(
            bits=(6,),
            seeds=(3, 4),
            recipes=("paper",),
            methods=("dsnc",),
            settings={"max_epochs": 6, "validation_every": 2, "device": "cpu"},
        )
        tables, records = reproduce(["accuracy"], data, plan, folder / "runs")
        found.append((tables, records, list(find_records(folder / "runs", trials=True))))
    return found


def accuracies(trials):
    """Validation accuracy by learning rate."""
    return {t.definition.selected["learning_rate"]: t.history["best_accuracy"] for t in trials}


def test_the_best_on_validation_rows_trains_the_models_of_all_seeds(chosen):
    (tables, records, trials), _ = chosen
    accuracy = accuracies(trials)
    assert set(accuracy) == {3e-3, 1e-2, 3e-2, 1e-1}
    best = min(rate for rate, value in accuracy.items() if value == max(accuracy.values()))
    assert best != min(accuracy)  # so that the first of the grid is not always right
    assert [r.definition.seed for r in records] == [3, 4]
    assert all(r.definition.selected == {"learning_rate": best} for r in records)
    assert all(METHODS["dsnc"].estimator(r.definition).learning_rate == best for r in records)
    assert any("Chosen for each cell on validation rows" in note for note in tables[0].notes)


def test_no_trial_sees_a_test_row(chosen):
    (_, records, trials), (_, others, their_trials) = chosen
    assert {t.definition.seed for t in trials} == {3}
    assert not any(t.outcomes or t.arrays for t in trials)
    assert accuracies(trials) == accuracies(their_trials)
    assert records[0].definition.selected == others[0].definition.selected
    right, wrong = (r.outcomes["linear"]["accuracy"] for r in (records[0], others[0]))
    assert right > 0.5 > wrong  # the labels of the test rows do make a difference


def test_trials_are_no_runs_of_a_table(chosen):
    for _, records, trials in chosen:
        folder = records[0].folder.parent.parent
        assert {r.folder for r in find_records(folder)} == {r.folder for r in records}
        tried = json.loads((trials[0].folder / "record.json").read_text())
        assert tried["definition"]["selected"] and tried["history"]["epochs"]


def test_of_equals_the_first_of_the_grid_is_selected(define, keep):
    definition = define("dsnc", recipe="paper")
    candidates, accuracies = trials_of([definition], {}), [0.2, 0.7, 0.7, 0.1]
    trials = [
        keep(candidate, history={"best_accuracy": accuracy})
        for candidate, accuracy in zip(candidates, accuracies, strict=True)
    ]
    (selected,) = select([definition], trials)
    assert selected.selected == candidates[1].selected == {"learning_rate": 1e-2}
    assert not selected.trial


def test_a_cell_whose_trials_failed_keeps_the_recipes_own(define, keep):
    definition = define("mlp", recipe="paper")
    trials = [keep(trial, error="died") for trial in trials_of([definition], {})]
    assert trials and select([definition], trials)[0].selected == {}


# Completeness


@pytest.mark.parametrize(
    ("beside", "sizes"),
    [("DMOZ-12K", [12, 24, 36, 60, 100, 200, 400]), (None, [12, 24, 36, 60, 100, 200])],
)
def test_the_preset_has_the_papers_sizes(tiny, beside, sizes):
    plan = Plan(methods=("dsnc",), seeds=(0,), recipes=("paper",))
    (source,) = plan.sources(tiny, beside)
    assert [d.n_bits for d in plan.definitions(source)] == sizes


@pytest.mark.parametrize("name", ["dmoz-1k", "dmoz-12k", "aloi", "imagenet-resnet152"])
def test_the_papers_own_sets_are_recognized(name):
    assert published.paper_set(Source(path="x"), name) in published.ACCURACY
    assert published.paper_set(Source(path="x", beside="ALOI"), name) == "ALOI"
    assert published.paper_set(Source(path="x"), "another") == ""


def test_all_draws_of_a_name_are_run(tmp_path, monkeypatch, in_process):
    monkeypatch.setenv("DSNC_HOME", str(tmp_path))
    for draw in ("a", "b"):
        folder = tmp_path / "datasets" / "dmoz-1k" / "1k_class" / draw
        folder.mkdir(parents=True)
        for part, n in (("train", 40), ("validation", 10), ("test", 10)):
            rows = (f"{k % 5} {k % 5 + 1}:2 {6 + (k + ord(draw)) % 3}:1" for k in range(n))
            (folder / f"{part}.txt").write_text("\n".join(rows) + "\n")
    plan = Plan(bits=(6,), seeds=(0,), recipes=("paper",), methods=("nearest_centroid", "ecoc"))
    with pytest.warns(UserWarning, match="will not be comparable with published"):
        (table,), records = reproduce(["accuracy"], "dmoz-1k", plan, tmp_path / "runs")
    assert {r.definition.source.draw for r in records} == {"a", "b"}
    assert len({r.definition.fingerprint for r in records}) == 2
    assert any("standard deviation over 2 draws" in note for note in table.notes)
    assert any("the same data set" in note for note in table.notes)
    assert "±" in table.rows[0][1].text


# Cost: the formulas of the paper, with the figures of DMOZ-12K


def test_what_decoding_costs(tmp_path, define, keep):
    n_classes, n_codes = 12_275, 4096
    rng = np.random.default_rng(0)
    found = []
    for n_bits in (12, 24, 36, 200):
        linear = LinearDecoder(np.zeros((n_classes, n_bits)), np.zeros(n_classes))
        codes = PackedCodes.from_bits(rng.random((n_codes, n_bits)) < 0.5)
        nearest = NearestDecoder(codes, np.arange(n_codes), n_classes)
        decoders = {"linear": linear, "nearest": nearest}
        if n_bits == 12:
            decoders["table"] = TableDecoder.from_nearest(nearest, linear, probes=16)
        book = PackedCodes.from_bits(rng.random((n_classes, n_bits)) < 0.5)
        methods = {"dsnc": decoders, "mlp": {"own": linear}, "ecoc": {"own": CodebookDecoder(book)}}
        for method, owned in methods.items():
            outcomes = {
                name: {"accuracy": 0.5, "operations": decoder.cost().operations}
                for name, decoder in owned.items()
            }
            found.append(keep(define(method, n_bits=n_bits), outcomes))
    (curve,) = cost_curve.curves(found, tmp_path)
    operations = {(p.series, p.n_bits): round(p.operations, 3) for p in curve.points}
    for series in ("dsnc/linear", "dsnc/nearest", "ecoc"):  # constant time, one reading
        assert operations[series, 12] == operations[series, 24] == 1
    assert operations["dsnc/table", 12] == 16 * 13
    for n_bits in (36, 200):
        assert operations["dsnc/linear", n_bits] == n_bits * n_classes
        assert operations["dsnc/nearest", n_bits] == round(n_bits * 64 / 12, 3)
    assert (operations["ecoc", 36], operations["ecoc", 200]) == (293.632, 1631.29)
    for n_bits in (12, 24, 36, 200):
        assert operations["mlp", n_bits] == n_bits * n_classes
