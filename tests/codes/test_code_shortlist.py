from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import oracles
from dsnc.codes import HammingIndex, PackedCodes
from dsnc.codes.limits import MAX_BITS, MAX_ROWS
from dsnc.codes.shortlist import Shortlist
from dsnc.errors import InputError


def make(n_bits, n_codes, n_classes, method="auto", size=8, radius=3):
    rng = np.random.default_rng(n_bits)
    centers = rng.random((n_classes, n_bits)) < 0.5
    labels = np.append(rng.permutation(n_classes), rng.integers(0, n_classes, n_codes - n_classes))
    bits = centers[labels] ^ (rng.random((n_codes, n_bits)) < 0.1)
    weight = rng.integers(-2, 3, (n_classes, n_bits)).astype(np.float32)
    bias = rng.integers(-2, 3, n_classes).astype(np.float32)
    weight.flags.writeable = bias.flags.writeable = labels.flags.writeable = False
    index = HammingIndex(PackedCodes.from_bits(bits), method=method)
    scoring = weight, bias, np.float32(0.125), np.float32(0.5)
    shortlist = Shortlist(index, labels, *scoring, size, radius)
    signs = np.where(centers[rng.integers(0, n_classes, 24)], 40, -40)
    logits = np.where(rng.random(signs.shape) < 0.1, -signs, signs).astype(np.float32)
    settings = {"size": size, "radius": radius, "closeness": 0.125}
    arrays = weight, bias, bits, labels, logits > 0, logits
    expected = [scored[0][0] for scored, _ in oracles.shortlist(*arrays, **settings)]
    return shortlist, logits, expected


@pytest.mark.parametrize("method", ["scan", "multi_index"])
@pytest.mark.parametrize("n_codes", [40, 512, 1100])
@pytest.mark.parametrize("n_bits", [9, 64, 100, 255])
def test_equals_the_naive_twin(n_bits, n_codes, method):
    shortlist, logits, expected = make(n_bits, n_codes, 30, method)
    for step in (1, 3, MAX_ROWS):
        starts = range(0, len(logits), step)
        found = [shortlist.best(logits[start : start + step]) for start in starts]
        assert np.concatenate(found).tolist() == expected


@pytest.mark.parametrize("size", [1, 2, 25, 100])
@pytest.mark.parametrize("method", ["scan", "multi_index"])
def test_lists_may_have_any_length(size, method):
    shortlist, logits, expected = make(64, 1100, 30, method, size, radius=20)
    assert (
        np.concatenate([shortlist.best(logits[i : i + 1]) for i in range(24)]).tolist() == expected
    )


def test_a_multi_index_that_comes_later_changes_nothing():
    shortlist, logits, expected = make(64, 600, 30)
    assert shortlist.best(logits[:8]).tolist() == expected[:8]
    shortlist._index.prepare()
    assert shortlist.best(logits[:8]).tolist() == expected[:8]


def test_no_number_no_class():
    shortlist, logits, _ = make(9, 40, 30)
    logits[1, 3] = np.nan
    assert shortlist.best(logits[:2]) is None
    assert len(shortlist.best(logits[:1])) == 1


def test_threads_do_not_meet():
    shortlist, logits, expected = make(64, 1100, 30)
    rows = [logits[i : i + 1] for i in range(len(logits))] * 20
    with ThreadPoolExecutor(4) as pool:
        assert [int(x[0]) for x in pool.map(shortlist.best, rows)] == expected * 20


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (lambda x: np.tile(x, (500, 1)), r"shape \(12000, 9\) and type float32"),
        (lambda x: x[: MAX_ROWS + 1], r"shape \(9, 9\)"),
        (lambda x: x[:2, :8].copy(), r"shape \(2, 8\)"),
        (lambda x: np.ones((2, 10), np.float32), r"shape \(2, 10\)"),
        (lambda x: x[0], r"shape \(9,\)"),
        (lambda x: x[:2].astype(np.float64), "type float64"),
        (lambda x: x[:2].astype(">f4"), "type >f4"),
        (lambda x: np.asfortranarray(x[:2]), "expected float32 in C order"),
        (lambda x: x[:8:2], "expected float32 in C order"),
        (lambda x: x[:2].tolist(), r"shape \(2, 9\) and type list"),
    ],
)
def test_logits_that_the_kernel_cannot_take_are_refused(change, shown):
    shortlist, logits, expected = make(9, 40, 30)
    with pytest.raises(InputError, match=shown):
        shortlist.best(change(logits))
    assert shortlist.best(logits[:2]).tolist() == expected[:2]
    assert len(shortlist.best(logits[:0])) == 0


def test_long_codes_are_refused():
    codes = PackedCodes.from_bits(np.zeros((2, MAX_BITS + 1), dtype=bool))
    weight, bias = np.zeros((2, MAX_BITS + 1), np.float32), np.zeros(2, np.float32)
    with pytest.raises(InputError, match="codes have 256 bits; a shortlist takes up to 255"):
        Shortlist(HammingIndex(codes), None, weight, bias, np.float32(0), np.float32(0.5), 1, 1)
