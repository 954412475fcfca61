"""A real cluster of two nodes; all tests that need one are here, so that one is started."""

import os
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from made_cluster_data import labelled, save_model, write_rows
from typer.testing import CliRunner

import dsnc
from dsnc import DSNCClassifier, cluster
from dsnc.cli import app
from dsnc.cluster.connection import check_nodes
from dsnc.cluster.jobs import run_units
from dsnc.codes import HammingIndex, PackedCodes
from dsnc.errors import CheckpointError, ClusterError, InputError, OutputExistsError
from dsnc.rerank.class_vectors import ClassVectors

pytestmark = [
    pytest.mark.dist,
    pytest.mark.filterwarnings(r"ignore::DeprecationWarning:ray\."),  # old names that Ray uses
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("cluster") / "model")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_rows(tmp_path_factory.mktemp("rows") / "rows")


@pytest.fixture(scope="module")
def parts(nodes, model, source, tmp_path_factory):
    """The folder that two nodes wrote, and what they said."""
    folder = tmp_path_factory.mktemp("parts") / "out"
    return folder, cluster.predict(model, source, folder, top_k=2, rows_per_part=200)


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.stderr
    return result.stderr


def alone(model, source, folder):
    """Return what ``dsnc predict`` makes of each file of a folder, one after the other."""
    tables = []
    for path in sorted(source.iterdir()):
        out = folder / f"alone-{path.stem}.parquet"
        run("predict", model, path, "-o", out, "--top-k", 2)
        tables.append(pq.read_table(out))
    return pa.concat_tables(tables)


def test_two_nodes_predict_what_one_process_does(parts, model, source, tmp_path):
    folder, done = parts
    assert (done.parts, done.rows, done.errors, done.workers) == (6, 1200, 0, 2)
    names = ["_plan.json", *(f"part-0000{i}.parquet" for i in range(6))]
    assert sorted(os.listdir(folder)) == names
    together = pq.read_table(folder)
    assert together["id"].to_pylist() == list(range(10_000, 8_800, -1))
    expected = alone(model, source, tmp_path)
    # Products of few rows and of many are rounded differently.
    probabilities = [name for name in together.column_names if name.startswith("probability")]
    assert together.drop_columns(probabilities).equals(expected.drop_columns(probabilities))
    for name in probabilities:
        np.testing.assert_allclose(together[name], expected[name], rtol=1e-5)


def test_goes_on_where_parts_are_missing(nodes, parts, model, source):
    folder, _ = parts
    before = pq.read_table(folder)
    (folder / "part-00003.parquet").unlink()
    with pytest.raises(OutputExistsError, match="parts of another source, model or set of options"):
        cluster.predict(model, source, folder, top_k=1, rows_per_part=200)
    again = cluster.predict(model, source, folder, top_k=2, rows_per_part=200)
    assert (again.rows, again.resumed, again.workers) == (200, 5, 1)
    assert pq.read_table(folder).equals(before)


def test_the_command_line(nodes, model, source, tmp_path):
    options = ("--ray", nodes.address, "--workers", 1, "-o", tmp_path / "out")
    assert "400 rows in" in run("predict", model, source / "rows-0.parquet", *options)
    assert pq.read_table(tmp_path / "out").num_rows == 400


def test_a_node_that_is_killed_is_missed_by_nobody(nodes, model, tmp_path):
    rows = write_rows(tmp_path / "rows", n_files=4, n_rows=3000, group=500)
    out, killed = tmp_path / "out", []
    lost = nodes.add_node(num_cpus=1, object_store_memory=100 << 20)

    def kill():
        while len(list(out.glob("part-*"))) < 3:
            time.sleep(0.02)
        killed.append(len(list(out.glob("part-*"))))
        nodes.remove_node(lost, allow_graceful=False)

    thread = threading.Thread(target=kill)
    thread.start()
    done = cluster.predict(model, rows, out, workers=3, rows_per_part=500)
    thread.join()
    nodes.wait_for_nodes()  # until all know that one is gone
    assert 3 <= killed[0] < 24
    assert done.parts == 24
    found = pq.read_table(out)
    assert found["id"].to_pylist() == list(range(10_000, 10_000 - 12_000, -1))
    labels = dsnc.load(model).predict(found["text"].to_pylist())
    assert found["prediction"].to_pylist() == labels.tolist()
    assert [name for name in os.listdir(out) if name.startswith(".")] == []


# What goes wrong


def test_too_few_resources_are_said_at_once(nodes, model, source, tmp_path):
    with pytest.raises(ClusterError, match="workers=9 with cpus_per_worker=1 do not fit.*for 2"):
        cluster.predict(model, source, tmp_path / "out", workers=9)
    with pytest.raises(ClusterError, match="cpus_per_worker=2 do not fit.*room for 0"):
        cluster.predict(model, source, tmp_path / "out", cpus_per_worker=2)


def test_nodes_that_are_not_as_the_driver_is(nodes, monkeypatch):
    import ray

    with pytest.raises(ClusterError, match=r"cannot read the model /nowhere.*all nodes share"):
        check_nodes(ray, model="/nowhere")
    with pytest.raises(ClusterError, match="cannot write to /proc/dsnc"):
        check_nodes(ray, folders=["/proc/dsnc"])
    monkeypatch.setattr(dsnc, "__version__", "99.1")
    with pytest.raises(ClusterError, match=r"has dsnc 0.* \(the driver has 99\.1\)"):
        check_nodes(ray)


def test_a_unit_that_kills_its_workers_is_not_tried_for_ever(nodes):
    def worker(job):
        return lambda number: os.kill(os.getpid(), 9) if number == job else {"unit": number}

    found = run_units(worker, 2, [1, 2], workers=1, cpus=1)
    assert next(found) == {"unit": 1}
    with pytest.raises(ClusterError, match="4 workers in a row were lost"):
        next(found)


def test_a_worker_that_cannot_be_made_says_why(nodes):
    def worker(job):
        raise InputError(job)

    with pytest.raises(InputError, match="no such model"):
        next(run_units(worker, "no such model", [0], workers=1, cpus=1))


# Search


def test_shards_find_what_one_index_finds(nodes, tmp_path):
    random = np.random.default_rng(0)
    codes, queries = (PackedCodes.from_bits(random.random((n, 10)) < 0.5) for n in (5001, 50))
    labels = random.integers(300, size=5001)
    matrix = sp.random_array((5001, 40), density=0.3, rng=random, dtype=np.float32)
    vectors = ClassVectors.from_matrix(matrix, bias=random.normal(size=5001), unit_rows=True)
    index = HammingIndex(codes)
    np.save(tmp_path / "words.npy", codes.words)
    words = {"n_bits": 10, "shards": 2, "vectors": vectors}
    with cluster.ShardedIndex(tmp_path / "words.npy", **words) as sharded:
        assert len(sharded) == 5001
        for k in (1, 30, 4000):  # of ten bits, most distances are ties
            pairs = zip(sharded.search(queries, k), index.search(queries, k), strict=True)
            for found, expected in pairs:
                assert found.dtype == expected.dtype
                assert np.array_equal(found, expected)
        for k in (5, 1000):
            found = sharded.search_classes(queries, k, labels)
            for one, other in zip(found, index.search_classes(queries, k, labels), strict=True):
                assert np.array_equal(one, other)
        X = random.normal(size=(7, 40)).astype(np.float32)
        classes = random.integers(5001, size=(7, 6))
        margins = sharded.margins(X, classes)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    expected = unit @ vectors.matrix().toarray().T + vectors.bias
    np.testing.assert_allclose(margins, np.take_along_axis(expected, classes, axis=1), atol=1e-5)


# Training


def test_two_workers_learn_what_one_learns_though_one_is_killed(nodes, source, tmp_path):
    settings = {"n_bits": 16, "max_epochs": 4, "batch_size": 216, "learning_rate": 0.1}
    # The last epoch is kept: 120 held-out rows cannot tell which is the best.
    settings |= {"device": "cpu", "reranker": None, "n_jobs": 1, "validation_every": 4}
    once = tmp_path / "killed"

    def kill(progress):
        if progress.epoch.epoch == 2 and os.environ["RANK"] == "1" and not once.exists():
            once.touch()
            os.kill(os.getpid(), 9)

    storage = tmp_path / "storage"
    together = DSNCClassifier(**settings, callbacks=[kill])
    cluster.fit(together, source, storage=storage, workers=2, rows_per_part=200)
    assert once.exists()
    assert together.n_iter_ == 4
    assert together.data_["rows"] == 1080  # five batches of an epoch: 20 steps in all
    single = one_process(DSNCClassifier(**settings), storage, tmp_path / "near").export()
    for name in ("weight", "bias"):
        found = getattr(together.predictor_.encoder.layers[0], name)
        expected = getattr(single.encoder.layers[0], name)
        np.testing.assert_allclose(found, expected, atol=1e-4)
    texts, y = labelled(1200, 99)
    rows = pq.read_table(source)
    plain = DSNCClassifier(**settings).fit(rows["text"].to_pylist(), rows["label"].to_pylist())
    assert abs(together.score(texts, y) - plain.score(texts, y)) < 0.04
    assert together.score(texts, y) > 0.5
    with pytest.raises(CheckpointError, match="holds rows from another source"):
        cluster.fit(together, source / "rows-0.parquet", storage=storage)


def one_process(estimator, storage, near):
    """Return the learner of one process that has both shards."""
    from types import SimpleNamespace

    from dsnc.cluster.lessons import learn, make_lesson
    from dsnc.cluster.preparation import collect
    from dsnc.training.world import World

    parts = sorted((storage / "rows").iterdir())
    job = SimpleNamespace(units=parts, part=lambda number: parts[number])
    (near / "own").mkdir(parents=True)
    lesson = make_lesson(estimator, estimator._settings(), collect(job), 2, 10**6, "", near)
    return learn(lesson, World(), near / "own")


@pytest.mark.slow
def test_the_command_line_trains(nodes, source, tmp_path):
    options = ("-o", tmp_path / "model", "--ray", nodes.address, "--workers", 2, "--bits", 16)
    options = (*options, "--epochs", 3, "--test", source / "rows-1.parquet")
    said = run("train", source, *options)
    assert not (tmp_path / "model.checkpoint").exists()
    assert "Next" in said
    model = dsnc.load(tmp_path / "model")
    assert model.trainer_ == "torch"
    assert model.figures_["test"]["accuracy"] > 0.3
    assert dsnc.model.columns_of(model).text == ("text",)
