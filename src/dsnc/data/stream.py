"""Rows without labels, block by block, as the input of a fitted model.

Tables keep their other columns. Other rows are streamed by the reader of their format.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dsnc.data.columns import Columns
from dsnc.data.files import STDIN
from dsnc.data.reader import RowOptions
from dsnc.data.readers import rows_reader
from dsnc.data.table_rows import FIELD, RowMaker, refuse_missing
from dsnc.data.tables import Row, Table
from dsnc.errors import DataFileError, InputError

NO_TEXT, NO_NUMBER = "without a text", "with missing numbers"  # rows that get no answer


class Block(NamedTuple):
    """Some rows of a table, as they stand there and as a model takes them."""

    rows: list[Row]
    X: Any
    errors: list[str]  # why a row is not to be answered; "" where it is


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


def stream_rows(name: str, n_features: int | None, **options: Any) -> Iterator[Any]:
    """Yield blocks of rows from a file, a folder or stdin, without waiting for a full block.

    Parameters
    ----------
    name : str
        A path, or ``-`` for stdin.
    n_features : int or None
        How many features the model has; None if it was trained on texts.
    **options
        The other fields of `RowOptions`.
    """
    if name != STDIN and not Path(name).exists():
        raise DataFileError.at(name, "does not exist", expected="a file, a folder, or - for stdin")
    return rows_reader(name).stream(name, RowOptions(n_features, **options))
