"""Groups against classes."""

import numpy as np
import pytest

from dsnc.errors import InputError
from dsnc.metrics import clustering_accuracy


def test_names_of_groups_do_not_matter():
    y = np.arange(60) % 6
    assert clustering_accuracy(y, (y * 7 + 3) % 11) == 1.0


def test_a_group_is_one_class_only():
    assert clustering_accuracy([0, 0, 1, 1, 1], [5, 5, 5, 5, 5]) == 0.6
    assert clustering_accuracy(["a"] * 4, [0, 1, 2, 2]) == 0.5


def test_refusals():
    with pytest.raises(InputError, match="expected"):
        clustering_accuracy([1, 2], [1])
    with pytest.raises(InputError, match="not 0"):
        clustering_accuracy([], [])
