"""Readers of tables: delimited text, JSON lines, Parquet."""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

from dsnc.data.files import begins_json
from dsnc.data.lines import LinesReader
from dsnc.data.parquet import open_parquet, parquet_table
from dsnc.data.reader import LIKELY, NAMED, NO, SURE, RowOptions, Start, blocks_of
from dsnc.data.tables import Table, TableOptions, json_items, open_table
from dsnc.data.text import read_csv, read_jsonl, read_parquet, read_tsv
from dsnc.errors import DataFileError, require

_OBJECTS = (b"{", b"[{")  # begin lines of JSON, and an array of objects


class TableReader(LinesReader):
    """What all tables have in common."""

    is_table = True

    def open(self, path: Any, options: TableOptions, known: Iterable[str]) -> Table | None:
        """Open the table."""
        return open_table(path, self.endings[0], options, known)


class CsvReader(TableReader):
    """Text in columns, with any delimiter between them."""

    endings = ("csv",)
    marks: tuple[bytes, ...] = (b",", b";", b"|")
    read = staticmethod(read_csv)

    def detect(self, start: Start) -> int:
        """Look at the name, or for a delimiter in every line."""
        lines = start.table_lines
        if start.named(self.endings):
            return NAMED
        cut = any(all(mark in line for line in lines) for mark in self.marks)
        return LIKELY if lines and cut else NO


class TsvReader(CsvReader):
    """The same with tabs first, between which a quote is a quote."""

    endings = ("tsv",)
    marks = (b"\t",)
    read = staticmethod(read_tsv)


class JsonReader(TableReader):
    """A JSON object a line, or one array of objects; without labels, also of texts."""

    endings = ("jsonl", "ndjson", "json")
    read = staticmethod(read_jsonl)

    def detect(self, start: Start) -> int:
        """Look for objects; a line of text may begin like one, but not name the columns."""
        if begins_json(b"".join(start.table_lines), _OBJECTS):
            return SURE if start.labelled else LIKELY
        return NAMED if start.named(self.endings) else NO

    def open(self, path: Any, options: TableOptions, known: Iterable[str]) -> Table | None:
        """Open JSON lines; an array of texts has no columns."""
        return None if _has_texts(path) else super().open(path, options, known)

    def stream(self, path: str, options: RowOptions) -> Iterator[Any]:
        """Yield the texts of an array."""
        if not _has_texts(path):
            return super().stream(path, options)
        how = TableOptions(encoding=options.encoding, decode_errors=options.decode_errors)
        how.check()
        texts = [text for _, text in json_items(path, how)]
        for number, text in enumerate(texts, 1):
            if not isinstance(text, str):
                problem = f"item {number} is not a text"
                raise DataFileError.at(path, problem, text=str(text), expected="texts throughout")
        return blocks_of(path, texts, options)


def _has_texts(path: Any) -> bool:
    """Tell whether a file is an array, and not of objects."""
    begin = b"".join(Start(path).lines)
    return begins_json(begin, (b"[",)) and not begins_json(begin, _OBJECTS)


class ParquetReader(TableReader):
    """Parquet, which pyarrow reads."""

    endings = ("parquet", "pq")
    read = staticmethod(read_parquet)

    def detect(self, start: Start) -> int:
        """Look at its first bytes, then at its name."""
        if start.begin.startswith(b"PAR1"):
            return SURE
        return NAMED if start.named(self.endings) else NO

    def open(self, path: Any, options: TableOptions, known: Iterable[str]) -> Table:
        """Open the table."""
        return open_table(path, open_parquet, options, known)

    def cut(self, name: str, open_file: Callable[[], Any], n_rows: int) -> list[Any]:
        """Cut the file at its row groups, and put together those that are small."""
        parquet = require("pyarrow.parquet", extra="tables", caller="reading Parquet")
        try:
            with open_file() as file:
                known = parquet.ParquetFile(file).metadata
                sizes = [known.row_group(i).num_rows for i in range(known.num_row_groups)]
        except (OSError, ValueError) as error:
            raise DataFileError.at(name, f"is not a Parquet file ({error})") from error
        owner, rows, owners = -1, n_rows, []
        for size in sizes:
            if rows + size > n_rows:
                owner, rows = owner + 1, 0
            rows += size
            owners.append(owner)
        groups = groupby(range(len(sizes)), key=owners.__getitem__)
        return [tuple(some) for _, some in groups] or [()]

    def open_piece(self, name: str, file: Any, piece: Any) -> Table:
        """Open some row groups."""
        return parquet_table(name, file, piece)
