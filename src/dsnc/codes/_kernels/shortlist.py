"""From the logits of a few rows to their classes, without a step outside.

The kernels of packing, search and reranking one after the other: for a single row, the calls
between them take longer than the work.
"""

from typing import Any

import numpy as np

from dsnc.codes._kernels.encode import pack
from dsnc.codes._kernels.nearest import FREE
from dsnc.codes._kernels.probe import probe
from dsnc.codes._kernels.rerank import rerank
from dsnc.codes._kernels.scan import scan
from dsnc.codes._kernels.tools import kernel


@kernel
def best_classes(
    words: Any,
    n_bits: Any,
    planes: Any,
    chunks: Any,
    offsets: Any,
    ids: Any,
    signatures: Any,
    masks: Any,
    mask_starts: Any,
    n_radii: Any,
    costs: Any,
    ahead: Any,
    labels: Any,
    weight: Any,
    bias: Any,
    closeness: Any,
    half: Any,
    slack: Any,
    logits: Any,
    classes: Any,
    packed: Any,
    queries: Any,
    octets: Any,
    keys: Any,
    owners: Any,
    scores: Any,
    inside: Any,
    done: Any,
    rows: Any,
    counts: Any,
    values: Any,
    signs: Any,
    buckets: Any,
    sums: Any,
    lows: Any,
    space: Any,
    soft: Any,
) -> Any:
    """Write the best class of each row into ``classes[:, 0]``; tell whether all logits are numbers.

    Up to `slack`, everything is as `probe`, `scan` and `rerank` take it; where `chunks` is empty,
    all is scanned. What follows `classes` is scratch space; `queries` and `octets` are read-only
    views of `packed`, since the other kernels were compiled for such.
    """
    if pack(logits, packed):
        return False
    n, size = logits.shape[0], keys.shape[1]
    one, hard = np.int64(1), np.bool_(False)  # of a literal, another type would be compiled
    for i in range(n):
        done[i] = False
        for entry in range(size):
            keys[i, entry] = FREE
            owners[i, entry] = -1
    if chunks.shape[0]:
        probe(
            words,
            n_bits,
            queries[:n],
            labels,
            slack,
            chunks,
            offsets,
            ids,
            signatures,
            masks,
            mask_starts,
            n_radii,
            costs,
            ahead,
            keys,
            owners,
            done,
            counts,
            values,
            signs,
            buckets,
        )
    for i in range(n):
        if not done[i]:
            rows[0] = i
            scan(
                planes,
                words.shape[0],
                octets,
                rows,
                labels,
                slack,
                keys,
                owners,
                sums,
                lows,
                one,
                space,
            )
    rerank(
        keys[:n],
        owners,
        size,
        slack,
        queries,
        words,
        logits,
        hard,
        weight,
        bias,
        closeness,
        half,
        classes,
        scores,
        inside,
        soft,
    )
    return True
