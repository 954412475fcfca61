import tracemalloc

import numpy as np
import pytest

from dsnc.data.parquet import parquet_table
from dsnc.data.table_output import TableWriter
from dsnc.errors import DataFileError

pa = pytest.importorskip("pyarrow", reason="needs the extra 'tables'")
pq = pytest.importorskip("pyarrow.parquet")


def test_a_damaged_page_of_parquet_is_named(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"t": ["one", "two"]}), path)
    content = path.read_bytes()
    path.write_bytes(content[:4] + b"\xff" * 40 + content[44:])
    with pytest.raises(DataFileError, match="a.parquet, line 1: is damaged") as caught:
        list(parquet_table(path).rows())
    assert caught.value.line == 1


def test_parquet_keeps_its_types(tmp_path):
    columns = {"n": [1, None, 3], "t": ["a", "b", None], "f": np.array([0.5, 1.5, 2.5], "f4")}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    table = parquet_table(tmp_path / "a.parquet")
    assert [row.known() for row in table.rows()] == [
        [1, "a", 0.5],
        [None, "b", 1.5],
        [3, None, 2.5],
    ]
    table = parquet_table(tmp_path / "a.parquet")
    with (tmp_path / "b.parquet").open("wb") as file:
        writer = TableWriter(file, table, {"prediction": str, "probability": float})
        writer.write(list(table.rows()), [["x", 0.5], [None, None], ["y", 1.0]])
        writer.close()
    back = pq.read_table(tmp_path / "b.parquet")
    assert back.schema.field("n").type == pa.int64() and back.schema.field("f").type == pa.float32()
    assert back.to_pydict()["prediction"] == ["x", None, "y"]
    with pytest.raises(DataFileError, match="is not a Parquet file"):
        (tmp_path / "c.parquet").write_bytes(b"PAR1 and no more")
        parquet_table(tmp_path / "c.parquet")


@pytest.mark.parametrize("as_list", [False, True], ids=["texts", "lists"])
def test_a_text_that_parquet_holds_once_for_many_rows_is_counted_for_each(tmp_path, as_list):
    path, text = tmp_path / "a.parquet", "x" * 1_000_000
    once = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), pa.array([text]))
    if as_list:
        once = pa.array([[text]] * 300)
    pq.write_table(pa.table({"text": once}), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 10_000
    tracemalloc.start()
    with pytest.raises(DataFileError, match=r"unpacks to more than 268,435,456 bytes"):
        list(parquet_table(path).rows())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 400_000_000


def test_pages_of_parquet_that_say_they_are_large_are_not_read(tmp_path):
    table = pa.table({"n": np.zeros(40_000_000)})
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    assert path.stat().st_size < 260_000
    with pytest.raises(DataFileError, match="unpacks to more than"):
        parquet_table(path)


def test_parquet_of_all_kinds_of_cells_comes_as_it_is(tmp_path):
    many = 300
    table = pa.table(
        {
            "labels": pa.array([["a", "b"], ["c"], None] * 100),
            "text": pa.array(["one", None, "two"] * 100),
            "large": pa.array(["u"] * many, pa.large_string()),
            "category": pa.array(["a", "b", "a"] * 100).dictionary_encode(),
            "grade": pa.array([1, 2, 3] * 100).dictionary_encode(),
            "bytes": pa.array([b"1234"] * many, pa.binary(4)),
            "map": pa.array([[("k", "v")]] * many, pa.map_(pa.string(), pa.string())),
            "object": pa.array([{"k": "v", "more": ["x"]}] * many),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=70)
    found = [row.known() for row in parquet_table(tmp_path / "a.parquet").rows()]
    columns = [column.to_pylist() for column in table.columns]
    assert found == [list(row) for row in zip(*columns, strict=True)]
