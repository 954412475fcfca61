"""Rows that clients send: JSON, parsed row by row, and bytes.

A whole parser would hold the interpreter for as long as a large body takes, and a list of numbers
takes ten times the memory of an array. Row by row, other requests have their turn in between.
"""

import io
import json
import re
from array import array
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from dsnc.errors import shorten
from dsnc.serve.refusals import Refused, too_large

_BLANKS = re.compile(r"[ \t\n\r]*")
_KINDS: dict[type, str] = {str: "texts", list: "dense", dict: "sparse"}
_NUMBERS = "biuf"  # kinds of numpy types
_LARGEST = np.finfo(np.float32).max
_FORM = 'a text, a list of numbers, or {"indices": [...], "values": [...]}'


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number of JSON")


_decode = json.JSONDecoder(parse_constant=_constant).raw_decode


class Rows:
    """Gathers rows of one kind, as a model takes them.

    Parameters
    ----------
    takes_text : bool
        Whether the model was trained on texts.
    n_features : int
        How many numbers a row has.
    most : int
        Rows at most.
    """

    def __init__(self, *, takes_text: bool, n_features: int, most: int) -> None:
        self.takes_text, self.n_features, self.most = takes_text, n_features, most
        self._kind: type | None = None
        self._clear()

    def _clear(self) -> None:
        self.n = self._line = 0
        self._texts: list[str] = []
        self._values, self._indices, self._starts = array("d"), array("q"), array("q", [0])

    def add(self, row: Any, line: int = 0) -> None:
        """Take one row, as JSON has it; if it stands on a line of its own, messages name that."""
        kind, self._line = type(row), line
        if kind is not self._kind:
            self._check_kind(kind)
        if self.n >= self.most:
            raise too_large(f"The request has more than {self.most:,} rows; send fewer at a time.")
        if kind is str:
            self._texts.append(row)
        elif kind is list:
            self._add_dense(row)
        else:
            self._add_sparse(row)
        self.n += 1

    def take(self) -> Any:
        """Return what was gathered, and begin anew."""
        rows: Any = self._texts
        if self._kind in (list, dict):
            values = np.frombuffer(self._values, dtype=np.float64)
            if not np.abs(values).max(initial=0) <= _LARGEST:
                raise Refused(400, "A number is too large: those beyond float32 are not taken.")
            if self._kind is list:
                rows = values.reshape(self.n, self.n_features)
            else:
                indices = np.frombuffer(self._indices, dtype=np.int64)
                starts = np.frombuffer(self._starts, dtype=np.int64)
                rows = sp.csr_matrix((values, indices, starts), (self.n, self.n_features))
                rows.sum_duplicates()
        self._clear()
        return rows

    def _check_kind(self, kind: type) -> None:
        if self._kind is not None or kind not in _KINDS:
            what = "rows of two kinds" if kind in _KINDS else f"{kind.__name__} in place of a row"
            raise self._refused(f"holds {what}; expected {_FORM} throughout")
        if kind is str and not self.takes_text:
            raise self._refused(
                f"is a text, and the model was trained on rows of {self.n_features:,} numbers"
            )
        self._kind = kind

    def _add_dense(self, row: list[Any]) -> None:
        if len(row) != self.n_features:
            raise self._refused(
                f"has {len(row):,} numbers; the model takes {self.n_features:,} a row"
            )
        try:
            self._values.fromlist(row)
        except (TypeError, OverflowError):
            raise self._refused("holds what is not a number") from None

    def _add_sparse(self, row: dict[str, Any]) -> None:
        if set(row) != {"indices", "values"}:
            raise self._refused(f"has the keys {shorten(sorted(row))}; expected {_FORM}")
        indices, values = row["indices"], row["values"]
        if type(indices) is not list or type(values) is not list or len(indices) != len(values):
            raise self._refused("needs lists of indices and values of one length")
        try:
            self._indices.fromlist(indices)
            self._values.fromlist(values)
        except (TypeError, OverflowError):
            raise self._refused("holds what is not a number") from None
        if indices and not 0 <= min(indices) <= max(indices) < self.n_features:
            raise self._refused(
                f"has an index that is not from 0 to {self.n_features - 1:,}, the last feature"
            )
        self._starts.append(len(self._values))

    def _refused(self, problem: str) -> Refused:
        where = f"Line {self._line:,}" if self._line else f"inputs[{self.n}]"
        return Refused(400, f"{where} {problem}.")


def parse_object(body: bytes, rows: Rows) -> dict[str, Any]:
    """Parse ``{"inputs": [row, ...], NAME: value, ...}``; rows are gathered, the rest returned."""
    text = _text(body)
    try:
        return _Parser(text).object(rows)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Refused(400, f"The body is not valid JSON ({error.msg}, {where}).") from None
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"The body is not valid JSON ({_short(error)}).") from None


def parse_value(line: bytes, number: int) -> Any:
    """Parse a line of JSON, of a stream."""
    text = _text(line).strip()
    try:
        value, end = _decode(text)
        if end == len(text):
            return value
        problem = "there is more on it"
    except (ValueError, RecursionError) as error:
        problem = _short(error)
    raise Refused(400, f"Line {number:,} is not valid JSON ({problem}).")


def _short(error: Exception) -> str:
    return getattr(error, "msg", None) or str(error).split(";")[0][:80]


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(400, f"Byte {error.start:,} of the body is not UTF-8.") from None


class _Parser:
    """Walks through the outermost object, and leaves what is inside to the decoder of Python."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def object(self, rows: Rows) -> dict[str, Any]:
        """Parse the whole text."""
        found: dict[str, Any] = {}
        if self.next() != "{":
            raise Refused(400, 'The body must be an object, such as {"inputs": [...]}.')
        self.at += 1
        has_inputs, mark = False, self.next()
        while mark != "}":
            key = self.value()
            if not isinstance(key, str):
                self.fail("Expecting the name of a property in double quotes")
            self.expect(":")
            if key == "inputs":
                if has_inputs:
                    raise Refused(400, "inputs stands there twice.")
                has_inputs = True
                self.inputs(rows)
            else:
                found[key] = self.value()
            mark = self.separator("}")
        self.at += 1
        if self.next():
            self.fail("Extra data")
        if not has_inputs:
            raise Refused(400, 'The body has no "inputs"; send {"inputs": [row, ...]}.')
        return found

    def inputs(self, rows: Rows) -> None:
        """Parse the list of rows."""
        if self.next() != "[":
            found = shorten(self.value())
            raise Refused(400, f"inputs={found} must be a list of rows, such as [row].")
        self.at += 1
        mark = self.next()
        while mark != "]":
            row, self.at = _decode(self.text, self.at)
            rows.add(row)
            mark = self.separator("]")
        self.at += 1

    def value(self) -> Any:
        """Parse any value."""
        self.next()
        value, self.at = _decode(self.text, self.at)
        return value

    def next(self) -> str:
        """Skip blanks; return the character that follows."""
        match = _BLANKS.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.text[self.at : self.at + 1]

    def expect(self, mark: str) -> None:
        """Skip a character that must come."""
        if self.next() != mark:
            self.fail(f"Expecting {mark!r} delimiter")
        self.at += 1

    def separator(self, end: str) -> str:
        """Skip a comma, behind which something must follow; or stay before the end."""
        mark = self.next()
        if mark != end:
            self.expect(",")
            if self.next() == end:
                self.fail("Illegal trailing comma before end")
        return mark

    def fail(self, message: str) -> NoReturn:
        """Say what is wrong here."""
        raise json.JSONDecodeError(message, self.text, self.at)


def parse_numbers(body: bytes, rows: Rows) -> Any:
    """Return rows of raw float32, little end first, or of a ``.npy`` file."""
    if body.startswith(b"\x93NUMPY"):
        return checked(_parse_npy(body), rows)
    width = 4 * rows.n_features
    if len(body) % width:
        raise Refused(
            400,
            f"The body has {len(body):,} bytes, which is not a multiple of {width:,}: the model "
            f"takes {rows.n_features:,} numbers a row, 4 bytes each (float32, little-endian).",
        )
    return checked(np.frombuffer(body, dtype="<f4").reshape(-1, rows.n_features), rows)


def checked(X: Any, rows: Rows) -> Any:
    """Return an array of numbers that the model takes, or refuse it."""
    if X.dtype.kind not in _NUMBERS:
        raise Refused(400, f"The array has type {X.dtype}; expected numbers.")
    if X.ndim != 2 or X.shape[1] != rows.n_features:
        shape = f"{X.shape}; expected (rows, {rows.n_features:,})"
        raise Refused(400, f"The array has shape {shape}: so many numbers the model takes a row.")
    if X.shape[0] > rows.most:
        raise too_large(f"The request has {X.shape[0]:,} rows; send {rows.most:,} at most.")
    with np.errstate(over="ignore"):
        X = X.astype(np.float64 if X.dtype.kind != "f" or X.dtype.itemsize > 4 else np.float32)
        largest = np.abs(X).max(initial=0)
    if not largest <= _LARGEST:
        raise Refused(400, "The array holds NaN or infinity, or numbers beyond float32.")
    rows.n = X.shape[0]
    return X


def _parse_npy(body: bytes) -> Any:
    file = io.BytesIO(body)
    try:
        X = np.load(file, allow_pickle=False)
    except (ValueError, EOFError, OSError, SyntaxError, MemoryError, OverflowError) as error:
        raise Refused(400, f"The body is not a readable .npy file ({_short(error)}).") from None
    if not isinstance(X, np.ndarray):
        raise Refused(400, "The body is not a .npy file of one array.")
    return X
