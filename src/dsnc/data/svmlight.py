"""svmlight / libsvm files and their two many-class dialects.

========  =========================================================================
svmlight  ``3 1:0.5 7:1``: label, then index:value pairs, indices ascending
LSHTC     ``33, 101 5:2 9:1``: several labels, separated by comma and blank
XC        first line ``rows features labels``, then ``0,4 1:0.5 7:1``, 0-based
========  =========================================================================

All three are one grammar: a number with a colon behind it is an index, one with a colon before it
a value, any other a label. So a piece of a file is parsed as a whole: ``numpy.fromstring`` reads
the numbers, and masks over the bytes tell what each of them is. That is faster than a loop over
the pairs. Only when a check fails is the piece read again line by line, to say where and why.
"""

import os
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.data.dataset import Classes, Dataset
from dsnc.data.files import head, read_chunks, stem
from dsnc.errors import DataFileError
from dsnc.labels import UnknownLabelError

EXPECTED = "'label index:value index:value ...' with ascending indices"

_NOISE = re.compile(rb"#[^\n]*|\bqid:\S*")  # comments, and the query numbers of ranking data
_SEPARATORS = bytes.maketrans(b":,\t\r", b"    ")
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_HEADER = re.compile(rb"\s*(\d+)\s+(\d+)\s+(\d+)\s*")
_COLON, _COMMA, _NEWLINE, _BLANK = b":,\n "
_MAX_INDEX = np.iinfo(np.int32).max
_MAX_WHOLE = 2**53  # up to here a float64 holds every whole number


@dataclass
class _Piece:
    """The numbers of some rows."""

    labels: NDArray[np.float64]
    labels_per_row: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[Any]
    values_per_row: NDArray[np.int64]


class _BadPieceError(Exception):
    """Something in a piece is not as it should be."""


def read_svmlight(
    path: str | os.PathLike[str],
    *,
    classes: Classes = None,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    multilabel: bool | str = "auto",
    dtype: Any = np.float32,
) -> Dataset:
    """Read a svmlight, LSHTC or Extreme Classification Repository file, compressed or not.

    Parameters
    ----------
    path : path
        The file.
    classes : sequence, optional
        The known classes, for a test file; another label is an error.
    n_features : int, optional
        The width of X; without it the largest index decides (or the XC header).
    zero_based : bool or "auto"
        Whether the first feature is called 0; "auto": it is if an index 0 occurs.
    multilabel : bool or "auto"
        Whether rows have label sets; "auto": they have if a row has not exactly one label.
    dtype : dtype
        Of the values.
    """
    header, rows = _read(path, np.dtype(dtype))
    if header is None and not len(rows.labels_per_row):
        raise DataFileError.at(path, "is empty", expected=EXPECTED)
    if header is not None and header[0] != len(rows.labels_per_row):
        raise DataFileError.at(
            path,
            f"has {len(rows.labels_per_row):,} rows, but its first line says {header[0]:,}",
            expected="a complete file",
        )
    if header is not None:
        zero_based, n_features = True, header[1]
        classes = np.arange(header[2]) if classes is None else classes
    X = _matrix(path, rows, n_features, zero_based)
    if multilabel == "auto":
        multilabel = header is not None or bool((rows.labels_per_row != 1).any())
    source = f"{_dialect(header, multilabel)} file {os.fspath(path)}"
    return _dataset(path, X, rows, classes, bool(multilabel), source)


def has_header(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file opens with the XC line ``rows features labels``."""
    lines = head(path, 1)
    return bool(lines) and _HEADER.fullmatch(lines[0]) is not None


def looks_like_svmlight(lines: list[bytes]) -> bool:
    """Tell from its first lines whether a file is svmlight or one of the dialects."""
    if lines and _HEADER.fullmatch(lines[0]):
        return len(lines) == 1 or _row_problem(lines[1]) is None
    return bool(lines) and b":" in lines[0] and _NUMBER.match(lines[0].lstrip()) is not None


def _read(path: Any, dtype: np.dtype[Any]) -> tuple[tuple[int, int, int] | None, _Piece]:
    header = None
    # Bytearrays grow in place: the arrays are never held twice, as joining pieces would do.
    grown = {field: bytearray() for field in _Piece.__dataclass_fields__}
    types = {field: array.dtype for field, array in vars(_parse(b"", dtype)).items()}
    for line, chunk in read_chunks(path):
        if line == 1:
            first, _, rest = chunk.partition(b"\n")
            if found := _HEADER.fullmatch(first):
                header = (int(found[1]), int(found[2]), int(found[3]))
                chunk, line = rest, 2
        try:
            piece = _parse(chunk, dtype, keep_blank_lines=header is not None)
        except _BadPieceError:
            raise _explain(path, line, chunk) from None
        for field, array in vars(piece).items():
            grown[field] += array.data
    return header, _Piece(**{f: np.frombuffer(grown[f], dtype=types[f]) for f in grown})


def _parse(chunk: bytes, dtype: np.dtype[Any], *, keep_blank_lines: bool = False) -> _Piece:
    """Parse whole lines at once, or raise `_BadPieceError`."""
    if b"#" in chunk or b"qid:" in chunk:
        chunk = _NOISE.sub(b"", chunk)
    blanked = chunk.translate(_SEPARATORS)
    numbers = _numbers(blanked)
    # Two newlines in front: every token then has two bytes before it, and a line ends before it.
    octets = np.frombuffer(b"\n\n" + chunk, dtype=np.uint8)
    is_blank = np.frombuffer(b"\n\n" + blanked, dtype=np.uint8) <= _BLANK
    starts = np.flatnonzero(is_blank[:-1] & ~is_blank[1:]) + 1
    _require(numbers.size == starts.size and np.isfinite(numbers).all())

    is_value = octets[starts - 1] == _COLON
    is_index = np.append(is_value[1:], False) if starts.size else is_value
    _require(np.count_nonzero(octets == _COLON) == np.count_nonzero(is_value))
    _require(not is_blank[starts[is_value] - 2].any() and not (is_value & is_index).any())
    is_label = ~(is_value | is_index)

    line_ends = np.flatnonzero(octets[2:] == _NEWLINE) + 2
    if chunk and chunk[-1] != _NEWLINE:
        line_ends = np.append(line_ends, octets.size)
    bounds = np.concatenate([[0], np.searchsorted(starts, line_ends)])
    labels_per_row = np.diff(np.concatenate([[0], np.cumsum(is_label)])[bounds])
    values_per_row = np.diff(np.concatenate([[0], np.cumsum(is_value)])[bounds])
    _check_labels(octets, starts, is_label, bounds)
    if not keep_blank_lines:
        is_row = np.diff(bounds) > 0
        labels_per_row, values_per_row = labels_per_row[is_row], values_per_row[is_row]
    indices, values = numbers[is_index], numbers[is_value]
    _check_indices(indices, values_per_row)
    return _Piece(
        numbers[is_label],
        labels_per_row,
        indices.astype(np.int32),
        values.astype(dtype, copy=False),
        values_per_row,
    )


def _numbers(blanked: bytes) -> NDArray[np.float64]:
    if not blanked or blanked.isspace():
        return np.empty(0)
    try:
        return np.fromstring(blanked, sep=" ")
    except (ValueError, DeprecationWarning):  # numpy's way to say "not a number", new and old
        raise _BadPieceError from None


def _check_labels(
    octets: NDArray[np.uint8],
    starts: NDArray[np.int64],
    is_label: NDArray[np.bool_],
    bounds: NDArray[np.int64],
) -> None:
    """Check that labels open their line, with a comma between them and nowhere else."""
    opens_line = np.zeros(starts.size + 1, dtype=np.bool_)
    opens_line[bounds] = True
    further = np.flatnonzero(is_label & ~opens_line[:-1])
    before = starts[further]
    _require(is_label[further - 1].all())
    _require(((octets[before - 1] == _COMMA) | (octets[before - 2] == _COMMA)).all())
    _require(np.count_nonzero(octets == _COMMA) == further.size)


def _check_indices(indices: NDArray[np.float64], values_per_row: NDArray[np.int64]) -> None:
    """Check that indices are whole numbers that ascend within a row."""
    if not indices.size:
        return
    _require(0 <= indices.min() <= indices.max() <= _MAX_INDEX)
    _require((indices == np.floor(indices)).all())
    ascends = np.diff(indices) > 0
    row_ends = np.cumsum(values_per_row)
    ascends[row_ends[(row_ends > 0) & (row_ends < indices.size)] - 1] = True
    _require(ascends.all())


def _require(condition: Any) -> None:
    if not condition:
        raise _BadPieceError


def _matrix(path: Any, rows: _Piece, n_features: int | None, zero_based: bool | str) -> Any:
    indices = rows.indices
    lowest, highest = (int(indices.min()), int(indices.max())) if indices.size else (1, 0)
    if zero_based is False and lowest == 0:
        raise DataFileError.at(path, "uses index 0", expected="indices from 1 (zero_based=False)")
    first = 0 if zero_based is True or lowest == 0 else 1
    indices -= first
    width = highest + 1 - first
    if n_features is not None and width > n_features:
        raise DataFileError.at(
            path, f"uses index {highest}", expected=f"{n_features:,} features, first one {first}"
        )
    ends = np.concatenate([[0], np.cumsum(rows.values_per_row)])
    if ends[-1] <= _MAX_INDEX:
        ends = ends.astype(np.int32)  # scipy wants both index arrays of one type
    shape = (len(rows.values_per_row), width if n_features is None else n_features)
    return sp.csr_array((rows.values, indices, ends), shape=shape)


def _dataset(
    path: Any, X: Any, rows: _Piece, classes: Any, multilabel: bool, source: str
) -> Dataset:
    if not multilabel and (rows.labels_per_row != 1).any():
        row = int(np.argmax(rows.labels_per_row != 1))
        raise DataFileError.at(
            path,
            f"has {rows.labels_per_row[row]} labels",
            line=_line_of_row(path, row),
            expected="one label a row (multilabel=False)",
        )
    labels = rows.labels
    if (labels == np.floor(labels)).all() and (np.abs(labels) <= _MAX_WHOLE).all():
        labels = labels.astype(np.int64)
    fields = {"classes": classes, "name": stem(path), "source": source}
    try:
        if multilabel:
            return Dataset.from_label_lists(X, labels, rows.labels_per_row, **fields)
        return Dataset.from_labels(X, labels, **fields)
    except UnknownLabelError as error:
        row = error.row(rows.labels_per_row)
        raise error.in_file(path, _line_of_row(path, row)) from error


def _dialect(header: tuple[int, int, int] | None, multilabel: bool | str) -> str:
    if header is not None:
        return "Extreme Classification Repository"
    return "multi-label svmlight" if multilabel else "svmlight"


def _line_of_row(path: Any, row: int) -> int:
    """Find the line of a row by reading the file again: only errors need it."""
    if has_header(path):
        return row + 2  # below the header every line is a row
    for first, chunk in read_chunks(path):
        for number, line in enumerate(chunk.split(b"\n"), first):
            row -= bool(_NOISE.sub(b"", line).strip())
            if row < 0:
                return number
    raise DataFileError.at(path, "changed while it was read")


def _explain(path: Any, first_line: int, chunk: bytes) -> DataFileError:
    """Find the first bad line of a piece."""
    for number, line in enumerate(chunk.split(b"\n"), first_line):
        if problem := _row_problem(line):
            what, text = problem
            return DataFileError.at(path, what, line=number, text=_text(text), expected=EXPECTED)
    last = first_line + chunk.count(b"\n")
    return DataFileError.at(
        path, f"lines {first_line} to {last} are not svmlight", expected=EXPECTED
    )


def _row_problem(line: bytes) -> tuple[str, bytes] | None:
    """Say what is wrong with a line, and the text it is wrong with."""
    words = _NOISE.sub(b"", line).split()
    n_labels = next((i for i, word in enumerate(words) if b":" in word), len(words))
    if problem := _labels_problem(words[:n_labels]):
        return problem
    previous = -1
    for word in words[n_labels:]:
        index, colon, value = word.partition(b":")
        if not colon or b":" in value:
            return "is not an index:value pair", word
        if not re.fullmatch(rb"[+-]?\d+", index):
            return "index is not a whole number", word
        if not 0 <= int(index) <= _MAX_INDEX:
            return f"index is {'negative' if int(index) < 0 else 'too large'}", word
        if not _is_number(value):
            return "value is not a finite number", word
        if int(index) <= previous:
            return f"index does not ascend (it follows {previous})", word
        previous = int(index)
    return None


def _labels_problem(words: list[bytes]) -> tuple[str, bytes] | None:
    text = b" ".join(words)
    if not text:
        return None  # a row without labels is a row of a multi-label file
    labels = [label.strip() for label in text.split(b",")]
    for label in labels:
        if b" " in label:
            return "is a number without an index", label.split()[1]
        if not _is_number(label):
            return "label is not a number", label or text
    return None


def _is_number(text: bytes) -> bool:
    return _NUMBER.fullmatch(text) is not None and bool(np.isfinite(float(text)))


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="backslashreplace")
