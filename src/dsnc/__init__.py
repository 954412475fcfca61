"""Classification with very many classes through short binary codes.

``import dsnc`` is fast: a submodule is imported only when it is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dsnc import baselines as baselines
    from dsnc import codes as codes
    from dsnc import data as data
    from dsnc import decoders as decoders
    from dsnc import errors as errors
    from dsnc import features as features
    from dsnc import gradients as gradients
    from dsnc import metrics as metrics
    from dsnc.classifier import PAPER as PAPER
    from dsnc.classifier import PAPER_REGULARIZED as PAPER_REGULARIZED
    from dsnc.classifier import DSNCClassifier as DSNCClassifier
    from dsnc.classifier import DSNCMultiLabelClassifier as DSNCMultiLabelClassifier
    from dsnc.classifier import load as load

__version__ = "0.2.0"

_ROOMS = (
    "baselines",
    "codes",
    "data",
    "decoders",
    "errors",
    "features",
    "gradients",
    "metrics",
)
_WITH_MODELS = ("classifier", "baselines")
_FROM_CLASSIFIER = (
    "PAPER",
    "PAPER_REGULARIZED",
    "DSNCClassifier",
    "DSNCMultiLabelClassifier",
    "load",
)

__all__ = ["__version__", *_ROOMS, *_FROM_CLASSIFIER]


def __getattr__(name: str) -> Any:
    """Import a room, or what a room holds, at its first use (PEP 562)."""
    if name in _ROOMS:
        return importlib.import_module(f"dsnc.{name}")
    if name == "load":  # these rooms tell it which models there are
        for room in _WITH_MODELS:
            importlib.import_module(f"dsnc.{room}")
    if name in _FROM_CLASSIFIER:
        return getattr(importlib.import_module("dsnc.classifier"), name)
    raise AttributeError(f"module 'dsnc' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted(__all__)
