"""Bodies that clients send: JSON, as structs that parse and check it, and arrays of bytes.

The rows of a body stay JSON at first, and are read one by one: other requests have their turn in
between, and what is wrong with a row is said of that row. A list of all numbers would take ten
times the memory of an array.
"""

import math
import re
from array import array
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np
import scipy.sparse as sp
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from dsnc.errors import InputError, shorten
from dsnc.model import takes_text
from dsnc.progress import count
from dsnc.serve.limits import Limits, Refused
from dsnc.serve.options import PLAIN, Label, Options, explained

_NUMBERS = "biuf"  # kinds of numpy types
_FORM = 'a text, a list of numbers, or {"indices": [...], "values": [...]}'
_LARGEST = float(np.finfo(np.float32).max)
_SHOWN = 60  # characters of a value in a message
_NO_JSON = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\.",
    re.DOTALL,
)
_HALF = 6  # characters of half a pair
_JSON_NAMES = {int: "a number", float: "a number", bool: "true or false", type(None): "null"}

Row = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/components/schemas/Row"})]
T = TypeVar("T", bound=Struct)


class Sparse(Struct, forbid_unknown_fields=True):
    """A row of mostly zeros; features are numbered from 0."""

    indices: list[int]
    values: list[float]


class Question(Options, frozen=True, kw_only=True):
    """Rows, and what is asked about them."""

    inputs: list[Row]


class Addition(Struct, kw_only=True, forbid_unknown_fields=True):
    """New classes: a label for each row, or for what is said of each class."""

    labels: Annotated[
        list[Label | list[Label]],
        Meta(min_length=1, description="Where rows have label sets, each may be a list."),
    ]
    inputs: list[Row] | UnsetType = UNSET
    descriptions: Annotated[
        list[str | list[str]] | UnsetType,
        Meta(description="Instead of rows: texts, or lists of texts, about each class."),
    ] = UNSET
    attributes: Annotated[
        list[list[float]] | UnsetType,
        Meta(description="Instead of rows: numbers, like those known of other classes."),
    ] = UNSET


class Removal(Struct, kw_only=True, forbid_unknown_fields=True):
    """Classes that go."""

    labels: Annotated[list[Label], Meta(min_length=1)]


_KINDS = (str, list, Sparse)
_read_any = msgspec.json.Decoder().decode
_read_dense = msgspec.json.Decoder(list[float]).decode
_read_sparse = msgspec.json.Decoder(Sparse).decode
_decoder = cache(msgspec.json.Decoder)


def parse(body: bytes, struct: type[T], usual: Options = PLAIN) -> T:
    """Return a body of JSON as a struct; what it leaves out is as `usual`."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    if usual is not PLAIN and (members := _members(body)):
        body = msgspec.json.encode({**msgspec.to_builtins(usual), **members})
    try:
        return _decoded(_decoder(struct).decode, body)  # type: ignore[no-any-return]
    except msgspec.ValidationError as error:
        values = {name: _shown(bytes(value)) for name, value in _members(body).items()}
        problem = explained(error, values, struct)
    except _NO_JSON as error:
        problem = f"The body is not valid JSON ({_reason(error, body)})."
    raise Refused(400, problem)


def _decoded(decode: Callable[[Any], Any], text: Any) -> Any:
    """Return what JSON says; halves of surrogate pairs, as in texts that were cut, are replaced."""
    try:
        return decode(text)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        whole = _ESCAPES.sub(_whole, bytes(text))
        if whole == text:
            raise
        return decode(whole)


def _whole(escape: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if len(escape[0]) == _HALF else escape[0]


def _members(body: bytes) -> dict[str, Raw]:
    """Return the members of an object; nothing where it is none."""
    try:
        return msgspec.json.decode(body, type=dict[str, Raw])
    except (msgspec.MsgspecError, *_NO_JSON):
        return {}


def _shown(value: bytes) -> str:
    text = value[: 4 * _SHOWN].decode(errors="replace")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _reason(error: Exception, text: bytes) -> str:
    """Return what a parser says, and what it does not say of numbers."""
    hint = ""
    if b"NaN" in text or b"Infinity" in text:
        hint = "; NaN and Infinity are not JSON numbers"
    return f"{str(error).removeprefix('JSON is malformed: ')[:80]}{hint}"


class Rows:
    """Gathers rows of one kind, as a model takes them: as many as the limits allow.

    Without limits, any number is taken, and what no float32 can hold is refused row by row.
    """

    def __init__(self, model: Any, limits: Limits | None) -> None:
        self.takes_text, self.n_features = takes_text(model), int(model.n_features_in_)
        self.records, self.limits = model.records, limits
        plain = {ord("["): _read_dense, ord("{"): _read_sparse}
        self._readers: dict[int, Callable[[Any], Any]] = {} if self.records.names else plain
        self._kind: type | None = None
        self.n = self._line = 0
        self._texts: list[str] = []
        self._values, self._indices, self._starts = array("d"), array("q"), array("q", [0])

    def add_all(self, rows: list[Raw]) -> Any:
        """Take the rows of a body; return them as the model takes them."""
        self.check(len(rows))
        for row in rows:
            self.add(row)
        return self.take()

    def add(self, text: bytes | Raw, line: int = 0) -> None:
        """Take one row in JSON; if it stands on a line of its own, messages name that."""
        self._line = line
        try:
            read: Callable[[Any], Any] = self._readers.get(memoryview(text)[0], _read_any)
            row = _decoded(read, text)
        except msgspec.ValidationError as error:
            raise self._refused(_problem(error)) from None
        except _NO_JSON as error:
            raise self._refused(f"is not valid JSON ({_reason(error, bytes(text))})") from None
        self.add_value(row, line)

    def add_value(self, row: Any, line: int = 0) -> None:
        """Take one row that was read."""
        self._line = line
        if self.records.has_form(row):
            try:
                row = self.records.row(row)
            except InputError as error:
                raise self._refused(str(error).rstrip(".")) from None
        elif self.records.names and not isinstance(row, str):
            row = self._numbers(row)
        if type(row) is not self._kind:
            self._check_kind(type(row))
        self.check(self.n + 1)
        if type(row) is str:
            self._texts.append(row)
        elif type(row) is list:
            self._add_dense(row)
        else:
            self._add_sparse(row)
        self.n += 1

    def _numbers(self, row: Any) -> Any:
        """Return a row of numbers, where it might have been a record."""
        try:
            return msgspec.convert(row, list[float] | Sparse)
        except msgspec.ValidationError as error:
            raise self._refused(_problem(error)) from None

    def take(self) -> Any:
        """Return what was gathered, and begin anew."""
        rows: Any = self._texts
        if self._kind in (list, Sparse):
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
        if self._kind is Sparse:
            self._indices, self._starts = array("q"), array("q", [0])
        return rows

    def check(self, n_rows: int) -> None:
        """Refuse so many rows, if they are too many."""
        if self.limits is not None:
            self.limits.check_rows(n_rows)

    def _check_kind(self, kind: type) -> None:
        if self._kind is not None or kind not in _KINDS:
            name = _JSON_NAMES.get(kind, kind.__name__)
            what = "rows of two kinds" if kind in _KINDS else f"{name} instead of a row"
            raise self._refused(f"holds {what}; expected {_FORM} throughout")
        if kind is str and not self.takes_text:
            raise self._refused(
                "is a text, but the model was trained on rows of "
                f"{count(self.n_features, 'number')}"
            )
        self._kind = kind

    def _add_dense(self, row: list[float]) -> None:
        if len(row) != self.n_features:
            raise self._refused(
                f"has {count(len(row), 'number')}; the model expects {self.n_features:,} per row"
            )
        self._check_size(row)
        self._values.fromlist(row)

    def _add_sparse(self, row: Sparse) -> None:
        indices, values = row.indices, row.values
        if len(indices) != len(values):
            raise self._refused("needs lists of indices and values of equal length")
        if indices and not 0 <= min(indices) <= max(indices) < self.n_features:
            raise self._refused(
                f"has an index that is not from 0 to {self.n_features - 1:,}, the last feature"
            )
        self._check_size(values)
        self._indices.fromlist(indices)
        self._values.fromlist(values)
        self._starts.append(len(self._values))

    def _check_size(self, values: list[float]) -> None:
        """Refuse a row of a stream at once: the rows before it are still answered."""
        if self.limits is None and values and max(max(values), -min(values)) > _LARGEST:
            raise self._refused("holds a number that is too large for float32")

    def _refused(self, problem: str) -> Refused:
        where = f"Line {self._line:,}" if self._line else f"inputs[{self.n}]"
        return Refused(400, f"{where} {problem}.")


def _problem(error: msgspec.ValidationError) -> str:
    """Say what is wrong with a row of numbers."""
    text = str(error)
    if field := re.search("field `(.*)`", text, re.DOTALL):
        verb = "has the unknown" if "unknown" in text else "lacks the"
        return f"{verb} field {shorten(field[1])}; expected {_FORM}"
    size = "too large" if "out of range" in text else "not a number"
    return f"holds a value that is {size}"


def parse_numbers(body: bytes, rows: Rows) -> Any:
    """Return rows of raw float32, little end first."""
    width = 4 * rows.n_features
    if len(body) % width:
        raise Refused(
            400,
            f"The body has {len(body):,} bytes, which is not a multiple of {width:,}: the model "
            f"expects {count(rows.n_features, 'number')} per row, 4 bytes each (float32, "
            "little-endian).",
        )
    return checked(np.frombuffer(body, dtype="<f4").reshape(-1, rows.n_features), rows)


def checked(X: Any, rows: Rows) -> Any:
    """Return an array of numbers that the model takes, or refuse it."""
    if X.dtype.kind not in _NUMBERS:
        raise Refused(400, f"The array has type {X.dtype}; expected numbers.")
    if X.ndim != 2 or X.shape[1] != rows.n_features:
        shape = f"{X.shape}; expected (rows, {rows.n_features:,})"
        raise Refused(400, f"The array has shape {shape}, as the model was trained.")
    rows.check(X.shape[0])
    is_single = X.dtype.kind == "f" and X.dtype.itemsize <= 4
    with np.errstate(over="ignore"):
        X = X.astype(np.float32 if is_single else np.float64, copy=False)
        total = np.add.reduce(X, axis=None)
    if not math.isfinite(total):  # a finite sum has finite terms
        raise Refused(400, "The array holds NaN, infinity, or numbers that are too large.")
    rows.n = X.shape[0]
    return X
