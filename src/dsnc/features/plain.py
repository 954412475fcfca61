"""Texts to rows in Python: slower than the kernels, and there at once (see `dsnc.kernels`)."""

import math
from collections import Counter
from typing import Any

import numpy as np

from dsnc.features.grams import Grams
from dsnc.features.naming import grams_of

_NONE = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32)
_CHARACTER = 1e-5  # seconds


def seconds_to_weigh(texts: list[str]) -> float:
    """Return how long `weigh_rows` takes, about."""
    return _CHARACTER * sum(map(len, texts))


def weigh_rows(texts: list[str], grams: Grams, buckets: Any, idf: Any) -> tuple[Any, Any, Any]:
    """Return indptr, indices and data of the rows, as `dsnc.features._kernels.weigh_rows` does."""
    rows = [_weigh(text, grams, buckets, idf) for text in texts]
    indptr = np.cumsum([0, *(len(columns) for columns, _ in rows)], dtype=np.int32)
    columns, values = zip(_NONE, *rows, strict=True)
    return indptr, np.concatenate(columns, dtype=np.int32), np.concatenate(values)


def _weigh(text: str, grams: Grams, buckets: Any, idf: Any) -> tuple[Any, Any]:
    """Return the columns of a text, ascending, and their values."""
    counts = Counter(bucket for _, bucket in grams_of(text, grams))
    found = np.array(sorted(counts), dtype=np.uint32)
    columns = np.searchsorted(buckets, found)
    known = buckets[np.minimum(columns, len(buckets) - 1)] == found
    columns, total = columns[known], 0.0
    values = idf[columns].astype(np.float64)
    for place, bucket in enumerate(found[known].tolist()):
        tf = counts[bucket]
        if tf > 1:
            values[place] *= 1 + math.log(tf) if grams.sublinear else tf
        total += values[place] * values[place]
    scale = 1 / math.sqrt(total) if total > 0 else 0.0
    return columns, (values.astype(np.float32) * np.float64(scale)).astype(np.float32)
