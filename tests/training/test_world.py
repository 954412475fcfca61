import os
import socket
import subprocess
import sys

import numpy as np
import pytest
import torch

from dsnc.errors import InputError
from dsnc.training.world import World, join_world

# What one process runs alone, and then two together: the same calls of `fit`. The two are forks of
# the one, so that torch is imported only once.
WORK = """
import os, signal, sys
from pathlib import Path
import numpy as np
import scipy.sparse as sp
from dsnc import DSNCClassifier
from dsnc.targets import Targets
from dsnc.training.examples import Examples
from dsnc.training.learner import Learner
from dsnc.training.settings import Settings
from dsnc.training.world import join_world

folder = Path(sys.argv[1])
y = (np.arange(161) % 5).astype(np.int32)
X = (2 * np.eye(5, 8)[y] + np.random.default_rng(0).normal(size=(161, 8))).astype(np.float32)
weight = np.linspace(0.5, 1.5, 161).astype(np.float32)
S = sp.csr_array(np.where(X > 0.5, X, 0))
several = np.eye(5, dtype=bool)[y] | (np.random.default_rng(1).random((161, 5)) < 0.2)
several[::9] = False
sets = Targets(sp.csr_array(several), 5)
arrays = {}

def learn(name, X, n_rows, targets=Targets(y, 5), **settings):
    defaults = {"n_bits": 8, "max_epochs": 4, "device": "cpu", "learning_rate": 0.03}
    examples = Examples(X, targets, weight, np.arange(n_rows))
    held_out = Examples(X, targets, weight, np.arange(n_rows, 161))
    settings = Settings(**defaults, **settings)
    learner = Learner(settings, examples, 5, 0, world=join_world("cpu"))
    history = learner.fit(examples, held_out)
    trained = learner.export()
    for number, layer in enumerate(trained.encoder.layers):
        arrays[f"{name}/{number}.weight"], arrays[f"{name}/{number}.bias"] = layer[:2]
    arrays[f"{name}/decoder"] = trained.decoder.weight
    for column in ("loss", "intra", "inter", "validation_accuracy", "factor"):
        arrays[f"{name}/{column}"] = np.array(history.column(column))

def work(rank):
    checkpoint = folder / ("alone" if rank == "alone" else "together")
    # 97 rows in batches of 16: the last one has one row, and one process none
    learn("dense", X, 97, checkpoint=checkpoint)
    learn("sparse", S, 97, beta=1e-2, gamma=1e-2, gradient="disarm")
    learn("mlp", X, 97, encoder="mlp", hidden=(6,), normalize=False)
    learn("few", X, 97, loss="sampled_softmax")
    learn("sets", X, 97, sets, beta=1e-2, gamma=1e-2)
    learn("few of sets", X, 97, sets, loss="sampled_sigmoid")
    learn("one", X, 160)  # a single row to validate on
    if rank != "alone":
        learn("normalized", X, 97, encoder="mlp", hidden=(6,))
        learn("resumed", X, 97, checkpoint=checkpoint)
    clf = DSNCClassifier(n_bits=8, max_epochs=3, device="cpu", trainer="torch").fit(X, y)
    arrays["classifier/logits"] = clf.predictor_.encoder.logits(X)
    arrays["classifier/accuracy"] = np.array(clf.history_.best_accuracy)
    np.savez(folder / f"{rank}.npz", **arrays)

def start(rank):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os.environ.update(RANK=rank, LOCAL_RANK=rank, WORLD_SIZE="2")
        work(rank)
        sys.exit()
    return child

work("alone")
statuses = [os.waitpid(child, 0)[1] for child in [start("0"), start("1")]]
sys.exit(any(statuses))
"""


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The folder, and the arrays of one process and of each of two."""
    folder = tmp_path_factory.mktemp("world")
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", WORK, str(folder)],
        env={**os.environ, **place},
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    loaded = []
    for name in ("alone", "0", "1"):
        with np.load(folder / f"{name}.npz") as file:
            loaded.append({key: file[key] for key in file.files})
    return folder, *loaded


def test_two_processes_learn_what_one_learns(results):
    _, alone, first, _ = results
    for name, expected in alone.items():
        scale = np.abs(expected).max()
        np.testing.assert_allclose(
            first[name], expected, rtol=1e-4, atol=1e-4 * scale, err_msg=name
        )


def test_both_end_with_the_same_bits(results):
    _, _, first, second = results
    assert first.keys() == second.keys()
    for name in first:
        assert first[name].tobytes() == second[name].tobytes(), name


def test_something_was_learned(results):
    _, _, first, _ = results
    for case in ("dense", "sparse", "mlp", "few", "sets", "few of sets"):
        assert first[f"{case}/loss"][-1] < 0.95 * first[f"{case}/loss"][0]
    assert set(first["one/validation_accuracy"]) <= {0.0, 1.0}
    assert first["sparse/intra"].min() > 0


def test_the_first_process_alone_writes_the_checkpoint(results):
    folder, _, first, second = results
    assert os.listdir(folder / "together") == os.listdir(folder / "alone") == ["checkpoint.pt"]
    for process in (first, second):  # the second fit found the first one's, in both processes
        for name in ("0.weight", "decoder", "loss", "validation_accuracy"):
            assert process[f"resumed/{name}"].tobytes() == process[f"dense/{name}"].tobytes()


# The place of a process


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("n", [0, 1, 2, 10, 100])
def test_shares_are_the_whole_and_nearly_equal(n, size):
    shares = [World(rank, size).share(n) for rank in range(size)]
    assert [i for share in shares for i in range(n)[share]] == list(range(n))
    lengths = [share.stop - share.start for share in shares]
    assert max(lengths) - min(lengths) <= 1


def test_alone_there_is_nothing_to_ask():
    world, tensor = World(), torch.ones(2)
    assert world.is_first
    assert world.sum(1.5, 2) == [1.5, 2]
    assert world.any(True)
    assert not world.any(False)
    world.spread([tensor])
    assert tensor.tolist() == [1, 1]
    assert not World(rank=1, size=2).is_first


def test_without_torchrun_one_is_alone(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert join_world("cpu") == World()
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert join_world("cpu") == World()


@pytest.mark.parametrize("environment", [{}, {"RANK": "first"}, {"WORLD_SIZE": "two", "RANK": "0"}])
def test_half_an_environment_is_an_error(monkeypatch, environment):
    for name, value in {"WORLD_SIZE": "2", **environment}.items():
        monkeypatch.setenv(name, value)
    if not environment:
        monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(InputError, match="RANK is missing or wrong .* start with torchrun"):
        join_world("cpu")
