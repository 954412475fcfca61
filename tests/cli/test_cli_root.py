"""What all commands share: help, exit codes, errors in words, pipes."""

import json

import pytest

import dsnc
from dsnc.decoders import decoder_names

COMMANDS = ["train", "evaluate", "predict", "encode", "inspect", "serve", "version"]
COMMANDS += ["data list", "data show", "data fetch"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(run, command):
    result = run(*command.split(), "-h")
    assert "Usage:" in result.stdout
    assert f"Example: dsnc {command}" in result.stdout or f"| dsnc {command}" in result.stdout
    assert result.stderr == ""


def test_help_names_every_command(run):
    words = run("--help").stdout.split()
    assert {command.split()[0] for command in COMMANDS} <= set(words)


def test_version(run):
    assert run("--version").stdout.strip() == dsnc.__version__
    assert json.loads(run("version", "--json").stdout)["dsnc"] == dsnc.__version__
    assert "numpy" in run("version").stdout


@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_help_lists_the_decoders_that_there_are(run, command):
    assert f"[{'|'.join(decoder_names())}]" in run(command, "--help").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Usage:"),
        (["trian"], "No such command 'trian'"),
        (["train", "--bist", "3"], "No such option"),
        (["train"], "DATA"),
        (["train", "a.svm"], "-o MODEL"),
        (["train", "a.svm", "-o", "m", "--bits", "many"], "--bits"),
        (["train", "a.svm", "-o", "m", "--method", "msvc"], "method='msvc' is not known"),
        (["reproduce", "acuracy"], "Did you mean 'accuracy'"),
        (["train", "a.svm", "-o", "m", "--decoder", "sotf"], "Did you mean 'soft'"),
        (["evaluate", "m", "a.svm", "--decoder", '{name="soft", size=3}'], "'size' is not known"),
        (["predict", "m"], "INPUT"),
        (["predict", "m", "-", "--reject-below", "2"], "--reject-below"),
        (["evaluate", "m", "a.svm", "--top-k", "none"], "--top-k"),
        (["encode", "m", "a.svm", "--format", "npy"], "-o codes.npy"),
    ],
)
def test_wrong_use_is_2(run, arguments, message):
    result = run(*arguments, code=2)
    assert message in result.stdout + result.stderr


def failing(error):
    def version_of(name):
        raise error

    return version_of


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KeyError("x"), "unexpected error: KeyError: 'x'. Run the same command with --debug"),
        (PermissionError(13, "Permission denied", "f.txt"), "error: f.txt: permission denied."),
        (MemoryError(), "error: there is not enough memory"),
        (dsnc.errors.InputError("as_json=True is wrong."), "error: --json is wrong."),
    ],
)
def test_a_failure_is_one_line(run, monkeypatch, error, message):
    monkeypatch.setattr("dsnc.versions._version", failing(error))
    result = run("version", code=1)
    assert result.stderr.startswith(message)
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_debug_shows_the_traceback(run, monkeypatch):
    monkeypatch.setattr("dsnc.versions._version", failing(KeyError("x")))
    with pytest.raises(AssertionError, match="Traceback"):  # which `run` does not like
        run("version", "--debug", code=1)


def test_ctrl_c_is_130(run, monkeypatch):
    monkeypatch.setattr("dsnc.versions._version", failing(KeyboardInterrupt()))
    assert run("version", code=130).stderr == "interrupted\n"


def test_flags_of_the_root_may_stand_anywhere(run, files):
    arguments = ["evaluate", files / "vectors", files / "test.svm", "--json"]
    assert "svmlight file" in run(*arguments, "--verbose").stderr
    assert "svmlight file" in run("-v", *arguments).stderr
    assert run(*arguments).stderr == ""


def test_warnings_of_ours_are_sentences(run, files, tmp_path):
    (tmp_path / "other.svm").write_text("1 1:1\n99 1:1\n")
    result = run("evaluate", files / "vectors", "other.svm", "--quiet")
    assert result.stderr.startswith("warning: 1 of 2 test rows have labels that were not learned")
    assert ".py" not in result.stderr


def test_a_closed_pipe_ends_quietly(start, files, tmp_path):
    (tmp_path / "many.txt").write_text("night nurse\n" * 50_000)
    process = start("predict", files / "texts", "many.txt", "--batch", "64")
    assert process.stdout.readline() == b"night nurse\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 141
