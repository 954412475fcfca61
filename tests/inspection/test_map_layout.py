"""Near codes stand together on the map, always at the same places, whatever the codes are."""

import numpy as np
import pytest

from dsnc.codes import PackedCodes
from dsnc.inspection.layout import class_map


def clusters(n, n_bits=64, groups=12, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, n)
    bits = rng.integers(0, 2, (groups, n_bits))[group] ^ (rng.random((n, n_bits)) < 0.06)
    return PackedCodes.from_bits(bits.astype(bool)), group


def test_classes_of_near_codes_stand_together():
    codes, group = clusters(1500)
    places = class_map(codes).astype(np.int64)
    square = ((places[:, None] - places[None]) ** 2).sum(axis=2)
    np.fill_diagonal(square, np.iinfo(np.int64).max)
    nearest = np.argsort(square, axis=1)[:, :5]
    assert (group[nearest] == group[:, None]).mean() > 0.97


def test_the_map_is_filled_and_always_the_same():
    codes, _ = clusters(700, n_bits=24)
    places = class_map(codes)
    assert (places.dtype, places.shape) == (np.uint16, (700, 2))
    np.testing.assert_array_equal(places, class_map(codes))
    assert np.ptp(places, axis=0).max() > 60_000
    assert len(np.unique(places, axis=0)) > 690  # those of one code stand beside each other


def test_a_class_more_leaves_the_map_much_as_it_was():
    codes, _ = clusters(600)
    before = class_map(codes.take(np.arange(599))).astype(np.float64)
    moved = np.hypot(*(class_map(codes)[:599] - before).T)
    assert np.median(moved) < 0.1 * 65535


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 9])
@pytest.mark.parametrize("n_bits", [1, 2, 65])
def test_small_and_equal_ones(n, n_bits):
    rng = np.random.default_rng(n)
    codes = PackedCodes.from_bits(rng.integers(0, 2, (n, n_bits)).reshape(n, n_bits).astype(bool))
    assert class_map(codes).shape == (n, 2)
    same = PackedCodes.from_bits(np.ones((n, n_bits), dtype=bool))
    assert len(np.unique(class_map(same), axis=0)) == n
