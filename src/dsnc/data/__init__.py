"""Data sets: readers for every common format, and some data sets to try things on.

A file is imported when one of its names is first used, since prediction needs few of them.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dsnc.data.catalog import DATASETS as DATASETS
    from dsnc.data.catalog import fetch as fetch
    from dsnc.data.catalog import list_draws as list_draws
    from dsnc.data.catalog import load_dataset as load_dataset
    from dsnc.data.dataset import Dataset as Dataset
    from dsnc.data.dataset import Split as Split
    from dsnc.data.folder import write_folder as write_folder
    from dsnc.data.glyphs import load_glyphs as load_glyphs
    from dsnc.data.quality import Finding as Finding
    from dsnc.data.quality import check_quality as check_quality
    from dsnc.data.reader import Reader as Reader
    from dsnc.data.readers import READERS as READERS
    from dsnc.data.stream import stream_rows as stream_rows
    from dsnc.data.summary import Summary as Summary
    from dsnc.data.synthetic import make_dense_codes as make_dense_codes
    from dsnc.data.synthetic import make_sparse_topics as make_sparse_topics

_HOMES = {
    "DATASETS": "catalog",
    "Dataset": "dataset",
    "Finding": "quality",
    "READERS": "readers",
    "Reader": "reader",
    "Split": "dataset",
    "Summary": "summary",
    "check_quality": "quality",
    "fetch": "catalog",
    "list_draws": "catalog",
    "load_dataset": "catalog",
    "load_glyphs": "glyphs",
    "make_dense_codes": "synthetic",
    "make_sparse_topics": "synthetic",
    "stream_rows": "stream",
    "write_folder": "folder",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    """Import the file of a name at its first use (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'dsnc.data' has no attribute {name!r}")
    return getattr(importlib.import_module(f"dsnc.data.{_HOMES[name]}"), name)
