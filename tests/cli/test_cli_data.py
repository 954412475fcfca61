"""``dsnc data``: the catalog and files of one's own."""

import json

import pytest

import dsnc


def test_list_shows_every_name(run):
    result = run("data", "list")
    assert all(name in result.stdout for name in dsnc.data.DATASETS)
    entries = json.loads(run("data", "list", "--json").stdout)
    assert [entry["name"] for entry in entries] == list(dsnc.data.DATASETS)
    assert {entry["name"]: entry["here"] for entry in entries}["glyphs"] is True


def test_show_a_file(run, tmp_path):
    (tmp_path / "titles.tsv").write_text("label\ttext\nnurse\ttriage\nnurse\tward\npilot\tjet\n")
    result = run("data", "show", "titles.tsv")
    assert "tab, header, label 'label', text 'text'" in result.stdout
    assert "classes: nurse, pilot" in result.stdout
    assert "first row: triage" in result.stdout
    summary = json.loads(run("data", "show", "titles.tsv", "--json").stdout)
    assert (summary["rows"], summary["classes"], summary["per_class_max"]) == (3, 2, 2)


def test_show_what_is_not_here_yet_tells_how_to_get_it(run, tmp_path):
    result = run("data", "show", "aloi")
    assert "108,000" in result.stdout
    assert str(tmp_path / "home" / "datasets" / "aloi") in result.stdout
    assert "dsnc data fetch aloi" in result.stderr
    assert json.loads(run("data", "show", "aloi", "--json").stdout)["here"] is False


def test_show_glyphs_draws_a_picture(run, tmp_path):
    result = run("data", "show", "glyphs", "--picture", "out/sheet.png")
    assert "1,000" in result.stdout
    assert "out/sheet.png" in result.stderr
    assert (tmp_path / "out" / "sheet.png").read_bytes().startswith(b"\x89PNG")


def test_fetch_of_what_is_built_in(run):
    assert "needs no download" in run("data", "fetch", "glyphs").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["data", "show", "glpyhs"], 1, "error: name_or_path='glpyhs' is not known. Did you mean"),
        (["data", "show", "no.svm"], 1, "error: no.svm: does not exist"),
        (["data", "show", "empty.svm"], 1, "error: empty.svm: is empty"),
        (["data", "show", "rows.svm", "--reader", "cvs"], 1, "Did you mean 'csv'"),
        (["data", "show", "rows.svm", "--picture", "a.png"], 1, "image_shape"),
        (["data", "fetch", "lshtc1"], 1, "must be prepared by hand"),
        (["data", "fetch", "nothing"], 1, "name='nothing' is not known"),
        (["data", "show"], 2, "Missing argument"),
        (["data", "shwo", "glyphs"], 2, "No such command 'shwo'"),
        (["data", "list", "--jsn"], 2, "No such option"),
        (["encode", "m", "x", "--format", "a"], 2, "'--format': 'a' is not one of"),
    ],
)
def test_wrong_use_is_answered_in_a_paragraph(run, tmp_path, arguments, code, message):
    (tmp_path / "empty.svm").touch()
    (tmp_path / "rows.svm").write_text("1 1:1\n")
    assert message in run(*arguments, code=code).stderr
