"""From the logits of a few rows to their classes, without a step outside.

The kernels of packing, search and reranking one after the other: for a single row, the calls
between them take longer than the work.
"""

import numpy as np

from dsnc.codes._kernels.encode import pack
from dsnc.codes._kernels.multi_index import probe
from dsnc.codes._kernels.nearest import FREE
from dsnc.codes._kernels.rerank import rerank
from dsnc.codes._kernels.scan import scan
from dsnc.codes._kernels.tools import kernel


@kernel
def best_classes(
    words,
    n_bits,
    planes,
    chunks,
    offsets,
    ids,
    signatures,
    masks,
    mask_starts,
    n_radii,
    costs,
    ahead,
    labels,
    weight,
    bias,
    closeness,
    half,
    slack,
    logits,
    classes,
    scores,
    packed,
    queries,
    octets,
    keys,
    owners,
    inside,
    done,
    rows,
    counts,
    values,
    signs,
    buckets,
    sums,
    lows,
    space,
    soft,
):
    """Write the best candidates of each row, -1 where it has fewer; tell whether all is numbers.

    Up to `slack`, everything is as `probe`, `scan` and `rerank` take it; where `chunks` is empty,
    all is scanned. What follows `scores` is scratch space; `queries` and `octets` are read-only
    views of `packed`, since the other kernels were compiled for such.
    """
    if pack(logits, packed):
        return False
    n, size = logits.shape[0], keys.shape[1]
    alone, hard = np.bool_(True), np.bool_(False)  # of a literal, another type would be compiled
    for i in range(n):
        done[i] = False
        for entry in range(size):
            keys[i, entry] = FREE
            owners[i, entry] = -1
    lists = labels, slack, keys, owners
    if chunks.shape[0]:
        tables = chunks, offsets, ids, signatures, masks, mask_starts, n_radii, costs, ahead
        scratch = counts, values, signs, buckets
        probe(words, n_bits, queries[:n], *tables, *lists, done, *scratch)
    for i in range(n):
        if not done[i]:
            rows[0] = i
            scan(planes, words.shape[0], octets, rows, *lists, sums, lows, alone, space)
    found = keys[:n], owners, size, slack, queries, words
    scoring = weight, bias, closeness, half
    rerank(*found, logits, hard, *scoring, classes, scores, inside, soft)
    for i in range(n):
        for place in range(inside[i], classes.shape[1]):
            classes[i, place], scores[i, place] = -1, np.float32(-np.inf)
    return True
