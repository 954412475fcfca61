"""Kernels and their plain twins agree: on codes and classes; on scores but for roundings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import made_predictors
from codes.test_encode import layer, scattered
from dsnc.codes import Encoded, PackedCodes
from dsnc.codes.encode import encode_csr
from dsnc.decoders import CodebookDecoder, NearestDecoder
from dsnc.errors import InputError
from dsnc.features import TextFeatures
from dsnc.kernels import are_deferred, can_wait, deferred
from odd_texts import ANY_TEXT, SIZES, TEXTS
from shortlist_cases import SEEDS, SURE, UNSURE, Case, answers

FOR_EVER = 1e9


def both(answer):
    """Return what the kernels say, and what their twins say."""
    compiled = answer()
    with deferred(FOR_EVER):
        return compiled, answer()


def test_an_allowance_is_spent_once():
    assert not are_deferred()
    assert not can_wait(0.0)
    with deferred(1.0):
        assert can_wait(0.6)
        assert are_deferred()
        assert not can_wait(0.6)
        assert not can_wait(0.0)
        assert not are_deferred()
    with pytest.raises(ZeroDivisionError), deferred():
        raise ZeroDivisionError
    assert not are_deferred()


@given(SEEDS, st.sampled_from([1, 5, 64, 65, 130]), st.booleans(), st.booleans())
def test_codes_of_sparse_rows(seed, n_bits, unit, fine):
    rng = np.random.default_rng(seed)
    X, (weight, bias) = scattered(seed, dtype=np.float32), layer(seed, 7, n_bits)
    X.data *= rng.standard_normal(X.nnz).astype(np.float32)
    weight *= rng.standard_normal(weight.shape).astype(np.float32)
    if not fine:
        X.data[rng.integers(0, X.nnz)] = rng.choice([np.nan, np.inf, 3e38])
    (codes, logits), (twins, numbers) = both(
        lambda: encode_csr(X, slice(1, 6), weight, bias, unit=unit)
    )
    assert np.array_equal(logits, numbers, equal_nan=True)
    assert codes == twins


@pytest.mark.parametrize("index", [7, -1])
def test_an_index_outside_is_refused_alike(index):
    X, (weight, bias) = scattered(5), layer(5, 7, 9)
    X.indices[X.indptr[4]] = index
    with deferred(FOR_EVER), pytest.raises(InputError, match=rf"X\[4\] has the index {index}"):
        encode_csr(X, slice(0, 6), weight, bias)


@given(st.lists(ANY_TEXT, max_size=5), SIZES, SIZES, st.booleans(), st.booleans())
def test_rows_of_texts(texts, words, characters, lowercase, sublinear):
    if words is None and characters is None:
        words = (1, 1)
    features = TextFeatures(
        words=words, characters=characters, lowercase=lowercase, sublinear=sublinear
    )
    features.set_params(min_rows=1, n_hashes=2**12).fit([*TEXTS, *texts[1:], "a"])
    rows, twins = both(lambda: features.rows(texts))
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(rows, name), getattr(twins, name))
        assert getattr(rows, name).dtype == getattr(twins, name).dtype


@given(SEEDS, st.sampled_from([SURE, UNSURE]), st.booleans())
def test_classes_of_a_shortlist(seed, values, hard):
    case = Case(seed, values)
    found = both(lambda: answers(case.decoder(), case.codes, None if hard else case.logits))
    for mine, twin in zip(*found, strict=True):
        assert mine.dtype == twin.dtype
        if values is SURE and mine.dtype.kind == "i":  # sums of whole numbers: ties are ties
            assert np.array_equal(mine, twin)
        elif mine.dtype.kind == "f":
            np.testing.assert_allclose(mine, twin, rtol=1e-4, atol=1e-5)


@given(SEEDS, st.integers(1, 5))
def test_classes_of_the_nearest_codes(seed, k):
    rng = np.random.default_rng(seed)
    codes = PackedCodes.from_bits(rng.random((60, 6)) < 0.5)
    queries = Encoded(codes=PackedCodes.from_bits(rng.random((9, 6)) < 0.5))
    labels = np.append(np.arange(5), rng.integers(0, 5, 55))
    for decoder in (CodebookDecoder(codes), NearestDecoder(codes, labels, 5)):
        compiled, twin = both(lambda decoder=decoder: decoder.top_k_proba(queries, k))
        assert np.array_equal(compiled, twin)


@pytest.mark.parametrize("second", ["yes", "of unit rows"])
@pytest.mark.parametrize("decoder", ["shortlist", "soft", "table", "nearest"])
@given(SEEDS, st.booleans(), st.integers(1, 14))
def test_two_stages(decoder, second, seed, sparse, k):
    predictor, rng = made_predictors.make(decoder, "unit", second, seed)
    rows = made_predictors.rows(rng, sparse=sparse).astype(np.float32)
    (classes, shares), (twins, numbers) = both(lambda: predictor.top_k_proba(rows, k))
    assert np.array_equal(classes, twins)
    np.testing.assert_allclose(shares, numbers, rtol=1e-3, atol=1e-6)
    compiled, twin = both(lambda: predictor.predict(rows))
    assert np.array_equal(compiled, twin)
