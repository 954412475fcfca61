"""Signs that a row is of no known class, and what each of them counts."""

import numpy as np
import pytest
import scipy.sparse as sp

from dsnc.codes import Encoded
from dsnc.codes.soft import SoftCodes
from dsnc.decoders import LinearDecoder, novelty
from dsnc.decoders.memory import Memory
from dsnc.decoders.novelty import Hidden, Novelty, signs_of_novelty
from dsnc.metrics import novelty_auroc
from oracles import signs_of_strangeness

RNG = np.random.default_rng(3)
N_BITS, N_CLASSES = 6, 5
WEIGHT, BIAS = RNG.normal(size=(N_CLASSES, N_BITS)), RNG.normal(size=N_CLASSES)
LOGITS = (3 * RNG.normal(size=(40, N_BITS))).astype(np.float32)
ROWS = sp.random_array((40, 9), density=0.4, rng=RNG, format="csr", dtype=np.float32)
OWN = RNG.integers(0, N_CLASSES, 40)
OWNERS = np.array([-1, 0, 1, 2, 3, 4, -1, 0, -1])


@pytest.fixture
def memory():
    # One class has several codes, one has one, one has none.
    classes = np.array([0, 0, 0, 1, 1, 2, 3, 3, 3, 3])
    codes = SoftCodes.from_logits(3 * RNG.normal(size=(10, N_BITS)))
    known = Memory.empty(N_BITS, N_CLASSES).with_rows(codes, classes, 4, 0)
    return known.seeing(sp.csr_array(np.array([[1, 1, 1, 1, 1, 1, 1, 1, 0]], np.float32)))


def _encoded(rows=slice(None)):
    return Encoded(LOGITS, source=(ROWS, slice(0, 40))).take(rows)


@pytest.mark.parametrize("hides", [False, True])
def test_signs_are_those_of_plain_loops(memory, hides):
    decoder, hidden = LinearDecoder(WEIGHT, BIAS), Hidden(OWN, OWNERS) if hides else None
    found = signs_of_novelty(_encoded(), decoder, memory, hidden)
    scores = np.where(LOGITS > 0, 1, -1) @ WEIGHT.T + BIAS
    codes = memory.codes.logits(), memory.classes
    hide = (OWN, OWNERS) if hides else None
    expected = signs_of_strangeness(
        scores, LOGITS, codes, ROWS.toarray().astype(float), memory.seen, hide
    )
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-4)


def crowded(most=40):
    """Return a decoder of many classes, of which 0, 1, 2... codes are remembered, and some rows."""
    rng, counts = np.random.default_rng(5), np.arange(most)
    codes = SoftCodes.from_logits(3 * rng.normal(size=(counts.sum(), N_BITS)))
    owners = np.repeat(counts, counts)
    known = Memory.empty(N_BITS, most).with_rows(codes, owners, most, 0)
    rows = (3 * rng.normal(size=(700, N_BITS))).astype(np.float32)
    return LinearDecoder(rng.normal(size=(most, N_BITS)), np.zeros(most)), known, rows


def test_distances_are_those_of_plain_loops_however_many_codes_are_remembered(monkeypatch):
    decoder, known, rows = crowded()
    scores = np.where(rows > 0, 1, -1) @ decoder.weight.T
    codes, none = (known.codes.logits(), known.classes), np.ones((len(rows), 1))
    expected = signs_of_strangeness(scores, rows, codes, none, np.ones(1))
    found = signs_of_novelty(Encoded(rows), decoder, known)
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-4)
    monkeypatch.setattr(novelty, "_NUMBERS", 1000)  # of comparisons at a time
    assert np.array_equal(signs_of_novelty(Encoded(rows), decoder, known), found)


def test_of_a_class_with_very_many_codes_some_are_looked_at(monkeypatch):
    decoder, known, rows = crowded()
    some = np.flatnonzero(np.arange(len(known.codes)) - known.places(known.classes)[0] < 6)
    fewer = Memory.empty(N_BITS, 40).with_rows(known.codes.take(some), known.classes[some], 9, 0)
    expected = signs_of_novelty(Encoded(rows), decoder, fewer)
    monkeypatch.setattr(novelty, "_CODES", 6)
    found = signs_of_novelty(Encoded(rows), decoder, known)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_the_distance_of_a_row_does_not_depend_on_the_others():
    decoder, known, rows = crowded()
    together = signs_of_novelty(Encoded(rows), decoder, known)[:, 2]
    for some in (np.arange(0, 700, 7), np.arange(300), np.array([5])):
        alone = signs_of_novelty(Encoded(rows[some]), decoder, known)[:, 2]
        assert np.array_equal(alone, together[some])


def test_a_hidden_class_is_as_good_as_none():
    everything, rest = LinearDecoder(WEIGHT, BIAS), LinearDecoder(WEIGHT[1:], BIAS[1:])
    near = _encoded((everything.top_k(_encoded(), 2)[0] == 0).any(axis=1))
    assert len(near) > 5
    hidden = signs_of_novelty(near, everything, None, Hidden(np.zeros(len(near), np.int64)))
    assert np.allclose(hidden, signs_of_novelty(near, rest, None), atol=1e-4)


def test_without_rows_no_feature_is_new(memory):
    signs = signs_of_novelty(Encoded(LOGITS), LinearDecoder(WEIGHT, BIAS), memory)
    assert not signs[:, 3].any()
    assert signs_of_novelty(_encoded(slice(0)), LinearDecoder(WEIGHT, BIAS), memory).shape == (0, 4)


def test_what_tells_strangers_counts():
    known, hidden = RNG.normal(size=(2, 2000, 4))
    hidden[:, 2] += 2  # distance tells
    hidden[:, 0] -= 1  # strangers are surer: that may not count
    known[:, 3] = hidden[:, 3] = 0  # and nothing is known of this
    doubt, score, distance, unseen = Novelty.of(known, hidden).usual[:, 2]
    assert doubt == unseen == 0
    assert distance > 0.9 and abs(score) < 0.1


def test_novelty_is_measured_in_deviations_of_known_rows():
    known, hidden = RNG.normal(size=(2, 500, 4)) * [1, 5, 0.1, 0.01] + 3
    novelty = Novelty.of(known, hidden + 0.1)
    found = novelty.measure(known)
    assert abs(found.mean()) < 1e-4 and abs(found.std() - 1) < 1e-4
    assert np.mean(found > novelty.threshold(0.1)) == pytest.approx(0.1, abs=0.01)
    assert Novelty.of(known[:10], hidden[:10]) is None


@pytest.mark.parametrize("n", [20, 333, 5000])
def test_lines_are_quantiles(n):
    known, hidden = np.random.default_rng(n).normal(size=(2, n, 4)).round(1)  # some are equal
    novelty = Novelty.of(known, hidden)
    expected = np.quantile(novelty.measure(known), np.linspace(0, 1, 1001))
    np.testing.assert_allclose(novelty.quantiles, expected, rtol=1e-5, atol=1e-5)
    moved = novelty.moved(known, known + 1).quantiles
    expected = np.quantile(novelty.measure(known + 1), np.linspace(0, 1, 1001))
    np.testing.assert_allclose(moved, expected, rtol=1e-4, atol=1e-4)


def test_what_novelty_is_good_for_is_measured_on_hidden_rows():
    known, hidden = RNG.normal(size=(2, 800, 4)) + np.repeat([[[0.0]], [[0.7]]], 4, axis=2)
    hidden[:, 0] = hidden[:, 0].round(1)
    novelty = Novelty.of(known, hidden)
    found, by_novelty, by_doubt = novelty.hidden
    inside, outside = novelty.measure(known), novelty.measure(hidden)
    assert found == pytest.approx((outside > novelty.threshold(0.05)).mean())
    assert by_novelty == pytest.approx(novelty_auroc(inside, outside))
    assert by_doubt == pytest.approx(novelty_auroc(known[:, 0], hidden[:, 0]))
    assert by_novelty > by_doubt
    said = f"{100 * found:.0f} % of unknown rows found where 5 % of known ones are lost"
    assert str(novelty).startswith(said)
