"""Ctrl-C: what is kept, and a run that goes on to the same bits."""

import signal

from cli_files import QUICK

SETTINGS = [*QUICK, "--epochs", "40", "--batch-size", "120"]  # epochs of two steps


def read_until(stream, text):
    for line in stream:
        if text in line:
            return line
    raise AssertionError(f"{text!r} never came")


def told(process):
    """Return what a command says until its end, which is a good one."""
    said = process.stderr.read().decode()
    assert process.wait() == 0, said
    return said


def test_interrupted_and_resumed_is_uninterrupted(run, start, files, tmp_path):
    arguments = ["train", files / "train.svm", "-o", "m", *SETTINGS]
    process = start(*arguments, "--verbose")
    read_until(process.stderr, b"epoch 2/40")
    process.send_signal(signal.SIGINT)
    said = process.stderr.read().decode()
    assert process.wait() == 130
    last = said.splitlines()[-1]
    assert last.startswith("interrupted: the epochs so far are kept in ")
    assert "--resume" in last
    assert not (tmp_path / "m").exists()
    assert (tmp_path / "m.checkpoint" / "checkpoint.pt").exists()

    refused = run(*arguments, code=1).stderr
    assert "--resume" in refused
    assert "--force" in refused
    other = run(*arguments, "--resume", "--bits", "17", code=1).stderr
    assert "belongs to a run with other data or settings" in other
    said = told(start(*arguments, "--resume", "--verbose"))
    assert "epoch 1/40" not in said
    assert not (tmp_path / "m.checkpoint").exists()

    told(start("train", files / "train.svm", "-o", "whole", *SETTINGS))
    for name in ("model.json", "model.safetensors"):
        assert (tmp_path / "m" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_force_throws_a_checkpoint_away(run, files, tmp_path):
    folder = tmp_path / "m.checkpoint"
    folder.mkdir()
    (folder / "checkpoint.safetensors").write_bytes(b"old")
    arguments = ["train", files / "train.svm", "-o", "m", *QUICK]
    assert "damaged" in run(*arguments, "--resume", code=1).stderr
    (folder / "notes.txt").touch()
    assert "notes.txt" in run(*arguments, "--force", code=1).stderr
    (folder / "notes.txt").unlink()
    run(*arguments, "--force")
    assert not folder.exists()


def test_a_time_limit_ends_with_a_model(run, files, tmp_path):
    result = run("train", files / "train.svm", "-o", "m", *SETTINGS, "--time-limit", "0.01s")
    assert "time_limit reached" in result.stdout
    assert not (tmp_path / "m.checkpoint").exists()
