"""The C++ core as a whole: the levels of its kernels."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dsnc import _native

LEVELS = _native.levels().split()


def level_of_new_process(name):
    code = "from dsnc import _native; print(_native.level())"
    environment = {**os.environ, "DSNC_NATIVE": name}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )


def test_the_newest_level_is_used():
    assert level_of_new_process("").stdout.strip() == LEVELS[0]


@pytest.mark.parametrize("name", LEVELS)
def test_the_environment_chooses_a_level(name):
    assert level_of_new_process(name).stdout.strip() == name


def test_a_level_that_is_not_there_is_refused():
    run = level_of_new_process("v9")
    assert run.returncode
    assert "DSNC_NATIVE: there are no kernels of the level 'v9'" in run.stderr
    assert " ".join(LEVELS) in run.stderr


@pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm, of binutils")
def test_levels_share_no_function(repository):
    """Of a function that several levels compile, the linker would keep any one."""
    objects = sorted(Path(repository).glob("build/*/CMakeFiles/kernels_*.dir/src/native/*.o"))
    if not objects:
        pytest.skip("the objects of the build are not there")
    for path in objects:
        run = subprocess.run(["nm", "-C", "--defined-only", path], capture_output=True, text=True)
        level = path.parts[-4].removesuffix(".dir").removeprefix("kernels_")
        for line in run.stdout.splitlines():
            kind, name = line.split(maxsplit=2)[1:]
            assert kind not in "WVu" or f"dsnc::{level}::" in name, f"{path}: {name}"
