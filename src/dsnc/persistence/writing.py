"""Header and arrays to a folder, whole or not at all."""

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dsnc.errors import DsncError, InputError, ModelWriteError, OutputExistsError
from dsnc.files import Replace, sync, whole_folder, why
from dsnc.persistence.card import is_part, write_card
from dsnc.persistence.layout import (
    ARRAY_NAME,
    ARRAYS_FILE,
    DTYPE_NAMES,
    FORMAT,
    HEADER_FILE,
    HEADER_KEYS,
    MAX_AXES,
    MAX_HEADER,
    METADATA,
    Arrays,
    header_problem,
)

_MAX_DEPTH = 50  # levels of a header; far less than what stops the parser


def write_model(
    folder: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: Mapping[str, Any],
    *,
    card: str | None = None,
    overwrite: Replace = False,
) -> str:
    """Write a model, whole or not at all; return the SHA-256 of its header.

    Parameters
    ----------
    folder : path
        Where; its parents are made. The files are put in place when they are safe on the disk.
    header : mapping
        Keys of `HEADER_KEYS`, values as JSON has them; a tuple comes back as a list.
    arrays : mapping
        Name to array.
    card : str, optional
        A text for people, in Markdown.
    overwrite : bool or callable
        Replace the model that is there, as `dsnc.files.whole_folder` does: whenever the power
        fails, `folder` holds one of the two, complete. A callable is asked whether the folder that
        was there may go. A card that a person has edited stays. A folder with other files in it is
        never replaced.
    """
    target = Path(os.path.realpath(folder))
    text = _header_text(header)
    tensors = _storable(arrays)
    try:
        check_target(folder, overwrite=bool(overwrite))
        with whole_folder(target, replace=overwrite, durable=True) as aside:
            text["sha256"] = _json(_write_file(aside / ARRAYS_FILE, _safetensors(tensors)))
            text["arrays"] = _json(_table(tensors))
            lines = [f"{_json(key)}: {text[key]}" for key in sorted(text)]
            digest = _write_file(aside / HEADER_FILE, ["{\n", ",\n".join(lines), "\n}\n"])
            write_card(aside, card, replaced=target)
        return digest
    except DsncError:
        raise
    except OSError as error:
        raise _write_error(target, error) from error


def _write_error(target: Path, error: OSError) -> ModelWriteError:
    failure = ModelWriteError(
        f"{target}: the model could not be written {why(error)}. What was there is unchanged."
    )
    failure.errno = error.errno
    return failure


def _header_text(header: Mapping[str, Any]) -> dict[str, str]:
    """Return each value of the header as JSON, and the format's number."""
    _check_plain(dict(header), "header", 0)
    problem = header_problem(header, HEADER_KEYS)
    if problem is not None:
        raise InputError(f"header {problem}.")
    try:
        text = {key: _json(value) for key, value in {**header, "format": FORMAT}.items()}
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(f"header cannot be written as JSON ({error}).") from error
    size = sum(map(len, text.values()))
    if 4 * size > MAX_HEADER and sum(len(value.encode()) for value in text.values()) > MAX_HEADER:
        raise InputError(f"header has {size:,} characters; {MAX_HEADER:,} bytes can be read back.")
    return text


def _check_plain(value: Any, where: str, depth: int) -> None:
    """Refuse what JSON cannot hold or would change, naming the place."""
    if depth > _MAX_DEPTH:
        raise InputError(f"{where[:100]}... is nested too deeply; {_MAX_DEPTH} levels are enough.")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InputError(f"{where} has the key {key!r}, which is not a string.")
            _check_plain(item, f"{where}[{key!r}]", depth + 1)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            if type(item) not in (str, int):  # spares a million labels the call
                _check_plain(item, f"{where}[{number}]", depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{where} is {value}; JSON has no such number.")
    elif value is not None and not isinstance(value, str | int | float):
        raise InputError(
            f"{where} is of type {type(value).__name__}; make it a plain Python value."
        )


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, from a file's name: only an escape holds it
        text = json.dumps(value, allow_nan=False, sort_keys=True)
    return text


def _storable(arrays: Mapping[str, Any]) -> Arrays:
    """Return the arrays in the order of the file: large items first, which aligns them all."""
    tensors = {}
    for name, values in arrays.items():
        if not isinstance(name, str) or not ARRAY_NAME.fullmatch(name) or name == METADATA:
            raise InputError(f"array name {name!r}: use letters, digits, '_', '.' and '-'.")
        array = np.asarray(values)
        dtype = array.dtype.newbyteorder("<")
        if dtype not in DTYPE_NAMES or array.ndim > MAX_AXES:
            raise InputError(
                f"array {name!r}: a model file cannot hold {array.dtype} in {array.ndim} axes."
            )
        tensors[name] = np.asarray(array, dtype=dtype, order="C")
    return dict(sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0])))


def _table(tensors: Arrays) -> dict[str, dict[str, Any]]:
    return {
        name: {"dtype": DTYPE_NAMES[array.dtype], "shape": list(array.shape)}
        for name, array in tensors.items()
    }


def _safetensors(tensors: Arrays) -> list[Any]:
    """Return the pieces of the file: length of the table, table, data."""
    table, end = _table(tensors), 0
    for name, array in tensors.items():
        table[name]["data_offsets"] = [end, end + array.nbytes]
        end += array.nbytes
    text = json.dumps(table, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    data = [array.reshape(-1).view(np.uint8) for array in tensors.values()]
    return [len(text).to_bytes(8, "little"), text, *data]


def _write_file(path: Path, pieces: Iterable[Any]) -> str:
    """Write the pieces through to the disk; return their checksum."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for piece in pieces:
            data = piece.encode() if isinstance(piece, str) else piece
            digest.update(data)
            file.write(data)
        sync(file)
    return digest.hexdigest()


def check_target(folder: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Refuse a folder in whose place a model cannot be written."""
    target = Path(os.path.realpath(folder))
    if not os.path.lexists(target):
        return
    if not overwrite:
        raise OutputExistsError(
            f"{folder} exists; choose another folder, or replace it with overwrite=True."
        )
    if not target.is_dir():
        raise OutputExistsError(f"{target} is not a folder; a model cannot replace it.")
    foreign = sorted(file.name for file in target.iterdir() if not is_part(file))
    if foreign:
        raise OutputExistsError(
            f"{target} holds {foreign[0]!r}, which is not part of a model; it is not replaced."
        )
