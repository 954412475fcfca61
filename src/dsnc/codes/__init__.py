"""Packed binary codes, and exact search among them in Hamming space.

Names that search are imported when they are first used: packing codes does not load the compiler.
"""

import importlib
from typing import TYPE_CHECKING, Any

from dsnc.codes.encoded import Encoded
from dsnc.codes.packed import PackedCodes, UniqueCodes

if TYPE_CHECKING:
    from dsnc.codes._warm_up import warm_up
    from dsnc.codes.index import HammingIndex
    from dsnc.codes.table import CodeTable

_LAZY = {
    "CodeTable": "dsnc.codes.table",
    "HammingIndex": "dsnc.codes.index",
    "warm_up": "dsnc.codes._warm_up",
}

__all__ = [
    "CodeTable",
    "Encoded",
    "HammingIndex",
    "PackedCodes",
    "UniqueCodes",
    "warm_up",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)
