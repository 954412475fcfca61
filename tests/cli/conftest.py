import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from cli_files import QUICK, write_titles, write_vectors
from dsnc.cli import app

# A process that hears Ctrl-C even where the tests run in the background.
START = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "from dsnc.cli import main; main()"
)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DSNC_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")  # boxes would fold a message anywhere
    runner = CliRunner()

    def run(*arguments, code=0, **options):
        result = runner.invoke(app, [str(arg) for arg in arguments], **options)
        said = f"{result.stdout}\n{result.stderr}\n{result.exception!r}"
        assert code in (None, result.exit_code), said
        assert "Traceback" not in said
        return result

    return run


@pytest.fixture
def start(tmp_path):
    """Start a command as a process of its own."""
    running = []

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", START, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "DSNC_HOME": str(tmp_path / "home")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Data of twelve classes, as vectors and as texts, and a model of each."""
    folder = tmp_path_factory.mktemp("cli")
    for number, name in enumerate(("train", "validation", "test")):
        write_vectors(folder / f"{name}.svm", (240, 60, 60)[number], number)
        write_titles(folder / f"{name}.tsv", (240, 60, 60)[number], number)
    runner = CliRunner()
    for ending, name in (("svm", "vectors"), ("tsv", "texts")):
        arguments = ["train", str(folder / f"train.{ending}"), "-o", str(folder / name), *QUICK]
        arguments += ["--epochs", "8", "--quiet"]
        result = runner.invoke(app, arguments)
        assert result.exit_code == 0, result.stderr
    return folder
