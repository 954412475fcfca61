import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders import (
    HeldOut,
    LinearDecoder,
    NearestDecoder,
    ShortlistDecoder,
    SoftDecoder,
    TableDecoder,
)
from dsnc.decoders.confidence import Confidence
from dsnc.errors import InputError
from dsnc.rerank import ClassVectors, FeatureReranker, Reranked
from dsnc.targets import Targets

N_CLASSES, N_BITS, N_FEATURES = 9, 6, 8
KINDS = ["shortlist", "soft", "linear", "table", "nearest"]


def first_stage(kind, rng):
    linear = LinearDecoder(rng.normal(size=(N_CLASSES, N_BITS)), rng.normal(size=N_CLASSES))
    codes = PackedCodes.from_bits(rng.random((N_CLASSES, N_BITS)) < 0.5)
    if kind == "shortlist":
        return ShortlistDecoder(linear, codes, range(N_CLASSES), size=5)
    if kind == "table":
        return TableDecoder.from_linear(linear, probes=8)
    if kind == "nearest":
        return NearestDecoder(codes, range(N_CLASSES), N_CLASSES)
    return linear if kind == "linear" else SoftDecoder(linear.weight, linear.bias)


def two_stages(kind, seed, **settings):
    rng = np.random.default_rng(seed)
    X = sp.csr_array(rng.normal(size=(20, N_FEATURES)).astype(np.float32))
    vectors = ClassVectors.from_matrix(
        rng.normal(size=(N_CLASSES, N_FEATURES)), rng.normal(size=N_CLASSES)
    )
    settings = {"size": 4, "reach": 1.5, "confidence": Confidence(other=-1.0), **settings}
    stages = Reranked(first_stage(kind, rng), FeatureReranker(vectors, **settings))
    return stages, Encoded(rng.normal(size=(20, N_BITS)), source=(X, slice(0, 20)))


@pytest.mark.parametrize("kind", KINDS)
@given(st.integers(0, 10**6))
def test_probabilities_and_lists_agree_with_the_prediction(kind, seed):
    stages, encoded = two_stages(kind, seed)
    predicted, proba = stages.predict(encoded), stages.proba(encoded)
    assert np.array_equal(proba.argmax(axis=1), predicted)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-5)
    for k in (1, 3, N_CLASSES):
        classes, scores = stages.top_k(encoded, k)
        assert np.array_equal(classes[:, 0], predicted)
        assert all(len(set(row)) == k for row in classes.tolist())
        assert (np.diff(scores, axis=1) <= 1e-6).all()
        same, some = stages.top_k_proba(encoded, k)
        assert np.array_equal(same, classes)
        assert np.array_equal(some, np.take_along_axis(proba, classes, axis=1))
        if kind != "table":  # its own probabilities are of all classes
            assert (np.diff(some, axis=1) <= 1e-7).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_rest_keeps_the_order_of_the_first_stage(kind):
    stages, encoded = two_stages(kind, 5)
    first, _ = stages.decoder.top_k(encoded, N_CLASSES)
    both, _ = stages.top_k(encoded, N_CLASSES)
    inside = (stages.candidates(encoded)[0] >= 0).sum(axis=1)
    assert 1 < inside.mean() < 4
    for before, after, n in zip(first.tolist(), both.tolist(), inside, strict=True):
        assert set(before[:n]) == set(after[:n])
        assert before[n:] == after[n:]


def test_a_sure_row_is_answered_by_the_decoder_alone():
    stages, encoded = two_stages("shortlist", 5, reach=0.0)
    assert np.array_equal(stages.predict(encoded), stages.decoder.predict(encoded))
    assert np.array_equal(stages.proba(encoded), stages.decoder.proba(encoded))
    found = stages.top_k_proba(encoded, 3)
    for part, expected in zip(found, stages.decoder.top_k_proba(encoded, 3), strict=True):
        assert np.array_equal(part, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_each_stage_is_calibrated_on_the_rows_that_it_answers(kind):
    stages, encoded = two_stages(kind, 5)
    y = np.random.default_rng(0).integers(0, N_CLASSES, 400)
    rows = HeldOut(encoded.take(np.arange(400) % 20), Targets(y, N_CLASSES))
    is_sure = (stages.candidates(rows.encoded)[0] >= 0).sum(axis=1) <= 1
    assert 20 <= is_sure.sum() <= 380
    found, unsure = stages.calibrated(rows), stages.calibrated(rows.only(~is_sure))
    assert found.decoder.confidence == stages.decoder.calibrated(rows.only(is_sure)).confidence
    assert found.reranker.confidence == unsure.reranker.confidence
    assert unsure.decoder.confidence == stages.decoder.confidence


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_is_decided_alike_in_any_company(kind):
    stages, encoded = two_stages(kind, 7)
    together = stages.top_k_proba(encoded, 4)
    for row in range(20):
        alone = stages.top_k_proba(encoded.take([row]), 4)
        assert np.array_equal(alone[0][0], together[0][row])
        np.testing.assert_allclose(alone[1][0], together[1][row], rtol=1e-5)


def test_stages_that_do_not_fit_are_refused():
    stages, _ = two_stages("linear", 0)
    other = FeatureReranker(ClassVectors.from_matrix(np.eye(3), np.zeros(3)))
    with pytest.raises(InputError, match="9 classes, but the reranker has 3"):
        Reranked(stages.decoder, other)
    with pytest.raises(InputError, match="no arrays of their own"):
        stages.arrays()
    with pytest.raises(InputError, match="no arrays of their own"):
        Reranked.from_arrays({})
    assert stages.cost().bytes > stages.decoder.cost().bytes
