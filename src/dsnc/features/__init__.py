"""Turns texts into sparse rows of numbers."""

import importlib
from typing import TYPE_CHECKING, Any

from dsnc.features.fitted import FittedTextFeatures
from dsnc.features.inputs import TextRows, are_none, are_texts, unframed

if TYPE_CHECKING:
    from dsnc.features.text import TextFeatures as TextFeatures

__all__ = ["FittedTextFeatures", "TextFeatures", "TextRows", "are_none", "are_texts", "unframed"]


def __getattr__(name: str) -> Any:
    """Import what needs scikit-learn at its first use (PEP 562)."""
    if name == "TextFeatures":
        return importlib.import_module("dsnc.features.text").TextFeatures
    raise AttributeError(f"module 'dsnc.features' has no attribute {name!r}")
