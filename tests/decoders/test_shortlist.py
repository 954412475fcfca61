import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsnc import _native
from dsnc.codes import Encoded, HammingIndex, PackedCodes
from dsnc.decoders import LinearDecoder, ShortlistDecoder
from dsnc.decoders.confidence import Confidence
from shortlist_cases import SEEDS, UNSURE, Case, answers


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


@pytest.mark.parametrize("n_rows", [0, 1, 9])
def test_very_many_wanted_classes(level, n_rows):
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


@pytest.mark.parametrize("has_logits", [True, False])
def test_many_rows_are_decoded_as_a_few_are(has_logits):
    case = Case(5, values=UNSURE, n_classes=140, n_rows=4100)
    decoder = case.decoder().with_confidence(Confidence(other=0.5, odds=0.7))
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
        decoder = ShortlistDecoder(linear, codes, labels, size=8, closeness=0.1)
        decoder._index = HammingIndex(codes, method=method)
        found.append(answers(decoder, queries, logits))
    done = np.zeros(len(queries), dtype=bool)
    _native.probe(decoder._index.native, queries.words, done, 1)
    assert done.mean() > 0.5
    for scanned, looked_up in zip(*found, strict=True):
        assert np.array_equal(scanned, looked_up)


# What is a candidate


@given(SEEDS, st.integers(1, 5))
def test_a_larger_size_loses_no_candidate(seed, size):
    case = Case(seed)
    sets = []
    for length in (size, size + 3):
        classes, _ = case.decoder(size=length).candidates(case.encoded)
        sets.append([set(row[row >= 0].tolist()) for row in classes])
    for some, longer in zip(*sets, strict=True):
        assert 1 <= len(some) <= size
        assert some <= longer


def test_all_candidates_make_it_the_soft_decoder():
    rng = np.random.default_rng(0)
    linear = LinearDecoder(rng.normal(size=(30, 20)), rng.normal(size=30))
    logits = rng.normal(size=(50, 20)).astype(np.float32)
    known = PackedCodes.from_logits(linear.weight)
    decoder = ShortlistDecoder(linear, known, np.arange(30), size=1000)
    soft = np.tanh(logits / 2) @ linear.weight.T + linear.bias
    codes = PackedCodes.from_logits(logits)
    assert np.array_equal(decoder.predict(Encoded(logits, codes)), soft.argmax(axis=1))
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


# A few rows


@given(SEEDS)
def test_a_few_rows_are_decoded_as_many_are(seed):
    case = Case(seed, values=UNSURE, n_rows=8)
    decoder = case.decoder()
    expected = decoder.top_k(case.encoded, 1)[0][:, 0]
    for either in (decoder, pickle.loads(pickle.dumps(decoder))):
        assert np.array_equal(either.predict(case.encoded), expected)
    one = [decoder.predict(case.encoded.take(slice(row, row + 1))) for row in range(8)]
    assert np.array_equal(np.concatenate(one), expected)
