"""Tables that people bring: delimited text and JSON lines; row by row, as they stand there.

What is not said is found out from the first rows: the delimiter by what cuts them into equally many
cells, the header by names and by cells that are unlike those below. A row that cannot be read comes
as the error that says why, so that whoever reads may stop or go on.
"""

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NamedTuple

from dsnc.checks import one_of
from dsnc.data.files import STDIN, check_encoding, read_batches, read_chunks
from dsnc.data.sniffing import DELIMITERS, csv_reader, has_header, sniff_delimiter
from dsnc.errors import DataFileError, InputError

DECODE_ERRORS = ("strict", "replace")
_SAMPLE = 1000  # rows that decide
BATCH = 4096  # rows at a time


class Row(NamedTuple):
    """Where a row begins, and its cells; or the error that says why it cannot be read."""

    line: int
    cells: list[Any] | DataFileError
    whole: Any = None  # of JSON, the object with all keys; beside an error, what cells there are

    @property
    def is_blank(self) -> bool:
        """Whether a line of delimited text has nothing in it."""
        return isinstance(self.cells, list) and all(cell == "" for cell in self.cells)

    def known(self) -> list[Any]:
        """Return the cells, or raise the error."""
        if isinstance(self.cells, DataFileError):
            raise self.cells
        return self.cells


@dataclass(frozen=True)
class TableOptions:
    """What a user may say about a table, as `dsnc.data.text.read_table` explains it."""

    delimiter: str | None = None
    header: bool | None = None
    encoding: str = "utf-8"
    decode_errors: str = "strict"
    label_separator: str | None = None

    def check(self) -> None:
        """Refuse what cannot be."""
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise InputError(f"delimiter={self.delimiter!r} must be one character, not a quote.")
        if self.decode_errors not in DECODE_ERRORS:
            raise InputError(f"decode_errors={self.decode_errors!r} must be 'strict' or 'replace'.")
        if self.label_separator == "":
            raise InputError(
                "label_separator='' is empty; give what separates labels, such as '|'."
            )
        check_encoding(self.encoding)


class Table:
    """A table that is being read, once, from the first row to the last.

    Attributes
    ----------
    names : list of str
        Of the columns; without a header their numbers, "0", "1", ...
    has_names : bool
        Whether they stand in the file.
    sample : list of Row
        The first rows, which `rows` gives again.
    how : str
        What was found out, for people.
    label_separator : str or None
        What the user says that stands between the labels of a cell.
    """

    label_separator: str | None = None

    def __init__(
        self,
        path: str | os.PathLike[str],
        kind: str,
        names: list[str],
        rows: Iterator[Row],
        how: str,
        *,
        has_names: bool = True,
        delimiter: str = ",",
        schema: Any = None,
        size: int = _SAMPLE,
    ) -> None:
        self.path, self.kind, self.names, self.how = path, kind, names, how
        self.has_names, self.delimiter, self.schema = has_names, delimiter, schema
        self.sample = list(islice(rows, size))
        self._rest = rows

    def rows(self) -> Iterator[Row]:
        """Yield all rows."""
        return chain(self.sample, self._rest)

    @property
    def is_delimited(self) -> bool:
        """Whether cells are texts with a delimiter between them."""
        return self.kind in ("csv", "tsv")

    @property
    def decimal_comma(self) -> bool:
        """Whether a comma may stand in a number, since it does not stand between cells."""
        return self.is_delimited and self.delimiter != ","


Kind = str | Callable[[Any, TableOptions, Iterable[str]], Table]


def open_table(
    path: str | os.PathLike[str],
    kind: Kind,
    options: TableOptions | None = None,
    known: Iterable[str] = (),
) -> Table:
    """Open a table and look at its first rows.

    Parameters
    ----------
    path : path
        The file, compressed or not; ``-`` is stdin.
    kind : "csv", "tsv", "jsonl" or callable
        "csv" is text with any delimiter; "tsv" is the same with tabs first. What is called gets the
        other parameters, and returns the table.
    options : TableOptions
    known : iterable of str
        Names that tell a header from a row.
    """
    options = options or TableOptions()
    options.check()
    if callable(kind):
        table = kind(path, options, known)
    elif kind == "jsonl":
        table = _open_jsonl(path, options)
    else:
        one_of("kind", kind, ("csv", "tsv", "jsonl"))
        table = _open_delimited(path, kind, options, {name.strip().lower() for name in known})
    table.label_separator = options.label_separator
    return table


# Delimited text


def _open_delimited(path: Any, kind: str, options: TableOptions, known: set[str]) -> Table:
    bad: dict[int, DataFileError] = {}
    batches = _decoded(path, options, bad)
    first = next(batches, [])
    if not any(line.strip() for line in first):
        raise DataFileError.at(path, "is empty", expected="rows of cells")
    within = options.label_separator
    delimiter = options.delimiter or sniff_delimiter(first[:_SAMPLE], kind, within)
    rows = _split(path, chain(first, chain.from_iterable(batches)), delimiter, bad)
    blank: list[Row] = []  # before the first that is not
    while (top := next(rows, None)) is not None and top.is_blank:
        blank.append(top)
    if top is None:
        raise DataFileError.at(path, "has only empty cells", expected="rows of cells")
    names = [str(cell).strip() for cell in top.known()]
    # From stdin, the sample is what has come so far: nobody should wait for more.
    size = _SAMPLE if path != STDIN else max(0, len(first) - top.line)
    below = list(islice(rows, size))
    has_names = options.header
    if has_names is None:
        whole = [row.known() for row in below if isinstance(row.cells, list) and any(row.cells)]
        fitting = [cells for cells in whole if len(cells) == len(names)]
        has_names = has_header(path, names, fitting, known)
    if not has_names:
        names, below = [str(number) for number in range(len(names))], [*blank, top, *below]
    how = f"{DELIMITERS.get(delimiter, repr(delimiter))}, {'header' if has_names else 'no header'}"
    checked = _of_width(path, chain(below, rows), len(names))
    found: Any = {"has_names": has_names, "delimiter": delimiter, "size": len(below)}
    return Table(path, kind, names, checked, how, **found)


def _decoded(
    path: Any, options: TableOptions, bad: dict[int, DataFileError]
) -> Iterator[list[str]]:
    """Yield lists of lines; `bad` takes the error of each line that is not of the encoding."""
    for first, lines in read_batches(path, BATCH):
        texts = []
        for number, raw in enumerate(lines, first):
            try:
                text = raw.decode(options.encoding, options.decode_errors)
            except UnicodeDecodeError as error:
                bad[number] = _not_decoded(path, number, raw, error, options.encoding)
                text = raw.decode(options.encoding, "backslashreplace")
            texts.append((text.removeprefix("\ufeff") if number == 1 else text) + "\n")
        yield texts


def _not_decoded(
    path: Any, line: int, raw: bytes, error: UnicodeDecodeError, encoding: str
) -> DataFileError:
    return DataFileError.at(
        path,
        f"is not {encoding} ({error.reason} at byte {error.start})",
        line=line,
        text=raw[max(0, error.start - 20) : error.start + 20],
        expected=f"{encoding} throughout; name another with encoding=, or take what can be read "
        "with decode_errors='replace'",
    )


def _split(
    path: Any, lines: Iterator[str], delimiter: str, bad: dict[int, DataFileError]
) -> Iterator[Row]:
    """Yield rows; one that runs over several lines is named by the line it starts on."""
    csv.field_size_limit(1 << 28)
    reader, start = csv_reader(lines, delimiter), 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            is_return = "new-line" in str(error)
            found = "a carriage return (\\r) inside of a cell" if is_return else str(error)
            raise DataFileError.at(
                path,
                f"cannot be split into columns ({found})",
                line=start,
                expected="cells in double quotes, with each quote inside written twice",
            ) from error
        end = reader.line_num + 1
        wrong = [bad.pop(number) for number in range(start, end) if number in bad]
        yield Row(start, wrong[0], cells) if wrong else Row(start, cells)
        start = end


def _of_width(path: Any, rows: Iterator[Row], width: int) -> Iterator[Row]:
    for row in rows:
        if row.is_blank:
            row = Row(row.line, [""] * width)
        elif isinstance(row.cells, list) and len(row.cells) != width:
            error = DataFileError.at(
                path,
                f"has {len(row.cells)} columns",
                line=row.line,
                text="\t".join(row.cells),
                expected=f"{width}, as in the first line",
            )
            row = Row(row.line, error, row.cells)
        yield row


# JSON lines


def _open_jsonl(path: Any, options: TableOptions) -> Table:
    begin = next((chunk for _, chunk in read_chunks(path)), b"") if path != STDIN else b"{"
    if begin.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"["):
        rows = json_items(path, options)
    else:
        rows = _json_lines(path, options)
    first = list(islice(rows, _SAMPLE if path != STDIN else 1))
    if not first:
        raise DataFileError.at(path, "is empty", expected="one JSON object a line")
    # Keys that come later in a log are carried through by name; columns are those seen first.
    names = list(dict.fromkeys(key for _, item in first if isinstance(item, dict) for key in item))
    if not names:
        _json_row(path, *first[0], names).known()  # what is wrong with it
    found = (_json_row(path, line, item, names) for line, item in chain(first, rows))
    return Table(path, "jsonl", names, found, "JSON lines", size=len(first))


def _json_lines(path: Any, options: TableOptions) -> Iterator[tuple[int, Any]]:
    bad: dict[int, DataFileError] = {}
    number = 0
    for lines in _decoded(path, options, bad):
        for line in lines:
            number += 1
            if number in bad:
                yield number, bad.pop(number)
            elif line.strip():
                yield number, _json_value(path, number, line.strip())


def json_items(path: Any, options: TableOptions) -> Iterator[tuple[int, Any]]:
    """Return the items of a file that is one array, numbered; such a file is read whole."""
    raw = b"".join(chunk for _, chunk in read_chunks(path))
    try:
        items = json.loads(raw.decode(options.encoding, options.decode_errors))
    except (ValueError, RecursionError) as error:
        raise DataFileError.at(path, f"is not JSON ({error})") from None
    return enumerate(items, 1)


def _json_value(path: Any, line: int, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        return DataFileError.at(
            path, f"is not JSON ({reason})", line=line, text=text, expected="one object a line"
        )


def _json_row(path: Any, line: int, item: Any, names: list[str]) -> Row:
    if isinstance(item, DataFileError):
        return Row(line, item)
    if not isinstance(item, dict):
        expected, found = '{"label": ..., "text": ...}', "is not a JSON object"
        return Row(
            line, DataFileError.at(path, found, line=line, text=str(item), expected=expected)
        )
    return Row(line, [item.get(key) for key in names], item)
