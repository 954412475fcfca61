"""Samples: many-class data in every common format, and some to play with."""

from dsnc.data.catalog import DATASETS, fetch, list_draws
from dsnc.data.dataset import Dataset, Split, Summary
from dsnc.data.folder import write_folder
from dsnc.data.glyphs import load_glyphs
from dsnc.data.quality import Finding, check_quality
from dsnc.data.readers import READERS, load_dataset
from dsnc.data.stream import stream_rows
from dsnc.data.synthetic import make_dense_codes, make_sparse_topics

__all__ = [
    "DATASETS",
    "READERS",
    "Dataset",
    "Finding",
    "Split",
    "Summary",
    "check_quality",
    "fetch",
    "list_draws",
    "load_dataset",
    "load_glyphs",
    "make_dense_codes",
    "make_sparse_topics",
    "stream_rows",
    "write_folder",
]
