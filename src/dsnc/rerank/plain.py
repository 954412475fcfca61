"""The numpy twin of the kernel, for who asks about little."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_SECONDS = 2e-5  # of a vector


def seconds_to_look(n_vectors: int) -> float:
    """Return what the twin takes, for so many vectors of candidates."""
    return n_vectors * _SECONDS


def second_look(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    unit: bool,
    classes: NDArray[np.int64],
    scores: NDArray[np.float32],
    firsts: NDArray[np.int64],
    starts: NDArray[np.int64],
    features: NDArray[np.uint32],
    weights: NDArray[np.int8],
    scales: NDArray[np.float32],
    bias: NDArray[np.float32],
    mix: np.float32,
    reach: np.float32,
    inside: NDArray[np.int64],
) -> None:
    """Do what the kernel of this name does, with features and weights in their order."""
    width = len(data) // max(1, len(classes))
    for i in range(len(classes)):
        near = int(((classes[i] >= 0) & (scores[i, :1] - scores[i] <= reach)).sum())
        inside[i] = near
        if near < 2:
            continue
        part = slice(indptr[i], indptr[i + 1]) if len(indptr) else slice(i * width, (i + 1) * width)
        named = indices[part] if len(indptr) else np.arange(width)
        values = data[part].astype(np.float32)
        norm = np.float32(np.sqrt(np.square(values, dtype=np.float64).sum())) if unit else 0
        some = classes[i, :near].copy()
        for place, k in enumerate(some):
            margin = np.float32(-np.inf)
            for v in range(firsts[k], firsts[k + 1]) if len(firsts) else (k,):
                own = slice(starts[v], starts[v + 1])
                _, ours, theirs = np.intersect1d(features[own], named, return_indices=True)
                worth = np.dot(weights[own][ours].astype(np.float32), values[theirs])
                margin = max(margin, bias[v] + scales[v] * worth / (norm or 1))
            scores[i, place] = mix * scores[i, place] + margin
        order = np.lexsort((some, -scores[i, :near]))
        classes[i, :near], scores[i, :near] = some[order], scores[i, :near][order]
