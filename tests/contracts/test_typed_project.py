"""Type information is for users, too: a program of theirs passes mypy in its strict mode."""

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent / "typed_project"


@pytest.mark.slow
def test_a_strict_user_is_content(tmp_path):
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache"]
    checked = subprocess.run(
        [*command, PROJECT / "use.py"], cwd=tmp_path, capture_output=True, encoding="utf-8"
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
