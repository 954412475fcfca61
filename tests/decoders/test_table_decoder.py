import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import oracles
from dsnc.codes import CodeTable, Encoded, PackedCodes
from dsnc.decoders import LinearDecoder, NearestDecoder, SoftDecoder, TableDecoder
from dsnc.errors import InputError

SMALL = st.integers(-2, 2)
LINEAR = LinearDecoder([[1, 1], [-1, 1], [0, -1]], [0, 0, 0])
KNOWN = PackedCodes.from_bits([[0, 0], [1, 1]])


@st.composite
def cases(draw):
    """A table, weights and logits, of few different numbers: certainties and scores tie."""
    n_bits, n_classes = draw(st.integers(1, 7)), draw(st.integers(1, 9))
    numbers = st.integers(0, n_classes - 1)
    answers = draw(
        hnp.arrays(draw(st.sampled_from([np.int8, np.int64])), 2**n_bits, elements=numbers)
    )
    weight = draw(hnp.arrays(np.float32, (n_classes, n_bits), elements=SMALL))
    bias = draw(hnp.arrays(np.float32, n_classes, elements=SMALL))
    values = st.sampled_from([-9.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 9.0, np.inf])
    logits = draw(hnp.arrays(np.float32, (draw(st.integers(0, 40)), n_bits), elements=values))
    return CodeTable.from_answers(answers, n_bits), LinearDecoder(weight, bias), logits


def pairs(classes, scores):
    rows = zip(classes.tolist(), scores.tolist(), strict=True)
    return [list(zip(*row, strict=True)) for row in rows]


@given(cases(), st.integers(0, 8), st.integers(1, 12))
def test_the_kernel_equals_its_naive_twin(case, n_flips, k):
    table, linear, logits = case
    codes = PackedCodes.from_logits(logits)
    n_flips = min(n_flips, table.n_bits)
    probes = 1 << n_flips
    decoder = TableDecoder(table, linear, probes=probes)
    classes, scores, counts = decoder._find(Encoded(logits, codes), k)
    expected = oracles.probed_classes(
        table.labels, codes.to_ints(), logits, linear.weight, linear.bias, n_flips
    )
    assert counts.tolist() == [len(row) for row in expected]
    found = [row[:count] for row, count in zip(pairs(classes, scores), counts, strict=True)]
    assert found == [row[:k] for row in expected]


@given(cases(), st.sampled_from([1, 2, 4, 16, 256]))
def test_the_classes_found_come_first_and_the_others_in_their_order(case, probes):
    table, linear, logits = case
    codes = PackedCodes.from_logits(logits)
    decoder = TableDecoder(table, linear, probes=probes)
    everything = pairs(*decoder.top_k(Encoded(logits, codes), linear.n_classes))
    expected = oracles.probed_classes(
        table.labels,
        codes.to_ints(),
        logits,
        linear.weight,
        linear.bias,
        min(probes.bit_length() - 1, table.n_bits),
    )
    every_code = TableDecoder(
        CodeTable.from_answers(np.zeros(2**table.n_bits, dtype=int), table.n_bits), linear
    )
    soft = every_code._soft_scores(np.tanh(logits * np.float32(0.5)), linear.weight.T)
    for row, found, own in zip(everything, expected, soft.tolist(), strict=True):
        assert row[: len(found)] == found
        others = row[len(found) :]
        assert all(score < found[-1][1] for _, score in others)
        if all(own[number] < found[-1][1] for number, _ in others):
            assert all(score == own[number] for number, score in others)
        for (first, high), (second, low) in zip(others, others[1:], strict=False):
            assert high > low or first < second
            assert own[first] >= own[second] - 1e-5


@given(cases())
def test_one_probe_is_the_entry_of_the_code(case):
    table, linear, logits = case
    codes = PackedCodes.from_logits(logits)
    expected = table.lookup(codes).tolist()
    one, many = (TableDecoder(table, linear, probes=probes) for probes in (1, 64))
    assert one.predict(Encoded(logits, codes)).tolist() == expected
    assert one.top_k(Encoded(logits, codes), 1)[0][:, 0].tolist() == expected
    assert (
        many.predict(Encoded(codes=codes)).tolist() == expected
    )  # nothing says which bits to flip
    assert many.proba(Encoded(codes=codes)).argmax(axis=1).tolist() == expected


@given(cases())
def test_without_logits_the_scores_are_those_of_the_hard_bits(case):
    table, linear, logits = case
    codes = PackedCodes.from_logits(logits)
    classes, scores = TableDecoder(table, linear).top_k(Encoded(codes=codes), 1)
    hard = codes.to_signs(np.float32) @ linear.weight.T + linear.bias
    assert np.array_equal(scores, np.take_along_axis(hard, classes, axis=1))


def test_all_probes_score_softly_whatever_can_be_found():
    rng = np.random.default_rng(0)
    linear = LinearDecoder(rng.normal(size=(30, 8)), rng.normal(size=30) / 10)
    logits = rng.normal(size=(500, 8)).astype(np.float32)
    codes = PackedCodes.from_logits(logits)
    decoder = TableDecoder.from_linear(linear, probes=256)
    soft = SoftDecoder(linear.weight, linear.bias).predict(Encoded(logits, codes))
    within = np.isin(soft, decoder.table.labels)
    assert within.mean() > 0.9
    assert np.array_equal(decoder.predict(Encoded(logits, codes))[within], soft[within])


def test_probes_come_nearer_to_scoring_all_classes():
    rng = np.random.default_rng(0)
    centers = 2 * rng.normal(size=(200, 16))
    logits = (centers[rng.integers(0, 200, 2000)] + rng.normal(size=(2000, 16))).astype(np.float32)
    codes, linear = PackedCodes.from_logits(logits), LinearDecoder(np.tanh(centers), np.zeros(200))
    soft = SoftDecoder(linear.weight, linear.bias).predict(Encoded(logits, codes))
    table = TableDecoder.from_linear(linear).table
    agree = [
        (TableDecoder(table, linear, probes=probes).predict(Encoded(logits, codes)) == soft).mean()
        for probes in (1, 4, 16, 64)
    ]
    assert agree == sorted(agree)
    assert agree[-1] > 0.97 > 0.9 > agree[0]


@pytest.mark.parametrize("n_neighbors", [1, 3])
def test_the_table_has_the_answers_of_its_source(n_neighbors):
    rng = np.random.default_rng(0)
    codes = PackedCodes.from_bits(rng.random((60, 10)) < 0.5)
    nearest = NearestDecoder(codes, rng.integers(0, 9, 60), 9, n_neighbors=n_neighbors)
    linear = LinearDecoder(rng.normal(size=(9, 10)), np.zeros(9))
    all_codes = PackedCodes.from_ints(np.arange(1024), n_bits=10)
    for decoder, source in (
        (TableDecoder.from_linear(linear), linear),
        (TableDecoder.from_nearest(nearest, linear), nearest),
    ):
        assert np.array_equal(
            decoder.predict(Encoded(codes=all_codes)), source.predict(Encoded(codes=all_codes))
        )
        twin = TableDecoder.from_arrays(decoder.arrays())
        assert np.array_equal(twin.table.labels, decoder.table.labels)


def test_a_file_holds_the_codes_where_the_table_can_be_made_again():
    nearest = NearestDecoder(KNOWN, [2, 0], 3)
    arrays = TableDecoder.from_nearest(nearest, LINEAR, probes=4).arrays()
    assert "table" not in arrays
    twin = TableDecoder.from_arrays(arrays)
    assert twin.probes == 4
    assert twin.arrays().keys() == arrays.keys()
    assert "table" in TableDecoder.from_linear(LINEAR).arrays()


def test_blocks_of_any_size_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    linear = LinearDecoder(rng.normal(size=(40, 9)), rng.normal(size=40))
    decoder = TableDecoder.from_linear(linear, probes=4)
    logits = rng.normal(size=(50, 9)).astype(np.float32)
    codes = PackedCodes.from_logits(logits)
    expected, proba = (
        decoder.top_k(Encoded(logits, codes), 12),
        decoder.proba(Encoded(logits, codes)),
    )
    monkeypatch.setattr("dsnc.decoders.table._BLOCK", 120)
    assert np.array_equal(decoder.top_k(Encoded(logits, codes), 12), expected)
    assert np.array_equal(decoder.proba(Encoded(logits, codes)), proba)
    strided = np.asfortranarray(logits.astype(np.float64))
    assert np.array_equal(decoder.top_k(Encoded(strided, codes), 12), expected)


def test_large_weights_do_not_overflow():
    largest = float(np.finfo(np.float32).max) / 6 * 0.99
    linear = LinearDecoder([[-largest] * 2, [largest] * 2, [0, 0]], [0, 0, 0])
    decoder = TableDecoder(CodeTable.from_answers([0] * 4, 2), linear)
    logits = np.full((1, 2), 50, dtype=np.float32)
    codes = PackedCodes.from_logits(logits)
    assert decoder.top_k(Encoded(logits, codes), 3)[0].tolist() == [[0, 1, 2]]
    assert decoder.proba(Encoded(logits, codes)).tolist() == [[1, 0, 0]]


def test_it_can_be_pickled():
    decoder = TableDecoder.from_nearest(NearestDecoder(KNOWN, [2, 0], 3), LINEAR)
    twin = pickle.loads(pickle.dumps(decoder))
    assert (
        twin.predict(Encoded(codes=KNOWN)).tolist()
        == decoder.predict(Encoded(codes=KNOWN)).tolist()
        == [2, 0]
    )


def test_cost_does_not_depend_on_the_number_of_classes():
    for n_classes in (2, 200):
        linear = LinearDecoder(np.zeros((n_classes, 10)), np.zeros(n_classes))
        cost = TableDecoder.from_linear(linear, probes=16).cost()
        assert cost == (16 * 11, 1024 + 44 * n_classes)
    assert TableDecoder.from_linear(LINEAR, probes=256).cost().operations == 4 * 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"probes": 0}, "probes=0"),
        ({"probes": 3}, "probes=3 is not a power of 2"),
        ({"probes": 512}, "probes=512"),
        ({"probes": True}, "probes=True"),
        ({"probes": 4.0}, "probes=4.0"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        TableDecoder(CodeTable.from_answers([0] * 4, 2), LINEAR, **settings)


def test_parts_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="table has 3 bits, but linear has 2"):
        TableDecoder(CodeTable.from_answers([0] * 8, 3), LINEAR)
    with pytest.raises(InputError, match="table has class 3; linear has 3 classes"):
        TableDecoder(CodeTable.from_answers([0, 1, 2, 3], 2), LINEAR)
    with pytest.raises(InputError, match="n_bits=29"):
        TableDecoder.from_linear(LinearDecoder(np.zeros((2, 29)), [0, 0]))
    decoder = TableDecoder.from_linear(LINEAR)
    with pytest.raises(InputError, match=r"logits has shape \(1, 2\); expected \(2, 2\)"):
        decoder.predict(Encoded(np.zeros((1, 2)), KNOWN))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("labels", np.array([0, 3])),
        ("labels", np.array([-1, 0])),
        ("words", np.array([[1], [4]], dtype=np.uint64)),
        ("n_bits", np.array([3])),
        ("n_bits", np.array([2, 2])),
        ("probes", np.array([5])),
        ("source", np.array([0], dtype=np.int8)),
        ("source", np.array([2], dtype=np.int8)),
        ("weight", np.full((3, 2), np.nan, dtype=np.float32)),
        ("confidence", np.zeros(8, dtype=np.float32)),
    ],
)
def test_a_file_that_lies_is_refused(key, value):
    arrays = TableDecoder.from_nearest(NearestDecoder(KNOWN, [2, 0], 3), LINEAR).arrays()
    with pytest.raises(InputError):
        TableDecoder.from_arrays(arrays | {key: value})


@pytest.mark.parametrize(
    "table",
    [
        np.array([0, 1, 2, 3], dtype=np.uint8),
        np.array([0, 1, 2], dtype=np.uint8),
        np.array([0, 1, 2, 2], dtype=np.int64),
        np.array([0, 1, 2, 2], dtype=">u2"),
        np.array([0, 1, 2, np.nan]),
    ],
)
def test_a_table_that_lies_is_refused(table):
    arrays = TableDecoder.from_linear(LINEAR).arrays()
    with pytest.raises(InputError):
        TableDecoder.from_arrays(arrays | {"table": table})
