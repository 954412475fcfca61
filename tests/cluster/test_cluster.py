"""A real cluster of two nodes; all tests that need one are here, so that one is started."""

import os
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from made_cluster_data import save_model, texts, write_rows
from typer.testing import CliRunner

import dsnc
from dsnc import cluster
from dsnc.cli import app
from dsnc.codes import HammingIndex, PackedCodes
from dsnc.errors import ClusterError, DataFileError, OutputExistsError
from dsnc.rerank.class_vectors import ClassVectors

pytestmark = [
    pytest.mark.dist,
    # Ray's own: files and sockets that it leaves to the end of the process, and old names it uses.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
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


def alone(model, source, folder, *options):
    """Return what ``dsnc predict`` makes of each file of a folder, one after the other."""
    tables = []
    for path in sorted(source.iterdir()):
        out = folder / f"alone-{path.stem}.parquet"
        told = ["predict", str(model), str(path), "-o", str(out), *options]
        assert CliRunner().invoke(app, told).exit_code == 0
        tables.append(pq.read_table(out))
    return pa.concat_tables(tables)


def test_two_nodes_predict_what_one_process_does(parts, model, source, tmp_path):
    folder, done = parts
    assert (done.parts, done.rows, done.errors, done.workers) == (6, 1200, 0, 2)
    assert sorted(os.listdir(folder)) == [
        "_plan.json",
        *(f"part-0000{i}.parquet" for i in range(6)),
    ]
    together = pq.read_table(folder)
    assert together["id"].to_pylist() == list(range(10_000, 8_800, -1))
    assert together.equals(alone(model, source, tmp_path, "--top-k", "2"))


def test_goes_on_where_parts_are_missing(parts, model, source):
    folder, _ = parts
    before = pq.read_table(folder)
    (folder / "part-00003.parquet").unlink()
    again = cluster.predict(model, source, folder, top_k=2, rows_per_part=200)
    assert (again.rows, again.resumed, again.workers) == (200, 5, 1)
    assert pq.read_table(folder).equals(before)
    with pytest.raises(OutputExistsError, match="parts of another source, model or question"):
        cluster.predict(model, source, folder, top_k=1, rows_per_part=200)


def test_a_node_that_is_killed_is_missed_by_nobody(nodes, model, tmp_path):
    rows = write_rows(tmp_path / "rows", n_files=4, n_rows=6000, group=1000)
    out = tmp_path / "out"
    lost = nodes.add_node(num_cpus=1, object_store_memory=100 << 20)
    killed = []

    def kill():
        while len(list(out.glob("part-*"))) < 3:
            time.sleep(0.02)
        killed.append(len(list(out.glob("part-*"))))
        nodes.remove_node(lost, allow_graceful=False)

    thread = threading.Thread(target=kill)
    thread.start()
    done = cluster.predict(model, rows, out, workers=3, rows_per_part=1000)
    thread.join()
    assert 3 <= killed[0] < 24
    assert done.parts == 24
    found = pq.read_table(out)
    assert found["id"].to_pylist() == list(range(10_000, 10_000 - 24_000, -1))
    labels = dsnc.load(model).predict(found["text"].to_pylist())
    assert found["prediction"].to_pylist() == labels.tolist()
    assert [name for name in os.listdir(out) if name.startswith(".")] == []


def test_other_formats_and_file_systems(nodes, model, tmp_path):
    rows = texts(40, 9)
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "a.csv").write_text("id,text\n" + "".join(f"{i},{t}\n" for i, t in enumerate(rows)))
    (folder / "b.csv").write_text("id,text\n7,w1 w2\n")
    done = cluster.predict(model, folder, tmp_path / "csv")
    assert (done.parts, done.rows) == (2, 41)
    found = pq.read_table(tmp_path / "csv")
    expected = dsnc.load(model).predict([*rows, "w1 w2"]).tolist()
    assert found["prediction"].to_pylist() == expected
    (tmp_path / "lines.txt").write_text("\n".join(rows) + "\n")
    cluster.predict(model, f"local://{tmp_path}/lines.txt", f"local://{tmp_path}/of-lines")
    found = pq.read_table(tmp_path / "of-lines")
    assert found["text"].to_pylist() == rows
    assert found["prediction"].to_pylist() == expected[:-1]


def test_the_command_line(nodes, model, source, tmp_path):
    out = tmp_path / "out"
    options = ["--ray", nodes.address, "--workers", "1", "-o", str(out)]
    told = ["predict", str(model), str(source / "rows-0.parquet"), *options]
    result = CliRunner().invoke(app, told)
    assert result.exit_code == 0, result.stderr
    assert pq.read_table(out).num_rows == 400
    assert "400 rows in" in result.stderr


# What goes wrong


def test_rows_that_cannot_be_read_are_named(nodes, model, tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"id": 1, "text": "w1 w2"}\n{"id": 2, "text"\n')
    with pytest.raises(DataFileError, match=r"rows\.jsonl, line 2: is not JSON"):
        cluster.predict(model, tmp_path / "rows.jsonl", tmp_path / "out")
    done = cluster.predict(model, tmp_path / "rows.jsonl", tmp_path / "skipped", skip_errors=True)
    assert (done.rows, done.errors) == (2, 1)
    assert "is not JSON" in pq.read_table(tmp_path / "skipped")["error"].to_pylist()[1]


def test_too_few_resources_are_said_at_once(nodes, model, source, tmp_path):
    with pytest.raises(ClusterError, match="workers=3 with cpus_per_worker=1 do not fit.*for 2"):
        cluster.predict(model, source, tmp_path / "out", workers=3)
    with pytest.raises(ClusterError, match="cpus_per_worker=2 do not fit.*room for 0"):
        cluster.predict(model, source, tmp_path / "out", cpus_per_worker=2)


def test_a_model_that_nodes_cannot_read(nodes, model):
    import ray

    from dsnc.cluster.connection import check_nodes

    with pytest.raises(
        ClusterError, match=r"node .*cannot read the model /nowhere.*all nodes share"
    ):
        check_nodes(ray, model="/nowhere")
    with pytest.raises(ClusterError, match="cannot write to /proc/dsnc"):
        check_nodes(ray, folders=["/proc/dsnc"])


def test_other_versions(nodes, monkeypatch):
    import ray

    from dsnc.cluster import connection

    monkeypatch.setattr(dsnc, "__version__", "99.1")
    with pytest.raises(ClusterError, match=r"has dsnc 0.* \(the driver 99\.1\)"):
        connection.check_nodes(ray)


# Search


def drawn(n, n_bits, seed):
    bits = np.random.default_rng(seed).random((n, n_bits)) < 0.5
    return PackedCodes.from_bits(bits)


@pytest.mark.parametrize("n_bits", [10, 70])  # of ten bits, most distances are ties
def test_shards_find_what_one_index_finds(nodes, n_bits, tmp_path):
    codes, queries = drawn(5001, n_bits, 0), drawn(50, n_bits, 1)
    labels = np.random.default_rng(2).integers(300, size=5001)
    index = HammingIndex(codes)
    np.save(tmp_path / "words.npy", codes.words)
    with cluster.ShardedIndex(tmp_path / "words.npy", n_bits=n_bits, shards=2) as sharded:
        assert len(sharded) == 5001
        for k in (1, 30, 4000):
            for found, expected in zip(
                sharded.search(queries, k), index.search(queries, k), strict=True
            ):
                assert found.dtype == expected.dtype
                assert np.array_equal(found, expected)
        for k in (5, 1000):
            found = sharded.search_classes(queries, k, labels)
            for one, other in zip(found, index.search_classes(queries, k, labels), strict=True):
                assert np.array_equal(one, other)


def test_vectors_of_classes_are_split_with_their_codes(nodes):
    random = np.random.default_rng(3)
    matrix = sp.random_array((101, 40), density=0.3, rng=random, dtype=np.float32)
    vectors = ClassVectors.from_matrix(matrix, bias=random.normal(size=101), unit_rows=True)
    X = random.normal(size=(7, 40)).astype(np.float32)
    classes = random.integers(101, size=(7, 6))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    expected = unit @ vectors.matrix().toarray().T + vectors.bias
    with cluster.ShardedIndex(drawn(101, 16, 4), shards=2, vectors=vectors) as sharded:
        found = sharded.margins(X, classes)
    np.testing.assert_allclose(found, np.take_along_axis(expected, classes, axis=1), atol=1e-5)
