import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import oracles
from dsnc import metrics
from dsnc.codes import PackedCodes
from dsnc.errors import InputError

LABELS = st.sampled_from([0, 1, 2]) | st.sampled_from(["ant", "bee", "ox"])


@given(st.integers(1, 12), st.integers(1, 4), st.data())
def test_accuracies_count_rows(n, k, data):
    y = data.draw(hnp.arrays(np.int64, n, elements=st.integers(0, 3)))
    classes = data.draw(hnp.arrays(np.int64, (n, k), elements=st.integers(0, 3)))
    assert metrics.accuracy(y, classes[:, 0]) == sum(y == classes[:, 0]) / n
    assert metrics.top_k_accuracy(y, classes) == sum(y[i] in classes[i] for i in range(n)) / n
    names = np.array(["a", "b", "c", "d"])
    assert metrics.top_k_accuracy(names[y], names[classes]) == metrics.top_k_accuracy(y, classes)


CONFIDENCE = st.floats(0, 1) | st.integers(0, 20).map(lambda i: i / 20)


@given(st.lists(st.tuples(st.booleans(), CONFIDENCE), min_size=1), st.integers(1, 20))
def test_bins_and_error_equal_the_naive_twin(rows, n_bins):
    correct, confidence = zip(*rows, strict=True)
    found = metrics.calibration_bins(correct, confidence, n_bins)
    assert found.edges[0] == 0 and found.edges[-1] == 1 and found.counts.sum() == len(rows)
    error = 0.0
    for b in range(n_bins):
        low, high = found.edges[b], found.edges[b + 1]
        members = [row for row in rows if low < row[1] <= high or (b == 0 and row[1] == 0)]
        assert found.counts[b] == len(members)
        if not members:
            assert math.isnan(found.accuracy[b]) and math.isnan(found.confidence[b])
            continue
        right, sure = (sum(values) / len(members) for values in zip(*members, strict=True))
        assert found.accuracy[b] == pytest.approx(right)
        assert found.confidence[b] == pytest.approx(sure)
        error += len(members) / len(rows) * abs(right - sure)
    assert metrics.expected_calibration_error(correct, confidence, n_bins) == pytest.approx(error)
    assert found.error == pytest.approx(error)


def test_bins_are_closed_on_the_right():
    found = metrics.calibration_bins([1, 1, 1, 1], np.float32([0, 0.25, 0.5, 1]), n_bins=4)
    assert found.counts.tolist() == [2, 1, 0, 1]


def test_honest_confidences_have_no_error():
    rng = np.random.default_rng(0)
    confidence = rng.random(200_000)
    correct = rng.random(200_000) < confidence
    assert metrics.expected_calibration_error(correct, confidence) < 0.01
    assert metrics.expected_calibration_error(correct, np.sqrt(confidence)) > 0.1


@st.composite
def codes_and_classes(draw):
    n, n_bits = draw(st.integers(1, 14)), draw(st.sampled_from([1, 3, 9, 70]))
    bits = draw(hnp.arrays(np.bool_, (n, n_bits)))
    return bits, draw(st.lists(LABELS, min_size=n, max_size=n).map(lambda y: [str(v) for v in y]))


@given(codes_and_classes(), st.sampled_from([1, 20, 1 << 20]))
def test_codes_equal_the_naive_twin(case, block):
    bits, y = case
    codes = PackedCodes.from_bits(bits)
    table = oracles.distances(bits, bits)
    pairs = {True: [], False: []}
    means = {True: [], False: []}
    for i, j in itertools.combinations(range(len(y)), 2):
        pairs[y[i] == y[j]].append(table[i, j])
    for label in set(y):
        for same, found in means.items():
            mine = [
                table[i, j]
                for i, j in itertools.permutations(range(len(y)), 2)
                if y[i] == label and (y[j] == label) == same
            ]
            if mine:
                found.append(np.mean(mine))
    expected = [
        f(values) if values else math.nan
        for values, f in (
            *((pairs[same], f) for same in (True, False) for f in (np.mean, np.std)),
            (means[True], np.std),
            (means[False], np.std),
        )
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dsnc.metrics.latent._BLOCK", block)
        np.testing.assert_allclose(metrics.class_distances(codes, y), expected, atol=1e-12)
        shares = [[(bit == value).mean() for value in (0, 1)] for bit in bits.T]
        entropy = [sum(-p * math.log2(p) for p in share if p) for share in shares]
        np.testing.assert_allclose(metrics.bit_entropy(codes), entropy, atol=1e-12)
    assert metrics.distinct_codes(codes) == len(set(oracles.as_ints(bits)))


def test_a_small_deviation_of_many_pairs_is_exact():
    # 50,000 rows, one of which differs in one bit: the variance is the difference of huge sums.
    bits = np.zeros((50_000, 64), dtype=bool)
    bits[0, 0] = True
    found = metrics.class_distances(PackedCodes.from_bits(bits), np.zeros(50_000, dtype=int))
    share = 2 / 50_000  # of the pairs, at distance 1
    assert found.intra == pytest.approx(share, rel=1e-12)
    assert found.intra_std == pytest.approx(math.sqrt(share * (1 - share)), rel=1e-12)
    assert math.isnan(found.inter) and math.isnan(found.inter_class_std)


def test_deviations_over_pairs_of_many_codes_have_a_floor():
    # Why the paper's deviations of 0 at 24 bits cannot be those of pairs.
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(1000), 4)
    codes = PackedCodes.from_bits(rng.random((1000, 24))[y] > 0.5)
    found = metrics.class_distances(codes, y)
    assert found.intra == found.intra_std == found.intra_class_std == 0
    assert found.inter_std > 2.4 and found.inter_class_std < 0.5


def test_no_codes_are_no_different_codes():
    assert metrics.distinct_codes(PackedCodes.from_bits(np.zeros((0, 5)))) == 0


CODES = PackedCodes.from_bits([[0, 1], [1, 1]])
NONE = PackedCodes.from_bits(np.zeros((0, 2)))


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        ("accuracy", ([1, 2], [1]), "predicted has 1 rows and y has 2"),
        ("accuracy", ([], []), r"y has shape \(0,\)"),
        ("accuracy", ([1], [[1]]), r"predicted has shape \(1, 1\); expected \(n,\)"),
        ("accuracy", ([1.0, np.nan], [1, 1]), r"y\[1\] is NaN"),
        ("accuracy", (["1"], [1]), "predicted has type int64 and y has type <U1"),
        ("top_k_accuracy", ([1], [1]), r"classes has shape \(1,\); expected \(n, k\)"),
        ("top_k_accuracy", ([1], [[]]), r"classes has shape \(1, 0\)"),
        ("top_k_accuracy", ([1], [[1], [2]]), "classes has 2 rows and y has 1"),
        ("top_k_accuracy", ([1], [[1, np.nan]]), r"classes\[0, 1\] is NaN"),
        ("calibration_bins", ([1], [0.5, 0.5]), "confidence has 2 rows and correct has 1"),
        ("calibration_bins", ([1, 0.5], [0.5, 0.5]), r"correct\[1\] is 0.5"),
        ("calibration_bins", ([1, 2], [0.5, 0.5]), r"correct\[1\] is 2; expected 0 to 1"),
        ("calibration_bins", ([1, 1], [0.5, np.nan]), r"confidence\[1\] is nan"),
        ("calibration_bins", ([1], [1.5]), r"confidence\[0\] is 1.5"),
        ("calibration_bins", ([1], [-0.1]), r"confidence\[0\] is -0.1"),
        ("calibration_bins", ([1], ["a"]), "confidence has shape .* and type <U1"),
        ("calibration_bins", ([], []), r"correct has shape \(0,\)"),
        ("calibration_bins", ([1], [0.5], 0), "n_bins=0"),
        ("expected_calibration_error", ([1], [0.5], 2.5), "n_bins=2.5"),
        ("bit_entropy", (NONE,), "codes is empty"),
        ("class_distances", (NONE, []), "codes is empty"),
        ("class_distances", (CODES, [1]), r"y has shape \(1,\); 2 codes need \(2,\)"),
        ("class_distances", (CODES, [1, np.nan]), r"y\[1\] is NaN"),
    ],
)
def test_what_cannot_be_measured_is_named(function, arguments, message):
    with pytest.raises(InputError, match=message):
        getattr(metrics, function)(*arguments)
