"""A multi-index of the codes of one moment, and what has changed since then."""

import numpy as np
from numpy.typing import NDArray

from dsnc.codes._kernels.nearest import NO_LABELS, ROW_BITS, empty_lists
from dsnc.codes.multi_index import MultiIndex
from dsnc.codes.packed import PackedCodes

Ints = NDArray[np.int64]
_ROW_MASK = (1 << ROW_BITS) - 1


class Snapshot:
    """Answers queries that have something near, as long as little has changed.

    Rows that were touched since then may be anything: an answer that has one of them is none. All
    others are right among the codes that were not touched; those that were, and are still there,
    the `fresh` ones, are to be searched beside.
    """

    def __init__(self, codes: PackedCodes, rows: Ints) -> None:
        self.fresh: Ints = np.empty(0, dtype=np.int64)
        self.n_answered = 0  # queries
        self._rows = rows
        self._touched = np.zeros(rows[-1] + 1, dtype=np.bool_)
        self._multi = MultiIndex(codes)

    def touch(self, rows: Ints, *, is_gone: bool) -> None:
        """Take note of rows that were added, changed or removed."""
        self._touched[rows[rows < len(self._touched)]] = True
        self.fresh = np.setdiff1d(self.fresh, rows) if is_gone else np.union1d(self.fresh, rows)

    def look_up(self, queries: PackedCodes, keys: Ints) -> NDArray[np.bool_]:
        """Write the lists of the queries that have an answer; tell which ones."""
        found, owners = empty_lists(*keys.shape)
        done, _ = self._multi.update(queries, NO_LABELS, found, owners)
        rows = self._rows[found[done] & _ROW_MASK]
        keys[done] = found[done] & ~_ROW_MASK | rows
        done[done] = ~self._touched[rows].any(axis=1)
        self.n_answered += int(np.count_nonzero(done))
        return done
