import itertools
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit, softmax

import oracles
from dsnc.codes import Encoded, HammingIndex, PackedCodes
from dsnc.decoders import LinearDecoder, ShortlistDecoder
from dsnc.decoders import shortlist as module
from dsnc.errors import InputError

SEEDS = st.integers(0, 2**32 - 1)
LINEAR = LinearDecoder([[1, 1], [1, -1], [-1, -1]], [0, 0, 0])
CODES = PackedCodes.from_bits([[1, 1], [1, 0], [0, 0]])
SURE = (-80.0, 0.0, 80.0)  # tanh(20) is 1: whole numbers in, whole numbers out
UNSURE = (-3.0, -1.5, -0.25, 0.0, 0.5, 1.0, 2.0)


class Case:
    """A decoder whose codes differ in few bits, so that distances and scores tie, and queries."""

    def __init__(self, seed, values=SURE, n_classes=None, n_rows=4, max_bits=130, is_codebook=None):
        rng = np.random.default_rng(seed)
        n_bits = int(rng.integers(1, max_bits + 1))
        n_classes = n_classes or int(rng.integers(1, 13))
        if is_codebook is None:
            is_codebook = rng.random() < 0.3
        n_codes = n_classes + (0 if is_codebook else int(rng.integers(0, 9)))
        varied = rng.permutation(n_bits) < 6
        self.bits = (rng.random((n_codes, n_bits)) < 0.5) & varied
        some = rng.integers(0, n_classes, n_codes - n_classes)
        each = np.arange(n_classes) if is_codebook else rng.permutation(n_classes)
        self.labels = np.append(each, some)
        self.weight = rng.integers(-1, 2, (n_classes, n_bits)).astype(np.float32)
        self.bias = rng.integers(-1, 2, n_classes).astype(np.float32)
        self.settings = {
            "size": int(rng.integers(1, 16)),
            "radius": int(rng.choice([0, 1, 2, 3, n_bits])),
            "closeness": float(rng.choice([0, 0.125, 1])),
            "sharpness": float(rng.choice([0.5, 1, 2])),
            "prior": float(rng.choice([0, 0.5, 1])),
        }
        around = np.where(self.bits[rng.integers(0, n_codes, n_rows)], 1, -1)
        flipped = np.where((rng.random(around.shape) < 0.2) & varied, -around, around)
        self.logits = (flipped * np.abs(rng.choice(values, around.shape))).astype(np.float32)
        self.codes = PackedCodes.from_logits(self.logits)
        self.encoded = Encoded(self.logits, self.codes)

    def decoder(self, **settings):
        linear = LinearDecoder(self.weight, self.bias)
        codes = PackedCodes.from_bits(self.bits)
        return ShortlistDecoder(linear, codes, self.labels, **{**self.settings, **settings})

    def expected(self, logits):
        queries = self.codes.to_bits()
        arrays = self.weight, self.bias, self.bits, self.labels, queries, logits
        return oracles.shortlist(*arrays, **self.settings)


def check(decoder, codes, logits, expected):
    """Hold all ks to the naive twin, in exact numbers."""
    n_classes = decoder.n_classes
    for k in {1, 2, (n_classes + 1) // 2, n_classes} & set(range(1, n_classes + 1)):
        classes, scores = decoder.top_k(Encoded(logits, codes), k)
        assert (classes.dtype, scores.dtype) == (np.int64, np.float32)
        for numbers, values, (scored, others) in zip(classes, scores, expected, strict=True):
            assert (
                numbers.tolist()
                == [owner for owner, _ in scored[:k]] + others[: max(0, k - len(scored))]
            )
            inside = [score for _, score in scored[:k]]
            assert values[: len(inside)].tolist() == inside
            outside = values[len(inside) :]
            assert (np.diff(values[len(inside) - 1 :]) < 0).all()
            assert np.isfinite(outside).all()


@given(SEEDS)
def test_top_k_equals_the_naive_twin(seed):
    case = Case(seed)
    check(case.decoder(), case.codes, case.logits, case.expected(case.logits))


@given(SEEDS)
def test_without_logits_all_bits_are_equally_sure(seed):
    case = Case(seed)
    check(case.decoder(), case.codes, None, case.expected(None))


@given(SEEDS)
def test_infinite_logits_give_finite_scores(seed):
    case = Case(seed, values=[np.inf, 80.0, 0.0], max_bits=16)
    check(case.decoder(), case.codes, case.logits, case.expected(case.logits))


@given(SEEDS)
def test_scores_on_soft_bits_equal_the_naive_twin(seed):
    case = Case(seed, values=UNSURE)
    decoder = case.decoder()
    classes, scores = decoder.candidates(case.encoded)
    assert classes.shape[1] == min(decoder.size, decoder.n_classes)
    best = decoder.predict(case.encoded)
    for row, (scored, _) in enumerate(case.expected(case.logits)):
        inside = len(scored)
        own = dict(scored)
        assert set(classes[row, :inside].tolist()) == set(own)
        assert (classes[row, inside:] == -1).all()
        assert np.isneginf(scores[row, inside:]).all()
        values = [own[owner] for owner in classes[row, :inside].tolist()]
        assert scores[row, :inside] == pytest.approx(values, abs=1e-4)
        # Only roundings may change the order.
        assert (np.diff(values) < 1e-4).all()
        assert own[int(best[row])] >= scored[0][1] - 1e-4


@given(SEEDS)
def test_sorting_all_classes_agrees_with_the_lists(seed):
    case = Case(seed)
    decoder = case.decoder()
    k = decoder.n_classes
    listed = decoder.top_k(case.encoded, k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LISTED", 0)
        patch.setattr(module, "_KEYS", 50)  # a few rows at a time
        by_sorting = decoder.top_k(case.encoded, k)
    for one, other in zip(listed, by_sorting, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("n_rows", [0, 1, 9])
def test_very_many_wanted_classes(n_rows):
    case = Case(3, n_classes=170, n_rows=n_rows)
    decoder = case.decoder()
    all_classes, all_scores = decoder.top_k(case.encoded, 170)
    expected = case.expected(case.logits)
    for row, (scored, others) in zip(all_classes.tolist(), expected, strict=True):
        assert row == [owner for owner, _ in scored] + others
    for k in (1, 2, 127, 128, 129, 169):  # the lists end and the sorting begins at 128
        classes, scores = decoder.top_k(case.encoded, k)
        assert classes.shape == (n_rows, k)
        assert np.array_equal(classes, all_classes[:, :k])
        assert np.array_equal(scores, all_scores[:, :k])


@pytest.mark.parametrize("is_codebook", [True, False])
@pytest.mark.parametrize("n_classes", [500, 513, 1030])
def test_codes_of_several_blocks(n_classes, is_codebook):
    """The search goes through blocks of 512 codes; the last one has empty places."""
    for seed in range(6):
        settings = {"n_classes": n_classes, "n_rows": 3, "is_codebook": is_codebook}
        case = Case(seed, max_bits=40, **settings)
        expected = case.expected(case.logits)
        decoder = case.decoder()
        classes, scores = decoder.candidates(case.encoded)
        best = decoder.predict(case.encoded)
        for row, (scored, _) in enumerate(expected):
            inside = classes[row] >= 0
            found = zip(classes[row, inside].tolist(), scores[row, inside].tolist(), strict=True)
            assert list(found) == scored
            assert best[row] == scored[0][0]


def answers(decoder, codes, logits):
    k = min(5, decoder.n_classes)
    return [
        decoder.predict(Encoded(logits, codes))[:, None],
        *decoder.top_k(Encoded(logits, codes), k),
        *decoder.top_k_proba(Encoded(logits, codes), k),
        *decoder.top_k(Encoded(logits, codes), decoder.n_classes),
        decoder.proba(Encoded(logits, codes)),
        *decoder.candidates(Encoded(logits, codes)),
    ]


@pytest.mark.parametrize("has_logits", [True, False])
def test_many_rows_are_decoded_as_a_few_are(has_logits):
    case = Case(5, values=UNSURE, n_classes=140, n_rows=4100)
    decoder = case.decoder(other=0.5, slope=0.7)
    logits = case.logits if has_logits else None
    together = answers(decoder, case.codes, logits)
    edges = [0, 1, 1000, 4095, 4096, 4097, 4100]
    parts = []
    for rows in itertools.starmap(slice, itertools.pairwise(edges)):
        part = answers(decoder, case.codes.take(rows), logits[rows] if has_logits else None)
        parts.append(part)
    for whole, pieces in zip(together, zip(*parts, strict=True), strict=True):
        assert len(whole) == 4100
        assert np.array_equal(whole, np.concatenate(pieces))


@pytest.mark.parametrize("each", [1, 2])
def test_lookups_find_the_candidates_that_a_scan_finds(each):
    rng = np.random.default_rng(0)
    n_classes, n_bits = 5000, 64
    centers = np.where(rng.random((n_classes, n_bits)) < 0.5, -1, 1)
    linear = LinearDecoder(centers, np.zeros(n_classes))
    n_codes = each * n_classes
    noisy = np.repeat(centers, each, axis=0) * rng.normal(2, 1, (n_codes, n_bits))
    logits = (centers[:300] * rng.normal(1.5, 1, (300, n_bits))).astype(np.float32)
    codes, queries = PackedCodes.from_logits(noisy), PackedCodes.from_logits(logits)
    labels = np.arange(n_codes) // each
    found = []
    for method in ("scan", "multi_index"):
        decoder = ShortlistDecoder(linear, codes, labels, size=8, radius=9, closeness=0.1)
        decoder._index = HammingIndex(codes, method=method)
        found.append(answers(decoder, queries, logits))
    share = decoder._index.explain(queries).looked_up
    assert share > 0.5
    for scanned, looked_up in zip(*found, strict=True):
        assert np.array_equal(scanned, looked_up)


# What is a candidate


@given(SEEDS, st.integers(0, 5), st.integers(1, 5))
def test_a_larger_radius_or_size_loses_no_candidate(seed, radius, size):
    case = Case(seed)
    sets = []
    for more in ({}, {"radius": radius + 2}, {"size": size + 3}):
        decoder = case.decoder(**{"radius": radius, "size": size, **more})
        classes, _ = decoder.candidates(case.encoded)
        sets.append([set(row[row >= 0].tolist()) for row in classes])
    for some, farther, longer in zip(*sets, strict=True):
        assert 1 <= len(some) <= size
        assert some <= farther
        assert some <= longer


def test_all_candidates_make_it_the_soft_decoder():
    rng = np.random.default_rng(0)
    linear = LinearDecoder(rng.normal(size=(30, 20)), rng.normal(size=30))
    logits = rng.normal(size=(50, 20)).astype(np.float32)
    known = PackedCodes.from_logits(linear.weight)
    decoder = ShortlistDecoder(linear, known, np.arange(30), size=1000, radius=1000)
    soft = np.tanh(logits / 2) @ linear.weight.T + linear.bias
    codes = PackedCodes.from_logits(logits)
    assert np.array_equal(decoder.predict(Encoded(logits, codes)), soft.argmax(axis=1))
    assert decoder.radius == 20
    assert decoder.candidates(Encoded(logits, codes))[0].shape == (50, 30)


def test_doubt_decides_between_equal_scores():
    linear = LinearDecoder(np.zeros((2, 3)), [0, 0])
    known = PackedCodes.from_bits([[0, 0, 1], [0, 1, 0]])
    logits = np.array([[-1.0, -5.0, -0.5], [-1.0, -0.5, -5.0]], dtype=np.float32)
    codes = PackedCodes.from_logits(logits)

    def scores(closeness):
        decoder = ShortlistDecoder(linear, known, [1, 0], closeness=closeness)
        classes, values = decoder.top_k(Encoded(logits, codes), 2)
        return classes.tolist(), values.tolist()

    assert scores(0.0) == ([[0, 1], [0, 1]], [[0, 0], [0, 0]])
    assert scores(2.0) == ([[1, 0], [0, 1]], [[-1, -10], [-1, -10]])


# Probabilities


@given(
    SEEDS,
    st.sampled_from([0.0, 1e-3, 1.0, 1e6, 3e38]),
    st.sampled_from([-3e38, -1e6, -2.0, 0.0, 5.0, 1e6]),
    st.sampled_from([-3e38, -1e9, -1.0, 3.0, 1e9, 3e38]),
    st.sampled_from([1e-40, 1e-3, 1.0, 1e3, 1e38]),
)
def test_probabilities_agree_with_the_prediction(seed, slope, intercept, other, temperature):
    case = Case(seed, values=UNSURE, n_rows=6)
    decoder = case.decoder(slope=slope, intercept=intercept, other=other, temperature=temperature)
    proba = decoder.proba(case.encoded)
    assert proba.dtype == np.float32
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-5)
    assert np.array_equal(proba.argmax(axis=1), decoder.predict(case.encoded))
    for k in {1, (decoder.n_classes + 1) // 2, decoder.n_classes}:
        classes, some = decoder.top_k_proba(case.encoded, k)
        assert np.array_equal(classes, decoder.top_k(case.encoded, k)[0])
        assert np.array_equal(some, np.take_along_axis(proba, classes, axis=1))


@given(SEEDS, st.floats(-3, 3), st.sampled_from([0.5, 1.0, 2.0]), st.floats(-1, 1))
def test_probabilities_are_a_softmax_with_a_line_through_the_odds_of_the_best(
    seed, other, slope, intercept
):
    case = Case(seed, values=UNSURE, n_rows=3)
    settings = {"temperature": 2.0, "other": other, "slope": slope, "intercept": intercept}
    decoder = case.decoder(**settings)
    proba = decoder.proba(case.encoded)
    for row, (scored, others) in enumerate(case.expected(case.logits)):
        values = [score for _, score in scored] + ([other] if others else [])
        shares = softmax(np.array(values) / 2)
        if len(shares) == 1:  # nothing else is possible
            assert proba[row].tolist() == [1]
            continue
        best = expit(slope * logit(shares[0]) + intercept)
        rest = shares[1:] * (1 - best) / (1 - shares[0])
        each = rest[len(scored) - 1] / len(others) if others else 0.0
        most = max([each, *rest[: len(scored) - 1]])
        if best < most:  # the best class stays the most probable
            assert proba[row].max() == pytest.approx(np.sort(proba[row])[-2], rel=1e-5)
            continue
        expected = np.full(decoder.n_classes, each)
        expected[[owner for owner, _ in scored]] = [best, *rest[: len(scored) - 1]]
        # Sorted, since equal scores may have been ordered by their roundings.
        assert np.sort(proba[row]) == pytest.approx(np.sort(expected), abs=1e-5)


def test_nothing_is_left_to_other_classes_by_default():
    decoder = ShortlistDecoder(LINEAR, CODES, [0, 1, 2], size=2, radius=2)
    logits = np.array([[3.0, 0.5]], dtype=np.float32)
    proba = decoder.proba(Encoded(logits))
    assert (proba > 0).tolist() == [[True, True, False]]
    alone = ShortlistDecoder(LINEAR, CODES, [0, 1, 2], size=1)
    assert alone.proba(Encoded(logits)).tolist() == [[1, 0, 0]]


# Its arrays


def test_other_vectors_change_nothing_else():
    decoder = ShortlistDecoder(
        *(LINEAR, CODES, [0, 1, 2]), size=5, radius=1, closeness=0.5, other=2.0, intercept=1.0
    )
    other = decoder.renewed(LinearDecoder([[1, 0], [0, 1]], [0, 0]))
    names = ["size", "radius", "closeness", "temperature", "other", "slope", "intercept"]
    for each in (decoder, other):
        assert [getattr(each, name) for name in names] == [5, 1, 0.5, 1, 2, 1, 1]
    assert (other.n_classes, other.labels.tolist(), other.codes_of) == (2, [0, 1], "weights")


@given(SEEDS)
def test_arrays_bring_back_the_same_decoder(seed):
    case = Case(seed, values=UNSURE)
    decoder = case.decoder(temperature=0.3, other=-1.1, slope=0.7, intercept=0.1)
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
        ("size", np.array([1, 1]), "'size' is not one number"),
        ("size", np.array([4], dtype=np.int32), "'size' is int32 1"),
        ("radius", np.array([-1]), "radius=-1"),
        ("closeness", np.float32([np.nan]), "closeness=nan"),
        ("closeness", np.float32([-1]), "closeness=-1"),
        ("closeness", np.float32([3e38]), "closeness="),
        ("closeness", np.float64([1]), "'closeness' is float64 1"),
        ("temperature", np.float32([0]), "temperature=0"),
        ("other", np.float32([np.inf]), "other=inf"),
        ("slope", np.float32([-1]), "slope=-1"),
        ("slope", np.float32([np.nan]), "slope=nan"),
        ("intercept", np.float32([-np.inf]), "intercept=-inf"),
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
    for key in arrays.keys() - {"sharpness", "prior", "codes_of"}:  # older files have none
        with pytest.raises(InputError, match=rf"missing arrays \['{key}'\]"):
            ShortlistDecoder.from_arrays({k: a for k, a in arrays.items() if k != key})


def test_a_pickle_leaves_out_the_index():
    labels = np.array([1, 0, 2])
    decoder = ShortlistDecoder(LINEAR, CODES, labels, radius=1)
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


def test_very_many_wanted_classes_are_sorted_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    linear = LinearDecoder(rng.normal(size=(2000, 16)), np.zeros(2000))
    decoder = ShortlistDecoder(linear, PackedCodes.from_logits(linear.weight), np.arange(2000))
    logits = rng.normal(size=(1000, 16)).astype(np.float32)
    codes = PackedCodes.from_logits(logits)
    decoder.top_k(Encoded(logits[:2], codes.take(slice(0, 2))), 129)  # compiles
    monkeypatch.setattr(module, "_KEYS", 1 << 17)
    tracemalloc.start()
    decoder.top_k(Encoded(logits, codes), 129)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10e6  # all keys take 16 MB


def test_a_size_beyond_all_classes_needs_no_more_memory():
    decoder = ShortlistDecoder(LINEAR, CODES, [0, 1, 2], size=1 << 20, radius=2)
    decoder.top_k(Encoded(codes=CODES), 2)  # compiles
    tracemalloc.start()
    decoder.top_k(Encoded(codes=CODES), 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6


# What cannot be used


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 0}, "size=0 must be a whole number from 1 to"),
        ({"size": 2.0}, "size=2.0 must be a whole number"),
        ({"size": True}, "size=True"),
        ({"radius": -1}, "radius=-1"),
        ({"radius": 1.5}, "radius=1.5"),
        ({"radius": True}, "radius=True"),
        ({"radius": None}, "radius=None"),
        ({"closeness": -0.1}, "closeness=-0.1"),
        ({"closeness": np.nan}, "closeness=nan"),
        ({"closeness": np.inf}, "closeness=inf"),
        ({"closeness": 1e39}, r"closeness=1e\+39"),
        ({"closeness": "much"}, "closeness='much'"),
        ({"temperature": 0}, "temperature=0"),
        ({"temperature": np.nan}, "temperature=nan"),
        ({"other": np.nan}, "other=nan"),
        ({"other": 1e39}, r"other=1e\+39"),
        ({"slope": -1.0}, "slope=-1.0"),
        ({"slope": np.inf}, "slope=inf"),
        ({"intercept": np.nan}, "intercept=nan"),
        ({"intercept": None}, "intercept=None"),
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


# A few rows


@given(SEEDS)
def test_a_few_rows_are_decoded_as_many_are(seed):
    case = Case(seed, values=UNSURE, n_rows=8)
    decoder = case.decoder()
    expected = decoder.top_k(case.encoded, 1)[0][:, 0]
    for either in (decoder, pickle.loads(pickle.dumps(decoder))):
        assert np.array_equal(either.predict(case.encoded), expected)
        assert np.array_equal(either._few.best(case.logits), expected)
    one = [decoder.predict(case.encoded.take(slice(row, row + 1))) for row in range(8)]
    assert np.array_equal(np.concatenate(one), expected)


@pytest.mark.parametrize(("n_bits", "size"), [(300, 4), (8, 1100)])
def test_long_codes_and_lists_have_no_short_way(n_bits, size):
    linear = LinearDecoder(np.zeros((1200, n_bits)), np.zeros(1200))
    codes = PackedCodes.from_bits(np.zeros((1200, n_bits), dtype=bool))
    assert ShortlistDecoder(linear, codes, np.arange(1200), size=size)._few_rows == 0


@pytest.mark.parametrize("shape", [(5000, 2), (9, 2), (1, 3), (2,)])
def test_the_short_way_takes_a_few_rows_only(shape):
    decoder = ShortlistDecoder(LINEAR, CODES, [0, 1, 2])
    assert decoder._few_rows == 8
    with pytest.raises(InputError, match="of up to 8 rows and 2 bits"):
        decoder._few.best(np.ones(shape, dtype=np.float32))
