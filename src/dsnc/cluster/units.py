"""A source cut into units of work, each of which becomes one part of the result.

A file is a unit, unless its reader cuts it further. What a unit is depends on the files
alone, and its number names its part: whoever works on it again writes the same part again, so that
nothing is missing and nothing there twice, whatever broke in between.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from dsnc.cluster.places import Place, place
from dsnc.data.columns import TEXT_NAMES, Columns
from dsnc.data.reader import Reader, RowOptions
from dsnc.data.readers import LINES, READERS, named_reader
from dsnc.data.table_rows import check_text
from dsnc.data.tables import Row, Table, TableOptions
from dsnc.errors import DataFileError, require

_ROWS = 1 << 18  # of a part, unless a row group has more
_LOOKED_AT = 32  # files at a time


@dataclass(frozen=True)
class Unit:
    """What one worker does at a time."""

    number: int
    name: str  # of the file
    reader: str
    size: int  # of the file, in bytes
    piece: Any = None  # of the file, as its reader has cut it

    @property
    def part(self) -> str:
        """The name of its part."""
        return f"part-{self.number:05}.parquet"


def units_of(source: str | os.PathLike[str], rows_per_part: int = _ROWS) -> list[Unit]:
    """Return the units of a file or folder, in the order of names and rows.

    Of a folder, files in folders below are taken, too; an address in an object store will do. Row
    groups of a Parquet file are put together up to `rows_per_part` rows.
    """
    files = place(source).files()
    with ThreadPoolExecutor(_LOOKED_AT) as pool:
        found = list(pool.map(lambda file: _units_of_file(file, rows_per_part), files))
    flat = [unit for units in found for unit in units]
    return [replace(unit, number=number) for number, unit in enumerate(flat)]


def _units_of_file(file: Place, rows_per_part: int) -> list[Unit]:
    kind = named_reader(file.path) or LINES
    name = file.path if file.is_local else file.name  # workers stand in other folders
    whole = Unit(0, name, kind, file.size())
    pieces = READERS[kind].cut(file.name, file.open, rows_per_part)
    return [replace(whole, piece=piece) for piece in pieces]


@dataclass(frozen=True)
class Reading:
    """How the units of a source are read: as its first file was found to be.

    Parameters
    ----------
    options : TableOptions
        What is known of delimited text.
    schema : pyarrow.Schema
        Types of the columns; of Parquet, each file has its own.
    columns : Columns
        What is read for a model.
    """

    options: TableOptions = field(default_factory=TableOptions)
    schema: Any = None
    columns: Columns = field(default_factory=Columns)

    @classmethod
    def like(cls, unit: Unit, options: TableOptions, names: list[str]) -> tuple["Reading", Table]:
        """Return how units are read, without columns yet, and the table of one of them."""
        reading = cls(options)
        with reading._opened(unit, names) as table:
            if table.is_delimited:
                header, delimiter = table.has_names, table.delimiter
                reading = replace(
                    reading, options=replace(options, header=header, delimiter=delimiter)
                )
            return replace(reading, schema=table.schema or _schema(table)), table

    @contextmanager
    def open(self, unit: Unit) -> "Iterator[Table]":
        """Yield the table of a unit; it has a schema, and the columns of the others."""
        with self._opened(unit, self.columns.names) as table:
            lost = [name for name in self.columns.names if name not in table.names]
            if lost:
                raise DataFileError.at(
                    unit.name,
                    f"has no column {lost[0]!r}, unlike the first file",
                    expected="the same columns in all files",
                )
            if table.schema is None:
                table = self._typed(table)
            yield table

    @contextmanager
    def _opened(self, unit: Unit, names: list[str]) -> "Iterator[Table]":
        file, reader = place(unit.name), READERS[unit.reader]
        if unit.piece is not None:
            with file.open() as opened:
                yield reader.open_piece(unit.name, opened, unit.piece)
            return
        with _nearby(file) as path:
            table = reader.open(path, self.options, [*names, *TEXT_NAMES])
            yield _one_column(reader, path, self.options) if table is None else table

    def _typed(self, table: Table) -> Table:
        """Return a table whose cells are of the types of the schema."""
        if list(self.schema.names) != table.names:
            expected = f"{list(self.schema.names)}, as in the first file"
            if table.kind != "jsonl":
                raise DataFileError.at(table.path, f"has columns {table.names}", expected=expected)
        names, types = list(self.schema.names), list(self.schema.types)
        texts = [str(kind) == "string" for kind in types]

        def rows() -> Iterator[Row]:
            for row in table.rows():
                if isinstance(row.cells, DataFileError):
                    yield row
                    continue
                cells = row.cells
                if row.whole is not None:  # keys of JSON come in any order
                    cells = [row.whole.get(name) for name in names]
                pairs = zip(cells, texts, strict=True)
                typed = [_text(cell) if is_text else cell for cell, is_text in pairs]
                try:
                    for name in self.columns.text if row.whole is not None else ():
                        check_text(table.path, row.line, name, row.whole.get(name))
                    yield Row(row.line, typed)
                except DataFileError as error:
                    yield Row(row.line, error, typed)

        found: Any = {"has_names": table.has_names, "delimiter": table.delimiter}
        typed = Table(table.path, table.kind, names, rows(), table.how, schema=self.schema, **found)
        typed.label_separator = table.label_separator
        return typed


@contextmanager
def _nearby(file: Place) -> "Iterator[str]":
    """Yield the path of a file that programs can open; from afar, of a copy for this moment."""
    if file.is_local:
        yield file.path
        return
    with tempfile.TemporaryDirectory(prefix="dsnc-") as folder:
        path = Path(folder) / file.path.rpartition("/")[2]
        with file.open() as source, path.open("wb") as copy:
            while data := source.read(1 << 22):
                copy.write(data)
        try:
            yield str(path)
        except DataFileError as error:
            raise DataFileError(str(error).replace(str(path), file.name)) from error


def _one_column(reader: Reader, path: str, options: TableOptions) -> Table:
    """Return texts as a table of one column; an empty line is a row, too."""
    told = RowOptions(encoding=options.encoding, decode_errors=options.decode_errors)
    texts = chain.from_iterable(reader.stream(path, told))
    pyarrow = require("pyarrow", extra="ray", caller="dsnc.cluster")
    schema = pyarrow.schema([("text", pyarrow.string())])
    rows = (Row(number, [text]) for number, text in enumerate(texts, 1))
    return Table(path, "text", ["text"], rows, "lines", schema=schema)


def _schema(table: Table) -> Any:
    """Return the types of the columns of a table by its first rows; texts if they differ."""
    pyarrow = require("pyarrow", extra="ray", caller="dsnc.cluster")
    rows = [row.cells for row in table.sample if not isinstance(row.cells, DataFileError)]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(table.names)
    fields = []
    for name, cells in zip(table.names, columns, strict=True):
        try:
            kind = pyarrow.array(cells).type
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, pyarrow.ArrowNotImplementedError):
            kind = pyarrow.string()
        fields.append(pyarrow.field(name, pyarrow.string() if kind == pyarrow.null() else kind))
    return pyarrow.schema(fields)


def _text(cell: Any) -> Any:
    """Return a cell as text; what is neither text nor nothing as JSON."""
    if cell is None or isinstance(cell, str):
        return cell
    return json.dumps(cell, ensure_ascii=False)
