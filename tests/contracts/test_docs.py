"""The documents tell the truth: links lead somewhere, code runs, commands exist."""

import doctest
import importlib
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dsnc

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
MODULES = [name for _, name, _ in pkgutil.walk_packages(dsnc.__path__, "dsnc.")]


def names(paths):
    return [str(path.relative_to(ROOT)) for path in paths]


def prose_of(path):
    return re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def anchors_of(path):
    """Return the anchors that GitHub, and our site, give to the headings of a page."""
    titles = re.findall(r"^#+ +(.*)$", prose_of(path), flags=re.MULTILINE)
    titles = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in titles]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", DOCUMENTS, ids=names(DOCUMENTS))
def test_links_and_anchors_lead_somewhere(path):
    links = re.findall(r"\]\(([^)\s]+)", re.sub(r"`[^`]*`", "", prose_of(path)))
    lost = []
    for link in links:
        place, _, anchor = link.partition("#")
        target = (path.parent / place).resolve() if place else path
        if "://" in link:
            continue
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            lost.append(link)
    assert lost == []


def test_the_site_has_what_pages_link_to_outside_of_its_folder(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    hooks = importlib.import_module("hooks")
    there = {ROOT / page for page in hooks.PAGES}
    there |= {path for pattern in hooks.SOURCES for path in ROOT.glob(pattern)}
    pages = [path for path in DOCUMENTS if path.is_relative_to(ROOT / "docs")]
    linked = {
        (path.parent / place).resolve()
        for path in pages
        for place in re.findall(r"\]\((\.\.[^)#\s]*)", prose_of(path))
    }
    outside = {place for place in linked if not place.is_relative_to(ROOT / "docs")}
    assert outside and outside <= there


@pytest.mark.parametrize("path", DOCUMENTS, ids=names(DOCUMENTS))
def test_nothing_is_left_to_fill_in(path):
    text = path.read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    prose = re.sub(r"^:::.*\n( +.*\n)*", "", prose, flags=re.MULTILINE)  # names for the reference
    assert re.findall(r"\b(?:[A-Z]{3,}_[A-Z]+|TODO|TBD|MEASURED|XXX)\b", prose) == []
    assert re.findall(r"^(?:<{7}|={7}|>{7})( .*)?$", text, re.MULTILINE) == []  # of a merge


def test_files_that_the_architecture_names_are_there():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    named = {name.rpartition("/")[2] for name in re.findall(r"`([\w/]+\.py)`", text)}
    folders = "src", "tests", "examples"
    there = {path.name for folder in folders for path in (ROOT / folder).rglob("*.py")}
    assert named and named - there == set()


def blocks_of(path):
    text = path.read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


# The tutorial has commands in between: see test_tutorial.
WITH_CODE = [path for path in DOCUMENTS if blocks_of(path) and path.name != "tutorial.md"]


@pytest.fixture(scope="module")
def worker():
    """One process for all pages, each of which gets names and a folder of its own."""
    command = [sys.executable, "-W", "error", Path(__file__).with_name("docs_worker.py")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        yield process
        process.stdin.close()


@pytest.mark.parametrize("path", WITH_CODE, ids=names(WITH_CODE))
def test_python_blocks_run(path, worker, tmp_path):
    page = {"code": "\n".join(blocks_of(path)), "folder": str(tmp_path)}
    worker.stdin.write(json.dumps(page) + "\n")
    worker.stdin.flush()
    problem = json.loads(worker.stdout.readline())
    assert problem == "", problem


@pytest.mark.parametrize("path", DOCUMENTS, ids=names(DOCUMENTS))
def test_commands_exist(path):
    text = path.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert {target for target in re.findall(r"\bmake ([a-z-]+)", text)} <= targets
    shown = set(re.findall(r"\bdsnc data ([a-z]+)", text))
    assert shown <= {"list", "show", "fetch"}


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings(module):
    if module.endswith(".fused"):
        pytest.importorskip("triton")  # comes with torch for GPUs alone
    assert doctest.testmod(importlib.import_module(module)).failed == 0
