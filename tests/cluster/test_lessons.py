"""From files to trained weights as the workers of a cluster do it, in this process."""

import numpy as np
import pytest

from dsnc import DSNCClassifier, DSNCMultiLabelClassifier
from dsnc.cluster import fit
from dsnc.cluster.lessons import learn, make_lesson
from dsnc.cluster.preparation import Prepares, Preparing, collect, learn_reading
from dsnc.cluster.units import units_of
from dsnc.errors import InputError
from dsnc.training.world import World


@pytest.fixture
def rows():
    """Dense rows of four classes with numbers as labels."""
    random = np.random.default_rng(0)
    y = random.integers(4, size=120) * 10
    return np.round(np.eye(5)[y // 10] * 2 + random.normal(size=(120, 5)), 3), y


def write(folder, X, y, n_files=2):
    folder.mkdir()
    for number, part in enumerate(np.array_split(np.arange(len(y)), n_files)):
        lines = [",".join(["a", "b", "c", "d", "e", "label"])]
        lines += [",".join(map(str, [*X[i].tolist(), y[i]])) for i in part]
        (folder / f"{number}.csv").write_text("\n".join(lines) + "\n")
    return folder


def prepared(source, folder, **table):
    units = units_of(source)
    reading, features = learn_reading(units, table, None, 1000)
    job = Preparing(str(folder), units, reading, features)
    worker = Prepares(job)
    return [worker(unit.number)["problem"] for unit in units], job


def test_one_worker_learns_what_fit_learns(tmp_path, rows):
    X, y = rows
    problems, job = prepared(write(tmp_path / "rows", X, y), tmp_path / "parts")
    assert problems == ["", ""]
    found = collect(job)
    assert found.counts == [60, 60]
    assert found.labels.of(found.y).tolist() == [str(label) for label in y]
    settings = {"n_bits": 8, "max_epochs": 3, "trainer": "torch", "device": "cpu"}
    estimator = DSNCClassifier(**settings, class_weight="balanced")
    near = tmp_path / "near"
    (near / "own").mkdir(parents=True)
    lesson = make_lesson(estimator, estimator._settings(), found, 1, 1000, "", near)
    trained = learn(lesson, World(), near / "own").export()
    estimator.fit(X.astype(np.float32), y.astype(str))
    expected = estimator.predictor_.encoder.layers[0]
    assert np.array_equal(trained.encoder.layers[0].weight, expected.weight)


def test_files_that_cannot_be_learned_from(tmp_path, rows):
    X, y = rows
    folder = write(tmp_path / "rows", X, y)
    (folder / "1.csv").write_text("a,b,c,d,e,label\n1,2,three,4,5,0\n")
    problems, _ = prepared(folder, tmp_path / "parts", label_column="label")
    assert problems[0] == ""
    assert "1.csv, line 2: has a value that is not a number in column 'c'" in problems[1]
    with pytest.raises(InputError, match="no option 'colour'"):
        prepared(folder, tmp_path / "parts", colour=1)
    (folder / "0.csv").write_text("a,b,c,d,e,label\n" + "1,2,3,4,5,x\n" * 3)
    (folder / "1.csv").unlink()
    _, job = prepared(folder, tmp_path / "one", label_column="label")
    with pytest.raises(InputError, match="1 classes; a classifier needs at least 2"):
        collect(job)


@pytest.mark.parametrize(
    ("estimator", "problem"),
    [
        (DSNCMultiLabelClassifier(), "DSNCMultiLabelClassifier: a cluster trains"),
        (DSNCClassifier(beta=0.1), r"beta=0.1, gamma=0.0: .* use 0 on a cluster"),
        (DSNCClassifier(trainer="fast"), "trainer='fast' is for one machine"),
        (DSNCClassifier(checkpoint="here"), "kept in storage"),
    ],
)
def test_what_a_cluster_cannot_train_is_said_at_once(tmp_path, estimator, problem):
    with pytest.raises(InputError, match=problem):
        fit(estimator, tmp_path, storage=tmp_path / "storage")


def test_numbers_that_float32_would_round_are_refused(tmp_path, rows):
    X, y = rows
    with pytest.raises(InputError, match="1,000 standard deviations from 0; subtract"):
        prepared(write(tmp_path / "rows", X + 1e9, y), tmp_path / "parts")
