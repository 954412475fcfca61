import numpy as np
import pytest

from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders import LinearDecoder, SoftDecoder
from dsnc.decoders.confidence import Confidence
from dsnc.decoders.soft import INPUTS
from dsnc.errors import InputError

RNG = np.random.default_rng(0)
WEIGHT = RNG.normal(size=(50, 12)).astype(np.float32)
BIAS = RNG.normal(size=50).astype(np.float32)
LOGITS = (3 * RNG.normal(size=(40, 12))).astype(np.float32)
CODES = PackedCodes.from_logits(LOGITS)

BY_HAND = {
    "logits": lambda x: x,
    "soft_signs": lambda x: 2 / (1 + np.exp(-x)) - 1,
    "tanh": lambda x: (np.exp(2 * x) - 1) / (np.exp(2 * x) + 1),
    "relu": lambda x: x * (x > 0),
}


@pytest.mark.parametrize("inputs", INPUTS)
def test_scores_and_probabilities_are_the_formula(inputs):
    decoder = SoftDecoder(WEIGHT, BIAS, inputs=inputs).with_confidence(Confidence(temperature=2.0))
    scores = BY_HAND[inputs](LOGITS.astype(np.float64)) @ WEIGHT.T + BIAS
    classes, found = decoder.top_k(Encoded(LOGITS, CODES), 50)
    np.testing.assert_allclose(found, -np.sort(-scores, axis=1), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(np.take_along_axis(scores, classes, 1), found, rtol=1e-4, atol=1e-4)
    expected = np.exp(scores / 2) / np.exp(scores / 2).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        decoder.proba(Encoded(LOGITS, CODES)), expected, rtol=1e-3, atol=1e-6
    )


def test_sure_bits_are_decoded_as_the_linear_decoder_does():
    sure = np.where(LOGITS > 0, 60, -60).astype(np.float32)
    soft, hard = SoftDecoder(WEIGHT, BIAS), LinearDecoder(WEIGHT, BIAS)
    assert np.array_equal(soft.predict(Encoded(sure, CODES)), hard.predict(Encoded(codes=CODES)))
    assert not np.array_equal(
        soft.predict(Encoded(LOGITS, CODES)), hard.predict(Encoded(codes=CODES))
    )


def test_on_a_codebook_it_minimizes_the_logistic_loss():
    """sum_j log(1 + exp(-s_j z_j)), by hand, and the posterior that goes with it."""
    signs = np.where(RNG.random((50, 12)) < 0.5, -1, 1)
    losses = np.logaddexp(0, -signs[None] * LOGITS[:, None].astype(np.float64)).sum(axis=2)
    decoder = SoftDecoder(signs / 2, np.zeros(50), inputs="logits")
    assert np.array_equal(decoder.predict(Encoded(LOGITS, CODES)), losses.argmin(axis=1))
    posterior = np.exp(-losses) / np.exp(-losses).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        decoder.proba(Encoded(LOGITS, CODES)), posterior, rtol=1e-3, atol=1e-7
    )


@pytest.mark.parametrize("inputs", INPUTS)
def test_infinite_logits_are_no_trouble(inputs):
    logits = np.array([[np.inf, -np.inf] * 6], dtype=np.float32)
    decoder = SoftDecoder(WEIGHT, BIAS, inputs=inputs)
    assert np.isfinite(decoder.top_k(Encoded(logits), 50)[1]).all()
    assert np.isfinite(decoder.proba(Encoded(logits))).all()


def test_blocks_do_not_change_the_answer(monkeypatch):
    decoder = SoftDecoder(WEIGHT, BIAS)
    whole = decoder.top_k(Encoded(LOGITS, CODES), 5)
    monkeypatch.setattr("dsnc.decoders.linear._BLOCK", 60)
    monkeypatch.setattr("dsnc.decoders.linear._MIN_ROWS", 3)
    classes, scores = decoder.top_k(Encoded(LOGITS, CODES), 5)
    assert np.array_equal(classes, whole[0])
    np.testing.assert_allclose(scores, whole[1], rtol=1e-5)


def test_what_cannot_work_is_named():
    with pytest.raises(InputError, match="inputs='logit' is not known. Did you mean 'logits'"):
        SoftDecoder(WEIGHT, BIAS, inputs="logit")
    with pytest.raises(InputError, match="logits is None"):
        SoftDecoder(WEIGHT, BIAS).predict(Encoded(codes=CODES))
    for wrong in (np.array([9], dtype=np.int8), np.array([-1], dtype=np.int8)):
        with pytest.raises(InputError, match="'inputs' is"):
            SoftDecoder.from_arrays(SoftDecoder(WEIGHT, BIAS).arrays() | {"inputs": wrong})
