"""Rows of a table to rows of X, labels and ids."""

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.data.cells import is_missing, is_null, labels_in, number
from dsnc.data.columns import Columns
from dsnc.data.tables import Row, Table
from dsnc.errors import DataFileError, InputError, warn
from dsnc.labels import object_array
from dsnc.rows import far_means

FIELD = "\x1f"  # between texts with n-grams of their own, as `dsnc.features` has it
_CUTS = np.arange(1, 16) / 16  # of a range into sixteen parts
_LARGEST = 3e38  # float32 has little more
_MOST_VALUES = 1000  # of a category
SHOWN = 5  # lines that a message names


class Made(NamedTuple):
    """What rows of a table became."""

    X: Any  # object array of texts, or float32 array; float64 where that would lose digits
    labels: list[Any]  # one a row, or a list of those that it has
    ids: list[Any] | None
    lines: NDArray[np.int64]

    @property
    def is_multilabel(self) -> bool:
        """Whether rows have label sets."""
        return any(isinstance(label, list) for label in self.labels)


class RowMaker:
    """Turns rows of a table into rows of X.

    Parameters
    ----------
    table : Table
    columns : Columns
    multilabel : bool or "auto"
        Whether rows have label sets; "auto": if a cell holds a list, or labels have a separator.
    """

    def __init__(self, table: Table, columns: Columns, multilabel: bool | str = "auto") -> None:
        self.table, self.columns = table, columns
        separated = columns.label_separator is not None
        self.multilabel = True if multilabel == "auto" and separated else multilabel
        place = {name: i for i, name in enumerate(table.names)}
        own = {columns.label, columns.id, *columns.names}
        for name, n in Counter(table.names).items():
            if n > 1 and name in own:
                path = os.fspath(table.path)
                raise InputError(
                    f"{path}: has {n} columns of the name {name!r}; rename all but one."
                )
        self._text = [place[name] for name in columns.text]
        self._numbers = [place[name] for name in columns.numbers]
        self._categories = [
            (place[name], {value: i for i, value in enumerate(values)})
            for name, values in columns.categories.items()
        ]
        self._label = None if columns.label is None else place[columns.label]
        self._id = None if columns.id is None else place[columns.id]
        fills = {"zero": [0.0] * len(columns.numbers), "mean": columns.fill}
        self._fill = fills.get(columns.missing)  # for a missing number; empty if to be learned

    def row(self, row: Row) -> Any:
        """Return a row of X: a text or a list of numbers; None if a number is missing."""
        values = self._values(row)
        if any(value != value for value in values):  # noqa: PLR0124 - NaN
            return None
        cells = row.known()
        chosen = [(known, _category(cells[i])) for i, known in self._categories]
        if not self._text:
            for known, own in chosen:
                values += [0.0] * len(known)
                if own in known:
                    values[known[own] - len(known)] = 1.0
            return values
        self._check_texts(row)
        joint, words = FIELD if self.columns.separate else " ", []
        texts = ("" if is_null(cells[i]) else str(cells[i]) for i in self._text)
        text = joint.join(text.replace(FIELD, " ") for text in texts)
        columns = self.columns
        for name, value, edges in zip(columns.numbers, values, columns.edges, strict=False):
            words.append(f"{_word(name)}q{bisect_right(edges, value)}")
        for name, (known, own) in zip(self.columns.categories, chosen, strict=True):
            words += [f"{_word(name)}{_word(own)}"] if own in known else []
        return FIELD.join([text, " ".join(words)]) if self._numbers or chosen else text

    def _has_to_learn(self) -> bool:
        """Tell whether all rows must be seen before the first can be made."""
        columns = self.columns
        cuts = bool(columns.text and columns.numbers and not columns.edges)
        return cuts or self._lacks_means() or not all(columns.categories.values())

    def _lacks_means(self) -> bool:
        return self._fill == [] and len(self._numbers) > 0

    def _learned(self, rows: Sequence[Row]) -> "RowMaker":
        """Return a maker that knows categories, means, and where to cut numbers beside texts."""
        columns, comma, edges, means = self.columns, self.table.decimal_comma, [], []
        for place in self._numbers:
            values = (number(row.known()[place], decimal_comma=comma) for row in rows)
            kept = [value for value in values if value is not None and np.isfinite(value)]
            edges.append(np.unique(np.quantile(kept, _CUTS)).tolist() if kept else [])
            means.append(float(np.mean(kept)) if kept else 0.0)
        if not columns.edges and columns.text:
            columns = replace(columns, edges=edges)
        if self._lacks_means():
            columns = replace(columns, fill=means)
        categories = {}
        for name, (place, known) in zip(columns.categories, self._categories, strict=True):
            cells = (row.known()[place] for row in rows)
            found = {str(cell).strip() for cell in cells if not is_missing(cell)}
            categories[name] = list(known) or sorted(found)
            if not columns.text and len(categories[name]) > _MOST_VALUES:
                raise InputError(
                    f"category_column={name!r} has {len(categories[name]):,} different values, and "
                    f"each becomes a column of X; at most {_MOST_VALUES:,} are allowed."
                )
        return RowMaker(self.table, replace(columns, categories=categories), self.multilabel)

    def _values(self, row: Row) -> list[float]:
        """Return the numbers of a row; NaN where one is missing and nothing fills it."""
        cells, values, comma = row.known(), [], self.table.decimal_comma
        for column, place in enumerate(self._numbers):
            value = cells[place]
            if type(value) is float and abs(value) <= _LARGEST:  # almost all of Parquet
                values.append(value)
                continue
            value = number(value, decimal_comma=comma)
            if is_missing(cells[place]):
                value = float("nan") if self._fill is None else self._fill[column]
            elif value is None or not abs(value) <= _LARGEST:
                raise DataFileError.at(
                    self.table.path,
                    f"has a value that is not a number in column {self.columns.numbers[column]!r}",
                    line=row.line,
                    text=str(cells[place]),
                    expected="a finite number",
                )
            values.append(value)
        return values

    def _check_texts(self, row: Row) -> None:
        """Refuse what JSON or Parquet may have instead of a text."""
        for name, place in zip(self.columns.text, self._text, strict=True):
            cell = row.known()[place]
            # In Parquet, all values of a column are of one type.
            if isinstance(cell, dict | list) or self.table.kind == "jsonl":
                check_text(self.table.path, row.line, name, cell)

    def make(self, rows: Iterable[Row]) -> tuple[Made, Columns]:
        """Return all of the rows as they are learned from, and the columns with what they tell.

        Rows without a label have the empty set where others have sets, and are left out elsewhere,
        with a warning; so are those with a number missing where that is wished. Blank lines are no
        rows here.
        """
        rows = (row for row in rows if not row.is_blank)
        if not self._has_to_learn():
            return self._make(rows)
        rows = list(rows)
        return self._learned(rows)._make(rows)

    def _label_of(self, row: Row) -> Any:
        """Return the label of a row, the list of those that it has, or None."""
        cell = None if self._label is None else row.known()[self._label]
        labels = cell if isinstance(cell, list) else [cell]
        if any(isinstance(label, dict | list) for label in labels):
            raise DataFileError.at(
                self.table.path,
                "has a label of the wrong type",
                line=row.line,
                expected="a string, a number or a list of them",
            )
        found = labels_in(cell, self.columns.label_separator)
        if self.multilabel is False and len(found) > 1:
            raise DataFileError.at(
                self.table.path,
                f"has {len(found)} labels",
                line=row.line,
                text=str(cell),
                expected="one label a row (multilabel=False)",
            )
        if self.multilabel is True or (self.multilabel == "auto" and isinstance(cell, list)):
            return found
        return found[0] if found else None

    def _make(self, rows: Iterable[Row]) -> tuple[Made, Columns]:
        found: list[list[Any]] = []  # label, row of X, line and id
        for row in rows:
            label = self._label_of(row)
            x = row if label is None else self.row(row)
            found.append([label, x, row.line, None if self._id is None else row.known()[self._id]])
        if any(isinstance(one[0], list) for one in found):  # only they tell what no label means
            for one in found:
                one[:2] = one[:2] if one[0] is not None else ([], self.row(one[1]))
        found = self._leave_out(found, 0, "without a label")
        gaps = [one[2] for one in found if one[1] is None]
        if gaps and self.columns.missing != "drop":
            raise refuse_missing(self.table.path, gaps)
        found = self._leave_out(found, 1, "with missing numbers")
        labels, X, lines, ids = map(list, zip(*found, strict=True)) if found else ([], [], [], [])
        is_text = self._text or not X
        rows_of_X = object_array(X) if is_text else np.array(X, dtype=np.float64)
        if not is_text and far_means(rows_of_X) is None:
            rows_of_X = rows_of_X.astype(np.float32)
        own_ids = None if self._id is None else ids
        return Made(rows_of_X, labels, own_ids, np.array(lines, np.int64)), self.columns

    def _leave_out(self, found: list[list[Any]], place: int, what: str) -> list[list[Any]]:
        """Return the rows that have something in this place, and say which have not."""
        kept = [one for one in found if one[place] is not None]
        if len(kept) < len(found):
            lines = [one[2] for one in found if one[place] is None]
            warn(f"{os.fspath(self.table.path)}: left out {some_rows(lines, what)}.")
        return kept


def check_text(path: Any, line: int, name: str, cell: Any) -> None:
    """Refuse a value of JSON that is neither a text nor null."""
    if not isinstance(cell, str) and not is_null(cell):
        raise DataFileError.at(
            path,
            f"has a value that is not a text in column {name!r}",
            line=line,
            text=str(cell),
            expected="a text in quotes, or null",
        )


def refuse_missing(path: Any, lines: list[int]) -> DataFileError:
    """Return the error about numbers that are not there."""
    return DataFileError.at(
        path,
        f"has {some_rows(lines, 'with missing numbers')}",
        expected="numbers throughout; or missing='zero', 'mean' or 'drop'",
    )


def some_rows(lines: list[int], what: str, n_rows: int | None = None) -> str:
    """Return how many rows there are of a kind, and the first of their lines."""
    n_rows = len(lines) if n_rows is None else n_rows
    s, more = "s" if n_rows > 1 else "", ", ..." if n_rows > SHOWN else ""
    shown = ", ".join(f"{line:,}" for line in lines[:SHOWN])
    return f"{n_rows:,} row{s} {what}" + (f" (line{s} {shown}{more})" if lines else "")


def _word(text: str) -> str:
    """Return a text as one word."""
    return "".join(letter for letter in text if letter.isalnum())


def _category(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()
