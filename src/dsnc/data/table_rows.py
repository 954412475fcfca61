"""Rows of a table to rows of X, labels and ids."""

import os
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.data.cells import is_missing, labels_in, number
from dsnc.data.columns import Columns
from dsnc.data.tables import Row, Table
from dsnc.errors import DataFileError, InputError, warn
from dsnc.labels import object_array

FIELD = "\x1f"  # between texts with n-grams of their own, as `dsnc.features` has it
_CUTS = np.arange(1, 16) / 16  # of a range into sixteen parts
_LARGEST = 3e38  # float32 has little more
_MOST_VALUES = 1000  # of a category
_SHOWN = 5  # lines that a message names


class Made(NamedTuple):
    """What rows of a table became."""

    X: Any  # object array of texts, or float32 array
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
        place = {name: i for i, name in reversed(list(enumerate(table.names)))}
        self._text = [place[name] for name in columns.text]
        self._numbers = [place[name] for name in columns.numbers]
        self._categories = [
            (place[name], {value: i for i, value in enumerate(values)}, len(values))
            for name, values in columns.categories.items()
        ]
        self.label = None if columns.label is None else place[columns.label]
        self.id = None if columns.id is None else place[columns.id]

    def text(self, cells: list[Any]) -> str:
        """Return the text of a row; numbers and categories beside it become words of it."""
        joint = FIELD if self.columns.separate else " "
        text = joint.join("" if cells[i] is None else str(cells[i]) for i in self._text)
        words = []
        for name, place, edges in zip(
            self.columns.numbers, self._numbers, self.columns.edges, strict=False
        ):
            value = number(cells[place], decimal_comma=self.table.decimal_comma)
            if value is not None and not is_missing(cells[place]):
                words.append(f"{_word(name)}q{bisect_right(edges, value)}")
        for name, (place, known, _) in zip(self.columns.categories, self._categories, strict=True):
            category = "" if cells[place] is None else str(cells[place]).strip()
            words += [f"{_word(name)}{_word(category)}"] if category in known else []
        return " ".join([text, *words])

    def _has_to_learn(self) -> bool:
        """Tell whether all rows must be seen before the first can be made."""
        columns = self.columns
        cuts = bool(columns.text and columns.numbers and not columns.edges)
        return cuts or not all(columns.categories.values())

    def _learned(self, rows: Sequence[Row]) -> "RowMaker":
        """Return a maker that knows all categories, and where to cut numbers beside texts."""
        columns, comma, edges = self.columns, self.table.decimal_comma, []
        for place in self._numbers if columns.text else ():
            values = (number(row.known()[place], decimal_comma=comma) for row in rows)
            kept = [value for value in values if value is not None and np.isfinite(value)]
            edges.append(np.unique(np.quantile(kept, _CUTS)).tolist() if kept else [])
        categories = {}
        for name, (place, _, _) in zip(columns.categories, self._categories, strict=True):
            cells = (row.known()[place] for row in rows)
            categories[name] = sorted({str(cell).strip() for cell in cells if not is_missing(cell)})
            if not columns.text and len(categories[name]) > _MOST_VALUES:
                raise InputError(
                    f"category_column={name!r} has {len(categories[name]):,} different values, and "
                    f"each becomes a column of X; at most {_MOST_VALUES:,} are allowed."
                )
        columns = replace(columns, edges=edges, categories=categories)
        return RowMaker(self.table, columns, self.multilabel)

    def numbers(self, row: Row, fill: Sequence[float] | None) -> list[float]:
        """Return the numbers of a row; NaN where one is missing and nothing fills it."""
        cells, values, comma = row.known(), [], self.table.decimal_comma
        for column, place in enumerate(self._numbers):
            value = cells[place]
            if type(value) is float and abs(value) <= _LARGEST:  # almost all of Parquet
                values.append(value)
                continue
            value = number(value, decimal_comma=comma)
            if is_missing(cells[place]):
                value = float("nan") if fill is None else fill[column]
            elif value is None or not abs(value) <= _LARGEST:
                raise DataFileError.at(
                    self.table.path,
                    f"has a value that is not a number in column {self.columns.numbers[column]!r}",
                    line=row.line,
                    text=str(cells[place]),
                    expected="a finite number",
                )
            values.append(value)
        for place, known, width in self._categories:
            one_hot = [0.0] * width
            found = known.get("" if cells[place] is None else str(cells[place]).strip())
            if found is not None:
                one_hot[found] = 1.0
            values += one_hot
        return values

    def _check_kinds(self, line: int, label: Any, cells: list[Any]) -> None:
        """Refuse objects of JSON where a text or a label should be."""
        labels = label if isinstance(label, list) else [label]
        texts = (cells[place] for place in self._text)
        if any(isinstance(cell, dict | list) for cell in (*labels, *texts)):
            raise DataFileError.at(
                self.table.path,
                "label or text has the wrong type",
                line=line,
                expected="a string as text, and a string, a number or a list of them as label",
            )

    def make(self, rows: Iterable[Row]) -> tuple[Made, Columns]:
        """Return all of the rows as they are learned from, and the columns with what they tell.

        Rows without a label have the empty set where others have sets, and are left out elsewhere,
        with a warning; so are those with a number missing where that is wished.
        """
        if not self._has_to_learn():
            return self._make(rows)
        rows = list(rows)
        return self._learned(rows)._make(rows)

    def _label(self, row: Row) -> Any:
        """Return the label of a row, the list of those that it has, or None."""
        cells = row.known()
        cell = cells[self.label] if self.label is not None else None
        self._check_kinds(row.line, cell, cells)
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
        X: list[Any] = []
        labels: list[Any] = []
        ids: list[Any] = []
        lines: list[int] = []
        unlabelled: list[Row] = []

        def add(row: Row, label: Any) -> None:
            cells = row.known()
            X.append(self.text(cells) if self._text else self.numbers(row, None))
            labels.append(label)
            lines.append(row.line)
            if self.id is not None:
                ids.append(cells[self.id])

        for row in rows:
            label = self._label(row)
            if label is None:
                unlabelled.append(row)
            else:
                add(row, label)
        if any(isinstance(label, list) for label in labels):
            for row in unlabelled:  # the empty set, which only the others tell
                add(row, [])
            order = np.argsort(lines).tolist()
            X, labels, ids = ([items[i] for i in order if items] for items in (X, labels, ids))
            lines.sort()
        elif unlabelled:
            warn(
                f"{os.fspath(self.table.path)}: {len(unlabelled):,} rows without a label are left "
                f"out: {_some_lines([row.line for row in unlabelled])}."
            )
        made = Made(X, labels, ids if self.id is not None else None, np.array(lines, np.int64))
        return self._finished(made)

    def _finished(self, made: Made) -> tuple[Made, Columns]:
        if self._text or not len(made.lines):
            return made._replace(X=object_array(made.X)), self.columns
        X = np.array(made.X, dtype=np.float32)
        gaps = np.isnan(X)
        bad, missing = gaps.any(axis=1), self.columns.missing
        if missing == "refuse" and bad.any():
            raise refuse_missing(self.table.path, made.lines[bad].tolist())
        if missing == "drop" and bad.any():
            keep = np.flatnonzero(~bad)
            ids = None if made.ids is None else [made.ids[i] for i in keep]
            labels = [made.labels[i] for i in keep]
            warn(
                f"{os.fspath(self.table.path)}: {int(bad.sum()):,} rows with missing numbers are "
                f"left out: {_some_lines(made.lines[bad].tolist())}."
            )
            return Made(X[keep], labels, ids, made.lines[keep]), self.columns
        if missing not in ("zero", "mean"):
            return made._replace(X=X), self.columns
        X = X[:, : len(self._numbers)]  # categories have no gaps
        gaps, rest = gaps[:, : X.shape[1]], np.array(made.X, dtype=np.float32)[:, X.shape[1] :]
        fill = np.array(self.columns.fill)  # of the rows that the model learned from
        if missing == "zero":
            fill = np.zeros(X.shape[1])
        elif not len(fill):
            sums = np.where(gaps, 0, X).sum(axis=0, dtype=np.float64)
            fill = sums / np.maximum((~gaps).sum(axis=0), 1)
        X = np.hstack([np.where(gaps, fill.astype(np.float32), X), rest])
        return made._replace(X=X), replace(self.columns, fill=fill.tolist())


def refuse_missing(path: Any, lines: list[int]) -> DataFileError:
    """Return the error about numbers that are not there."""
    return DataFileError.at(
        path,
        f"{len(lines):,} rows have missing numbers, in {_some_lines(lines)}",
        expected="numbers throughout; or --missing zero, mean or drop (missing=)",
    )


def _word(text: str) -> str:
    """Return a text as one word."""
    return "".join(letter for letter in text if letter.isalnum())


def _some_lines(lines: list[int]) -> str:
    shown = ", ".join(f"{line:,}" for line in lines[:_SHOWN])
    return f"line{'s' if len(lines) > 1 else ''} {shown}{', ...' if len(lines) > _SHOWN else ''}"
