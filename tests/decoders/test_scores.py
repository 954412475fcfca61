import numpy as np
import pytest

from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders import ScoresDecoder
from dsnc.decoders.scores import LINKS
from dsnc.errors import InputError

LOGITS = (2 * np.random.default_rng(0).normal(size=(30, 40))).astype(np.float32)
CODES = PackedCodes.from_logits(LOGITS)


def test_the_largest_output_wins():
    classes, scores = ScoresDecoder(40).top_k(Encoded(LOGITS, CODES), 40)
    assert np.array_equal(classes, np.argsort(-LOGITS, axis=1))
    assert np.array_equal(scores, -np.sort(-LOGITS, axis=1))


def test_probabilities_are_the_formula():
    exact = LOGITS.astype(np.float64)
    softmax = np.exp(exact) / np.exp(exact).sum(axis=1, keepdims=True)
    sigmoid = 1 / (1 + np.exp(-exact))
    margin = np.maximum((1 + exact) / 2, 0)
    for link, expected in (
        ("softmax", softmax),
        ("sigmoid", sigmoid / sigmoid.sum(axis=1, keepdims=True)),
        ("margin", margin / margin.sum(axis=1, keepdims=True)),
    ):
        found = ScoresDecoder(40, link=link).proba(Encoded(LOGITS, CODES))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-20)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(
    "row",
    [[200, 300, 250], [-300, -200, -250], [-3, -1, -2], [np.inf, 0, -np.inf], [-np.inf] * 3],
)
def test_extreme_scores_keep_their_order(link, row):
    logits = np.array([row], dtype=np.float32)
    codes = PackedCodes.from_logits(logits)
    decoder = ScoresDecoder(3, link=link)
    proba = decoder.proba(Encoded(logits, codes))
    assert np.isfinite(proba).all()
    assert proba.argmax() == decoder.predict(Encoded(logits, codes))[0] == np.argmax(row)


def test_what_cannot_work_is_named():
    with pytest.raises(InputError, match="link='probit' is not known"):
        ScoresDecoder(3, link="probit")
    with pytest.raises(InputError, match="n_classes=0 must be"):
        ScoresDecoder(0)
    with pytest.raises(InputError, match="logits is None"):
        ScoresDecoder(40).predict(Encoded(codes=CODES))
