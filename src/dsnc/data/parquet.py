"""Parquet, which pyarrow reads; what comes out is counted first, as a small file may hold much."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from dsnc.data.files import STDIN, UnpackLimit
from dsnc.data.tables import BATCH, Row, Table, TableOptions
from dsnc.errors import DataFileError, InputError, require

_NESTED_BATCH = 64  # where cells are lists, which are unpacked before they are counted


def open_parquet(path: Any, options: TableOptions, known: Iterable[str]) -> Table:
    """Open a file, as `open_table` asks for; options of texts mean nothing to it."""
    if path == STDIN:
        raise InputError("Parquet cannot be read from stdin; give the name of a file.")
    return parquet_table(path)


def parquet_table(
    path: str | os.PathLike[str], file: Any = None, row_groups: Sequence[int] | None = None
) -> Table:
    """Open Parquet, or some of its row groups; messages call it `path`.

    `file` is where it is, if not at the path. Rows are numbered from 1 on in any case.
    """
    parquet = require("pyarrow.parquet", extra="tables", caller="reading Parquet")
    arrow = require("pyarrow", extra="tables", caller="reading Parquet")
    require("pyarrow.compute", extra="tables", caller="reading Parquet")
    damage = OSError, ValueError, OverflowError, arrow.ArrowException
    try:
        file = arrow.OSFile(os.fspath(path)) if file is None else file
        known = parquet.ParquetFile(file)
        # A text that stands there once, for many rows, is not copied for each before it is counted.
        texts = [one.path for one in known.schema if _is_text(one)]
        opened = parquet.ParquetFile(file, metadata=known.metadata, read_dictionary=texts)
        schema, limit = known.schema_arrow, UnpackLimit(path, file.size())
        claimed = _claimed(known)
    except damage as error:
        raise DataFileError.at(path, f"is not a Parquet file ({error})") from error
    limit.count(claimed)
    size = BATCH if all("." not in one.path for one in known.schema) else _NESTED_BATCH

    def rows() -> Iterator[Row]:
        number = 1
        batches = opened.iter_batches(batch_size=size, row_groups=row_groups)
        while True:
            try:
                batch = next(batches, None)
                found = batch.columns if batch else []
                limit.count(sum(_n_bytes(arrow, column) for column in found))
                columns = [column.to_pylist() for column in found]
            except DataFileError:
                raise
            except damage as error:
                problem = f"is damaged, or of a kind that pyarrow cannot read ({error})"
                raise DataFileError.at(path, problem, line=number) from error
            if batch is None:
                return
            for cells in zip(*columns, strict=True):
                yield Row(number, list(cells))
                number += 1

    return Table(path, "parquet", list(schema.names), rows(), "Parquet", schema=schema)


def _is_text(column: Any) -> bool:
    """Tell whether a column has texts, and not lists of them."""
    is_flat = "." not in column.path and column.physical_type == "BYTE_ARRAY"
    return is_flat and column.logical_type.type != "DECIMAL"


def _claimed(file: Any) -> int:
    """Return the size of the pages of a Parquet file, as it says itself, and of wide cells."""
    metadata = file.metadata
    size = sum(BATCH * column.length for column in file.schema)
    places = product(range(metadata.num_row_groups), range(metadata.num_columns))
    size += sum(metadata.row_group(i).column(j).total_uncompressed_size for i, j in places)
    return int(size)


def _n_bytes(arrow: Any, column: Any) -> int:
    """Return the size of a column of Arrow, with texts as often as they stand in rows."""
    kind, types = column.type, arrow.types
    if types.is_dictionary(kind) and not types.is_primitive(kind.value_type):
        lengths = arrow.compute.binary_length(column.dictionary).take(column.indices)
        return int(arrow.compute.sum(lengths).as_py() or 0)
    return int(column.nbytes)
