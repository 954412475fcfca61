"""The C++ core as a whole: the levels of its kernels, and what it refuses."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dsnc import _native
from dsnc.codes import PackedCodes
from dsnc.decoders import LinearDecoder, ShortlistDecoder
from dsnc.encoders import Layer, NumpyEncoder

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


def test_starts_of_rows_or_classes_may_not_be_empty():
    """The number of rows is one less than that of starts, which is no number of none."""
    none, floats = np.zeros(0, np.int64), np.zeros(0, np.float32)
    with pytest.raises(ValueError, match="must follow each other"):
        _native.leave_out(none, np.zeros(0, np.int32), floats, 0.5, 0)
    rows, centers = np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)
    with pytest.raises(ValueError, match="rows of classes lead outside"):
        _native.find_centers(rows, floats, none, np.zeros(1, np.int64), 0, 1, centers)


def test_the_parts_of_a_predictor_have_the_same_width():
    codes, labels = PackedCodes.from_bits(np.eye(3, 8)), np.arange(3)
    linear = LinearDecoder(np.ones((3, 8)), np.zeros(3))
    shortlist = ShortlistDecoder(linear, codes, labels)

    def join(n_bits):
        encoder = NumpyEncoder([Layer(np.ones((5, n_bits)), np.zeros(n_bits))])
        layer = encoder.layers[0]
        parts = layer.weight, layer.bias, False, shortlist._ranker, 3, 2, shortlist.confidence
        return _native.Predictor(*parts, None, None)

    join(8)
    with pytest.raises(ValueError, match="do not fit each other"):
        join(16)
