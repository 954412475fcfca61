"""What delimited text does not say of itself: its delimiter, and whether it has a header."""

import csv
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from dsnc.data.cells import is_missing, is_number
from dsnc.errors import warn

DELIMITERS = {"\t": "tab", ";": "semicolon", "|": "bar", ",": "comma"}  # in doubt, the first
_CONSISTENT = 0.9  # share of rows that a delimiter cuts alike


def csv_reader(lines: Iterable[str], delimiter: str) -> Any:
    """Return the csv reader: between tabs a quote is a quote."""
    if delimiter == "\t":
        return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    return csv.reader(lines, delimiter=delimiter, strict=True)


def sniff_delimiter(lines: Sequence[str], kind: str, within: str | None = None) -> str:
    """Return the character that cuts most rows into equally many cells, two or more.

    What stands `within` cells is taken where nothing else cuts them as well.
    """
    usual = "\t" if kind == "tsv" else ","
    shares: dict[str, float] = {}  # of rows that each cuts alike
    for delimiter in sorted(DELIMITERS, key=lambda delimiter: delimiter == within):
        try:
            widths = [len(cells) for cells in csv_reader(lines, delimiter) if any(cells)]
        except csv.Error:  # a quote that does not close, or the sample ends inside one
            widths = [len(line.split(delimiter)) for line in lines if line.strip()]
        width, n_rows = Counter(widths or [0]).most_common(1)[0]
        shares[delimiter] = n_rows / len(widths) if width > 1 and widths[0] == width else 0.0
    n_lines = sum(1 for line in lines if line.strip())
    if shares[usual] >= _CONSISTENT and (kind == "tsv" or n_lines < 2):
        return usual
    best = max(shares, key=shares.__getitem__)  # of equals, the first
    return best if shares[best] >= _CONSISTENT else usual


def has_header(
    path: Any, names: list[str], below: Sequence[Sequence[Any]], known: set[str]
) -> bool:
    """Tell names of columns from a row; where that is not clear, say what was decided.

    `names` are the cells of the first row, and `below` rows of as many cells. Only a header has one
    of the `known` names, which are in small letters; numbers among these are of columns that had no
    names when a model was trained. Messages name the path.
    """
    lowered = [name.lower() for name in names]
    if any(name in known and not name.isdigit() for name in lowered):
        return True  # numbers name columns where there is no header
    if len(set(lowered)) < len(names) or any(is_number(name) for name in names) or "" in names[1:]:
        return False  # names are there once, are not empty, and are not numbers
    columns = list(zip(*below, strict=True))
    if not columns:
        return False
    if any(all(is_number(cell) or is_missing(cell) for cell in column) for column in columns):
        return True  # words above numbers
    fresh = not any(name in column for name, column in zip(names, columns, strict=True))
    repeats = any(len(set(column)) <= len(column) / 2 for column in columns)
    if fresh and repeats and not any(name.isdigit() for name in known):
        warn(
            f"{os.fspath(path)}: the first row, {names}, is read as column names, since its "
            "cells are in no other row; with header=False it is read as data."
        )
        return True
    if fresh:
        warn(
            f"{os.fspath(path)}: the first row, {names}, is read as data; with "
            "header=True it is read as column names."
        )
    return False
