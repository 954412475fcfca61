"""Writers that are killed, or find no room, and readers beside them: a whole model at any time."""

import errno
import os
import random
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from dsnc.persistence import read_model, reading, write_model

SETUP = """
import os, signal, sys
import numpy as np
from dsnc.errors import ModelWriteError
from dsnc.persistence import read_model, write_model
folder = sys.argv[1]
def write(number, size=1000):
    write_model(folder, {"kind": str(number)}, {"a": np.full(size, number)}, overwrite=True)
"""


def python(code, *arguments, before=(), **options):
    command = [
        *before,
        sys.executable,
        "-W",
        "error",
        "-c",
        SETUP + textwrap.dedent(code),
        *arguments,
    ]
    single = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=single, **options)


def test_a_full_disk_leaves_the_previous_model(tmp_path):
    mount = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    mount += ['mount -t tmpfs -o size=1m none "$0" && exec "$@"', str(tmp_path)]
    try:
        subprocess.run([*mount, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this system does not let us mount a small disk")
    code = """
        write(1)
        try:
            write(2, size=200_000)
        except ModelWriteError as error:
            print(error.errno, read_model(folder)[0]["kind"], os.listdir(os.path.dirname(folder)))
    """
    with python(code, str(tmp_path / "model"), before=mount) as process:
        assert process.communicate()[0] == f"{errno.ENOSPC} 1 ['model']\n"


def test_a_file_that_may_not_grow_leaves_the_previous_model(tmp_path):
    pytest.importorskip("resource")
    code = """
        import resource
        write(1)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
        try:
            write(2, size=200_000)
        except ModelWriteError as error:
            print(error.errno, read_model(folder)[0]["kind"], os.listdir(os.path.dirname(folder)))
    """
    with python(code, str(tmp_path / "model")) as process:
        assert process.communicate()[0] == f"{errno.EFBIG} 1 ['model']\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_any_step_the_folder_holds_a_whole_model(tmp_path):
    """A child dies at the first, second, third... thing that it asks of the system."""
    code = """
        write(0)
        step, last = 0, 0
        while True:
            step += 1
            child = os.fork()
            if child == 0:
                count = 0
                def die(event, arguments):
                    global count
                    if event.startswith(("open", "os.", "shutil.", "ctypes.", "tempfile.")):
                        count += 1
                        if count == step:
                            os.kill(os.getpid(), signal.SIGKILL)
                sys.addaudithook(die)
                write(step)
                os._exit(0)
            killed = os.waitpid(child, 0)[1] != 0
            header, arrays = read_model(folder)
            number = int(header["kind"])
            assert (arrays["a"] == number).all() and number in (last, step), (number, last, step)
            last = number
            if not killed:
                break
        print(step, number)
    """
    with python(code, str(tmp_path / "model")) as process:
        output = process.communicate()[0]
    assert process.returncode == 0
    steps, number = map(int, output.split())
    assert steps == number
    assert steps > 10


@pytest.mark.skipif(sys.platform == "win32", reason="needs kill")
def test_killed_at_random_moments_the_folder_holds_a_whole_model(tmp_path):
    code = """
        print("ready", flush=True)
        for number in range(10**9):
            write(number, size=20_000)
    """
    dice = random.Random(0)
    write_model(tmp_path / "model", {"kind": "0"}, {"a": np.zeros(5)})
    for _ in range(4):
        with python(code, str(tmp_path / "model")) as process:
            process.stdout.readline()
            threading.Event().wait(dice.uniform(0, 0.05))
            process.kill()
        header, arrays = read_model(tmp_path / "model")
        assert (arrays["a"] == int(header["kind"])).all()


def test_a_reader_sees_the_old_or_the_new_model(tmp_path):
    folder, stop = tmp_path / "model", threading.Event()

    def replace():
        number = 0
        while not stop.is_set():
            number = 1 - number
            write_model(folder, {"kind": str(number)}, {"a": np.full(9, number)}, overwrite=True)

    write_model(folder, {"kind": "0"}, {"a": np.zeros(9, dtype=int)})
    writer = threading.Thread(target=replace)
    writer.start()
    try:
        for _ in range(100):
            header, arrays = read_model(folder)
            assert (arrays["a"] == int(header["kind"])).all()
    finally:
        stop.set()
        writer.join()


def test_a_model_that_is_replaced_twice_while_it_is_read_is_read_anew(tmp_path, monkeypatch):
    """The second replacement may have the inode of the model that was there first."""
    folder, read_header = tmp_path / "model", reading._read_header
    write_model(folder, {"kind": "0"}, {"a": np.zeros(9, dtype=int)})
    replaced = []

    def slow_reader(path):
        header = read_header(path)
        if not replaced:
            for number in (1, 2):
                arrays = {"a": np.full(9, number)}
                write_model(folder, {"kind": str(number)}, arrays, overwrite=True)
                replaced.append(number)
        return header

    monkeypatch.setattr(reading, "_read_header", slow_reader)
    header, arrays = read_model(folder)
    assert header["kind"] == "2" and (arrays["a"] == 2).all()
