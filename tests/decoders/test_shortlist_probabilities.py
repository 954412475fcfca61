import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit, softmax

from dsnc.codes import Encoded
from dsnc.decoders import ShortlistDecoder
from shortlist_cases import CODES, LINEAR, SEEDS, UNSURE, Case


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
        assert (np.diff(some, axis=1) <= 0).all()


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
        rest = np.maximum(rest[: len(scored) - 1], each)  # no candidate is less probable
        shrink = (1 - best) / (rest.sum() + len(others) * each)
        rest, each = rest * shrink, each * shrink
        most = max([each, *rest])
        if best < most:  # the best class stays the most probable
            assert proba[row].max() == pytest.approx(np.sort(proba[row])[-2], rel=1e-5)
            continue
        expected = np.full(decoder.n_classes, each)
        expected[[owner for owner, _ in scored]] = [best, *rest]
        # Sorted, since equal scores may have been ordered by their roundings.
        assert np.sort(proba[row]) == pytest.approx(np.sort(expected), abs=1e-5)


def test_nothing_is_left_to_other_classes_by_default():
    decoder = ShortlistDecoder(LINEAR, CODES, [0, 1, 2], size=2, radius=2)
    logits = np.array([[3.0, 0.5]], dtype=np.float32)
    proba = decoder.proba(Encoded(logits))
    assert (proba > 0).tolist() == [[True, True, False]]
    alone = ShortlistDecoder(LINEAR, CODES, [0, 1, 2], size=1)
    assert alone.proba(Encoded(logits)).tolist() == [[1, 0, 0]]
