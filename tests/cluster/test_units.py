from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dsnc.cluster.places import place
from dsnc.cluster.units import Reading, units_of
from dsnc.data.columns import Columns
from dsnc.data.tables import TableOptions
from dsnc.errors import DataFileError, InputError


def test_parquet_is_cut_at_row_groups(tmp_path):
    table = pa.table({"text": [str(i) for i in range(10)]})
    pq.write_table(table, tmp_path / "b.parquet", row_group_size=3)
    pq.write_table(table.slice(0, 0), tmp_path / "a.parquet")
    (tmp_path / "_plan.json").write_text("{}")
    (tmp_path / ".part-00000.parquet-1").write_text("half")
    units = units_of(tmp_path, rows_per_part=6)
    assert [(unit.number, unit.piece, unit.part) for unit in units] == [
        (0, (0,), "part-00000.parquet"),
        (1, (0, 1), "part-00001.parquet"),
        (2, (2, 3), "part-00002.parquet"),
    ]
    reading, _ = Reading.like(units[0], TableOptions(), [])
    found = []
    for unit in units:
        with reading.open(unit) as opened:
            found += [row.cells for row in opened.rows()]
    assert found == [[str(i)] for i in range(10)]
    assert [unit.piece for unit in units_of(tmp_path / "b.parquet", 1)] == [(0,), (1,), (2,), (3,)]


def test_cells_take_the_types_of_the_first_file(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "a", "tags": [1]}\n{"id": 2, "text": 3}\n')
    (tmp_path / "b.jsonl").write_text('{"text": null, "id": 3, "more": 1}\n')
    units = units_of(tmp_path)
    reading, _ = Reading.like(units[0], TableOptions(), [])
    assert [str(kind) for kind in reading.schema.types] == ["int64", "string", "list<item: int64>"]
    with reading.open(units[0]) as table:
        assert [row.cells for row in table.rows()] == [[1, "a", [1]], [2, "3", None]]
    with reading.open(units[1]) as table:
        assert [row.cells for row in table.rows()] == [[3, None, None]]
    of_model = replace(reading, columns=Columns(text=("text",)))  # for which "3" would be a text
    with of_model.open(units[0]) as table:
        _, row = table.rows()
    assert "line 2: has a value that is not a text in column 'text': '3'" in str(row.cells)
    assert row.whole == [2, "3", None]


def test_columns_that_a_file_lacks_are_named(tmp_path):
    (tmp_path / "a.csv").write_text("id;text\n1;a b\n2;c d\n")
    (tmp_path / "b.csv").write_text("id;title\n1;a b\n")
    units = units_of(tmp_path)
    reading, _ = Reading.like(units[0], TableOptions(), ["text"])
    assert (reading.options.delimiter, reading.options.header) == (";", True)
    reading = Reading(reading.options, reading.schema, Columns(text=("text",)))
    with pytest.raises(DataFileError, match=r"b\.csv: has no column 'text'"):
        reading.open(units[1]).__enter__()


def test_lines_are_rows_also_from_afar(tmp_path):
    (tmp_path / "rows.txt").write_text("one\n\nthree\n")
    for name in (tmp_path / "rows.txt", f"file://{tmp_path}/rows.txt", f"local://{tmp_path}"):
        [unit] = units_of(name)
        reading, _ = Reading.like(unit, TableOptions(), [])
        with reading.open(unit) as table:
            assert [row.cells for row in table.rows()] == [["one"], [""], ["three"]]


def test_a_file_is_there_whole_or_not_at_all(tmp_path):
    folder = place(f"local://{tmp_path}") / "deep"
    with (folder / "part-1").writing() as file:
        file.write(b"whole")
    with pytest.raises(ZeroDivisionError), (folder / "part-2").writing() as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert (folder / "part-1").read() == b"whole"
    folder.sweep()
    assert folder.names() == {"part-1"}


def test_what_is_not_there(tmp_path):
    with pytest.raises(DataFileError, match="nothing: does not exist"):
        units_of(tmp_path / "nothing")
    with pytest.raises(DataFileError, match="has no files"):
        units_of(tmp_path)
    with pytest.raises(InputError, match="strange://rows cannot be opened"):
        units_of("strange://rows")
    (tmp_path / "a.parquet").write_text("no")
    with pytest.raises(DataFileError, match=r"a\.parquet: is not a Parquet file"):
        units_of(tmp_path)
