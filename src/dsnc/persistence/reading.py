"""A folder to header and arrays; the files may be damaged, or made to do harm."""

import collections
import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from dsnc.errors import ModelFileError, shorten
from dsnc.persistence.layout import (
    ARRAYS_FILE,
    DTYPES,
    FORMAT,
    HEADER_FILE,
    HEADER_KEYS,
    MAX_AXES,
    MAX_HEADER,
    MAX_TABLE,
    METADATA,
    OWN_KEYS,
    Arrays,
    header_problem,
)

_LENGTH = 8  # bytes that hold the length of the table
_ATTEMPTS = 10
_AMOUNTS = (np.int8, np.uint8)  # soft codes and weights; a table of octets is copied by its decoder
_SHA256 = re.compile("[0-9a-f]{64}")


def read_model(
    folder: str | os.PathLike[str], *, verify: bool = True
) -> tuple[dict[str, Any], Arrays]:
    """Read what `write_model` wrote: the header, and the arrays, read-only and memory-mapped.

    With `verify`, the arrays are compared with their checksum, which reads the whole file once.
    Everything else is checked in any case.
    """
    path = Path(folder)
    for attempt in range(_ATTEMPTS):
        identity = _identity(path)
        try:
            return _read(path, verify=verify)
        except ModelFileError:
            # Another folder under the same name: the model was replaced while we were reading.
            if _identity(path) == identity or attempt == _ATTEMPTS - 1:
                raise
    raise ModelFileError.at(path, "could not be read")


def _identity(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when a folder is replaced; the number of its inode may come back."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _read(folder: Path, *, verify: bool) -> tuple[dict[str, Any], Arrays]:
    if not folder.is_dir():
        raise ModelFileError.at(folder, "is not a folder", expected="the folder of a saved model")
    header = _read_header(folder / HEADER_FILE)
    path = folder / ARRAYS_FILE
    arrays, raw = _read_arrays(path, header["arrays"])
    if verify and hashlib.sha256(raw.data).hexdigest() != header["sha256"]:
        raise ModelFileError.at(
            path, f"is not the file that {HEADER_FILE} describes: damaged, or of another model"
        )
    return {key: value for key, value in header.items() if key in HEADER_KEYS}, arrays


def _read_header(path: Path) -> dict[str, Any]:
    size = _size(path)
    if size > MAX_HEADER:
        raise ModelFileError.at(path, f"has {size:,} bytes", expected=f"at most {MAX_HEADER:,}")
    try:
        header = _parse(path, path.read_bytes())
    except OSError as error:
        raise ModelFileError.at(path, f"cannot be read ({error.strerror})") from error
    number = header.get("format")
    if type(number) is not int or number < 1:
        raise ModelFileError.at(path, "key 'format' holds no format number", expected=f"{FORMAT}")
    if number > FORMAT:
        raise ModelFileError.at(
            path,
            f"is in format {shorten(str(number))}, but this version of dsnc reads up to {FORMAT}: "
            "upgrade dsnc (pip install -U dsnc)",
        )
    problem = header_problem(header, HEADER_KEYS | OWN_KEYS)
    if problem is not None:
        raise ModelFileError.at(path, problem)
    if not _SHA256.fullmatch(header["sha256"]):
        raise ModelFileError.at(path, "key 'sha256' holds no checksum", expected="64 hex digits")
    for name, entry in header["arrays"].items():
        _check_entry(path, name, entry)
    return header


def _read_arrays(path: Path, described: Mapping[str, Any]) -> tuple[Arrays, NDArray[np.uint8]]:
    """Map the file; return its arrays, and all of its bytes."""
    if _size(path) < _LENGTH:
        raise ModelFileError.at(path, "is cut off")
    try:
        raw = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
    except (OSError, ValueError) as error:
        raise ModelFileError.at(path, f"cannot be read ({error})") from error
    length = int.from_bytes(raw[:_LENGTH].tobytes(), "little")
    if length > min(MAX_TABLE, raw.size - _LENGTH):
        raise ModelFileError.at(path, f"claims a table of {length:,} bytes: cut off, or damaged")
    _check_by_safetensors(path)
    table = _parse(path, raw[_LENGTH : _LENGTH + length].tobytes())
    table.pop(METADATA, None)  # remarks of another writer
    _check_same(path, described, table)
    data = raw[_LENGTH + length :]
    return {name: _view(path, name, entry, data) for name, entry in table.items()}, raw


def _size(path: Path) -> int:
    """Return the size of a plain file; a pipe or a device would never end."""
    if not path.is_file():
        raise ModelFileError.at(path, "is missing", expected="a plain file")
    try:
        return path.stat().st_size
    except OSError as error:
        raise ModelFileError.at(path, f"cannot be read ({error.strerror})") from error


def _parse(path: Path, text: bytes) -> dict[str, Any]:
    """Parse a JSON object, strictly: keys once, numbers finite."""
    try:
        value = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_unique_keys,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except (ValueError, RecursionError) as error:
        raise ModelFileError.at(path, f"is not valid JSON ({error})") from error
    if not isinstance(value, dict):
        raise ModelFileError.at(
            path, f"holds a value of type {type(value).__name__}", expected="a JSON object"
        )
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        twice, _ = collections.Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {shorten(twice)} occurs twice")
    return result


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {shorten(text)} is too large")
    return number


def _check_entry(path: Path, name: str, entry: Any) -> None:
    """Refuse the description of an array that is not of the right form."""
    where = f"array {shorten(name)}"
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape"}:
        raise ModelFileError.at(path, f"{where} is not described by dtype and shape")
    if not isinstance(entry["dtype"], str) or entry["dtype"] not in DTYPES:
        raise ModelFileError.at(
            path, f"{where} has type {shorten(str(entry['dtype']))}", expected=", ".join(DTYPES)
        )
    shape = entry["shape"]
    if not isinstance(shape, list) or any(type(n) is not int or n < 0 for n in shape):
        raise ModelFileError.at(path, f"{where}: shape is not a list of numbers, 0 or more")
    if len(shape) > MAX_AXES:
        raise ModelFileError.at(path, f"{where}: too many axes")


def _check_same(path: Path, described: Mapping[str, Any], table: Mapping[str, Any]) -> None:
    """Refuse a file whose arrays are not those of the header."""
    for name in sorted({*described, *table}):
        if name not in table:
            raise ModelFileError.at(path, f"has no array {shorten(name)}, as {HEADER_FILE} says")
        if name not in described:
            raise ModelFileError.at(path, f"array {shorten(name)} is unknown to {HEADER_FILE}")
        for key in ("dtype", "shape"):
            if table[name][key] != described[name][key]:
                raise ModelFileError.at(
                    path,
                    f"array {shorten(name)} has {key} {shorten(str(table[name][key]))}",
                    expected=f"{shorten(str(described[name][key]))}, as in {HEADER_FILE}",
                )


def _check_by_safetensors(path: Path) -> None:
    """Refuse tables of a wrong form, and arrays that overlap, leave holes or do not end in time."""
    try:
        with safe_open(path, framework="numpy"):
            pass
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFileError.at(path, f"is not a safetensors file ({error})") from error


def _view(path: Path, name: str, entry: Mapping[str, Any], data: NDArray[np.uint8]) -> NDArray[Any]:
    """Return an array on the mapped bytes, without reading them, if it holds amounts.

    What may decide places in memory is copied: it is checked once, and a file may be written to
    later. So a kernel never reads or writes where a changed file says.
    """
    start, stop = entry["data_offsets"]
    octets, dtype = data[start:stop], DTYPES[entry["dtype"]]
    if dtype.kind != "f" and dtype not in _AMOUNTS:
        octets = octets.copy()
        octets.flags.writeable = False
    if dtype == np.bool_ and octets.size and octets.max() > 1:
        raise ModelFileError.at(path, f"array {shorten(name)} has bytes that are neither 0 nor 1")
    try:
        array = octets.view(dtype).reshape(entry["shape"])
    except (ValueError, OverflowError) as error:
        raise ModelFileError.at(path, f"array {shorten(name)}: {error}") from error
    if not array.flags.aligned:
        array = array.copy()
        array.flags.writeable = False
    return array
