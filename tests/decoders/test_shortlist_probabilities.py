import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from dsnc.codes import Encoded
from dsnc.decoders import ShortlistDecoder
from dsnc.decoders.confidence import Confidence
from shortlist_cases import CODES, LINEAR, SEEDS, UNSURE, Case


@given(
    SEEDS,
    st.sampled_from([0.0, 1e-3, 1.0, 1e6, 3e38]),
    st.sampled_from([-3e38, -1e6, -2.0, 0.0, 5.0, 1e6]),
    st.sampled_from([-3e38, -1e9, -1.0, 3.0, 1e9, 3e38]),
    st.sampled_from([1e-40, 1e-3, 1.0, 1e3, 1e38]),
)
def test_probabilities_agree_with_the_prediction(seed, slope, offset, other, temperature):
    case = Case(seed, values=UNSURE, n_rows=6)
    lines = {"odds": slope, "margin": slope, "offset": offset, "offset_alone": offset}
    decoder = case.decoder().with_confidence(Confidence(temperature, other, **lines))
    proba = decoder.proba(case.encoded)
    assert proba.dtype == np.float32
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-5)
    assert np.array_equal(proba.argmax(axis=1), decoder.predict(case.encoded))
    for k in {1, (decoder.n_classes + 1) // 2, decoder.n_classes}:
        classes, some = decoder.top_k_proba(case.encoded, k)
        assert np.array_equal(classes, decoder.top_k(case.encoded, k)[0])
        assert np.array_equal(some, np.take_along_axis(proba, classes, axis=1))
        assert (np.diff(some, axis=1) <= 0).all()


@given(SEEDS, st.floats(-3, 3), st.sampled_from([0.5, 1.0, 2.0]), st.floats(-1, 1))
def test_probabilities_are_those_of_plain_loops(seed, other, slope, offset):
    case = Case(seed, values=UNSURE, n_rows=3)
    confidence = Confidence(2.0, other, odds=slope, margin=0.5, offset=offset).checked()
    proba = case.decoder().with_confidence(confidence).proba(case.encoded)
    for row, (scored, others) in enumerate(case.expected(case.logits)):
        scores = [score for _, score in scored]
        candidates, each = oracles.shares_of_candidates(scores, len(others), confidence)
        expected = np.full(proba.shape[1], each)
        expected[[owner for owner, _ in scored]] = candidates
        # Sorted, since equal scores may have been ordered by their roundings.
        assert np.sort(proba[row]) == pytest.approx(np.sort(expected), abs=1e-5)


def test_nothing_is_left_to_other_classes_by_default():
    decoder = ShortlistDecoder(LINEAR, CODES, [0, 1, 2], size=2)
    logits = np.array([[3.0, 0.5]], dtype=np.float32)
    proba = decoder.proba(Encoded(logits))
    assert (proba > 0).tolist() == [[True, True, False]]
    alone = ShortlistDecoder(LINEAR, CODES, [0, 1, 2], size=1)
    assert alone.proba(Encoded(logits)).tolist() == [[1, 0, 0]]
