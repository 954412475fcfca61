"""The list of the nearest found so far: one sorted row of keys for each query.

A key is ``distance << ROW_BITS | row``: keys ascend as neighbors are ordered, by distance and then
by row, so that exactness in ties is one integer comparison. Each entry has an owner, the class of
its row or the row itself; an owner has one entry, its nearest. A free entry is FREE, owned by -1.
"""

from typing import Any, NamedTuple

import numpy as np

from dsnc.codes import plain
from dsnc.codes._kernels.tools import part

ROW_BITS, FREE = plain.ROW_BITS, plain.FREE
NO_SLACK = 1 << 20  # farther than any code: only the length of a list limits it
NO_LABELS = np.empty(0, dtype=np.int64)  # each code owns itself
NO_LABELS.flags.writeable = False


class Lists(NamedTuple):
    """The lists of all queries, and what may enter them."""

    labels: Any  # owner of each code; empty where each owns itself
    slack: Any  # bits beyond a list's first from which on nothing enters
    keys: Any  # (n_queries, k)
    owners: Any


@part
def bound_of(lists, query):
    """Return the key from which on nothing enters the query's list.

    That is its last one, or what is farther than the first by more than the slack.
    """
    keys = lists.keys
    return min(keys[query, -1], ((keys[query, 0] >> ROW_BITS) + lists.slack + 1) << ROW_BITS)


@part
def insert(lists, query, key):
    """Put a key that is below the query's last one in its place; drop it if its owner has less."""
    labels, keys, owners = lists.labels, lists.keys, lists.owners
    owner = key & ((1 << ROW_BITS) - 1)
    end = keys.shape[1] - 1  # of what moves; behind it most lists are free
    place = 0
    if len(labels):
        owner = labels[owner]
        for entry in range(end + 1):
            if owners[query, entry] == owner:
                if keys[query, entry] <= key:
                    return
                end = entry
                break
            if keys[query, entry] == FREE:
                end = entry
                break
        while place < end and keys[query, place] < key:
            place += 1
    else:
        while keys[query, place] < key:
            place += 1
        if keys[query, place] == key:  # a code that was found before
            return
        entry = place
        while entry < end and keys[query, entry] != FREE:
            entry += 1
        end = entry
    for entry in range(end, place, -1):
        keys[query, entry] = keys[query, entry - 1]
        owners[query, entry] = owners[query, entry - 1]
    keys[query, place] = key
    owners[query, place] = owner


def empty_lists(n_queries: int, k: int) -> tuple[Any, Any]:
    """Return keys and owners of lists with nothing in them."""
    keys, owners = np.empty((2, n_queries, k), dtype=np.int64)
    keys.fill(FREE)
    owners.fill(-1)
    return keys, owners
