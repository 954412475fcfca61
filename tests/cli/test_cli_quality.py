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
    "warning: a.tsv: 1 rows without a label are left out: line 7.",
    "rows that repeat another one and its label: 1 (lines 2, 3: 'night nurse')",
    "equal rows that stand under several labels: 1 (lines 2, 4: 'night nurse' is 'nurse' and",
    "empty rows: 1 (line 5)",
    "warning: labels that differ only in spaces or case, which are learned as different classes: "
    "1 (lines 2, 4: 'nurse' and 'Nurse')",
    "classes of a single row: 2 (line 4: 'Nurse'; line 8: 'driver')",
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
