"""The list of the nearest found so far: one sorted row of keys for each query.

A key is ``distance << ROW_BITS | row``: keys ascend as neighbors are ordered, by distance and then
by row, so that exactness in ties is one integer comparison. Each entry has an owner, the class of
its row or the row itself; an owner has one entry, its nearest. A free entry is FREE, owned by -1.
"""

from typing import Any

import numpy as np

from dsnc.codes._kernels.tools import part

ROW_BITS = 40
FREE = (1 << 62) - 1
NO_SLACK = 1 << 20  # farther than any code: only the length of a list limits it
NO_LABELS = np.empty(0, dtype=np.int64)  # each code owns itself
NO_LABELS.flags.writeable = False


@part
def bound_of(keys: Any, query: Any, slack: Any) -> Any:
    """Return the key from which on nothing enters the query's list.

    That is its last one, or what is farther than the first by more than `slack`.
    """
    return min(keys[query, -1], ((keys[query, 0] >> ROW_BITS) + slack + 1) << ROW_BITS)


@part
def insert(keys: Any, owners: Any, query: Any, key: Any, labels: Any) -> Any:
    """Put a key that is below the query's last one in its place; drop it if its owner has less."""
    row = key & ((1 << ROW_BITS) - 1)
    place = keys.shape[1] - 1
    owner = row
    if len(labels):
        owner = labels[row]
        for entry in range(keys.shape[1]):
            if owners[query, entry] == owner:
                if keys[query, entry] <= key:
                    return
                place = entry
                break
    else:  # a code that was found before has the same key
        entry = place
        while entry > 0 and keys[query, entry - 1] > key:
            entry -= 1
        if keys[query, entry] == key or (entry > 0 and keys[query, entry - 1] == key):
            return
    while place > 0 and keys[query, place - 1] > key:
        keys[query, place] = keys[query, place - 1]
        owners[query, place] = owners[query, place - 1]
        place -= 1
    keys[query, place] = key
    owners[query, place] = owner


def empty_lists(n_queries: int, k: int) -> tuple[Any, Any]:
    """Return keys and owners of lists with nothing in them."""
    return np.full((n_queries, k), FREE), np.full((n_queries, k), -1)
