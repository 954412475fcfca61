"""How well groups that were found agree with the true classes."""

import numpy as np
from numpy.typing import ArrayLike

from dsnc.errors import InputError


def clustering_accuracy(y: ArrayLike, groups: ArrayLike) -> float:
    """Return the share of right rows under the best one-to-one match of groups and classes.

    Parameters
    ----------
    y : array of shape (n,)
        The class of each row.
    groups : array of shape (n,)
        The group of each row. Remove rows of no group first; otherwise, they count as a group.

    Examples
    --------
    >>> clustering_accuracy(["ox", "ox", "bee", "bee"], [1, 1, 0, 2])
    0.75
    """
    from scipy.sparse import coo_array, eye_array, hstack
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    truth, found = np.asarray(y), np.asarray(groups)
    if truth.ndim != 1 or truth.shape != found.shape or not len(truth):
        raise InputError(
            f"y has shape {truth.shape} and groups {found.shape}; expected (n,) for both, not "
            "empty."
        )
    n_classes, classes = _numbered(truth)
    n_groups, numbers = _numbered(found)
    places = np.stack([numbers, classes])
    pairs, counts = np.unique(places, axis=1, return_counts=True)
    # A group may also go alone. Each edge counts one more than it has rows, for none may count 0.
    shared = coo_array((counts + 1.0, tuple(pairs)), shape=(n_groups, n_classes))
    edges = hstack([shared, eye_array(n_groups)], format="csr")
    match = min_weight_full_bipartite_matching(edges, maximize=True)
    return float((edges[match].sum() - n_groups) / len(truth))


def _numbered(labels: np.ndarray) -> tuple[int, np.ndarray]:
    names, numbers = np.unique(labels, return_inverse=True)
    return len(names), numbers
