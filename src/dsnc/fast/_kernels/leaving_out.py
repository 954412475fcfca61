"""Features that a step does not see."""

import numpy as np

from dsnc.codes._kernels.tools import kernel
from dsnc.fast._kernels.vectors import chance


@kernel
def leave_out(indptr, indices, values, share, seed):
    """Leave out a share of the entries of CSR arrays, in place; return how many are left.

    Each is drawn by lot; those that stay are raised, so that the sums are the same on average.
    """
    n, begin, raised = 0, indptr[0], np.float32(1) / (np.float32(1) - share)
    for row in range(indptr.shape[0] - 1):
        for p in range(begin, indptr[row + 1]):
            if chance(seed, p) >= share:
                indices[n], values[n] = indices[p], values[p] * raised
                n += 1
        begin, indptr[row + 1] = indptr[row + 1], n
    return n
