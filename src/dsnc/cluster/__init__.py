"""Beyond one machine: prediction, search and training on a Ray cluster.

Ray is imported when it is first needed.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dsnc.cluster.index import ShardedIndex as ShardedIndex
    from dsnc.cluster.prediction import Done as Done
    from dsnc.cluster.prediction import predict as predict
    from dsnc.cluster.training import fit as fit

_HOMES = {"Done": "prediction", "ShardedIndex": "index", "fit": "training", "predict": "prediction"}

__all__ = ["Done", "ShardedIndex", "fit", "predict"]


def __getattr__(name: str) -> Any:
    """Import what is asked for at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'dsnc.cluster' has no attribute {name!r}")
    return getattr(importlib.import_module(f"dsnc.cluster.{_HOMES[name]}"), name)
