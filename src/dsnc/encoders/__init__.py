"""Encoders: they map a row x to the c numbers (logits) whose signs are its code.

Each encoder exists twice: for training (`dsnc.encoders.torch`, imported at first use) and for
prediction (`dsnc.encoders.numpy`).
"""

import importlib
from typing import TYPE_CHECKING, Any

from dsnc.encoders.neighbors import NeighborsEncoder
from dsnc.encoders.numpy import Encoder, Layer, NumpyEncoder

if TYPE_CHECKING:
    from dsnc.encoders.torch import SparseRows as SparseRows

STORED: dict[str, type[Any]] = {kind.kind: kind for kind in (NumpyEncoder, NeighborsEncoder)}
"""What a model file can hold, by the name that it has there."""

__all__ = ["STORED", "Encoder", "Layer", "NeighborsEncoder", "NumpyEncoder", "SparseRows"]


def __getattr__(name: str) -> Any:
    """Import what a user's own module needs at its first use (PEP 562)."""
    if name == "SparseRows":
        return importlib.import_module("dsnc.encoders.torch").SparseRows
    raise AttributeError(f"module 'dsnc.encoders' has no attribute {name!r}")
