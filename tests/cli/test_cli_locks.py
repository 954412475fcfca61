"""One process at a time writes a model, and none outlives a command that was told to end."""

import os
import signal
import time
from pathlib import Path

import pytest

from cli_files import QUICK

LONG = [*QUICK, "--epochs", "100000", "--verbose"]


def read_until(stream, text):
    for line in stream:
        if text in line:
            return
    raise AssertionError(f"{text!r} never came")


@pytest.fixture
def training(start, files, tmp_path):
    """Return a process that is training the model ``m``."""
    process = start("train", files / "train.tsv", "-o", "m", *LONG)
    read_until(process.stderr, b"epoch 2/")
    return process


def test_two_processes_do_not_train_one_model(run, training, files, tmp_path):
    arguments = ["train", files / "train.tsv", "-o", "m", *LONG]
    (tmp_path / "link").symlink_to(tmp_path)
    for options in ([], ["--resume"], ["--force"], ["-o", "link/m"]):
        said = run(*arguments, *options, code=1).stderr
        assert f"Process {training.pid} is training " in said, options
    run("train", files / "train.tsv", "-o", "other", *QUICK)
    training.kill()  # what is killed holds no lock
    training.wait()
    run(*arguments, "--resume", "--time-limit", "0.01s")
    assert sorted(p.name for p in tmp_path.glob("*m*") if p.name != "home") == ["m"]
    assert not list(tmp_path.glob(".*.lock"))


def test_a_model_is_changed_by_one_process(run, training, files, tmp_path):
    arguments = ["classes", "remove", files / "texts", "night nurse", "-o", "m", "--force"]
    assert f"Process {training.pid} is training m" in run(*arguments, code=1).stderr


def test_sigterm_keeps_the_epochs(run, training, tmp_path):
    training.send_signal(signal.SIGTERM)
    said = training.stderr.read().decode()
    assert training.wait() == 128 + signal.SIGTERM
    assert said.splitlines()[-1].startswith("interrupted: the epochs so far are kept in ")
    assert not list(tmp_path.glob(".*.lock"))


def children_of(pid):
    """Return the processes that another one has started, and their own."""
    lists = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/children")]
    children = [int(child) for child in " ".join(lists).split()]
    return children + [one for child in children for one in children_of(child)]


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


WORKERS = {
    "reproduce": ["accuracy", "--data", "train.svm", "--methods", "mlp", "--jobs", "2"]
    + ["--epochs", "100000", "--seeds", "0", "1"],
    "tune": ["train.svm", "--space", "n_bits=8,16", "--set", "max_epochs=100000", "--jobs", "2"]
    + ["--study", "study.log"],
}


@pytest.mark.dist
@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc")
@pytest.mark.parametrize(
    ("command", "number"),
    [("reproduce", signal.SIGTERM), ("reproduce", signal.SIGKILL), ("tune", signal.SIGTERM)],
)
def test_no_worker_outlives_its_command(start, files, tmp_path, command, number):
    (tmp_path / "train.svm").write_bytes((files / "train.svm").read_bytes())
    process = start(command, *WORKERS[command])
    end = time.monotonic() + 120
    while not busy(process.pid) and time.monotonic() < end:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.1)
    workers = children_of(process.pid)
    assert len(workers) >= 2
    process.send_signal(number)
    process.wait(60)
    end = time.monotonic() + 30
    while any(map(is_alive, workers)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(is_alive, workers))


def busy(pid):
    """Tell whether two processes that another one has started have worked for some seconds."""
    ticks = []
    for child in children_of(pid):
        with open(f"/proc/{child}/stat") as file:
            cells = file.read().rpartition(")")[2].split()
        ticks.append(int(cells[11]) + int(cells[12]))
    return sum(one > 3 * os.sysconf("SC_CLK_TCK") for one in ticks) >= 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_refused_before_the_data_are_read(run, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    said = run("train", "no such file.tsv", "-o", "closed/m", code=1).stderr
    assert "closed/m cannot be written (Permission denied); choose another folder" in said
