"""dsnc classes discover, and classes add --names."""

import json
import shutil

import numpy as np
import pytest

import dsnc


@pytest.fixture
def model(files, tmp_path):
    shutil.copytree(files / "texts", tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def titles(tmp_path):
    lines = [f"{kind} nurse pilot\n" for kind in ("night", "bus")] * 6
    lines += [f"sushi truck {kind}\n" for kind in ("driver", "cook")] * 6
    (tmp_path / "titles.txt").write_text("".join(lines))
    return tmp_path / "titles.txt"


@pytest.mark.parametrize("ending", ["tsv", "csv", "jsonl"])
def test_named_classes_are_added(run, model, titles, tmp_path, ending):
    file = tmp_path / f"proposed.{ending}"
    options = ("--classes", 2, "--unknown-share", 1, "-o", file)
    said = run("classes", "discover", model, titles, *options)
    assert "2 proposed classes of 24 rows" in said.stdout
    assert "new class 1" in said.stdout
    assert "taken for known" not in said.stderr
    assert f"--names {file}" in said.stderr
    text = file.read_text()
    file.write_text(text.replace("new class 1", "flying nurse").replace("new class 2", ""))
    said = run("classes", "add", model, titles, "--names", file).stderr
    assert "1 class added from" in said
    changed = dsnc.load(model)
    assert changed.classes_[-1] == "flying nurse"
    assert len(changed.classes_) == 13


def test_numbers_and_json_and_a_page(run, files, tmp_path):
    rows = "\n".join(
        "1 " + " ".join(f"{j}:{v:.3f}" for j, v in enumerate(row, 1))
        for row in np.random.default_rng(0).normal(size=(40, 8)) + np.repeat([[3], [-3]], 20, 0)
    )
    (tmp_path / "rows.svm").write_text(rows + "\n")
    file, page = tmp_path / "p.csv", tmp_path / "p.html"
    command = ("classes", "discover", files / "vectors", tmp_path / "rows.svm", "--jobs", 2)
    options = ("--classes", 2, "--unknown-share", 1)
    found = json.loads(run(*command, *options, "--json").stdout)
    assert found["rows"] == 40
    assert [one["name"] for one in found["classes"]] == [13, 14]
    assert sorted(row for one in found["classes"] for row in one["rows"]) == list(range(1, 41))
    run(*command, *options, "-o", file, "--html", page)
    assert "<h2><bdi>13</bdi></h2>" in page.read_text()
    add = ("classes", "add", files / "vectors", tmp_path / "rows.svm", "--names", file)
    run(*add, "-o", tmp_path / "more")
    assert set(dsnc.load(tmp_path / "more").classes_) == set(range(1, 15))
    assert "exists" in run(*command, *options, "-o", file, code=1).stderr
    file.write_text(file.read_text().replace("13,", "welder,"))
    assert "line 2: names a class 'welder'" in run(*add, "-o", tmp_path / "no", code=1).stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name\tsize\nwelder\t2\n", "has no column 'rows'"),
        ("name\trows\nwelder\t3 99\n", "line 2: has rows that the input does not have"),
        ("name\trows\nwelder\tmany\n", "numbers from 1 to 24"),
        ("name\trows\n\t1 2\n", "names no class"),
    ],
)
def test_bad_names(run, model, titles, tmp_path, content, message):
    (tmp_path / "bad.tsv").write_text(content)
    before = (model / "model.json").read_bytes()
    said = run("classes", "add", model, titles, "--names", tmp_path / "bad.tsv", code=1).stderr
    assert message in " ".join(said.split())
    assert (model / "model.json").read_bytes() == before


def test_refusals(run, model, titles, tmp_path):
    command = ("classes", "discover", model, titles)
    assert "must end in one of" in run(*command, "-o", tmp_path / "p.txt", code=1).stderr
    assert "--classes 999" in run(*command, "--classes", 999, code=1).stderr
    (tmp_path / "none.txt").write_text("")
    said = run("classes", "discover", model, tmp_path / "none.txt", code=1).stderr
    assert "has no rows" in said


def test_how_many_rows_pass_for_known_ones(run, files, model, titles):
    known = [line.split("\t")[0] for line in (files / "test.tsv").read_text().splitlines()[1:]]
    titles.write_text(titles.read_text() + "\n".join(known) + "\n")
    result = run("classes", "discover", model, titles, "--json")
    found = json.loads(result.stdout)
    passed, n_rows = found["rows"] - found["novel"], 24 + len(known)
    assert 0 < passed < n_rows
    said = f"{passed} of {n_rows} rows were taken for known classes; --unknown-share 0.3 takes more"
    assert said in result.stderr
