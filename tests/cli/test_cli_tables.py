"""Tables of strangers, from training to predictions beside their own columns."""

import csv
import io
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from dsnc.cli import app
from two_texts import RECORD, write_two_texts

WORDS = {"nurse": "ward nurse night", "driver": "truck bus driver", "cook": "line cook kitchen"}
QUICK = ["--epochs", "8", "--bits", "16", "--device", "cpu", "--seed", "0"]


def titles(n=90):
    """Yield (id, title, group) of texts that are easy to tell apart."""
    rng = np.random.default_rng(0)
    for number in range(n):
        group = list(WORDS)[number % 3]
        yield f"r{number}", " ".join(rng.permutation(WORDS[group].split())), group


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "jobs.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=";").writerows([("Key", "What", "Group"), *titles()])
    return path


@pytest.fixture(scope="module")
def model(table):
    columns = ["--text-column", "what", "--label-column", "Group", "--id-column", "Key"]
    arguments = ["train", table, "-o", table.parent / "m", *columns, *QUICK]
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert "jobs.csv: semicolon, header, label 'Group', text 'What', 90 rows" in result.stderr
    return table.parent / "m"


def test_predictions_stand_beside_the_columns_that_came(run, model, table, tmp_path):
    rows = list(csv.reader(io.StringIO(run("predict", model, table).stdout), delimiter=";"))
    assert rows[0] == ["Key", "What", "Group", "prediction", "probability"]
    assert [row[:3] for row in rows[1:]] == [list(row) for row in titles()]
    assert np.mean([row[3] == row[2] for row in rows[1:]]) > 0.9
    # another order, another format, without labels: columns are found by name
    lines = [json.dumps({"extra": [1], "What": text}) for _, text, _ in titles()]
    (tmp_path / "new.jsonl").write_text("\n".join(lines))
    result = run("predict", model, "new.jsonl", "--top-k", "2", "-o", "out.jsonl")
    assert result.stdout == ""
    answers = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [answer["prediction_1"] for answer in answers] == [row[3] for row in rows[1:]]
    assert answers[0]["extra"] == [1] and answers[0]["probability_2"] < 0.5


def test_parquet_comes_back_as_parquet(run, model, tmp_path):
    pa = pytest.importorskip("pyarrow", reason="needs the extra 'tables'")
    pq = pytest.importorskip("pyarrow.parquet")
    keys, texts, _ = zip(*titles(), strict=True)
    pq.write_table(pa.table({"What": texts, "n": range(90), "Key": keys}), tmp_path / "a.parquet")
    run("predict", model, "a.parquet", "-o", "b.parquet")
    back = pq.read_table(tmp_path / "b.parquet").to_pydict()
    assert back["n"] == list(range(90)) and len(back["prediction"]) == 90
    result = run("evaluate", model, "a.parquet", code=1)
    assert "no column of labels" in result.stderr


def test_evaluate_finds_columns_by_name_and_names_rows(run, model, tmp_path):
    rows = [("Group", "x", "What", "Key"), *((g, "-", t, k) for k, t, g in titles())]
    (tmp_path / "test.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    arguments = ["test.tsv", "--id-column", "Key", "--predictions", "p.csv", "--json"]
    record = json.loads(run("evaluate", model, *arguments).stdout)
    assert record["accuracy"] > 0.9
    first = (tmp_path / "p.csv").read_text().splitlines()[:2]
    assert first[0] == "id,line,label,predicted,probability"
    assert first[1].startswith("r0,2,nurse,nurse,")


def test_a_row_that_cannot_be_read_stops_or_is_skipped(run, model, tmp_path):
    (tmp_path / "bad.csv").write_bytes(b"What,Key\nward nurse,1\nb\xffs,2\ntruck,3,4\nbus,5\n")
    result = run("predict", model, "bad.csv", "-o", "out.csv", code=1)
    assert "line 3: is not utf-8" in result.stderr and not (tmp_path / "out.csv").exists()
    result = run("predict", model, "bad.csv", "--on-error", "skip")
    assert "2 rows could not be read" in result.stderr
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [bool(row["prediction"]) for row in rows] == [True, False, False, True]
    assert "has 3 columns" in rows[2]["error"]
    assert [row["What"] for row in rows] == ["ward nurse", "b\\xffs", "truck", "bus"]
    result = run("predict", model, "bad.csv", "--decode-errors", "replace", code=1)
    assert "line 4: has 3 columns" in result.stderr


def test_numbers_learn_and_predict_alike(run, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    X = (4 * np.eye(3)[y] + rng.normal(size=(120, 3))).round(3)
    rows = [f"{a};{b};{c};k{k}".replace(".", ",") for (a, b, c), k in zip(X, y, strict=True)]
    (tmp_path / "n.csv").write_text("a;b;c;label\n" + "\n".join(rows))
    result = run("train", "n.csv", "-o", "m", *QUICK)
    assert "semicolon, header, label 'label', 3 numbers, 120 rows" in result.stderr
    shuffled = [f"{c},{a},{b}" for a, b, c in X]
    (tmp_path / "m.csv").write_text("c,a,b\n" + "\n".join(shuffled) + "\n,1,2\n")
    assert "missing numbers" in run("predict", "m", "m.csv", code=1).stderr
    (tmp_path / "m.csv").write_text("c,a,b\n" + "\n".join(shuffled))
    answers = list(csv.DictReader(io.StringIO(run("predict", "m", "m.csv").stdout)))
    truth = [f"k{k}" for k in y]
    assert np.mean([row["prediction"] == t for row, t in zip(answers, truth, strict=True)]) > 0.9


def test_settings_of_a_table_go_through_a_file(run, table, tmp_path):
    options = ["--text-column", "What", "--label-column", "Group", "--delimiter", ";"]
    columns = 'text_column = ["What"]\nlabel_column = "Group"\ndelimiter = ";"'
    (tmp_path / "run.toml").write_text(f"[table]\n{columns}\n")
    result = run("train", table, "-o", "m", *QUICK, "--config", "run.toml")
    assert "label 'Group', text 'What'" in result.stderr
    assert "label 'Group', text 'What'" in run("data", "show", table, *options).stdout


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("Key,What\n1,night nurse\n", ["Key,What,prediction,probability", "1,night nurse,nurse,"]),
        ('{"What": "bus driver", "n": 3}\n', ['{"What": "bus driver", "n": 3, "prediction"']),
        ("line cook\n", ["cook"]),
    ],
)
def test_stdin_is_a_table_if_it_has_the_columns_of_the_model(start, model, lines, expected):
    process = start("predict", model, "-")
    out, err = process.communicate(lines.encode(), timeout=60)
    assert process.returncode == 0, err
    found = out.decode().splitlines()
    assert len(found) == len(expected)
    assert all(line.startswith(begin) for line, begin in zip(found, expected, strict=True))


def test_every_row_of_one_column_has_its_answer(run, model, tmp_path):
    cells = ["ward nurse", "", None, "☃", "bus driver", ""]
    (tmp_path / "a.csv").write_text('What\nward nurse\n""\n\n☃\nbus driver\n\n')
    (tmp_path / "a.txt").write_text("ward nurse\n\n\n☃\nbus driver\n\n")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"What": c}) + "\n" for c in cells))
    (tmp_path / "a.json").write_text(json.dumps([cell or "" for cell in cells]))
    found = {}
    for name in ("a.csv", "a.txt", "a.jsonl", "a.json"):
        result = run("predict", model, name)
        first = {"a.csv": "(lines 3, 4, 7)", "a.jsonl": "(lines 2, 3, 6)"}.get(
            name, "(lines 2, 3, 6)"
        )
        assert f"3 rows without a text {first}: no prediction" in result.stderr
        assert "1 row without any known feature (line" in result.stderr
        lines = result.stdout.splitlines()
        if name == "a.csv":
            lines = [row["prediction"] for row in csv.DictReader(io.StringIO(result.stdout))]
        elif name == "a.jsonl":
            lines = [json.loads(line)["prediction"] or "" for line in lines]
        found[name] = lines
    assert found["a.csv"] == found["a.txt"] == found["a.jsonl"] == found["a.json"]
    assert [bool(answer) for answer in found["a.csv"]] == [True, False, False, True, True, False]
    lines = run("predict", model, "a.txt", "--json").stdout.splitlines()
    assert json.loads(lines[1]) == {"labels": [], "probabilities": []}
    assert run("predict", model, "a.csv", "--reject-below", "0.1").stdout.count("\n") == 7


def test_rows_without_a_number_keep_their_place(run, tmp_path):
    rows = "".join(f"r{i},{i % 3}.5,k{i % 3}\n" for i in range(60))
    (tmp_path / "n.csv").write_text(f"id,x,label\n{rows}")
    run("train", "n.csv", "-o", "m", *QUICK)
    (tmp_path / "new.csv").write_text("id,x\na,0.5\nb,\nc,1.5\nd,NA\n")
    assert (
        "has 1 row with missing numbers (line 3)" in run("predict", "m", "new.csv", code=1).stderr
    )
    result = run("predict", "m", "new.csv", "--missing", "drop")
    assert "2 rows with missing numbers (lines 3, 5): no prediction" in result.stderr
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [(row["id"], bool(row["prediction"])) for row in rows] == [
        ("a", True),
        ("b", False),
        ("c", True),
        ("d", False),
    ]
    result = run("encode", "m", "new.csv", "--missing", "drop", code=1)
    assert "has 1 row with missing numbers" in result.stderr


def test_columns_that_are_not_used_are_named(run, tmp_path):
    (tmp_path / "a.csv").write_text(
        "Code,Kind,Title\n" + "".join(f"c{i},k{i % 2},title {i}\n" for i in range(9))
    )
    roles = ("--label-column", "Kind", "--text-column", "Title")
    said = run("data", "show", "a.csv", *roles).stdout
    assert "label 'Kind', text 'Title', not used: 'Code', 9 rows" in said
    said = run("data", "show", "a.csv", "--label-column", "Title", code=1).stderr
    assert "it is not clear which of 'Code', 'Kind' is the text" in said
    assert "or --text-column" in said
    (tmp_path / "b.csv").write_text("label,text," + ",".join("abcdefg") + "\nx,y" + ",1" * 7 + "\n")
    assert "not used: 'a', 'b', 'c', 'd', 'e' and 2 more" in run("data", "show", "b.csv").stdout


def test_a_separator_inside_labels_is_seen_before_training(run, tmp_path):
    lines = [f"{a}|{b},text {a}" for a in "pqrs" for b in "pqrs"]
    (tmp_path / "sets.csv").write_text("\n".join(["label,text", *lines]) + "\n")
    assert "give --label-separator '|'" in run("data", "show", "sets.csv").stderr


def test_exports_of_a_spreadsheet_are_read_or_named(run, start, model, tmp_path):
    """UTF-16 with its mark is read, from a pipe as well; a workbook is called so everywhere."""
    text = "Key\tWhat\tGroup\r\n" + "".join("\t".join(row) + "\r\n" for row in titles())
    (tmp_path / "unicode.txt").write_bytes(text.encode("utf-16"))
    result = run("predict", model, "unicode.txt")
    assert result.stdout.splitlines()[0] == "Key\tWhat\tGroup\tprediction\tprobability"
    out, err = start("predict", model, "-").communicate(text.encode("utf-16"), timeout=60)
    assert out.decode() == result.stdout, err
    assert "90 rows" in run("data", "show", "unicode.txt", "--label-column", "Group").stdout
    assert "accuracy" in run("evaluate", model, "unicode.txt").stdout
    (tmp_path / "book.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    commands = (["predict", model], ["evaluate", model], ["data", "show"], ["train", "-o", "x"])
    for command in commands:
        result = run(*command, "book.xls", code=1)
        assert "book.xls: this is an Excel workbook: save it as CSV UTF-8" in result.stderr


def test_a_model_of_two_texts_wants_both(run, start, tmp_path):
    table = write_two_texts(tmp_path / "a.csv")
    names = ["--text-column", "title", "--text-column", "note"]
    told = run("train", table, "-o", "m", *names, *QUICK).stderr
    assert "each have n-grams of their own" in told
    line = json.dumps(RECORD)
    asked = {f"{line}\n{line}\n": '"nurse"', "title;note\nsushi cook;bus driver\n": ";cook;"}
    for given, label in asked.items():
        answer, told = start("predict", "m", "-").communicate(given.encode(), timeout=60)
        assert label in answer.decode().splitlines()[1], told
    assert "nurse, " in run("explain", "m", line).stdout
    refused = "- is no table with the columns that the model reads, 'title', 'note'. Give one"
    for command in ("predict", "encode", "explain"):
        assert refused in run(command, "m", "-", input="night nurse\n", code=1).stderr
    (tmp_path / "parts").mkdir()
    for part in ("train", "test"):
        write_two_texts(tmp_path / "parts" / f"{part}.csv")
    assert json.loads(run("evaluate", "m", "parts", "--json").stdout)["accuracy"] > 0.9
    for text in ("night nurse", "{night nurse"):
        told = run("explain", "m", text, code=1).stderr
        assert "is one text, but the model reads 'title', 'note'." in told
