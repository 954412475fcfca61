"""Records to rows: what a caller or a client says of a row, by column, as the model learned it."""

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from dsnc.data.columns import Columns
from dsnc.data.table_rows import FIELD, RowMaker
from dsnc.data.tables import Row, Table
from dsnc.errors import DataFileError, InputError, did_you_mean, shorten

_LOOKED_AT = 8  # rows that show what X is
_SPARSE = {"indices", "values"}  # keys of a row of mostly zeros


class Records:
    """Turns records into the texts, or rows of numbers, that a model takes.

    A record is an object with a value for each column, or, of a model of texts, a list of these
    values. A text alone is a row if the model reads nothing else.

    Parameters
    ----------
    columns : Columns
        Those of the model.
    """

    def __init__(self, columns: Columns) -> None:
        self.names, self._columns = columns.names, replace(columns, label=None, id=None)
        table = Table("record", "jsonl", self.names, iter(()), "")
        self.takes_lines = self._columns.n_fields <= 1  # whether rows need not be records
        self._maker = RowMaker(table, self._columns)

    @property
    def example(self) -> dict[str, Any]:
        """A record."""
        values = dict.fromkeys(self._columns.text, "...") | dict.fromkeys(self._columns.numbers, 0)
        return values | {name: some[0] for name, some in self._columns.categories.items() if some}

    def are_in(self, X: Any) -> bool:
        """Tell by the first few rows whether some are records, or texts that are not enough."""
        return isinstance(X, list | tuple) and any(map(self.has_form, islice(X, _LOOKED_AT)))

    def has_form(self, row: Any) -> bool:
        """Tell whether a row is a record, or a text that may not be enough."""
        if isinstance(row, str) or not self.names:
            return not self.takes_lines
        if isinstance(row, Mapping):
            return set(row) != _SPARSE
        if not isinstance(row, list | tuple) or not self._columns.text:
            return False
        return len(row) == len(self.names) or any(isinstance(value, str) for value in row)

    def rows(self, X: Any) -> list[Any]:
        """Return rows as the model takes them; errors name the row."""
        made = []
        for number, record in enumerate(X):
            try:
                made.append(self.row(record))
            except InputError as error:
                raise InputError(f"X[{number}] {error}") from None
        return made

    def row(self, record: Any) -> Any:
        """Return a text, or a list of numbers; errors say what the record is or has, and the fix.

        A text that was made of a record stays as it is.
        """
        if isinstance(record, str):
            if record.count(FIELD) == self._columns.n_fields - 1:
                return record
            raise self._refused("is one text")
        try:
            made = self._maker.row(Row(1, self._cells(record)))
        except DataFileError as error:
            raise InputError(str(error).partition(": ")[2]) from None
        if made is None:
            raise self._refused("has no number in one of its columns")
        return made

    def _cells(self, record: Any) -> list[Any]:
        """Return the values of a record in the order of the columns."""
        if isinstance(record, list | tuple):
            if len(record) != len(self.names):
                raise self._refused(f"is a list of {len(record)}")
            return list(record)
        if not isinstance(record, Mapping):
            raise self._refused(f"is {shorten(record)} of type {type(record).__name__}")
        for name in record:
            if name not in self.names:
                raise self._refused(f"has {shorten(name)}", did_you_mean(str(name), self.names))
        for name in self.names:
            if name not in record:
                raise self._refused(f"has no {name!r}")
        return [record[name] for name in self.names]

    def _refused(self, problem: str, hint: str = "") -> InputError:
        names, form = ", ".join(map(repr, self.names)), json.dumps(self.example)
        return InputError(f"{problem}, but the model reads {names}.{hint} Give a row as {form}.")


NO_RECORDS = Records(Columns())  # of models that know of no columns
