"""``dsnc train`` says what looks wrong in the data before it learns from them."""

import json

import pytest

from cli_files import QUICK

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
    "rows that repeat another row and its label: 1 (lines 2, 3: 'night nurse')",
    "equal rows that have different labels: 1 (lines 2, 4: 'night nurse' is 'nurse' and",
    "empty rows: 1 (line 5)",
    "warning: labels that differ only in spaces or case, which are learned as different classes: "
    "1 (lines 2, 4: 'nurse' and 'Nurse')",
    "classes with a single row: 2 (line 4: 'Nurse'; line 8: 'driver')",
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
        "kind": "duplicate_rows",
        "count": 1,
        "examples": [{"lines": [2, 3], "text": "'night nurse'"}],
    }


def test_quiet_says_nothing(run, arguments):
    result = run(*arguments, "--json", "--quiet")
    assert result.stderr.splitlines() == NOTES[:1]  # what is left out is said in any case
    assert len(json.loads(result.stdout)["quality"]) == 5


def test_clean_rows_of_numbers_have_no_line(run, files):
    arguments = ["train", files / "train.svm", "-o", "m", "--method", "nearest_centroid"]
    result = run(*arguments, "--json")
    assert "warning" not in result.stderr and "rows that repeat" not in result.stderr
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
    assert "rows that repeat another row and its labels: 26 (rows 1, 2," in said
    assert "equal rows that have different label sets: 1 (rows 1, 3: [1, 2] and [1])" in said
    assert "rows without a label, which are learned as the empty set: 6 (rows 4, 9," in said
    assert "labels with a single row: 1 (row 32: 4)" in said


def test_examples_show_what_the_user_wrote_in_one_line(run, tmp_path):
    rows = "".join(
        f"k{i % 2},an ox {'and more ' * 9}{i % 4},{i % 4},blue{i % 2}\n" for i in range(24)
    )
    (tmp_path / "a.csv").write_text(f"label,text,size,color\n{rows}x, , 3,blue1\n")
    roles = ("--number-column", "size", "--category-column", "color")
    said = run("train", "a.csv", "-o", "m", *roles, *QUICK).stderr
    line = next(line for line in said.splitlines() if line.startswith("rows that repeat"))
    assert "'an ox and more" in line and len(line) <= 200
    assert "sizeq" not in said and "colorblue" not in said and "\x1f" not in said
