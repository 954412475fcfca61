"""Classification with very many classes through short binary codes.

``import dsnc`` is light: a room of the house is imported when it is first touched.
"""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dsnc import codes as codes
    from dsnc import data as data
    from dsnc import errors as errors

__version__ = "0.1.0.dev0"

_ROOMS = ("codes", "data", "errors")

__all__ = ["__version__", *_ROOMS]


def __getattr__(name: str) -> ModuleType:
    """Import a room at its first use (PEP 562)."""
    if name in _ROOMS:
        return importlib.import_module(f"dsnc.{name}")
    raise AttributeError(f"module 'dsnc' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted(__all__)
