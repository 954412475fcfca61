"""Files in which a line is a row: svmlight, fastText, and without labels, texts or numbers.

Texts are one per line; labels of fastText lines are ignored. Numbers are svmlight lines, whose
labels are ignored, or columns. An empty line is a row, too: every line gets an answer.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.data.cells import number
from dsnc.data.dataset import fit_width, warn_of_beyond
from dsnc.data.files import decode, read_batches
from dsnc.data.reader import LIKELY, NO, SURE, Reader, RowOptions, Start, wrong_width
from dsnc.data.svmlight import looks_like_svmlight, parse_lines, read_svmlight
from dsnc.data.tables import TableOptions
from dsnc.data.text import read_fasttext
from dsnc.errors import DataFileError, InputError, shorten, warn

_LABEL = b"__label__"  # begins a label in fastText lines


class LinesReader(Reader):
    """What all formats of lines have in common: without labels, lines are what the model takes."""

    def stream(self, path: str, options: RowOptions) -> Iterator[Any]:
        """Yield texts, or rows of numbers, without waiting for a full block."""
        if options.n_features is not None:
            return _numbers(path, options.n_features, options)
        TableOptions(encoding=options.encoding, decode_errors=options.decode_errors).check()
        return _texts(path, options)


class SvmlightReader(LinesReader):
    """Lines such as ``3 1:0.5 7:1``."""

    endings = ("svm",)
    read = staticmethod(read_svmlight)

    def detect(self, start: Start) -> int:
        """Look for pairs; without labels, only the model tells ``1:2`` from a text."""
        return LIKELY if start.labelled and looks_like_svmlight(start.lines) else NO


class FastTextReader(LinesReader):
    """Lines such as ``__label__nurse triage``."""

    endings = ("txt",)
    joint = (" ", _LABEL.decode())
    read = staticmethod(read_fasttext)

    def detect(self, start: Start) -> int:
        """Look for a label; among rows with labels, some may have none."""
        lines = start.lines if start.labelled else start.lines[:1]
        return SURE if any(line.startswith(_LABEL) for line in lines) else NO


def _texts(name: str, options: RowOptions) -> Iterator[list[str]]:
    has_labels = None
    for first, lines in read_batches(name, options.batch):
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


def _numbers(name: str, n_features: int, options: RowOptions) -> Iterator[Any]:
    """Yield rows of lines of numbers: ``3 1:0.5 7:1`` or ``0.5,0,1``."""
    beyond, is_table = 0, None
    for start, lines in read_batches(name, options.batch):
        if start == 1:
            lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
        if is_table is None:
            is_table = _is_table(lines, n_features)
            blank = next((i for i, line in enumerate(lines) if line.strip()), 0)
            if is_table and _is_header(lines[blank]):
                warn(f"{name}, line {start + blank}: read as column names, not as a row.")
                if blank:
                    yield np.zeros((blank, n_features), dtype=np.float32)
                lines, start = lines[blank + 1 :], start + blank + 1
        if is_table and lines:
            yield _table_rows(name, lines, start, n_features)
        elif not is_table:
            parsed = parse_lines(name, lines, start, options.first_index)
            rows, dropped = fit_width(parsed, n_features)
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
    cells = _cells(line)
    return bool(cells) and all(number(cell, decimal_comma=False) is None for cell in cells)


def _cells(line: bytes) -> list[str]:
    text = line.decode("utf-8", errors="backslashreplace")
    return text.split(",") if "," in text else text.split()


def _table_rows(name: str, lines: list[bytes], first: int, n_features: int) -> NDArray[np.float64]:
    rows = np.zeros((len(lines), n_features), dtype=np.float64)
    for row, line in enumerate(lines):
        if not (cells := _cells(line)):
            continue  # an empty line is a row of zeros
        try:
            values = [float(cell) for cell in cells]
        except ValueError:
            column = [number(cell, decimal_comma=False) for cell in cells].index(None)
            problem = f"has a value that is not a number in column {column + 1}"
            text = cells[column].strip()
            raise DataFileError.at(name, problem, line=first + row, text=text) from None
        if len(values) != n_features:
            raise wrong_width(f"{name}, line {first + row}", len(values), n_features)
        rows[row] = values
    fits = np.abs(rows) <= np.finfo(np.float32).max
    if not fits.all():
        bad = first + int(np.argmin(fits.all(axis=1)))
        raise DataFileError.at(name, "has NaN or infinity", line=bad, expected="finite numbers")
    return rows
