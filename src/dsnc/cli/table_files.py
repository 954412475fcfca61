"""Tables for other programs: CSV, TSV or JSON lines, by the ending of the file's name."""

import codecs
import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any

from dsnc.cli.common import escape, json_text
from dsnc.data.table_output import no_formula
from dsnc.errors import InputError
from dsnc.files import write_whole

Rows = Iterable[Sequence[Any]]


def check_table(option: str, path: Path | None) -> None:
    """Refuse a name that does not say which kind of table it is."""
    if path is not None and path.suffix.lower() not in _WRITERS:
        raise InputError(f"{option} {path} must end in one of {', '.join(_WRITERS)}.")


def write_table(path: Path, columns: Sequence[str], rows: Rows, separator: str = "|") -> None:
    """Write a table, whole or not at all; its folder is made.

    Lists are lists in JSON, and elsewhere texts with a separator between the items.
    """
    if path.suffix.lower() != ".jsonl":
        rows = ([no_formula(_joined(cell, separator)) for cell in row] for row in rows)
    write = _WRITERS[path.suffix.lower()]

    def content(file: IO[bytes]) -> None:  # half a surrogate pair is written as on stdout
        write(codecs.getwriter("utf-8")(file, "backslashreplace"), columns, rows)

    write_whole(path, content)


def _joined(cell: Any, separator: str) -> Any:
    return separator.join(map(str, cell)) if isinstance(cell, list) else cell


def _csv(file: Any, columns: Sequence[str], rows: Rows) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)


def _tsv(file: Any, columns: Sequence[str], rows: Rows) -> None:
    file.write("\t".join(columns) + "\n")
    file.writelines("\t".join(map(escape, row)) + "\n" for row in rows)


def _jsonl(file: Any, columns: Sequence[str], rows: Rows) -> None:
    for row in rows:
        record = dict(zip(columns, row, strict=True))
        file.write(json_text(record, encoding="utf-8") + "\n")


_WRITERS: dict[str, Callable[[Any, Sequence[str], Rows], None]] = {
    ".csv": _csv,
    ".tsv": _tsv,
    ".jsonl": _jsonl,
}
