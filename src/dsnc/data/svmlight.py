"""svmlight / libsvm files and their two many-class dialects.

========  =========================================================================
svmlight  ``3 1:0.5 7:1``: label, then index:value pairs, indices ascending
LSHTC     ``33, 101 5:2 9:1``: several labels, separated by comma and blank
XC        first line ``rows features labels``, then ``0,4 1:0.5 7:1``, 0-based
========  =========================================================================

All three are one grammar: a number with a colon behind it is an index, one with a colon before it
a value, any other a label. So a piece of a file is parsed as a whole: the core reads the numbers,
or ``numpy.fromstring`` where some have very many digits, and masks over the bytes tell what each of
them is. That is faster than a loop over the pairs. Only when a check fails is the piece read again
line by line, to say where and why.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc._native import read_numbers
from dsnc.checks import whole
from dsnc.data.dataset import Classes, Dataset, check_multilabel, counted_classes, fit_width
from dsnc.data.files import read_chunks, stem
from dsnc.errors import DataFileError
from dsnc.labels import UnknownLabelError
from dsnc.sparse import sp

_EXPECTED = "'label index:value index:value ...' with ascending indices"

_NOISE = re.compile(rb"#[^\n]*|\bqid:\S*")  # comments, and the query numbers of ranking data
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r"))  # are no blanks, and in no number
_SEPARATORS = bytes.maketrans(b":,\t\r" + _CONTROLS, b"    " + len(_CONTROLS) * b"?")
_NUMBER = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_HEADER = re.compile(rb"\s*(\d{1,18})\s+(\d{1,18})\s+(\d{1,18})\s*")
_COLON, _COMMA, _NEWLINE, _BLANK = b":,\n "
_MAX_INDEX = np.iinfo(np.int32).max
_PLAIN_VALUES = np.dtype(np.float32)
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
    first_index: int | None = None,
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
    first_index : 0 or 1, optional
        The number of the first feature; without it 0 if an index 0 occurs, else 1. The data set
        keeps it, for files that belong together: ``first_index=train.first_index``.
    multilabel : bool or "auto"
        Whether rows have label sets; "auto": they do unless every row has exactly one label.
    dtype : dtype
        Of the values.
    """
    check_multilabel(multilabel)
    if first_index is not None:
        whole("first_index", first_index, 0, 1)
    header, rows = _read(path, np.dtype(dtype))
    n_rows = len(rows.labels_per_row)
    if header is None and not n_rows:
        raise DataFileError.at(path, "is empty", expected=_EXPECTED)
    if header is not None:
        if header[0] != n_rows:
            problem = f"has {n_rows:,} rows, but its first line says {header[0]:,}"
            raise DataFileError.at(path, problem, expected="a complete file")
        first_index, n_features = 0, header[1]
        if n_features > _MAX_INDEX:
            problem = f"its first line says {n_features:,} features"
            raise DataFileError.at(path, problem, line=1, expected=f"{_MAX_INDEX:,} at most")
        classes = counted_classes(path, header[2]) if classes is None else classes
    if first_index is None:
        first_index = int(rows.indices.min(initial=1))
    X = _matrix(path, rows, first_index, partial(_line_of_row, path))
    if n_features is not None:
        _check_width(path, X, n_features, first_index)
        X = fit_width(X, n_features)[0]
    if multilabel == "auto":
        multilabel = header is not None or bool((rows.labels_per_row != 1).any())
    dialect = "multi-label svmlight" if multilabel else "svmlight"
    if header is not None:
        dialect = "Extreme Classification Repository"
    fields = {"source": f"{dialect} file {os.fspath(path)}", "first_index": first_index}
    return _dataset(path, X, rows, bool(multilabel), classes=classes, **fields)


def parse_lines(name: str, lines: list[bytes], first_line: int, first_index: int) -> Any:
    """Return a CSR matrix with a row for every line, an empty one for an empty line.

    The lines may have labels, which are passed over. `name` and `first_line`, the number of the
    first of them, are for messages.

    Examples
    --------
    >>> parse_lines("-", [b"1:2 3:1", b"", b"7 2:5"], 1, first_index=1).toarray()
    array([[2., 0., 1.],
           [0., 0., 0.],
           [0., 5., 0.]], dtype=float32)
    """
    chunk = b"".join(line + b"\n" for line in lines)
    try:
        rows = _parse(chunk, _PLAIN_VALUES, keep_blank_lines=True)
    except _BadPieceError:
        raise _explain(name, first_line, chunk, _PLAIN_VALUES) from None
    return _matrix(name, rows, first_index, lambda row: first_line + row)


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
            raise _explain(path, line, chunk, dtype) from None
        for field, array in vars(piece).items():
            grown[field] += array.data
    return header, _Piece(**{f: np.frombuffer(grown[f], dtype=types[f]) for f in grown})


def _parse(chunk: bytes, dtype: np.dtype[Any], *, keep_blank_lines: bool = False) -> _Piece:
    """Parse whole lines at once, or raise `_BadPieceError`."""
    if b"#" in chunk or b"qid:" in chunk:
        chunk = _NOISE.sub(b"", chunk)
    blanked = chunk.translate(_SEPARATORS)
    # Two newlines in front: every token then has two bytes before it, and a line ends before it.
    octets = np.frombuffer(b"\n\n" + chunk, dtype=np.uint8)
    is_blank = np.frombuffer(b"\n\n" + blanked, dtype=np.uint8) <= _BLANK
    starts = np.flatnonzero(is_blank[:-1] & ~is_blank[1:]) + 1
    numbers = _numbers(blanked, starts - 2)
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
    with np.errstate(over="ignore"):
        values = values.astype(dtype, copy=False)
    _require(np.isfinite(values).all())  # 1e39 is a number, and too large for 32 bits
    return _Piece(
        numbers[is_label], labels_per_row, indices.astype(np.int32), values, values_per_row
    )


def _numbers(blanked: bytes, starts: NDArray[np.int64]) -> NDArray[np.float64]:
    if not starts.size:
        return np.empty(0)
    numbers = np.empty(starts.size)
    if read_numbers(np.frombuffer(blanked + b" ", dtype=np.uint8), starts, numbers):
        return numbers
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


def _matrix(
    path: Any, rows: _Piece, first_index: int, line_of_row: Callable[[int], int]
) -> "sp.csr_array":
    ends = np.concatenate([[0], np.cumsum(rows.values_per_row)])
    if ends[-1] <= _MAX_INDEX:
        ends = ends.astype(np.int32)  # scipy wants both index arrays of one type
    columns = rows.indices
    columns -= first_index
    if columns.min(initial=0) < 0:
        row = int(np.searchsorted(ends, np.argmin(columns), side="right")) - 1
        raise DataFileError.at(
            path,
            "uses index 0",
            line=line_of_row(row),
            expected="indices from 1; where the first feature is 0, give first_index=0",
        )
    shape = (len(rows.values_per_row), int(columns.max(initial=-1)) + 1)
    return sp.csr_array((rows.values, columns, ends), shape=shape)


def _check_width(path: Any, X: "sp.csr_array", n_features: int, first_index: int) -> None:
    if X.shape[1] > n_features:
        row = int(np.searchsorted(X.indptr, X.indices.argmax(), side="right")) - 1
        raise DataFileError.at(
            path,
            f"uses index {X.shape[1] - 1 + first_index}",
            line=_line_of_row(path, row),
            expected=f"{n_features:,} features, numbered from {first_index}",
        )


def _dataset(path: Any, X: Any, rows: _Piece, multilabel: bool, **fields: Any) -> Dataset:
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
    try:
        if multilabel:
            counts = rows.labels_per_row
            return Dataset.from_label_lists(X, labels, counts, name=stem(path), **fields)
        return Dataset.from_labels(X, labels, name=stem(path), **fields)
    except UnknownLabelError as error:
        row = error.row(rows.labels_per_row)
        raise error.in_file(path, _line_of_row(path, row)) from error


def _line_of_row(path: Any, row: int) -> int:
    """Find the line of a row by reading the file again: only errors need it."""
    for first, chunk in read_chunks(path):
        if first == 1 and _HEADER.fullmatch(chunk.partition(b"\n")[0]):
            return row + 2  # below the header every line is a row
        for number, line in enumerate(chunk.split(b"\n"), first):
            row -= bool(_NOISE.sub(b"", line).strip())
            if row < 0:
                return number
    raise DataFileError.at(path, "changed while it was read")


def _explain(path: Any, first_line: int, chunk: bytes, dtype: np.dtype[Any]) -> DataFileError:
    """Find the first bad line of a piece."""
    for number, line in enumerate(chunk.split(b"\n"), first_line):
        if problem := _row_problem(line, dtype):
            what, text = problem
            return DataFileError.at(path, what, line=number, text=_text(text), expected=_EXPECTED)
    last = first_line + chunk.count(b"\n")
    return DataFileError.at(
        path, f"lines {first_line} to {last} are not svmlight", expected=_EXPECTED
    )


def _row_problem(line: bytes, dtype: np.dtype[Any] = _PLAIN_VALUES) -> tuple[str, bytes] | None:
    """Say what is wrong with a line, and the text it is wrong with."""
    words = _NOISE.sub(b"", line).split()
    n_labels = next((i for i, word in enumerate(words) if b":" in word), len(words))
    if problem := _labels_problem(words[:n_labels]):
        return problem
    previous = -1.0
    for word in words[n_labels:]:
        index, colon, value = word.partition(b":")
        if not colon or b":" in value:
            return "is not an index:value pair", word
        if not re.fullmatch(rb"[+-]?\d+", index):
            return "index is not a whole number", word
        place = float(index)  # Python refuses whole numbers of thousands of digits
        if not 0 <= place <= _MAX_INDEX:
            return f"index is {'negative' if place < 0 else 'too large'}", word
        if not _is_number(value):
            return "value is not a finite number", word
        with np.errstate(over="ignore"):
            if not np.isfinite(np.float64(value).astype(dtype)):
                return f"value is too large for {dtype}", word
        if place <= previous:
            return f"index does not ascend (it follows {previous:.0f})", word
        previous = place
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
