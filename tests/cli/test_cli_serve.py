"""``dsnc serve``: what is wrong is said before anything listens. The rest is in tests/serve."""

import shutil
import socket
import sys

import pytest

from serving import GOLDEN


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return shutil.copytree(GOLDEN / "golden/format1", tmp_path_factory.mktemp("m") / "model")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "nothing: does not exist. Expected the folder that dsnc train -o wrote"),
        (["a/m", "b/m"], "are both called 'm'"),
        (["nothing", "--token-file", "secrets"], "--token-file 'secrets' cannot be read"),
        (
            ["nothing", "--host", "256.0.0.1"],
            "--host '256.0.0.1' and --port 8000: cannot listen there",
        ),
    ],
)
def test_what_cannot_be_served_is_said_at_once(run, arguments, message):
    assert message in run("serve", *arguments, code=1).stderr


@pytest.mark.parametrize("package", ["starlette", "uvicorn", "prometheus_client"])
def test_without_the_extra_it_says_how_to_get_it(run, model, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    said = f"dsnc serve needs '{package}', which is not installed. Install it with: pip install"
    assert f"{said} 'dsnc[serve]'" in run("serve", model, code=1).stderr


def test_a_damaged_model_is_named(run, model, tmp_path):
    damaged = shutil.copytree(model, tmp_path / "damaged")
    (damaged / "model.safetensors").write_bytes(b"x" * 100)
    error = run("serve", damaged, "--port", "0", code=1).stderr
    assert str(damaged / "model.safetensors") in error and "dsnc-serve-" not in error


def test_a_port_that_is_taken(run, model):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = run("serve", model, "--port", port, code=1).stderr
    assert f"--port {port}: cannot listen there" in error and "choose another port" in error


@pytest.mark.parametrize("wrong", [["--workers", "0"], ["--port", "99999"], []])
def test_wrong_use_is_2(run, wrong):
    run("serve", *wrong, code=2)
