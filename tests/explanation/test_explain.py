"""All terms add up to the lead, whatever the decoder, the encoder and the second stage."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dsnc import DSNCClassifier
from dsnc.codes import Encoded
from dsnc.decoders import ScoresDecoder, SoftDecoder
from dsnc.encoders import Layer, NumpyEncoder
from dsnc.errors import InputError
from dsnc.explanation import explain
from dsnc.explanation.first_stage import CLASS_BIAS, DOUBT, NO_CODE, VOTES, first_stage
from dsnc.labels import Labels
from dsnc.predictor import Predictor
from made_predictors import DECODERS, ENCODERS, LABELS, N_FEATURES, RERANKERS, make, reranker, rows

NOT_OF_BITS = (CLASS_BIAS, DOUBT, NO_CODE, VOTES)
ROUNDED = ("linear", "nearest", "nearest of one", "nearest five", "codebook")


def assert_adds_up(predictor, X, explanations):
    scores = predictor.top_k(X, 2)[1]
    for explanation, (best, second) in zip(explanations, scores, strict=True):
        values = [term.value for term in explanation.terms]
        assert sum(values) == pytest.approx(explanation.lead, rel=1e-4, abs=1e-4)
        if explanation.candidates[1].found:
            assert explanation.lead == pytest.approx(best - second, rel=1e-5, abs=1e-5)
        of_bits = sum(bit.part for bit in explanation.bits)
        shared = sum(term.first for term in explanation.terms if term.name not in NOT_OF_BITS)
        assert shared == pytest.approx(of_bits, rel=1e-4, abs=1e-4)
        assert np.all(np.diff(np.abs(values)) <= 0)


@pytest.mark.parametrize("second", RERANKERS)
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("decoder", DECODERS)
def test_terms_add_up(decoder, encoder, second):
    for sparse in (False, True) if encoder in ("linear", "unit") else (False,):
        predictor, rng = make(decoder, encoder, second, seed=1 + sparse)
        X = rows(rng, sparse=sparse)
        found = explain(predictor, X, LABELS)
        assert_adds_up(predictor, X, found)
        numbers, shares = predictor.top_k_proba(X, 10)
        for explanation, best in zip(found, LABELS.of(numbers).tolist(), strict=True):
            labels = [candidate.label for candidate in explanation.candidates]
            assert 2 <= len(labels) <= 10
            assert labels == best[: len(labels)]
            assert all(candidate.found for candidate in explanation.candidates[2:])
        assert [e.probability for e in found] == pytest.approx(shares[:, 0].tolist())
        bits = predictor.encode(X).to_bits().astype(int)
        assert [e.code for e in found] == ["".join(map(str, row)) for row in bits]
        names = {term.name for e in found for term in e.terms}
        hard = decoder in ROUNDED and encoder in ("linear", "unit")
        assert ("rounding of the bits" in names) == hard
        kinds = {term.kind for e in found for term in e.terms}
        assert ("bit" in kinds) == (encoder in ("mlp", "module"))
        assert ("feature" in kinds) == ("bit" not in kinds or any(e.second_stage for e in found))


@given(st.integers(0, 2**32 - 1), st.sampled_from(list(DECODERS)), st.sampled_from([1e-6, 1, 1e4]))
def test_terms_add_up_for_tiny_and_large_rows(seed, decoder, scale):
    predictor, rng = make(decoder, "linear", "yes", seed)
    X = scale * rows(rng)
    found = explain(predictor, X, LABELS)
    scores = predictor.top_k(X, 2)[1]
    for explanation, (best, second) in zip(found, scores, strict=True):
        size = sum(abs(term.value) for term in explanation.terms) + 1
        assert sum(t.value for t in explanation.terms) == pytest.approx(
            explanation.lead, abs=1e-4 * size
        )
        if explanation.candidates[1].found:
            assert explanation.lead == pytest.approx(best - second, abs=1e-4 * size)


def test_features_share_bits_and_have_their_part_of_the_second_stage():
    predictor, rng = make("soft", "linear", "of unit rows")
    X, second = rows(rng)[:1], predictor.reranker
    found = explain(predictor, X, LABELS)[0]
    winner, runner = predictor.top_k(X, 2)[0][0]
    layer, decoder, x = predictor.encoder.layers[0], predictor.decoder, X[0]
    matrix, length = second.vectors.matrix().toarray(), np.linalg.norm(x)
    logits = x @ layer.weight + layer.bias
    worth = np.tanh(0.7 * logits) / logits * (decoder.weight[winner] - decoder.weight[runner])
    assert found.second_stage
    for term in found.terms:
        if term.kind == "feature":
            j = term.feature
            exact = (matrix[winner, j] - matrix[runner, j]) * x[j] / length
            assert term.second == pytest.approx(exact, abs=1e-6)
            assert term.first == pytest.approx(second.mix * x[j] * layer.weight[j] @ worth)
            assert term.name == f"feature {j}"
    others = {term.name: term.value for term in found.terms if term.kind == "other"}
    biases = decoder.bias[winner] - decoder.bias[runner]
    assert others == pytest.approx(
        {
            "bias of the bits": second.mix * layer.bias @ worth,
            "bias of the classes": second.mix * 0.5 * biases,
            "bias of the class vectors": second.vectors.bias[winner] - second.vectors.bias[runner],
        }
    )
    assert [bit.sureness for bit in found.bits] == pytest.approx(1 / (1 + np.exp(-np.abs(logits))))
    margins = second.margins(Encoded(logits[None], source=(X, slice(0, 1))), np.arange(14)[None])
    for candidate in found.candidates[:8]:
        number = LABELS.find(np.array([candidate.label]))[0]
        assert candidate.margin == pytest.approx(margins[0, number], abs=1e-5)
        assert candidate.score == pytest.approx(0.4 * candidate.first + candidate.margin, abs=1e-5)


def test_a_sure_row_is_explained_by_the_first_stage_alone():
    predictor, rng = make("soft")
    sure = Predictor(predictor.encoder, predictor.decoder, reranker=reranker(rng, reach=0.0))
    X = rows(rng)[:2]
    assert [e.terms for e in explain(sure, X, LABELS)] == [
        e.terms for e in explain(predictor, X, LABELS)
    ]
    assert not explain(sure, X, LABELS)[0].second_stage


def test_a_bit_that_hangs_in_the_balance_gives_no_feature_a_large_share():
    encoder = NumpyEncoder([Layer([[1.0], [-1.0]], [0.0])])
    decoder = SoftDecoder([[1.0], [-1.0]], [0.1, 0.0])
    labels = Labels(np.array(["a", "b"]))
    for X in ([[5.0, 5.0]], [[5.0, 5.0 - 1e-6]]):
        found = explain(Predictor(encoder, decoder), np.array(X), labels)[0]
        shares = {term.name: term.value for term in found.terms}
        assert shares["feature 0"] == pytest.approx(5, rel=1e-3)
        assert shares["feature 1"] == pytest.approx(-5, rel=1e-3)


def test_a_hard_bit_that_hangs_in_the_balance_is_rounded():
    predictor, _ = make("linear")
    encoder = NumpyEncoder([Layer(np.eye(N_FEATURES, 10), np.zeros(10))])
    found = explain(Predictor(encoder, predictor.decoder), np.zeros((1, N_FEATURES)), LABELS)[0]
    names = [term.name for term in found.terms]
    assert sorted(names) == ["bias of the classes", "rounding of the bits"]


def test_entries_in_two_pieces_are_one():
    predictor, _ = make("soft", "linear", "yes")
    pieces = sp.csr_matrix(([1.0, 2.0, 0.5], [3, 3, 1], [0, 3]), shape=(1, N_FEATURES))
    whole = np.zeros((1, N_FEATURES))
    whole[0, [1, 3]] = 0.5, 3
    ours, theirs = (explain(predictor, X, LABELS)[0].terms for X in (pieces, whole))
    assert [t.value for t in ours] == pytest.approx([t.value for t in theirs])
    assert pieces.nnz == 3  # the user's matrix is as it was


def test_one_class_has_no_runner_up():
    predictor = Predictor(NumpyEncoder([Layer([[1.0]], [0.0])]), SoftDecoder([[1.0]], [0.0]))
    found = explain(predictor, np.ones((1, 1)), Labels(np.array(["only"])))[0]
    assert (found.label, found.runner_up, found.terms, found.lead) == ("only", None, (), 0.0)
    assert "no other class" in str(found)


def test_names_and_numbers_of_features():
    predictor, rng = make()
    X = rows(rng)[:1]
    names = [f"column {j}" for j in range(N_FEATURES)]
    terms = explain(predictor, X, LABELS, names=names)[0].terms
    assert {t.name for t in terms if t.feature == 0} == {"column 0"}
    terms = explain(predictor, X, LABELS, first_index=1)[0].terms
    assert {t.name for t in terms if t.feature == 0} == {"feature 1"}


class Changed(SoftDecoder):
    """A decoder of a user's, which is not what it says to be."""

    name = "changed"

    def _inputs(self, encoded):
        return super()._inputs(encoded) ** 2


def test_a_decoder_that_scores_in_a_way_of_its_own_is_refused():
    predictor, rng = make()
    own = Changed(predictor.decoder.weight, predictor.decoder.bias)
    with pytest.raises(InputError, match="decoder 'changed' cannot be explained"):
        explain(predictor.with_decoder(own), rows(rng), LABELS)


@pytest.mark.parametrize("decoder", ["soft", "linear", "shortlist"])
def test_numbers_that_no_float_holds(decoder):
    predictor, _ = make(decoder)
    X = 1e300 * np.eye(1, N_FEATURES)  # its logits are infinite, and its bits are right
    found = explain(predictor, X, LABELS)
    assert [e.label for e in found] == LABELS.of(predictor.predict(X)).tolist()
    assert_adds_up(predictor, X, found)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_numbers_that_no_second_stage_can_add():
    predictor, _ = make("soft", second="yes")
    with pytest.raises(InputError, match=r"X\[1\] cannot be explained: its values are too large"):
        explain(predictor, 1e300 * np.eye(2, N_FEATURES) * [[0.0], [1.0]], LABELS)


def test_wrong_uses():
    predictor, _ = make()
    with pytest.raises(InputError, match=r"X has 1,001 rows; explain accepts at most 1,000"):
        explain(predictor, np.zeros((1001, N_FEATURES)), LABELS)
    with pytest.raises(InputError, match="X has 3 features; the model was made for 9"):
        explain(predictor, np.zeros((1, 3)), LABELS)
    with pytest.raises(InputError, match="trained on rows of numbers"):
        explain(predictor, ["a text"], LABELS)
    with pytest.raises(InputError, match="decoder 'scores' cannot be explained"):
        first_stage(ScoresDecoder(3), np.zeros(3, np.float32), (0, 1), 0.0)


@pytest.mark.parametrize(("text", "n"), [("x" * 50_001, "50,001"), ("\ufdfa" * 4_000, "72,000")])
def test_a_text_that_would_take_too_long_is_refused(text, n):
    texts = ["night nurse", "bus driver"] * 10
    model = DSNCClassifier(n_bits=4, max_epochs=1, validation_fraction=0).fit(texts, texts)
    with pytest.raises(InputError, match=rf"X\[1\] has {n} characters; explain accepts at most"):
        model.explain(["nurse", text])
