"""Rows without labels, block by block, as the input of a fitted model.

Tables keep their other columns. Texts are one per line; labels of fastText lines are ignored.
Numbers are svmlight lines (whose labels are ignored), columns, or arrays. Outside of tables, an
empty line is a row, too: every line gets an answer.
"""

import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.data.columns import Columns
from dsnc.data.dataset import fit_width, warn_of_beyond
from dsnc.data.files import STDIN, UTF_16, begins_json, decode, head, is_parquet, read_batches
from dsnc.data.folder import read_rows_of
from dsnc.data.svmlight import parse_lines
from dsnc.data.table_rows import FIELD, RowMaker, refuse_missing
from dsnc.data.tables import KINDS, Row, Table, TableOptions, json_items
from dsnc.errors import DataFileError, InputError, shorten, warn

NO_TEXT, NO_NUMBER = "without a text", "with missing numbers"  # rows that get no answer
_LABEL = b"__label__"  # begins a label in fastText lines


class Block(NamedTuple):
    """Some rows of a table, as they stand there and as a model takes them."""

    rows: list[Row]
    X: Any
    errors: list[str]  # why a row is not to be answered; "" where it is


def table_kind(name: str, known: Columns | None = None) -> str | None:
    """Return the kind of table that a file is by its ending; None if it is none.

    Stdin and files of other names are tables if their first line has the columns of a model that
    learned from one.
    """
    path = Path(name)
    if name == STDIN:
        return _kind_by_columns(_first_of_stdin(), known)
    if is_parquet(name):
        return "parquet"
    endings = path.name.lower().split(".")[1:]
    kind = next((kind for kind in KINDS if kind in endings), None)
    if kind is not None or not path.is_file():
        return kind
    begin = b"".join(head(path))
    if {"json", "ndjson"} & set(endings) and begins_json(begin, (b"{", b"[{")):
        return "jsonl"
    return _kind_by_columns(begin.partition(b"\n")[0], known)


def _first_of_stdin() -> bytes:
    """Return the first line that has come, without taking it."""
    stdin: Any = sys.stdin.buffer
    begin: bytes = stdin.peek() if hasattr(stdin, "peek") else b""
    if begin.startswith(UTF_16):
        begin = begin.decode("utf-16", "ignore").encode()
    return begin.split(b"\n")[0]


def _kind_by_columns(line: bytes, known: Columns | None) -> str | None:
    if known is None or all(name.isdigit() for name in known.names):
        return None  # a model that learned from a table without a header knows no names
    first = line.decode("utf-8", "replace").strip()
    cells = {cell.strip(' "\ufeff').lower() for cell in re.split("[,;|\t:{}]", first)}
    if not {name.lower() for name in known.names} <= cells:
        return None
    return "jsonl" if first.startswith(("{", "[")) else "tsv" if "\t" in first else "csv"


def is_fasttext(name: str) -> bool:
    """Tell by its first line whether a file, or stdin, has fastText lines with labels."""
    if name == STDIN:
        return _first_of_stdin().startswith(_LABEL)
    return Path(name).is_file() and any(line.startswith(_LABEL) for line in head(name, 1))


def stream_table(
    table: Table, columns: Columns, *, batch: int = 4096, skip_errors: bool = False
) -> Iterator[Block]:
    """Yield the rows of a table, block by block, as a model with these columns takes them.

    Each row keeps its place. One that has no text at all, or that is to be dropped as a number is
    missing, says so in `errors`. With `skip_errors`, so does one that cannot be read, instead of
    raising its error.
    """
    maker = RowMaker(table, columns)
    if columns.missing == "mean" and columns.numbers and not columns.fill:
        raise InputError(
            "missing='mean': the model knows no means; train it with missing='mean', or use 'zero'."
        )
    nothing: Any = "" if columns.text else [0.0] * (columns.width or 0)
    rows = table.rows()
    while some := list(islice(rows, batch)):
        X, errors = [], []
        for row in some:
            try:
                x, error = maker.row(row), ""
                if x is None and columns.missing != "drop":
                    raise refuse_missing(table.path, [row.line])
                if x is None:
                    error = NO_NUMBER
                elif columns.text:
                    [error] = errors_of([x])
            except DataFileError as problem:
                if not skip_errors:
                    raise
                x, error = None, str(problem)
            X.append(nothing if x is None else x)
            errors.append(error)
        yield Block(some, X if columns.text else np.array(X, dtype=np.float64), errors)


def errors_of(X: Any) -> list[str]:
    """Return why each row is not to be answered: it is a text without anything in it."""
    if not isinstance(X, list):
        return [""] * X.shape[0]
    return ["" if text.strip() and text.replace(FIELD, " ").strip() else NO_TEXT for text in X]


def stream_rows(
    name: str,
    n_features: int | None,
    *,
    batch: int = 4096,
    encoding: str = "utf-8",
    decode_errors: str = "strict",
    first_index: int = 1,
) -> Iterator[Any]:
    """Yield blocks of rows from a file, a folder or stdin, without waiting for a full block.

    Parameters
    ----------
    name : str
        A path, or ``-`` for stdin.
    n_features : int or None
        How many features the model has; None if it was trained on texts.
    batch : int, default 4096
        Largest number of rows in a block.
    encoding : str, default "utf-8"
        Encoding of texts.
    decode_errors : "strict" or "replace", default "strict"
        Whether bytes that cannot be decoded are an error or are replaced.
    first_index : 0 or 1, default 1
        The number of the first feature in svmlight lines.
    """
    path = Path(name)
    if name != STDIN and not path.exists():
        raise DataFileError.at(name, "does not exist", expected="a file, a folder, or - for stdin")
    if n_features is None:
        options = TableOptions(encoding=encoding, decode_errors=decode_errors)
        options.check()
        is_json = name != STDIN and "json" in path.name.lower().split(".")[1:]
        if is_json and begins_json(b"".join(head(path)), (b"[",)):
            return _json_texts(name, batch, options)
        return _texts(name, batch, options)
    if name != STDIN and (path.is_dir() or path.suffix in (".npy", ".npz")):
        return _blocks(name, read_rows_of(path)[0], batch, n_features)
    return _numbers(name, batch, n_features, first_index)


def _json_texts(name: str, batch: int, options: TableOptions) -> Iterator[list[str]]:
    """Yield the texts of a JSON file that is a list of them."""
    texts = [text for _, text in json_items(name, options)]
    for number, text in enumerate(texts, 1):
        if not isinstance(text, str):
            problem = f"item {number} is not a text"
            raise DataFileError.at(name, problem, text=str(text), expected="texts throughout")
    return (texts[start : start + batch] for start in range(0, len(texts), batch))


def _texts(name: str, batch: int, options: TableOptions) -> Iterator[list[str]]:
    has_labels = None
    for first, lines in read_batches(name, batch):
        if has_labels is None:
            full = [line for line in lines if line.strip()]
            has_labels = full[0].startswith(_LABEL) if full else None
        encoding = options.encoding
        if options.decode_errors == "replace":
            lines = [line.decode(encoding, "replace").encode() for line in lines]
            encoding = "utf-8"
        texts = list(decode(name, lines, first, encoding))
        yield [_without_labels(text) for text in texts] if has_labels else texts


def _without_labels(text: str) -> str:
    """Return a fastText line as training reads it."""
    return " ".join(word for word in text.split() if not word.startswith(_LABEL.decode()))


def _blocks(name: str, X: Any, batch: int, n_features: int) -> Iterator[Any]:
    if X.shape[1] != n_features:
        raise _wrong_width(name, X.shape[1], n_features)
    for start in range(0, X.shape[0], batch):
        yield X[start : start + batch]


def _numbers(name: str, batch: int, n_features: int, first_index: int) -> Iterator[Any]:
    """Yield rows of lines of numbers: ``3 1:0.5 7:1`` or ``0.5,0,1``."""
    beyond, is_table = 0, None
    for number, lines in read_batches(name, batch):
        if number == 1:
            lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
        if is_table is None:
            is_table = _is_table(lines, n_features)
            blank = next((i for i, line in enumerate(lines) if line.strip()), 0)
            if is_table and _is_header(lines[blank]):
                where = f"{name}, line {number + blank}"
                message = f"{where}: read as column names, not as a row."
                warn(message)
                if blank:
                    yield np.zeros((blank, n_features), dtype=np.float32)
                lines, number = lines[blank + 1 :], number + blank + 1
        if is_table and lines:
            yield _table_rows(name, lines, number, n_features)
        elif not is_table:
            rows, dropped = fit_width(parse_lines(name, lines, number, first_index), n_features)
            beyond += dropped
            yield rows
    warn_of_beyond(name, beyond, n_features)


def _is_table(lines: list[bytes], n_features: int) -> bool | None:
    """Tell columns of numbers from svmlight by the first line that has something in it."""
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        return None
    if not (b"," in first or any(byte in b"0123456789" for byte in first)):
        raise InputError(
            f"The model was trained on numbers, but the input holds texts: {shorten(first)}."
        )
    return b":" not in first and (b"," in first or len(first.split()) == n_features)


def _is_header(line: bytes) -> bool:
    """Tell names of columns from a row: no name is a number."""
    cells = line.replace(b",", b" ").split()
    return bool(cells) and not any(map(_is_number, cells))


def _is_number(cell: bytes) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _table_rows(name: str, lines: list[bytes], first: int, n_features: int) -> NDArray[np.float64]:
    rows = np.zeros((len(lines), n_features), dtype=np.float64)
    for row, line in enumerate(lines):
        cells = line.split(b",") if b"," in line else line.split()
        if not cells:
            continue  # an empty line is a row of zeros
        try:
            values = [float(cell) for cell in cells]
        except ValueError:
            column = next(i for i, cell in enumerate(cells) if not _is_number(cell))
            text = cells[column].decode("utf-8", errors="backslashreplace").strip()
            problem = f"has a value that is not a number in column {column + 1}"
            raise DataFileError.at(name, problem, line=first + row, text=text) from None
        if len(values) != n_features:
            raise _wrong_width(f"{name}, line {first + row}", len(values), n_features)
        rows[row] = values
    fits = np.abs(rows) <= np.finfo(np.float32).max
    if not fits.all():
        bad = first + int(np.argmin(fits.all(axis=1)))
        raise DataFileError.at(name, "has NaN or infinity", line=bad, expected="finite numbers")
    return rows


def _wrong_width(where: str, found: int, expected: int) -> InputError:
    return InputError(f"{where}: has {found:,} features; the model was trained on {expected:,}.")
