"""The documents tell the truth: links lead somewhere, code runs, commands exist."""

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dsnc

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = [name for _, name, _ in pkgutil.walk_packages(dsnc.__path__, "dsnc.")]


def names(paths):
    return [str(path.relative_to(ROOT)) for path in paths]


@pytest.mark.parametrize("path", DOCUMENTS, ids=names(DOCUMENTS))
def test_links_lead_somewhere(path):
    links = re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=names(DOCUMENTS))
def test_nothing_is_left_to_fill_in(path):
    text = path.read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    assert re.findall(r"\b(?:[A-Z]{3,}_[A-Z]+|TODO|TBD|MEASURED|XXX)\b", prose) == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=names(DOCUMENTS))
def test_python_blocks_run(path, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    if not blocks:
        return
    home = {"DSNC_HOME": str(tmp_path / "home")}
    subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(blocks)],
        check=True,
        cwd=tmp_path,
        env={**os.environ, **home},
        stdout=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("path", DOCUMENTS, ids=names(DOCUMENTS))
def test_commands_exist(path):
    text = path.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert {target for target in re.findall(r"\bmake ([a-z-]+)", text)} <= targets
    shown = set(re.findall(r"\bdsnc data ([a-z]+)", text))
    assert shown <= {"list", "show", "fetch"}


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings(module):
    assert doctest.testmod(importlib.import_module(module)).failed == 0
