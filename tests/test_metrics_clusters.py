"""Groups against classes."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from dsnc.errors import InputError
from dsnc.metrics import clustering_accuracy


def test_names_of_groups_do_not_matter():
    y = np.arange(60) % 6
    assert clustering_accuracy(y, (y * 7 + 3) % 11) == 1.0


def test_a_group_is_one_class_only():
    assert clustering_accuracy([0, 0, 1, 1, 1], [5, 5, 5, 5, 5]) == 0.6
    assert clustering_accuracy(["a"] * 4, [0, 1, 2, 2]) == 0.5


@pytest.mark.parametrize("seed", range(40))
def test_the_best_of_all_matches(seed):
    """Against a table of all groups and all classes."""
    rng = np.random.default_rng(seed)
    n, n_classes, n_groups = rng.integers(1, [60, 12, 12])
    y, groups = rng.integers(n_classes, size=n), rng.integers(n_groups, size=n)
    shared = np.zeros((n_groups, n_classes), dtype=int)
    np.add.at(shared, (groups, y), 1)
    best = shared[linear_sum_assignment(-shared)].sum() / n
    assert clustering_accuracy(y, groups) == pytest.approx(best)


def test_refusals():
    with pytest.raises(InputError, match="expected"):
        clustering_accuracy([1, 2], [1])
    with pytest.raises(InputError, match="not empty"):
        clustering_accuracy([], [])
