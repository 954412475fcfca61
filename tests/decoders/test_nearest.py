import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import oracles
from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders import LinearDecoder, NearestDecoder
from dsnc.decoders.confidence import Confidence
from dsnc.decoders.nearest import majority_codes
from dsnc.errors import InputError

TWO = PackedCodes.from_bits([[0, 0, 1], [1, 1, 0]])


@st.composite
def examples(draw, max_rows=40):
    """Bits and classes; few bits and classes, so that codes, distances and votes tie."""
    n, n_bits, n_classes = draw(st.integers(1, max_rows)), draw(st.integers(1, 6)), 5
    bits = draw(hnp.arrays(np.bool_, (n, n_bits)))
    return bits, draw(hnp.arrays(np.int64, n, elements=st.integers(0, n_classes - 1))), n_classes


@given(examples(), st.integers(1, 6), st.integers(1, 5), st.data())
def test_top_k_equals_the_naive_twin(case, n_neighbors, k, data):
    bits, labels, n_classes = case
    queries = data.draw(hnp.arrays(np.bool_, (4, bits.shape[1])))
    decoder = NearestDecoder(
        PackedCodes.from_bits(bits), labels, n_classes, n_neighbors=n_neighbors
    )
    classes, scores = decoder.top_k(Encoded(codes=PackedCodes.from_bits(queries)), k)
    expected = oracles.nearest_top_k(bits, labels, n_classes, n_neighbors, queries, k)
    rows = zip(classes.tolist(), scores.tolist(), strict=True)
    assert [list(zip(*row, strict=True)) for row in rows] == expected


@pytest.mark.parametrize("n_neighbors", [1, 5])
@pytest.mark.parametrize("k", [1, 2, 40, 300])
def test_searching_and_comparing_with_all_codes_agree(k, n_neighbors):
    rng = np.random.default_rng(k)
    bits, labels = rng.random((5000, 70)) < 0.5, rng.integers(0, 300, 5000)
    queries = PackedCodes.from_bits(rng.random((20, 70)) < 0.5)
    codes = PackedCodes.from_bits(bits)
    decoder = NearestDecoder(codes, labels, 300, n_neighbors=n_neighbors)
    classes, scores = decoder.top_k(Encoded(codes=queries), k)
    everything, all_scores = decoder.top_k(Encoded(codes=queries), 300)
    assert np.array_equal(classes, everything[:, :k])
    assert np.array_equal(scores, all_scores[:, :k])
    if n_neighbors == 1:
        distances = queries.distance(codes)
        nearest = np.array([distances[:, labels == label].min(axis=1) for label in range(300)]).T
        assert np.array_equal(classes, np.argsort(nearest, axis=1, kind="stable")[:, :k])


@given(examples())
def test_a_code_takes_the_class_of_most_of_its_examples(case):
    bits, y, n_classes = case
    distinct, labels = majority_codes(PackedCodes.from_bits(bits), y)
    assert distinct.to_ints().tolist() == sorted(set(oracles.as_ints(bits)))
    assert labels.tolist() == oracles.majority(bits, y.tolist())
    decoder = NearestDecoder.from_examples(PackedCodes.from_bits(bits), y, n_classes)
    assert decoder.predict(Encoded(codes=distinct)).tolist() == labels.tolist()


def test_no_examples_have_no_codes():
    distinct, labels = majority_codes(TWO.take(slice(0, 0)), [])
    assert len(distinct) == len(labels) == 0


def test_a_code_can_take_the_class_that_the_linear_decoder_says():
    rng = np.random.default_rng(0)
    linear = LinearDecoder(rng.normal(size=(7, 12)), rng.normal(size=7))
    codes = PackedCodes.from_bits(rng.random((200, 12)) < 0.3)
    y = rng.integers(0, 7, 200)
    decoder = NearestDecoder.from_examples(codes, y, 7, linear=linear, label="predicted")
    assert len(decoder.codes) == len(codes.unique().codes)
    assert np.array_equal(
        decoder.predict(Encoded(codes=codes)), linear.predict(Encoded(codes=codes))
    )


def test_a_vote_is_won_by_number_then_distance_then_class():
    codes = PackedCodes.from_ints([0b0000, 0b0011, 0b0101, 0b0111, 0b1111], n_bits=4)
    query = PackedCodes.from_ints([0b0000], n_bits=4)

    def winner(labels, n_neighbors):
        return (
            NearestDecoder(codes, labels, 4, n_neighbors=n_neighbors)
            .predict(Encoded(codes=query))
            .tolist()
        )

    assert winner([3, 2, 2, 1, 1], 1) == [3]
    assert winner([3, 2, 2, 1, 1], 3) == [2]  # two votes against one
    assert winner([3, 2, 2, 1, 1], 5) == [2]  # two and two: the nearer
    assert winner([3, 2, 1, 2, 1], 5) == [1]  # as near as each other: the smaller
    assert winner([3, 2, 2, 1, 1], 100) == [2]


def test_classes_without_a_code_come_last():
    decoder = NearestDecoder(TWO, [3, 1], 5)
    classes, scores = decoder.top_k(Encoded(codes=PackedCodes.from_bits([[0, 0, 0]])), 5)
    assert classes.tolist() == [[3, 1, 0, 2, 4]]
    assert scores.tolist() == [[-1, -2, -4, -4, -4]]


def test_probabilities_are_the_softmax_of_the_scores():
    decoder = NearestDecoder(TWO, [0, 1], 3).with_confidence(Confidence(temperature=2.0))
    weights = np.exp(np.array([-1, -2, -4]) / 2)
    proba = decoder.proba(Encoded(codes=PackedCodes.from_bits([[0, 0, 0]])))
    np.testing.assert_allclose(proba, [weights / weights.sum()], rtol=1e-6)


def test_rows_are_compared_with_all_codes_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    codes = PackedCodes.from_bits(rng.random((50, 9)) < 0.5)
    decoder = NearestDecoder(codes, rng.integers(0, 9, 50), 9, n_neighbors=3)
    expected, proba = decoder.top_k(Encoded(codes=codes), 9), decoder.proba(Encoded(codes=codes))
    monkeypatch.setattr("dsnc.decoders.nearest._BLOCK", 120)
    assert np.array_equal(decoder.top_k(Encoded(codes=codes), 9), expected)
    assert np.array_equal(decoder.proba(Encoded(codes=codes)), proba)


def test_many_classes_need_little_memory():
    rng = np.random.default_rng(0)
    codes = PackedCodes.from_bits(rng.random((20_000, 16)) < 0.5)
    decoder = NearestDecoder(codes, np.arange(20_000), 20_000)
    decoder.predict(Encoded(codes=codes.take(slice(0, 9))))  # makes the index
    for k in (5, 500):
        decoder.top_k(Encoded(codes=codes.take(slice(0, 9))), k)
    tracemalloc.start()
    decoder.predict(Encoded(codes=codes.take(slice(0, 2_000))))
    decoder.top_k(Encoded(codes=codes.take(slice(0, 2_000))), 5)
    decoder.top_k(Encoded(codes=codes.take(slice(0, 200))), 500)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6  # all distances of 2,000 rows would take 160 MB


def test_it_can_be_pickled_and_its_labels_do_not_change():
    labels = np.array([1, 0])
    decoder = NearestDecoder(TWO, labels, 2)
    decoder.predict(Encoded(codes=TWO))
    labels[:] = 0
    twin = pickle.loads(pickle.dumps(decoder))
    assert (
        twin.predict(Encoded(codes=TWO)).tolist()
        == decoder.predict(Encoded(codes=TWO)).tolist()
        == [1, 0]
    )
    assert not decoder.labels.flags.writeable
    assert np.shares_memory(NearestDecoder.from_arrays(decoder.arrays()).labels, decoder.labels)


def test_cost_is_the_formula_of_the_paper():
    codes = PackedCodes.from_ints(np.arange(4096), n_bits=64)
    decoder = NearestDecoder(codes, np.zeros(4096, dtype=int), 1)
    assert decoder.cost() == (64 * 64 / 12, 4096 * 16)


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ((TWO.take(slice(0, 0)), [], 2), {}, "codes is empty"),
        ((TWO, [0], 2), {}, r"labels has shape \(1,\)"),
        ((TWO, [0.0, 1.0], 2), {}, "labels has .* type float64"),
        ((TWO, [0, 2], 2), {}, r"labels\[1\] is 2; a class is 0 to 1"),
        ((TWO, [-1, 1], 2), {}, r"labels\[0\] is -1"),
        ((TWO, [0, 1], 0), {}, "n_classes=0"),
        ((TWO, [0, 1], 2.0), {}, "n_classes=2.0"),
        ((TWO, [0, 1], 1 << 40), {}, "n_classes="),
        ((TWO, [0, 1], 2), {"n_neighbors": 0}, "n_neighbors=0"),
        ((TWO, [0, 1], 2), {"n_neighbors": True}, "n_neighbors=True"),
        (
            (TWO, [0, 1], 2),
            {"n_neighbors": 1 << 23},
            "n_neighbors=8388608 must be a whole number from 1 to 4194304",
        ),
    ],
)
def test_wrong_arguments_are_named(arguments, settings, message):
    with pytest.raises(InputError, match=message):
        NearestDecoder(*arguments, **settings)


def test_wrong_examples_are_named():
    with pytest.raises(InputError, match=r"y\[1\] is 5; a class is 0 to 1"):
        NearestDecoder.from_examples(TWO, [0, 5], 2)
    with pytest.raises(InputError, match="linear is None"):
        NearestDecoder.from_examples(TWO, [0, 1], 2, label="predicted")
    with pytest.raises(InputError, match="Did you mean 'true'"):
        NearestDecoder.from_examples(TWO, [0, 1], 2, label="tru")
    with pytest.raises(InputError, match="y has shape"):
        majority_codes(TWO, [[0, 1]])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("labels", np.array([0, 9])),
        ("labels", np.array([-1, 0])),
        ("words", np.array([[1], [255]], dtype=np.uint64)),
        ("n_bits", np.array([70])),
        ("n_classes", np.array([0])),
        ("n_neighbors", np.array([-3])),
        ("n_neighbors", np.array([1, 1])),
        ("confidence", np.full(8, np.nan, dtype=np.float32)),
    ],
)
def test_a_file_that_lies_is_refused(key, value):
    arrays = NearestDecoder(TWO, [0, 1], 2).arrays()
    with pytest.raises(InputError):
        NearestDecoder.from_arrays(arrays | {key: value})
