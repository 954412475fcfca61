import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dsnc.codes import PackedCodes
from dsnc.paper.experiments import Record
from dsnc.paper.report.code_space import (
    PAIRS,
    class_histograms,
    confusions,
    correlations,
    shares_of_ones,
)
from report_records import definition


def random_codes(n, n_bits, seed=0):
    return PackedCodes.from_bits(np.random.default_rng(seed).random((n, n_bits)) < 0.4)


@given(st.integers(2, 60), st.integers(2, 70), st.integers(0, 9))
def test_correlations_are_numpys(n, n_bits, seed):
    codes = random_codes(n, n_bits, seed)
    bits = codes.to_bits().astype(float)
    assert np.allclose(shares_of_ones(codes), bits.mean(axis=0))
    constant = bits.std(axis=0) == 0
    found = correlations(codes)
    assert (found[constant] == 0).all() and (found[:, constant] == 0).all()
    moving = ~constant
    if moving.sum() > 1:
        expected = np.abs(np.corrcoef(bits[:, moving].T))
        assert np.allclose(found[np.ix_(moving, moving)], expected, atol=1e-6)


def test_histograms_are_those_of_all_pairs():
    codes, y = random_codes(40, 12), np.random.default_rng(1).integers(0, 5, 40).astype(np.int32)
    all_pairs, same = codes.distance(codes), y[:, None] == y[None, :]
    found = class_histograms(codes, y)
    for counts, kind in ((found.within, same & ~np.eye(40, dtype=bool)), (found.between, ~same)):
        expected = np.bincount(all_pairs[kind], minlength=13) / kind.sum()
        assert counts.sum() == PAIRS and np.abs(counts / PAIRS - expected).max() < 0.01
        assert (counts[expected == 0] == 0).all()  # no row is a pair with itself
    again = class_histograms(codes, y)
    assert all(np.array_equal(a, b) for a, b in zip(found, again, strict=True))


def test_a_kind_without_pairs_is_empty():
    codes = random_codes(4, 8)
    alone = class_histograms(codes, np.arange(4, dtype=np.int32))
    assert alone.within.sum() == 0 and alone.between.sum() == PAIRS
    one = class_histograms(codes, np.zeros(4, dtype=np.int32))
    assert one.within.sum() == PAIRS and one.between.sum() == 0


def test_confusions_are_counted_over_runs():
    def run(seed, y, answers):
        record = Record(definition(seed=seed))
        record.__dict__["arrays"] = {"y": np.array(y), "top.x": np.array(answers)[:, None]}
        return record

    runs = [run(0, [0, 0, 1, 2], [1, 1, 0, 2]), run(1, [0, 0, 1, 2], [0, 1, 1, 0])]
    found = confusions(runs, "x")
    assert found[0] == (0, 1, 3, 4, 1)  # 3 of 4 rows of class 0; once the other way round
    assert [tuple(c)[:3] for c in found[1:]] == [(1, 0, 1), (2, 0, 1)]
    assert len(confusions(runs, "x", most=1)) == 1 and confusions(runs, "other") == []
    assert confusions([run(0, [1], [1])], "x") == []
