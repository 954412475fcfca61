"""A few codes that stand for many: of each class, those that no other one of it is near to."""

import numpy as np
from numpy.typing import NDArray

from dsnc.codes._kernels.leaders import lead
from dsnc.codes.packed import PackedCodes


def leading_rows(
    codes: PackedCodes, labels: NDArray[np.int64], rank: NDArray[np.int64], radius: int
) -> NDArray[np.int64]:
    """Return the rows of the codes that lead their class, ascending.

    The codes of a class are gone through by rank, the lowest first, and then by row; one that is
    within the radius of a leader is left out, any other becomes a leader.
    """
    order = np.lexsort([rank, labels])
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1, append=-1))
    is_leader = np.zeros(len(codes), dtype=np.bool_)
    scratch = np.empty(np.diff(starts).max(initial=0), dtype=np.int64)
    lead(codes.words, order, starts, radius, is_leader, scratch)
    return np.flatnonzero(is_leader)
