"""Rows that clients send: JSON, parsed row by row, and bytes.

A whole parser would hold the interpreter for as long as a large body takes, and a list of numbers
takes ten times the memory of an array. Row by row, other requests have their turn in between.
"""

import io
import json
import math
import re
from array import array
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from dsnc.errors import InputError, shorten
from dsnc.model import takes_text
from dsnc.serve.refusals import Refused, too_large

_WHOLE = 1 << 18  # characters that are parsed in one go, in a few milliseconds
_BLANKS = re.compile(r"[ \t\n\r]*")
_COMMA = re.compile(r"[ \t\n\r]*,[ \t\n\r]*")
_INPUTS = re.compile(r'(?<="inputs")[ \t\n\r]*:[ \t\n\r]*\[')
_DONE = ":null"  # in place of rows that were parsed
_KINDS: dict[type, str] = {str: "texts", list: "dense", dict: "sparse"}
_NUMBERS = "biuf"  # kinds of numpy types
_FORM = 'a text, a list of numbers, or {"indices": [...], "values": [...]}'


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=_constant)
_decode = _DECODER.raw_decode


class Rows:
    """Gathers rows of one kind, as a model takes them: at most `most`."""

    def __init__(self, model: Any, most: int) -> None:
        self.takes_text, self.n_features = takes_text(model), int(model.n_features_in_)
        self.records, self.most = model.records, most
        self._has_texts = self.takes_text and self.records.takes_lines
        self._kind: type | None = None
        self.n = self._line = 0
        self._texts: list[str] = []
        self._values, self._indices, self._starts = array("d"), array("q"), array("q", [0])

    def add(self, row: Any, line: int = 0) -> None:
        """Take one row, as JSON has it; if it stands on a line of its own, messages name that."""
        self._line = line
        if self.records.has_form(row):
            try:
                row = self.records.row(row)
            except InputError as error:
                raise self._refused(str(error).rstrip(".")) from None
        kind = type(row)
        if kind is not self._kind:
            self._check_kind(kind)
        self._check_most(1)
        if kind is str:
            self._texts.append(row)
        elif kind is list:
            self._add_dense(row)
        else:
            self._add_sparse(row)
        self.n += 1

    def extend(self, rows: list[Any]) -> None:
        """Take many rows at once, if they are what they should be; else one by one."""
        self._check_most(len(rows))
        kinds = set(map(type, rows))
        if kinds == {str} and self._has_texts and self._kind in (None, str):
            self._kind = str
            self._texts += rows
            self.n += len(rows)
            return
        for row in rows:
            self.add(row)

    def take(self) -> Any:
        """Return what was gathered, and begin anew."""
        rows: Any = self._texts
        if self._kind in (list, dict):
            values = np.frombuffer(self._values, dtype=np.float64)
            if not math.isfinite(np.add.reduce(values)):
                raise Refused(400, "A number is too large; send numbers that float32 can hold.")
            if self._kind is list:
                rows = values.reshape(self.n, self.n_features)
            else:
                indices = np.frombuffer(self._indices, dtype=np.int64)
                starts = np.frombuffer(self._starts, dtype=np.int64)
                rows = sp.csr_matrix((values, indices, starts), (self.n, self.n_features))
                rows.sum_duplicates()
        self.n, self._texts, self._values = 0, [], array("d")
        if self._kind is dict:
            self._indices, self._starts = array("q"), array("q", [0])
        return rows

    def _check_most(self, n: int) -> None:
        if self.n + n > self.most:
            raise too_large(f"The request has more than {self.most:,} rows; send fewer at a time.")

    def _check_kind(self, kind: type) -> None:
        if self._kind is not None or kind not in _KINDS:
            what = "rows of two kinds" if kind in _KINDS else f"{kind.__name__} instead of a row"
            raise self._refused(f"holds {what}; expected {_FORM} throughout")
        if kind is str and not self.takes_text:
            raise self._refused(
                f"is a text, but the model was trained on rows of {self.n_features:,} numbers"
            )
        self._kind = kind

    def _add_dense(self, row: list[Any]) -> None:
        if len(row) != self.n_features:
            raise self._refused(
                f"has {len(row):,} numbers; the model expects {self.n_features:,} per row"
            )
        try:
            self._values.fromlist(row)
        except (TypeError, OverflowError):
            raise self._refused("holds a value that is not a number") from None

    def _add_sparse(self, row: dict[str, Any]) -> None:
        if set(row) != {"indices", "values"}:
            raise self._refused(f"has the keys {shorten(sorted(row))}; expected {_FORM}")
        indices, values = row["indices"], row["values"]
        if type(indices) is not list or type(values) is not list or len(indices) != len(values):
            raise self._refused("needs lists of indices and values of equal length")
        try:
            self._indices.fromlist(indices)
            self._values.fromlist(values)
        except (TypeError, OverflowError):
            raise self._refused("holds a value that is not a number") from None
        if indices and not 0 <= min(indices) <= max(indices) < self.n_features:
            raise self._refused(
                f"has an index that is not from 0 to {self.n_features - 1:,}, the last feature"
            )
        self._starts.append(len(self._values))

    def _refused(self, problem: str) -> Refused:
        where = f"Line {self._line:,}" if self._line else f"inputs[{self.n}]"
        return Refused(400, f"{where} {problem}.")


def parse_object(body: bytes, rows: Rows | None) -> dict[str, Any]:
    """Parse ``{"inputs": [row, ...], NAME: value, ...}``; rows are gathered, the rest returned.

    Where no rows are expected, all of it is returned.
    """
    text = text_of(body)
    try:
        begin = _INPUTS.search(text) if rows is not None and len(text) > _WHOLE else None
        found = _DECODER.decode(text) if begin is None else None
        if rows is not None and begin is not None:
            end = _parse_rows(text, begin.end(), rows)
            rest = f"{text[: begin.start()]}{_DONE}{text[end:]}"
            found = _DECODER.decode(rest)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Refused(400, f"The body is not valid JSON ({error.msg}, {where}).") from None
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"The body is not valid JSON ({_short(error)}).") from None
    if rows is None:
        return found if isinstance(found, dict) else {}
    if not isinstance(found, dict) or "inputs" not in found:
        raise Refused(400, 'The body must be an object such as {"inputs": [row, ...]}.')
    inputs = found.pop("inputs")
    if begin is None:
        if not isinstance(inputs, list):
            raise Refused(400, f"inputs={shorten(inputs)} must be a list of rows, such as [row].")
        rows.extend(inputs)
    return found


def parse_labels(given: dict[str, Any], beside: str = "", n: int | None = None) -> list[Any]:
    """Return the labels of a request that changes classes, which has nothing else.

    Where n rows, or descriptions, came `beside` them, there is one for each.
    """
    for name in given:
        if name != "labels":
            valid = "labels" if not beside else f"{beside}, labels"
            raise Refused(400, f"{shorten(name)} is not known. Valid: {valid}.")
    labels = given.get("labels")
    if not isinstance(labels, list) or not labels:
        raise Refused(400, f"labels={shorten(labels)} must be a list of labels, such as [label].")
    for number, label in enumerate(labels):
        is_number = isinstance(label, int) or (isinstance(label, float) and math.isfinite(label))
        if not is_number and not isinstance(label, str):
            raise Refused(400, f"labels[{number}]={shorten(label)} must be a text or a number.")
    if n is not None and len(labels) != n:
        raise Refused(
            400, f"labels has {len(labels):,} entries for {n:,} {beside}; give one for each."
        )
    return labels


def _parse_rows(text: str, at: int, rows: Rows) -> int:
    """Gather the rows of a list that begins here; return where it ends."""
    at = _BLANKS.match(text, at).end()  # type: ignore[union-attr]
    if text[at : at + 1] == "]":
        return at + 1
    while True:
        row, at = _decode(text, at)
        rows.add(row)
        mark = _COMMA.match(text, at)
        if mark is None:
            at = _BLANKS.match(text, at).end()  # type: ignore[union-attr]
            if text[at : at + 1] == "]":
                return at + 1
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
        at = mark.end()


def parse_value(line: bytes, number: int) -> Any:
    """Parse a line of JSON, of a stream."""
    text = text_of(line).strip()
    try:
        value, end = _decode(text)
        if end == len(text):
            return value
        problem = "extra data at its end"
    except (ValueError, RecursionError) as error:
        problem = _short(error)
    raise Refused(400, f"Line {number:,} is not valid JSON ({problem}).")


def _short(error: Exception) -> str:
    return getattr(error, "msg", None) or str(error).split(";")[0][:80]


def text_of(body: bytes) -> str:
    """Return a body as text."""
    try:
        return body.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise Refused(400, f"Byte {error.start:,} of the body is not UTF-8.") from None


def parse_numbers(body: bytes, rows: Rows) -> Any:
    """Return rows of raw float32, little end first, or of a ``.npy`` file."""
    if body.startswith(b"\x93NUMPY"):
        return checked(_parse_npy(body), rows)
    width = 4 * rows.n_features
    if len(body) % width:
        raise Refused(
            400,
            f"The body has {len(body):,} bytes, which is not a multiple of {width:,}: the model "
            f"expects {rows.n_features:,} numbers per row, 4 bytes each (float32, little-endian).",
        )
    return checked(np.frombuffer(body, dtype="<f4").reshape(-1, rows.n_features), rows)


def checked(X: Any, rows: Rows) -> Any:
    """Return an array of numbers that the model takes, or refuse it."""
    if X.dtype.kind not in _NUMBERS:
        raise Refused(400, f"The array has type {X.dtype}; expected numbers.")
    if X.ndim != 2 or X.shape[1] != rows.n_features:
        shape = f"{X.shape}; expected (rows, {rows.n_features:,})"
        raise Refused(400, f"The array has shape {shape}, as the model was trained.")
    if X.shape[0] > rows.most:
        raise too_large(f"The request has {X.shape[0]:,} rows; send {rows.most:,} at most.")
    is_single = X.dtype.kind == "f" and X.dtype.itemsize <= 4
    with np.errstate(over="ignore"):
        X = X.astype(np.float32 if is_single else np.float64, copy=False)
        total = np.add.reduce(X, axis=None)
    if not math.isfinite(total):  # a finite sum has finite terms
        raise Refused(400, "The array holds NaN, infinity, or numbers that are too large.")
    rows.n = X.shape[0]
    return X


def _parse_npy(body: bytes) -> Any:
    file = io.BytesIO(body)
    try:
        X = np.load(file, allow_pickle=False)
    except Exception as error:  # numpy has many of them for a damaged header
        raise Refused(400, f"The body is not a readable .npy file ({_short(error)}).") from None
    if not isinstance(X, np.ndarray):
        raise Refused(400, "The body is not a .npy file of one array.")
    return X
