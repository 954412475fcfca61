"""The faults that are tried every night still have a place in the source."""

import subprocess
import sys

import pytest

from mutants.run import ROOT, SOURCE, faults, make_copy, text_with, with_copy


def test_each_has_a_name_of_its_own():
    ids = [fault["id"] for fault in faults()]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault["id"])
def test_its_place_is_found_once_and_its_tests_are_there(fault):
    text = (SOURCE / fault["file"]).read_text(encoding="utf-8")
    assert text_with(fault, text) != text
    for test in fault["tests"]:
        assert (ROOT / test).exists()


def test_the_copy_is_what_runs(tmp_path):
    copy = make_copy(tmp_path / "copy")
    ask = "import dsnc.rows, dsnc._native; print(dsnc.rows.__file__, dsnc._native.__file__)"
    run = subprocess.run(
        [sys.executable, "-c", ask], cwd=ROOT, env=with_copy(copy), capture_output=True, text=True
    )
    assert [path.startswith(str(copy / "dsnc")) for path in run.stdout.split()] == [True, True]
