"""Tables with columns added, in the format that they came in, a block at a time."""

import contextlib
import csv
import io
import json
from collections.abc import Sequence
from typing import IO, Any, Self

from dsnc.data.tables import Row, Table
from dsnc.errors import DataFileError, require

Added = Sequence[Any]  # the cells that are added to a row
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


class TableWriter:
    """Writes rows of a table with more columns; text is UTF-8.

    Parameters
    ----------
    file : binary file
    table : Table
        Where the rows come from.
    added : dict of str to type
        Names of the columns that are added, and whether they hold `str`, `float`, or lists of them
        (``list[str]``). A name that is taken gets an underscore.
    kind : str, optional
        Another format than the table's: "jsonl".
    separator : str
        What stands between the items of a list in delimited text; JSON and Parquet have lists.
    """

    def __init__(
        self,
        file: IO[bytes],
        table: Table,
        added: dict[str, Any],
        kind: str | None = None,
        separator: str = "|",
    ) -> None:
        self._file, self._table, self._kind = file, table, kind or table.kind
        self._separator = separator
        self._added: dict[str, Any] = {}
        for name, type_ in added.items():
            while name in table.names:
                name += "_"
            self._added[name] = type_
        self._parquet: Any = None
        if self._kind in ("csv", "tsv") and table.has_names:
            self._file.write(self._delimited([[*table.names, *self._added]]))

    def write(self, rows: Sequence[Row], added: Sequence[Added]) -> None:
        """Write some rows and what is added to each."""
        if self._kind == "parquet":
            self._write_parquet(rows, added)
        elif self._kind == "jsonl":
            self._file.write(self._objects(rows, added))
        else:
            safe = ([no_formula(self._joined(cell)) for cell in more] for more in added)
            lines = [[*self._cells(row), *more] for row, more in zip(rows, safe, strict=True)]
            self._file.write(self._delimited(lines))
        self._file.flush()

    def close(self) -> None:
        """End the file; of Parquet, its last part is written now."""
        if self._kind == "parquet":
            if self._parquet is None:
                self._write_parquet([], [])
            self._parquet.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        """End the file, also one that is of no use as something has gone wrong."""
        if kind is None:
            self.close()
        elif self._parquet is not None:
            with contextlib.suppress(OSError, ValueError):
                self._parquet.close()  # at its end it would complain that its file is closed

    def _cells(self, row: Row) -> list[Any]:
        """Return the cells of a row; of one that cannot be read, those that there are."""
        if not isinstance(row.cells, DataFileError):
            return row.cells
        width = len(self._table.names)
        cells = row.whole if isinstance(row.whole, list) else []
        return [*cells, *[None] * width][:width]

    def _delimited(self, lines: Sequence[Sequence[Any]]) -> bytes:
        text = io.StringIO()
        lines = [[self._joined(cell) for cell in line] for line in lines]
        if self._table.delimiter == "\t":  # between tabs a quote is a quote
            for line in lines:
                text.write("\t".join("" if cell is None else _cell(cell) for cell in line) + "\n")
        else:
            writer = csv.writer(text, delimiter=self._table.delimiter, lineterminator="\n")
            writer.writerows([_plain(cell) for cell in line] for line in lines)
        return text.getvalue().encode("utf-8", "backslashreplace")

    def _joined(self, cell: Any) -> Any:
        """Return the items of a list as one text, anything else as it is."""
        return self._separator.join(map(_text, cell)) if isinstance(cell, list) else cell

    def _objects(self, rows: Sequence[Row], added: Sequence[Added]) -> bytes:
        lines = []
        for row, more in zip(rows, added, strict=True):
            whole = row.whole
            if not isinstance(whole, dict):
                whole = dict(zip(self._table.names, self._cells(row), strict=True))
            record = {**whole, **dict(zip(self._added, more, strict=True))}
            lines.append(json.dumps(record, ensure_ascii=False, default=str) + "\n")
        return "".join(lines).encode("utf-8", "backslashreplace")

    def _write_parquet(self, rows: Sequence[Row], added: Sequence[Added]) -> None:
        pyarrow = require("pyarrow", extra="tables", caller="writing Parquet")
        parquet = require("pyarrow.parquet", extra="tables", caller="writing Parquet")
        types: dict[Any, Any] = {str: pyarrow.string(), float: pyarrow.float32()}
        types |= {list[str]: pyarrow.list_(types[str]), list[float]: pyarrow.list_(types[float])}
        schema = self._table.schema
        for name, type_ in self._added.items():
            schema = schema.append(pyarrow.field(name, types[type_]))
        if self._parquet is None:
            self._parquet = parquet.ParquetWriter(self._file, schema)
        lines = [[*self._cells(row), *more] for row, more in zip(rows, added, strict=True)]
        columns = list(zip(*lines, strict=True)) if lines else [()] * len(schema)
        arrays = [
            pyarrow.array(column, type=field.type)
            for column, field in zip(columns, schema, strict=True)
        ]
        self._parquet.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))


def no_formula(cell: Any) -> Any:
    """Return a cell with an apostrophe before what a spreadsheet would compute.

    Labels may come from a stranger's model. Numbers stay what they are.
    """
    if not isinstance(cell, str) or not cell.startswith(_FORMULAS):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell


def _text(cell: Any) -> str:
    return str(_plain(cell))


def _plain(cell: Any) -> Any:
    return f"{cell:.6g}" if isinstance(cell, float) else cell


def _cell(cell: Any) -> str:
    """Return a cell that has no tab and no end of a line inside."""
    return _text(cell).replace("\t", " ").replace("\n", " ").replace("\r", " ")
