from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import oracles
from dsnc.codes import HammingIndex, PackedCodes
from dsnc.codes.encoded import MAX_ROWS
from dsnc.codes.few_rows import FewRows


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
    few = FewRows(index, labels, scoring, size, radius)
    signs = np.where(centers[rng.integers(0, n_classes, 24)], 40, -40)
    logits = np.where(rng.random(signs.shape) < 0.1, -signs, signs).astype(np.float32)
    settings = {"size": size, "radius": radius, "closeness": 0.125}
    arrays = weight, bias, bits, labels, logits > 0, logits
    return few, logits, [scored for scored, _ in oracles.shortlist(*arrays, **settings)]


def first(answers):
    """Return the classes of what `best` gives, or the twin."""
    if isinstance(answers, list):
        return [scored[0][0] for scored in answers]
    return answers[0][:, 0].tolist()


@pytest.mark.parametrize("method", ["scan", "multi_index"])
@pytest.mark.parametrize("n_codes", [40, 512, 1100])
@pytest.mark.parametrize("n_bits", [9, 64, 100, 255])
def test_equals_the_naive_twin(n_bits, n_codes, method):
    few, logits, expected = make(n_bits, n_codes, 30, method)
    for step in (1, 3, MAX_ROWS):
        starts = range(0, len(logits), step)
        found = [first(few.best(logits[start : start + step])) for start in starts]
        assert sum(found, []) == first(expected)


@pytest.mark.parametrize("k", [1, 5, 8])
@pytest.mark.parametrize("radius", [0, 3, 64])
def test_candidates_are_those_of_the_naive_twin(k, radius):
    few, logits, expected = make(64, 512, 30, radius=radius)
    for row, wanted in enumerate(expected):
        classes, scores = (part[0].tolist() for part in few.best(logits[row : row + 1], k))
        n = min(k, len(wanted))
        assert classes == [owner for owner, _ in wanted[:n]] + [-1] * (k - n)
        assert scores == pytest.approx([score for _, score in wanted[:n]] + [-np.inf] * (k - n))


@pytest.mark.parametrize("size", [1, 2, 25, 100])
@pytest.mark.parametrize("method", ["scan", "multi_index"])
def test_lists_may_have_any_length(size, method):
    few, logits, expected = make(64, 1100, 30, method, size, radius=20)
    found = [first(few.best(logits[i : i + 1])) for i in range(24)]
    assert sum(found, []) == first(expected)


def test_a_multi_index_that_comes_later_changes_nothing():
    few, logits, expected = make(64, 600, 30)
    assert first(few.best(logits[:8])) == first(expected)[:8]
    few._index.prepare()
    assert first(few.best(logits[:8])) == first(expected)[:8]


def test_no_number_no_class():
    few, logits, _ = make(9, 40, 30)
    logits[1, 3] = np.nan
    assert few.best(logits[:2]) is None
    assert len(few.best(logits[:1])[0]) == 1


def test_threads_do_not_meet():
    few, logits, expected = make(64, 1100, 30)
    rows = [logits[i : i + 1] for i in range(len(logits))] * 20
    with ThreadPoolExecutor(4) as pool:
        assert sum(map(first, pool.map(few.best, rows)), []) == first(expected) * 20


def test_tables_that_may_still_come_are_asked_for_again():
    few, logits, expected = make(64, 5000, 30, size=2, radius=1)
    assert first(few.best(logits[:8])) == first(expected)[:8]
    assert not few._tables
    few._index.prepare()
    assert first(few.best(logits[:8])) == first(expected)[:8]
    assert few._tables
