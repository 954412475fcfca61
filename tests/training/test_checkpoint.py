import os
import pickle
import resource
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from dsnc.errors import CheckpointError
from dsnc.fast import FastLearner
from dsnc.fast import rows as fast_rows
from dsnc.fast.checkpoint import ArrayCheckpoint
from dsnc.targets import Targets
from dsnc.training.checkpoint import FILES
from dsnc.training.examples import Examples
from dsnc.training.learner import Learner
from dsnc.training.settings import Settings
from dsnc.training.torch_checkpoint import TorchCheckpoint

# Trains in a child, kills it at a random moment after each new checkpoint, and starts it again,
# until it is done; then once more in one go. Children are forks: torch is imported only once.
KILLER = """
import os, random, signal, sys, time
from pathlib import Path
import numpy as np
import torch
from dsnc.fast import FastLearner
from dsnc.gradients import Reinforce, StraightThrough
from dsnc.targets import Targets
from dsnc.training.checkpoint import FILES
from dsnc.training.examples import Examples
from dsnc.training.learner import Learner
from dsnc.training.settings import Settings

torch.set_num_threads(1)
y = (np.arange(300) % 30).astype(np.int32)
X = 3 * np.eye(30, 40)[y] + np.random.default_rng(0).normal(size=(300, 40))
examples = Examples(X.astype(np.float32), Targets(y, 30), None, np.arange(200))
held_out = examples._replace(rows=np.arange(200, 300))
cases = {
    "linear": dict(gradient=StraightThrough(slope_growth=1.05), beta=1e-3, gamma=1e-3),
    "few": dict(loss="sampled_softmax", gradient="disarm"),
    "mlp": dict(encoder="mlp", hidden=(32,), gradient=Reinforce(baseline="running")),
    "fast": dict(trainer="fast"),
}

def fit(case, **options):
    settings = Settings(n_bits=8, device="cpu", **cases[case], **options)
    if case == "fast":
        learner = FastLearner(settings, examples, 30, 0, n_jobs=2)
    else:
        learner = Learner(settings, examples, 30, 0)
    return learner, learner.fit(examples, held_out)

def learn(case, folder, result):
    learner, history = fit(case, max_epochs=60 if case == "fast" else 15, checkpoint=folder)
    encoder, decoder = learner.export()
    arrays = [array for layer in encoder.layers for array in layer[:2]]
    arrays += [decoder.weight, decoder.bias, np.array(history.best_epoch)]
    names = ("epoch", "loss", "intra", "inter", "factor", "learning_rate", "validation_accuracy")
    np.savez(result, *arrays, **{name: np.array(history.column(name)) for name in names})

def start(*arguments):
    child = os.fork()
    if child == 0:
        try:
            learn(*arguments)
        finally:
            os._exit(0 if Path(arguments[-1]).exists() else 1)
    return child

def is_running(child):
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

def stamp(path):
    return path.stat().st_mtime_ns if path.exists() else 0

fit("mlp", max_epochs=1)  # torch imports half of itself at the first step
fit("fast", max_epochs=1)
random.seed(0)
for case in cases:
    base, kills = Path(sys.argv[1]) / case, 0
    base.mkdir()
    file, pause = base / "run" / FILES["torch"], 0.04
    if case == "fast":
        file, pause = base / "run" / FILES["fast"], 0.004
    while True:
        before = stamp(file)
        child = start(case, base / "run", base / "interrupted.npz")
        while kills < 4 and is_running(child):
            if stamp(file) != before:
                time.sleep(random.random() * pause)
                os.kill(child, signal.SIGKILL)
                break
            time.sleep(0.001)
        status = os.waitpid(child, 0)[1]
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            break
        assert os.WTERMSIG(status) == signal.SIGKILL
        kills += 1
    child = start(case, base / "whole", base / "whole.npz")
    assert os.waitpid(child, 0)[1] == 0
    print(kills)
"""


def test_killed_and_resumed_is_uninterrupted(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(tmp_path)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert min(map(int, done.stdout.split())) >= 1
    for case in (tmp_path / name for name in ("linear", "few", "mlp", "fast")):
        with np.load(case / "interrupted.npz") as one, np.load(case / "whole.npz") as other:
            assert one.files == other.files
            for name in one.files:
                assert one[name].tobytes() == other[name].tobytes(), name
        file = FILES["fast" if case.name == "fast" else "torch"]
        assert os.listdir(case / "run") == [file]  # no litter of the killed


# In one process, by each trainer

LEARNERS = {"torch": Learner, "fast": FastLearner}
by_each_trainer = pytest.mark.parametrize("trainer", LEARNERS)


def make_data(n=120):
    y = (np.arange(n) % 4).astype(np.int32)
    X = 3 * np.eye(4, 6)[y] + np.random.default_rng(0).normal(size=(n, 6))
    return Examples(X.astype(np.float32), Targets(y, 4))


def fit(folder, trainer="torch", *, examples=None, validation=None, seed=0, **settings):
    examples = examples or make_data()
    settings = {"n_bits": 6, "max_epochs": 6, "device": "cpu", "checkpoint": folder, **settings}
    learner = LEARNERS[trainer](Settings(**settings), examples, 4, seed)
    history = learner.fit(examples, validation)
    return learner.export(), history


def same(a, b):
    arrays = [(*encoder.layers[0][:2], decoder.weight) for encoder, decoder in (a, b)]
    return all(map(np.array_equal, *arrays))


def stop_after(n):
    return lambda progress: progress.stop() if progress.epoch.epoch >= n else None


@by_each_trainer
@pytest.mark.parametrize("validated", [False, True])
def test_a_run_goes_on_where_it_stood(tmp_path, validated, trainer):
    validation = make_data(80) if validated else None
    whole, history = fit(None, trainer, validation=validation)
    _, head = fit(tmp_path / "run", trainer, validation=validation, callbacks=[stop_after(2)])
    resumed, tail = fit(tmp_path / "run", trainer, validation=validation)
    assert len(head) == 2
    assert same(resumed, whole)
    assert tail.epochs[:2] == head.epochs
    assert tail.column("loss") == history.column("loss")
    assert tail.column("seconds") == sorted(tail.column("seconds"))
    assert (tail.best_epoch, tail.stopped) == (history.best_epoch, "max_epochs reached")


@by_each_trainer
def test_a_finished_run_is_not_trained_again(tmp_path, trainer):
    whole, _ = fit(tmp_path, trainer)

    def never(progress):
        raise AssertionError

    again, history = fit(tmp_path, trainer, callbacks=[never])
    assert same(again, whole)
    assert len(history) == 6


@by_each_trainer
def test_a_run_that_was_out_of_time_goes_on(tmp_path, trainer, monkeypatch):
    monkeypatch.setattr(fast_rows, "_MOST", 32)  # rows between two looks at the clock
    whole, _ = fit(None, trainer)
    _, first = fit(tmp_path, trainer, callbacks=[stop_after(2)])
    _, second = fit(tmp_path, trainer, time_limit=1e-9)  # cut short in its third epoch
    assert (len(first), len(second), second.stopped) == (2, 3, "time_limit reached")
    assert second.epochs[2].rows < 120
    third, history = fit(tmp_path, trainer)
    assert len(history) == 6
    assert same(third, whole)


@by_each_trainer
def test_out_of_time_at_the_end_of_an_epoch(tmp_path, monkeypatch, trainer):
    whole, _ = fit(None, trainer)
    looks = 8 if trainer == "torch" else 1  # at the clock in an epoch, which is in time
    clock = iter([0.0, *[0.5] * looks, *[2.0] * 10])
    monkeypatch.setattr("dsnc.training.loop.time.monotonic", lambda: next(clock))
    _, first = fit(tmp_path, trainer, time_limit=1.0)
    monkeypatch.undo()
    assert (len(first), first.stopped) == (1, "time_limit reached")
    second, history = fit(tmp_path, trainer)
    assert history.epochs[0] == first.epochs[0]
    assert same(second, whole)


@by_each_trainer
@pytest.mark.parametrize("value", [np.float64(0.01), np.float32(0.01)])
def test_numbers_of_numpy_do_not_spoil_it(tmp_path, value, trainer):
    options = {"learning_rate": value, "label_smoothing": value}
    if trainer == "torch":
        options |= {"weight_decay": value, "beta": value}
    fit(tmp_path, trainer, **options, callbacks=[stop_after(2)])
    assert len(fit(tmp_path, trainer, **options)[1]) == 6


def other_weights():
    examples = make_data()
    return examples._replace(weight=np.full(120, 0.5, dtype=np.float32))


@by_each_trainer
@pytest.mark.parametrize(
    "change",
    [
        {"n_bits": 7},
        {"learning_rate": 0.5},
        {"seed": 1},
        {"gradient": "reinforce"},
        {"examples": make_data(119)},
        {"examples": make_data()._replace(rows=np.arange(100))},
        {"examples": make_data()._replace(targets=make_data().targets.take(slice(None, None, -1)))},
        {"examples": make_data()._replace(X=make_data().X + 1)},
        {"examples": other_weights()},
        {"validation": make_data(80)},
    ],
)
def test_the_checkpoint_of_another_run_is_refused_and_kept(tmp_path, change, trainer):
    fit(tmp_path, trainer, max_epochs=1)
    path = tmp_path / FILES[trainer]
    before = path.read_bytes()
    with pytest.raises(
        CheckpointError, match="other data or settings, or from another version. "
    ) as caught:
        fit(tmp_path, trainer, **{"max_epochs": 1, **change})
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize(("first", "second"), [("fast", "torch"), ("torch", "fast")])
def test_the_checkpoint_of_the_other_trainer_is_refused_and_kept(tmp_path, first, second):
    fit(tmp_path, first, max_epochs=1)
    path = tmp_path / FILES[first]
    before = path.read_bytes()
    with pytest.raises(CheckpointError) as caught:
        fit(tmp_path, second, max_epochs=1)
    assert str(caught.value) == (
        f"{path} belongs to a run with trainer='{first}', but this run has '{second}'. Continue "
        f"with trainer='{first}', choose another folder, or delete it to start from scratch."
    )
    assert os.listdir(tmp_path) == [path.name] and path.read_bytes() == before


@by_each_trainer
@pytest.mark.parametrize(
    "change", [{"verbose": False}, {"time_limit": 99.0}, {"callbacks": [print]}]
)
def test_what_does_not_change_the_result_may_change(tmp_path, change, trainer):
    fit(tmp_path, trainer, max_epochs=1)
    assert len(fit(tmp_path, trainer, max_epochs=1, **change)[1]) == 1


def damages():
    yield "empty", lambda content: b""
    yield "text", lambda content: b"no checkpoint at all"
    yield "cut", lambda content: content[: len(content) // 2]
    yield "short", lambda content: content[:-1]
    yield "zeros", lambda content: bytes(len(content))
    yield "pickle", lambda content: pickle.dumps({"fingerprint": "x"})
    yield "list", lambda content: pickle.dumps([1, 2])


@by_each_trainer
@pytest.mark.parametrize("damage", [pytest.param(d, id=name) for name, d in damages()])
def test_a_damaged_checkpoint_is_named_and_kept(tmp_path, damage, trainer):
    fit(tmp_path, trainer, max_epochs=1)
    path = tmp_path / FILES[trainer]
    path.write_bytes(damage(path.read_bytes()))
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match="damaged or not a checkpoint .* Delete it to start"):
        fit(tmp_path, trainer, max_epochs=1)
    assert path.read_bytes() == before


class Evil:
    def __reduce__(self):
        return (os.mkdir, ("evil",))


def test_a_checkpoint_runs_no_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"fingerprint": "x", "model": Evil()}, tmp_path / "checkpoint.pt")
    with pytest.raises(CheckpointError, match="damaged or not a checkpoint"):
        TorchCheckpoint(tmp_path, "x").load()
    assert os.listdir(tmp_path) == ["checkpoint.pt"]


@pytest.mark.parametrize("kind", [TorchCheckpoint, ArrayCheckpoint])
def test_none_yet(tmp_path, kind):
    assert kind(tmp_path / "nowhere", "x").load() is None
    assert not (tmp_path / "nowhere").exists()


def test_a_state_comes_back(tmp_path):
    checkpoint = TorchCheckpoint(tmp_path / "new" / "folder", "x")
    checkpoint.save({"a": torch.arange(3), "b": {"c": None, "d": [1.5, "text"]}})
    state = checkpoint.load()
    assert state["a"].tolist() == [0, 1, 2]
    assert state["b"] == {"c": None, "d": [1.5, "text"]}
    assert set(state) == {"a", "b"}


def test_a_state_of_arrays_comes_back(tmp_path):
    checkpoint = ArrayCheckpoint(tmp_path / "new" / "folder", "x")
    checkpoint.save({"arrays": {"a": np.arange(3)}, "b": {"c": None, "d": [1.5, "text"]}})
    state = checkpoint.load()
    assert state["arrays"]["a"].tolist() == [0, 1, 2]
    assert state["b"] == {"c": None, "d": [1.5, "text"]}
    assert set(state) == {"arrays", "b"}


@by_each_trainer
def test_a_file_in_place_of_the_folder(tmp_path, trainer):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(
        CheckpointError, match="cannot be written .* choose another folder"
    ) as caught:
        fit(tmp_path / "file", trainer)
    assert f"The checkpoint in {tmp_path / 'file'} " in str(caught.value)
    assert isinstance(caught.value, OSError)
    assert (tmp_path / "file").read_text() == "mine"


@contextmanager
def fails_to_sync():
    def fsync(handle):
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        yield


@contextmanager
def limits_file_sizes():
    """Let the system itself refuse to write more than 20 kB; also what pytest writes to a file."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def array_state(n):
    return {"arrays": {"a": np.zeros(n)}}


def tensor_state(n):
    return {"arrays": {"a": torch.zeros(n)}}


@pytest.mark.parametrize("full", [fails_to_sync, limits_file_sizes])
@pytest.mark.parametrize(
    ("kind", "state"), [(TorchCheckpoint, tensor_state), (ArrayCheckpoint, array_state)]
)
def test_a_full_disk_leaves_the_previous_checkpoint(tmp_path, full, kind, state):
    checkpoint = kind(tmp_path, "x")
    checkpoint.save(state(3))
    message = "free space or choose another folder; the previous checkpoint.* is intact"
    with full(), pytest.raises(CheckpointError, match=message):
        checkpoint.save(state(50_000))
    assert os.listdir(tmp_path) == [FILES[kind.trainer]]
    assert checkpoint.load()["arrays"]["a"].tolist() == [0, 0, 0]


def test_what_the_killed_left_is_cleared(tmp_path):
    (tmp_path / ".checkpoint-abc").write_bytes(b"half")
    (tmp_path / "notes.txt").write_text("mine")
    TorchCheckpoint(tmp_path, "x").save({})
    assert sorted(os.listdir(tmp_path)) == ["checkpoint.pt", "notes.txt"]
