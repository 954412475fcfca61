import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given

from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders import LinearDecoder, ShortlistDecoder
from dsnc.decoders.confidence import Confidence
from dsnc.errors import InputError
from shortlist_cases import CODES, LINEAR, SEEDS, UNSURE, Case, answers


def test_other_vectors_change_nothing_else():
    decoder = ShortlistDecoder(
        LINEAR, CODES, [0, 1, 2], size=5, flips=1, closeness=0.5
    ).with_confidence(Confidence(other=2.0, offset=1.0))
    other = decoder.renewed(LinearDecoder([[1, 0], [0, 1]], [0, 0]))
    names = ["size", "flips", "closeness", "confidence"]
    for each in (decoder, other):
        expected = [5, 1, 0.5, Confidence(other=2.0, offset=1.0)]
        assert [getattr(each, name) for name in names] == expected
    assert (other.n_classes, other.labels.tolist(), other.codes_of) == (2, [0, 1], "weights")


@given(SEEDS)
def test_arrays_bring_back_the_same_decoder(seed):
    case = Case(seed, values=UNSURE)
    decoder = case.decoder().with_confidence(Confidence(0.3, -1.1, odds=0.7, offset=0.1))
    twin = ShortlistDecoder.from_arrays(decoder.arrays())
    for name, array in decoder.arrays().items():
        assert np.array_equal(array, twin.arrays()[name])
    mine, theirs = (answers(d, case.codes, case.logits) for d in (decoder, twin))
    for one, other in zip(mine, theirs, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("labels", np.array([0, 1, 3], dtype=np.uint32), r"labels\[2\] is 3; a class is 0 to 2"),
        ("labels", np.array([0, 1, 2**32 - 1], dtype=np.uint32), r"labels\[2\] is 4294967295"),
        ("labels", np.array([0, 1, 1], dtype=np.uint32), "class 2 has no code"),
        ("labels", np.array([0, 1], dtype=np.uint32), r"labels has shape \(2,\)"),
        ("labels", np.array([0, 1, 2]), "'labels' is int64 1"),
        ("words", np.array([[1], [2], [4]], dtype=np.uint64), "bit"),
        ("words", np.zeros((3, 2), dtype=np.uint64), "words"),
        ("words", np.zeros((0, 1), dtype=np.uint64), "labels has shape"),
        ("size", np.array([0]), "size=0"),
        ("size", np.array([1 << 40]), "size="),
        ("size", np.array([1, 1]), "'size' is not a single number"),
        ("size", np.array([4], dtype=np.int32), "'size' is int32 1"),
        ("flips", np.array([-1]), "flips=-1"),
        ("closeness", np.float32([np.nan]), "closeness=nan"),
        ("closeness", np.float32([-1]), "closeness=-1"),
        ("closeness", np.float32([3e38]), "closeness="),
        ("closeness", np.float64([1]), "'closeness' is float64 1"),
        ("confidence", np.zeros(8, np.float32), "temperature=0.0"),
        ("curve", np.full((2, 2), np.nan, np.float32), "ascend"),
        ("weight", np.full((3, 2), np.nan, dtype=np.float32), "weight has values from nan"),
        ("bias", np.zeros(2, dtype=np.float32), r"bias has shape \(2,\)"),
    ],
)
def test_a_file_that_lies_is_refused(key, value, message):
    arrays = ShortlistDecoder(LINEAR, CODES, [0, 1, 2]).arrays()
    with pytest.raises(InputError, match=message):
        ShortlistDecoder.from_arrays(arrays | {key: value})


def test_every_array_is_needed():
    arrays = ShortlistDecoder(LINEAR, CODES, [0, 1, 2]).arrays()
    for key in arrays:
        with pytest.raises(InputError, match=rf"missing arrays \['{key}'\]"):
            ShortlistDecoder.from_arrays({k: a for k, a in arrays.items() if k != key})


def test_a_pickle_leaves_out_the_index():
    labels = np.array([1, 0, 2])
    decoder = ShortlistDecoder(LINEAR, CODES, labels)
    before = len(pickle.dumps(decoder))
    expected = decoder.predict(Encoded(codes=CODES)).tolist()
    assert "_index" in vars(decoder)
    assert len(pickle.dumps(decoder)) == before
    twin = pickle.loads(pickle.dumps(decoder))
    assert "_index" not in vars(twin)
    labels[:] = 0
    assert (
        twin.predict(Encoded(codes=CODES)).tolist()
        == decoder.predict(Encoded(codes=CODES)).tolist()
        == expected
    )
    assert not decoder.labels.flags.writeable


def test_cost_depends_on_codes_and_candidates_only():
    codes = PackedCodes.from_ints(np.arange(4096), n_bits=64)
    linear = LinearDecoder(np.zeros((4096, 64)), np.zeros(4096))
    decoder = ShortlistDecoder(linear, codes, np.arange(4096), size=10)
    assert decoder.cost() == (64 * 64 / 12 + 640, 4096 * (8 + 8 + 64 * 4 + 4))


def test_a_size_beyond_all_classes_needs_no_more_memory():
    decoder = ShortlistDecoder(LINEAR, CODES, [0, 1, 2], size=1 << 20)
    decoder.top_k(Encoded(codes=CODES), 2)  # makes the index
    tracemalloc.start()
    decoder.top_k(Encoded(codes=CODES), 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 0}, "size=0 must be a whole number from 1 to"),
        ({"size": 2.0}, "size=2.0 must be a whole number"),
        ({"size": True}, "size=True"),
        ({"flips": -1}, "flips=-1"),
        ({"flips": 1.5}, "flips=1.5"),
        ({"flips": True}, "flips=True"),
        ({"flips": None}, "flips=None"),
        ({"closeness": -0.1}, "closeness=-0.1"),
        ({"closeness": np.nan}, "closeness=nan"),
        ({"closeness": np.inf}, "closeness=inf"),
        ({"closeness": 1e39}, r"closeness=1e\+39"),
        ({"closeness": "much"}, "closeness='much'"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        ShortlistDecoder(LINEAR, CODES, [0, 1, 2], **settings)


@pytest.mark.parametrize(
    ("codes", "labels", "message"),
    [
        (CODES, [0, 1], r"labels has shape \(2,\)"),
        (CODES, [0.0, 1.0, 2.0], "labels has .* type float64"),
        (CODES, [0, 1, 3], r"labels\[2\] is 3; a class is 0 to 2"),
        (CODES, [0, -1, 2], r"labels\[1\] is -1"),
        (CODES, [0, 0, 2], "labels: class 1 has no code; every class needs one"),
        (CODES.take(slice(0, 0)), [], "labels: class 0 has no code"),
        (PackedCodes.from_bits([[1, 1, 1]]), [0], "codes have 3 bits; the linear decoder has 2"),
    ],
)
def test_wrong_codes_are_named(codes, labels, message):
    with pytest.raises(InputError, match=message):
        ShortlistDecoder(LINEAR, codes, labels)


@pytest.mark.parametrize("shape", [(1, 2), (4, 2), (3, 1), (3, 3), (3,)])
def test_logits_of_another_shape_are_refused(shape):
    decoder = ShortlistDecoder(LINEAR, CODES, [0, 1, 2], closeness=1.0)
    logits = np.ones(shape, dtype=np.float32)
    for use in (
        decoder.predict,
        decoder.proba,
        decoder.candidates,
        lambda encoded: decoder.top_k(encoded, 2),
        lambda encoded: decoder.top_k_proba(encoded, 2),
    ):
        with pytest.raises(InputError, match=r"logits has shape .*; expected \(3, 2\)"):
            use(Encoded(logits, CODES))
