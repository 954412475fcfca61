import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import resources

import numpy as np
import pytest

from dsnc.errors import InputError, MissingExtraError, OutputError, OutputExistsError
from dsnc.paper.report import write_report
from report_records import write_one, write_runs

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(HTMLParser):
    """What a browser would read: elements, addresses, text; and whether elements are closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.addresses, self.text = [], [], [], [], ""
        self.headings, self.unclosed = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "action", "data", "poster", "srcset", "xlink:href"):
                self.addresses.append(value)
            if name == "style" and "url(" in (value or ""):
                self.addresses += re.findall(r"url\(([^)]*)\)", value)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def read(path):
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "runs"
    write_runs(folder, beside="DMOZ-1K")
    write_one(folder, "dsnc", 24, 7, error="Traceback\n  <b>here</b>\nMemoryError: too much")
    return folder


@pytest.fixture(scope="module")
def page(runs):
    return write_report(runs, runs.parent / "report.html")


@pytest.fixture
def quick(monkeypatch):
    """Leave the drawing of figures out: it takes most of the time."""
    monkeypatch.setattr("dsnc.paper.report.sections.inline_svg", lambda *_: "<svg></svg>")


def test_page_has_all_parts_and_well_formed_elements(page):
    found = read(page)
    for words in (
        "Summary",
        "Most accurate: ",
        "DSNC shortlist against an MLP of the same width: ",
        "Fastest within 1 point",
        "How accuracy moves with bits",
        "The space of codes",
        "Accuracy against cost",
        "Learning curves",
        "How honest the probabilities are",
        "Balance of bits",
        "Correlation of bits",
        "Distances within and between classes",
        "Classes mistaken for each other",
        "MemoryError: too much",
        "How it was made",
        "numpy 2",
        "39.74",  # the paper's figure beside ours
    ):
        assert words in found.text, words
    tags = [tag for tag, _ in found.tags]
    assert tags.count("h1") == 1 and tags.count("svg") == 15
    assert all(b - a <= 1 for a, b in zip(found.headings, found.headings[1:], strict=False))


def test_page_asks_for_nothing(page):
    text, found = page.read_text(encoding="utf-8"), read(page)
    assert found.addresses
    outside = [a for a in found.addresses if not a.startswith(("#", "data:image/png;base64,"))]
    assert outside == []
    assert {a[1:] for a in found.addresses if a.startswith("#")} <= set(found.ids)
    assert not re.search(r"https?:|//[a-z]+\.|@import|<script|<link|<iframe|<object", text)


def test_names_of_parts_are_unique_and_figures_are_described(page):
    found = read(page)
    assert len(found.ids) == len(set(found.ids))
    drawn = [attributes for tag, attributes in found.tags if tag == "svg"]
    assert all(a["role"] == "img" and a["aria-label"] for a in drawn)
    assert all("alt" in a for tag, a in found.tags if tag == "img")
    assert "rcParams" not in found.text and "mathdefault" not in page.read_text(encoding="utf-8")


def test_page_is_for_phones_printers_and_the_dark(page):
    text = page.read_text(encoding="utf-8")
    assert '<html lang="en">' in text and 'name="viewport"' in text
    assert "@media print" in text and "prefers-color-scheme: dark" in text
    assert page.stat().st_size < 500_000


def test_same_records_same_bytes_whatever_the_settings(runs, page, tmp_path):
    import matplotlib

    with matplotlib.rc_context({"lines.linewidth": 9, "axes.facecolor": "red"}):
        again = write_report(runs, tmp_path / "again.html")
    assert again.read_bytes() == page.read_bytes()


def test_what_data_say_is_escaped(tmp_path):
    evil = "<script>alert('x')</script>&\"*b*\ud800"
    name = "<img src=x onerror=y>"
    write_runs(tmp_path / "runs", ("dsnc",), (8,), (0,), data=name, classes=[evil] * 6, times=False)
    write_one(tmp_path / "runs", "mlp", data=name, error="<script>boom</script>")
    path = write_report(tmp_path / "runs", tmp_path / "report.html")
    text, found = path.read_text(encoding="utf-8"), read(path)
    assert "<script" not in text and "<img src=x" not in text
    assert "alert('x')" in found.text and name in found.text and "boom" in found.text


def test_one_seed_one_size_and_nothing_beside_the_records(tmp_path):
    write_runs(tmp_path, ("dsnc",), (8,), (3,), times=False, pictures=False)
    (tmp_path / "toy" / "data.json").unlink()
    found = read(write_report(tmp_path, tmp_path / "report.html"))
    assert "No decoder was timed" in found.text and "class 0" in found.text
    assert "Fastest" not in found.text and "±" not in found.text.split("The space of codes")[0]
    assert "Nothing: all runs succeeded." in found.text


def test_two_recipes_and_two_data_sets(tmp_path):
    for data in ("one", "two"):
        for recipe in ("default", "paper"):
            write_runs(
                tmp_path, ("dsnc", "mlp"), (8,), (0,), data=data, recipe=recipe, pictures=False
            )
    found = read(write_report(tmp_path, tmp_path / "report.html"))
    assert found.text.count("Paper recipe") == 4  # two headings, two lines of the contents
    assert len(found.ids) == len(set(found.ids))


@pytest.mark.parametrize("methods", [("mlp",), ("ecoc",), ("one_vs_rest",), ("dsnc", "dsnc_reg")])
def test_any_subset_of_methods(methods, tmp_path, quick):
    write_runs(tmp_path, methods, (8,), (0,), times=False, pictures=False)
    assert "Most accurate" in read(write_report(tmp_path, tmp_path / "report.html")).text


def test_only_failures(tmp_path):
    write_one(tmp_path / "runs", error="ValueError: no")
    found = read(write_report(tmp_path / "runs", tmp_path / "report.html"))
    assert "No run on these data succeeded" in found.text and "ValueError: no" in found.text


def test_mixed_runs_are_said(tmp_path, quick):
    write_one(tmp_path, "mlp", seed=0, settings={"max_epochs": 3})
    write_one(tmp_path, "mlp", seed=1, settings={"max_epochs": 9}, fingerprint="other")
    text = read(write_report(tmp_path, tmp_path / "report.html")).text
    assert "different settings are mixed" in text and "different versions of these data" in text


def test_bad_files_beside_the_records_are_left_out(tmp_path, quick):
    write_runs(tmp_path, ("dsnc",), (8,), (0,))
    (tmp_path / "toy" / "data.json").write_text("[half")
    np.save(tmp_path / "toy" / "pictures.npy", np.zeros(3))
    assert "Accuracy" in read(write_report(tmp_path, tmp_path / "report.html")).text


def test_no_records_say_which_folder_and_command(tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError, match=rf"{folder.name}.*dsnc reproduce all -o {folder}"):
            write_report(folder, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten_unasked(runs, tmp_path, quick):
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(OutputExistsError, match="report.html exists.*overwrite=True"):
        write_report(runs, path)
    with pytest.raises(OutputError, match="is a folder"):
        write_report(runs, tmp_path)
    assert path.read_text() == "mine"
    assert write_report(runs, str(path), overwrite=True) == path
    assert list(tmp_path.iterdir()) == [path] and "mine" != path.read_text(encoding="utf-8")


@pytest.mark.parametrize("module", ["jinja2", "matplotlib"])
def test_missing_extra_is_named_with_the_pip_line(module, runs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"dsnc report needs .*'dsnc\[report\]'"):
        write_report(runs, tmp_path / "report.html")


def test_templates_are_in_the_package():
    folder = resources.files("dsnc.pictures") / "templates"
    assert {"base.html.j2", "page.css", "parts.html.j2", "report.html.j2"} <= {
        file.name for file in folder.iterdir()
    }


def test_command_writes_the_page(tmp_path):
    runs = tmp_path / "runs"
    write_one(runs, "mlp")
    path = tmp_path / "made.html"
    start = "from dsnc.cli import main; main()"
    command = [sys.executable, "-c", start, "report", str(runs), "-o", str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert str(path) in run.stderr and run.stdout == ""
    assert "Summary" in read(path).text
    again = subprocess.run(command, capture_output=True, text=True)
    assert again.returncode == 1 and "--force" in again.stderr
