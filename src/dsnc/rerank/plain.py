"""The numpy twin of the kernel, for who asks about little."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_SECONDS = 2e-5  # of a candidate


def seconds_to_look(n_candidates: int) -> float:
    """Return what the twin takes."""
    return n_candidates * _SECONDS


def second_look(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    data: NDArray[np.float32],
    unit: bool,
    classes: NDArray[np.int64],
    scores: NDArray[np.float32],
    starts: NDArray[np.int64],
    features: NDArray[np.uint32],
    weights: NDArray[np.int8],
    scales: NDArray[np.float32],
    bias: NDArray[np.float32],
    mix: np.float32,
    reach: np.float32,
    spread: NDArray[np.float32],
    inside: NDArray[np.int64],
) -> bool:
    """Do what the kernel of this name does; see there."""
    for i in range(len(classes)):
        near = int(((classes[i] >= 0) & (scores[i, :1] - scores[i] <= reach)).sum())
        inside[i] = near
        if near < 2:
            continue
        row: Any = spread
        if len(indptr):
            entries = slice(indptr[i], indptr[i + 1])
            if (indices[entries] >= len(spread)).any():
                return False
            np.add.at(row, indices[entries], data[entries])
        else:
            row = data[i * len(spread) : (i + 1) * len(spread)]
        norm = np.float32(np.sqrt(np.square(row, dtype=np.float64).sum())) if unit else 1
        some = classes[i, :near].copy()
        for place, k in enumerate(some):
            part = slice(starts[k], starts[k + 1])
            worth = np.dot(weights[part].astype(np.float32), row[features[part]])
            scores[i, place] = mix * scores[i, place] + bias[k] + scales[k] * worth / (norm or 1)
        order = np.lexsort((some, -scores[i, :near]))
        classes[i, :near], scores[i, :near] = some[order], scores[i, :near][order]
        if len(indptr):
            spread[indices[entries]] = 0
    return True
