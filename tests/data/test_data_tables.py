import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsnc.data.cells import is_missing, number
from dsnc.data.table_output import TableWriter
from dsnc.data.tables import DELIMITERS, TableOptions, open_table
from dsnc.errors import DataFileError, DsncWarning, InputError

NAMES = st.lists(
    st.text("abcdefghij_", min_size=1, max_size=8), min_size=2, max_size=5, unique_by=str.lower
)
# What spreadsheets hold: quotes, delimiters, ends of lines; no lone \r, which csv takes for one.
CELL = st.text(st.sampled_from("ab ,;|\"'1.é\n"), min_size=1, max_size=8).map(lambda t: f"x{t}x")


def written(rows, delimiter):
    text = io.StringIO()
    if delimiter == "\t":
        text.writelines("\t".join(row) + "\n" for row in rows)
    else:
        csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()


@st.composite
def tables(draw):
    """Yield names, rows and a delimiter."""
    names, delimiter = draw(NAMES), draw(st.sampled_from(list(DELIMITERS)))
    cell = CELL.map(lambda t: t.replace("\n", " ").replace('"', "'")) if delimiter == "\t" else CELL
    n_rows = draw(st.integers(2, 8))
    rows = draw(
        st.lists(
            st.lists(cell, min_size=len(names), max_size=len(names)),
            min_size=n_rows,
            max_size=n_rows,
        )
    )
    return names, rows, delimiter


@given(tables(), st.sampled_from(["utf-8", "utf-8-sig", "latin-1"]))
def test_delimiter_header_and_cells_are_found(tmp_path_factory, table, encoding):
    names, rows, delimiter = table
    path = tmp_path_factory.mktemp("t") / "a.csv"
    path.write_bytes(written([names, *rows], delimiter).encode(encoding))
    options = TableOptions(encoding=encoding.removesuffix("-sig"))
    found = open_table(path, "csv", options, known=names[:1])
    assert (found.names, found.delimiter, found.has_names) == (names, delimiter, True)
    assert [row.known() for row in found.rows()] == rows


@given(tables())
def test_a_table_comes_back_as_it_was_with_columns_added(tmp_path_factory, table):
    names, rows, delimiter = table
    path = tmp_path_factory.mktemp("t") / "a.csv"
    path.write_text(written([names, *rows], delimiter), encoding="utf-8", newline="")
    first = open_table(path, "csv", TableOptions(delimiter=delimiter, header=True))
    added = [[f"label {i}", 0.25] for i in range(len(rows))]
    file = io.BytesIO()
    writer = TableWriter(file, first, {"prediction": str, names[0]: float})
    writer.write(list(first.rows()), added)
    writer.close()
    path.write_bytes(file.getvalue())
    again = open_table(path, "csv", TableOptions(delimiter=delimiter, header=True))
    assert again.names == [*names, "prediction", f"{names[0]}_"]
    assert [row.known() for row in again.rows()] == [
        [*row, f"label {i}", "0.25"] for i, row in enumerate(rows)
    ]


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_no_label_that_is_added_is_a_formula_in_a_spreadsheet(tmp_path, delimiter):
    path = tmp_path / "a.csv"
    path.write_text(f"text{delimiter}n\n=SUM(A1){delimiter}1\n", encoding="utf-8")
    labels = ["=1+1", "+a", "-x", "@cmd", "-1.5", "+2", "a=b", ["=1", "b"], None, -3]
    table = open_table(path, "csv", TableOptions(delimiter=delimiter, header=True))
    file = io.BytesIO()
    rows = [*table.rows()] * len(labels)
    TableWriter(file, table, {"prediction": str}).write(rows, [[label] for label in labels])
    cells = [line.split(delimiter) for line in file.getvalue().decode().splitlines()[1:]]
    assert {line[0] for line in cells} == {"=SUM(A1)"}  # what came is as it was
    safe = ["'=1+1", "'+a", "'-x", "'@cmd", "-1.5", "+2", "a=b", "'=1|b", "", "-3"]
    assert [line[2] for line in cells] == safe


JSON = st.dictionaries(
    st.text(min_size=1, max_size=5),
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.lists(st.integers()),
    min_size=1,
    max_size=4,
)


@settings(max_examples=40)
@given(st.lists(JSON, min_size=1, max_size=6))
def test_json_objects_keep_all_of_their_keys(tmp_path_factory, objects):
    path = tmp_path_factory.mktemp("t") / "a.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in objects), encoding="utf-8")
    table = open_table(path, "jsonl")
    file = io.BytesIO()
    TableWriter(file, table, {"p": str}).write(list(table.rows()), [["x"]] * len(objects))
    back = [json.loads(line) for line in file.getvalue().decode().splitlines()]
    taken = any("p" in item for item in objects)
    assert back == [{**item, "p_" if taken else "p": "x"} for item in objects]


@pytest.mark.parametrize(
    ("content", "how"),
    [
        ("a;b\n1,5;x\n2,5;y\n", "semicolon, header"),
        ("1,5;2;x\n2,5;3;y\n", "semicolon, no header"),
        ("a|b\nx, y|1\nz|2\n", "bar, header"),
        ("n,label\n1,a\n2,b\n", "comma, header"),
        ("1,a\n2,b\n", "comma, no header"),
        ("x y,a\nz,b\nw,a\n", "comma, no header"),
    ],
)
def test_what_strangers_write(tmp_path, content, how):
    path = tmp_path / "a.csv"
    path.write_text(content)
    assert open_table(path, "csv", known=["label"]).how == how


def test_a_header_is_never_a_row_without_a_word(tmp_path):
    path = tmp_path / "a.csv"
    rows = "".join(f"a text {i},c{i % 2}\n" for i in range(8))
    path.write_text("Description,Source\n" + rows)
    with pytest.warns(DsncWarning, match=r"column names.*header=False"):
        assert open_table(path, "csv").names == ["Description", "Source"]
    assert open_table(path, "csv", TableOptions(header=False)).names == ["0", "1"]
    path.write_text("one,a\ntwo,b\n")
    with pytest.warns(DsncWarning, match="is read as data; with header=True"):
        assert not open_table(path, "csv").has_names


def test_bad_bytes_are_an_error_of_their_row_or_replaced(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"label,text\na,one\nb,sch\xf6n\nc,three\n")
    rows = list(open_table(path, "csv", known=["label"]).rows())
    assert [row.line for row in rows] == [2, 3, 4]
    assert isinstance(rows[1].cells, DataFileError)
    with pytest.raises(DataFileError, match=r"line 3: is not utf-8 .*decode_errors='replace'"):
        rows[1].known()
    options = TableOptions(decode_errors="replace")
    assert [row.known()[1] for row in open_table(path, "csv", options, ["label"]).rows()] == [
        "one",
        "sch\ufffdn",
        "three",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": "ab"}, "delimiter='ab' must be one character"),
        ({"delimiter": '"'}, "must be one character, not a quote"),
        ({"decode_errors": "ignore"}, "must be 'strict' or 'replace'"),
        ({"encoding": "utf-99"}, "encoding 'utf-99' is not known"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(InputError, match=message):
        TableOptions(**options).check()


@pytest.mark.parametrize("text", ["", " ", "NA", "n/a", "NaN", "null", "None", "?"])
def test_what_is_missing(text):
    assert is_missing(text)
    assert is_missing(None) and is_missing(float("nan")) and not is_missing(0)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_with_a_point_or_a_comma(value):
    assert number(repr(value), decimal_comma=False) == value
    assert number(repr(value).replace(".", ","), decimal_comma=True) == value
    assert number("1_000", decimal_comma=True) is None


def test_whole_numbers_of_any_size():
    assert number(10**400, decimal_comma=False) is None


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b'{"label": ' + b"[" * 100_000 + b"\n", "line 1: is not JSON"),
        ("a.jsonl", b"[" * 100_000, "is not JSON"),
        ("a.csv", b'"",""\n"",""\n', "has only empty cells"),
    ],
)
def test_hostile_tables_are_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataFileError, match=message):
        next(open_table(tmp_path / name, name.partition(".")[2]).rows()).known()
