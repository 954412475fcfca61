"""What the two files of a model hold: names, types and limits that reader and writer share."""

import difflib
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.errors import shorten

Arrays = dict[str, NDArray[Any]]

FORMAT = 1
HEADER_FILE, ARRAYS_FILE = "model.json", "model.safetensors"

# What a header may hold, and the type that JSON gives it.
HEADER_KEYS: dict[str, type] = {
    "kind": str,
    "parameters": dict,
    "classes": list,
    "encoder": str,
    "decoder": str,
    "features": dict,
    "metrics": dict,
    "history": list,
    "data": dict,
    "versions": dict,
}
OWN_KEYS: dict[str, type] = {"format": int, "arrays": dict, "sha256": str}  # of the file itself
REQUIRED = {"kind", *OWN_KEYS}

DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(text)
    for name, text in {
        "BOOL": "?",
        "I8": "<i1",
        "U8": "<u1",
        "I16": "<i2",
        "U16": "<u2",
        "I32": "<i4",
        "U32": "<u4",
        "I64": "<i8",
        "U64": "<u8",
        "F16": "<f2",
        "F32": "<f4",
        "F64": "<f8",
    }.items()
}
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}

ARRAY_NAME = re.compile(r"[A-Za-z0-9_.-]{1,200}")
METADATA = "__metadata__"  # a name that safetensors keeps for itself
MAX_AXES = 32
MAX_HEADER = 1 << 28  # bytes of model.json: ten million labels fit
MAX_TABLE = 1 << 24  # bytes of the table at the head of model.safetensors


def header_problem(header: Mapping[str, Any], keys: Mapping[str, type]) -> str | None:
    """Say what is wrong with the keys of a header, or None."""
    for key, value in header.items():
        if key not in keys:
            close = difflib.get_close_matches(key[:100], keys, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            return f"has the unknown key {shorten(key)}.{hint} Valid: {', '.join(sorted(keys))}"
        if not isinstance(value, keys[key]) or isinstance(value, bool):
            return f"key {key!r} is of type {type(value).__name__}, not {keys[key].__name__}"
    missing = sorted((REQUIRED & set(keys)) - set(header))
    return f"has no key {missing[0]!r}" if missing else None
