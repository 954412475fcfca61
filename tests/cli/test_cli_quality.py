"""``dsnc train`` says what looks wrong in the data before it learns from them."""

import json

import pytest

DOUBTFUL = "\n".join(
    [
        "label\ttext",
        *["nurse\tnight nurse", "nurse\tnight nurse", "Nurse\tnight nurse", "cook\t"],
        *["cook\tline cook", "\tpilot", "driver\tbus driver"],
        "",
    ]
)
NOTES = [
    "warning: a.tsv: left out 1 row without a label (line 7).",
    "repeated rows: 1 (lines 2, 3)",
    "equal rows with different labels: 1 (lines 2, 4: 'nurse' and 'Nurse')",
    "empty rows: 1 (line 5)",
    "labels that differ only in spaces or case: 1 ('Nurse' and 'nurse')",
    "labels with a single row: 2 ('Nurse'; 'driver')",
]


@pytest.fixture
def arguments(tmp_path):
    (tmp_path / "a.tsv").write_text(DOUBTFUL)
    return ["train", "a.tsv", "-o", "m", "--method", "nearest_centroid"]


def test_a_line_for_each_kind_and_json(run, arguments):
    result = run(*arguments, "--json")
    lines = result.stderr.splitlines()
    for start in NOTES:
        assert sum(line.startswith(start) for line in lines) == 1, start
    record = json.loads(result.stdout)["quality"]
    assert [entry["count"] for entry in record] == [1, 1, 1, 1, 2]
    assert record[0] == {
        "what": "repeated rows",
        "count": 1,
        "examples": ["lines 2, 3"],
    }


def test_the_data_show_it_themselves(run, arguments):
    result = run("data", "show", "a.tsv")
    assert result.stderr.splitlines()[-5:] == NOTES[1:]
    record = json.loads(run(*arguments, "--json").stdout)["quality"]
    assert json.loads(run("data", "show", "a.tsv", "--json").stdout)["quality"] == record


def test_quiet_says_nothing(run, arguments):
    result = run(*arguments, "--json", "--quiet")
    assert result.stderr.splitlines() == NOTES[:1]  # what is left out is said in any case
    assert len(json.loads(result.stdout)["quality"]) == 5


def test_clean_rows_of_numbers_have_no_line(run, files):
    arguments = ["train", files / "train.svm", "-o", "m", "--method", "nearest_centroid"]
    result = run(*arguments, "--json")
    assert "warning" not in result.stderr and "repeated" not in result.stderr
    assert json.loads(result.stdout)["quality"] == []


def test_labels_that_look_like_sets_are_told(run, tmp_path):
    names = ["wet", "big", "old", "wild"]
    several = [f"{a}|{b}|{c}" for a in names for b in names for c in names]
    rows = [f"{label},text {number}" for number, label in enumerate(several)]
    (tmp_path / "a.csv").write_text("\n".join(["tags,text", *rows]) + "\n")
    arguments = ["train", "a.csv", "-o", "m", "--method", "nearest_centroid", "--delimiter", ","]
    said = run(*arguments).stderr
    assert "64 of 64 labels contain '|', such as 'big|big|big'; if a row has several" in said


def test_what_looks_wrong_in_label_sets(run, tmp_path):
    rows = ["p,q 1:1", "p,q 1:1", "p 1:1", " 2:1", "q,r 3:1"]
    numbers = {"p": "1", "q": "2", "r": "3"}
    lines = ["".join(numbers.get(letter, letter) for letter in row) for row in rows]
    (tmp_path / "a.svm").write_text("\n".join(lines * 6) + "\n3 9:1\n4 8:1\n")
    said = run("train", "a.svm", "-o", "m", "--bits", "8", "--epochs", "1").stderr
    assert "repeated rows: 26 (rows 1, 2," in said
    assert "equal rows with different labels: 1 (rows 1, 3: [1, 2] and [1])" in said
    assert "rows without a label: 6 (rows 4, 9," in said
    assert "labels with a single row: 1 (4)" in said
