"""What every decoder promises, whatever it does inside."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders import (
    DECODERS,
    CodebookDecoder,
    Decoder,
    LinearDecoder,
    NearestDecoder,
    ScoresDecoder,
    ShortlistDecoder,
    SoftDecoder,
    TableDecoder,
    decoder_names,
)
from dsnc.decoders.changes import Change
from dsnc.decoders.confidence import Confidence
from dsnc.errors import InputError
from dsnc.persistence import read_model, write_model
from made_evidence import make_decoder, problem
from outside.weighted_hamming import WeightedHammingDecoder


def linear(rng, n_bits, n_classes):
    """Small whole numbers: scores are exact, and ties abound."""
    weight = rng.integers(-1, 2, size=(n_classes, n_bits))
    return LinearDecoder(weight, rng.integers(-1, 2, size=n_classes))


def codebook(rng, n_bits, n_classes):
    """Few of the bits differ: the same distance, and the same code, many times."""
    bits = rng.integers(0, 2, size=(n_classes, n_bits)) * (np.arange(n_bits) < 4)
    return CodebookDecoder(PackedCodes.from_bits(bits))


def scores(rng, n_bits, n_classes):
    return ScoresDecoder(n_bits, link=["softmax", "sigmoid"][rng.integers(2)])


def soft(rng, n_bits, n_classes):
    """Whole numbers in, whole numbers out: a sum has no roundings that company could change."""
    hard = linear(rng, n_bits, n_classes)
    inputs = ["logits", "relu"][rng.integers(2)]
    settings = {"inputs": inputs, **scoring(rng)}
    return SoftDecoder(hard.weight, hard.bias, **settings)


def scoring(rng):
    """Halves are exact as well."""
    return {"sharpness": float(rng.choice([0.5, 1, 2])), "prior": float(rng.choice([0, 0.5, 1]))}


def nearest(rng, n_bits, n_classes):
    """Few of the bits differ, as in a codebook; some classes have no code, others several."""
    n = int(rng.integers(1, 40))
    codes = PackedCodes.from_bits(rng.integers(0, 2, size=(n, n_bits)) * (np.arange(n_bits) < 6))
    votes = int(rng.integers(1, 5))
    labels = rng.integers(0, n_classes, n)
    return NearestDecoder(codes, labels, n_classes, n_neighbors=votes)


def table(rng, n_bits, n_classes):
    """Of few bits, from either source; soft scores tie where logits and weights are the same."""
    hard = linear(rng, min(n_bits, 9), n_classes)
    settings = {"probes": int(2 ** rng.integers(0, 9)), **scoring(rng)}
    if rng.integers(2):
        return TableDecoder.from_linear(hard, **settings)
    return TableDecoder.from_nearest(nearest(rng, hard.n_bits, n_classes), hard, **settings)


def shortlist(rng, n_bits, n_classes):
    """Few of the bits differ; every class has a code, some have several."""
    n = n_classes + int(rng.integers(0, 10))
    codes = PackedCodes.from_bits(rng.integers(0, 2, size=(n, n_bits)) * (np.arange(n_bits) < 6))
    labels = np.append(rng.permutation(n_classes), rng.integers(0, n_classes, n - n_classes))
    return ShortlistDecoder(
        linear(rng, n_bits, n_classes),
        codes,
        labels,
        size=int(rng.integers(1, 6)),
        closeness=float(rng.integers(0, 2)),
        **scoring(rng),
    )


def weighted_hamming(rng, n_bits, n_classes):
    """Whole weights, some of them 0."""
    bits = rng.integers(0, 2, size=(n_classes, n_bits)) * (np.arange(n_bits) < 6)
    return WeightedHammingDecoder(PackedCodes.from_bits(bits), rng.integers(0, 3, n_bits))


def confidence(rng):
    """How scores become probabilities: lines, and a curve that is flat at places."""
    end = np.cumsum(rng.integers(0, 3, 4)) - 2
    return Confidence(
        temperature=2.0,
        other=float(rng.integers(-3, 3)),
        odds=float(rng.integers(0, 3)),
        margin=float(rng.integers(0, 2)),
        offset=float(rng.integers(-2, 3)),
        odds_alone=float(rng.integers(0, 2)),
        offset_alone=float(rng.integers(-1, 3)),
        curve=((-2.0, -1.0, 1.0, 2.0), tuple(end.astype(float))),
    )


# One line for each member: something that makes an instance with many ties.
MAKERS = {
    "linear": linear,
    "codebook": codebook,
    "scores": scores,
    "soft": soft,
    "nearest": nearest,
    "table": table,
    "shortlist": shortlist,
}
OUTSIDE = {"weighted_hamming": WeightedHammingDecoder}
MAKERS["weighted_hamming"] = weighted_hamming
EACH = pytest.mark.parametrize("name", MAKERS)
SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module", autouse=True)
def registered():
    with pytest.MonkeyPatch.context() as patch:
        for name, kind in OUTSIDE.items():
            patch.setitem(DECODERS, name, kind)
        yield


def example(name, seed):
    """A decoder, and rows for it."""
    rng = np.random.default_rng(seed)
    n_bits, n_classes = int(rng.integers(1, 80)), int(rng.integers(1, 30))
    decoder = MAKERS[name](rng, n_bits, n_classes)
    if name != "scores":  # whose link makes probabilities
        decoder = decoder.with_confidence(confidence(rng))
    logits = rng.integers(-2, 3, size=(int(rng.integers(0, 12)), decoder.n_bits)).astype(np.float32)
    return decoder, Encoded(logits)


def test_every_member_is_held_to_the_contract():
    assert set(MAKERS) == set(DECODERS)


@EACH
def test_the_name_is_the_key(name):
    assert issubclass(DECODERS[name], Decoder)
    assert DECODERS[name].name == name


@EACH
@given(seed=SEEDS)
def test_the_best_come_first_and_ties_go_to_the_smaller_class(name, seed):
    decoder, encoded = example(name, seed)
    for k in {1, (decoder.n_classes + 1) // 2, decoder.n_classes}:
        classes, scores = decoder.top_k(encoded, k)
        assert classes.shape == scores.shape == (len(encoded), k)
        assert (classes.dtype, scores.dtype) == (np.int64, np.float32)
        for numbers, values in zip(classes.tolist(), scores.tolist(), strict=True):
            assert len(set(numbers)) == k
            assert set(numbers) <= set(range(decoder.n_classes))
            pairs = [(-value, number) for value, number in zip(values, numbers, strict=True)]
            assert pairs == sorted(pairs)


@EACH
@given(seed=SEEDS)
def test_fewer_are_the_first_of_more(name, seed):
    decoder, encoded = example(name, seed)
    classes, scores = decoder.top_k(encoded, decoder.n_classes)
    for k in range(1, decoder.n_classes):
        some_classes, some_scores = decoder.top_k(encoded, k)
        assert np.array_equal(some_classes, classes[:, :k])
        assert np.array_equal(some_scores, scores[:, :k])
    assert np.array_equal(decoder.predict(encoded), classes[:, 0])


@EACH
@given(seed=SEEDS)
def test_probabilities_agree_with_the_prediction(name, seed):
    decoder, encoded = example(name, seed)
    proba = decoder.proba(encoded)
    assert proba.shape == (len(encoded), decoder.n_classes)
    assert proba.dtype == np.float32
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-5)
    assert np.array_equal(proba.argmax(axis=1), decoder.predict(encoded))
    for k in (1, decoder.n_classes):
        answers, (classes, scores) = decoder.answers(encoded, k), decoder.top_k(encoded, k)
        assert np.array_equal(answers.classes, classes)
        assert np.array_equal(answers.scores, scores)
        assert np.array_equal(answers.probabilities, np.take_along_axis(proba, classes, axis=1))


@EACH
@given(seed=SEEDS)
def test_a_row_is_decoded_alike_in_any_company(name, seed):
    decoder, encoded = example(name, seed)
    together, _ = decoder.top_k(encoded, decoder.n_classes)
    for row in range(len(encoded)):
        rows = slice(row, row + 1)
        alone, _ = decoder.top_k(encoded.take(rows), decoder.n_classes)
        assert np.array_equal(alone[0], together[row])


@EACH
@given(seed=SEEDS)
def test_a_model_file_brings_back_the_same_decoder(name, seed, tmp_path_factory):
    decoder, encoded = example(name, seed)
    folder = tmp_path_factory.mktemp("decoder") / "model"
    write_model(folder, {"kind": "decoder"}, decoder.arrays())
    twin = DECODERS[name].from_arrays(read_model(folder)[1])
    assert (twin.n_bits, twin.n_classes, twin.cost()) == (
        decoder.n_bits,
        decoder.n_classes,
        decoder.cost(),
    )
    for mine, other in zip(
        decoder.top_k(encoded, decoder.n_classes),
        twin.top_k(encoded, decoder.n_classes),
        strict=True,
    ):
        assert np.array_equal(mine, other)
    assert np.array_equal(decoder.proba(encoded), twin.proba(encoded))


@EACH
@given(seed=SEEDS)
def test_confidence_stays_when_classes_vectors_or_candidates_change(name, seed):
    decoder, _ = example(name, seed)
    vectors = linear(np.random.default_rng(seed), decoder.n_bits, decoder.n_classes)
    others = [decoder.reaching(64)]
    if name in ("linear", "soft", "shortlist"):
        others.append(decoder.renewed(vectors))
    fits = name != "table" or decoder.n_classes <= 1 << decoder.n_bits
    if fits and name in ("linear", "soft", "shortlist", "nearest", "table"):
        others.append(decoder.with_classes(Change(np.arange(decoder.n_classes), vectors)))
    assert all(other.confidence == decoder.confidence for other in others)


@EACH
def test_arrays_that_are_not_its_own_are_refused(name):
    decoder, _ = example(name, 0)
    arrays = decoder.arrays()
    cls = DECODERS[name]
    for key, array in arrays.items():
        for wrong in (array.astype(np.complex64), array[None], array[:0], array.tolist(), None):
            with pytest.raises(InputError):
                cls.from_arrays(arrays | {key: wrong})
        others = {other: value for other, value in arrays.items() if other != key}
        with pytest.raises(InputError, match=key):
            cls.from_arrays(others)
    with pytest.raises(InputError, match="surplus"):
        cls.from_arrays(arrays | {"surplus": np.zeros(1)})


@EACH
@pytest.mark.parametrize("k", [0, -1, 10**6, True, 1.0, "1", None])
def test_a_number_of_classes_that_is_none_is_refused(name, k):
    decoder, encoded = example(name, 1)
    with pytest.raises(InputError, match="k="):
        decoder.top_k(encoded, k)


@EACH
def test_codes_of_another_width_are_refused(name):
    decoder, _ = example(name, 1)
    wider = np.ones((2, decoder.n_bits + 1), dtype=np.float32)
    message = f"codes have {decoder.n_bits + 1} bits"
    for use in (decoder.predict, decoder.proba, lambda encoded: decoder.top_k(encoded, 1)):
        with pytest.raises(InputError, match=message):
            use(Encoded(wider))


@EACH
def test_cost_is_counted(name):
    decoder, _ = example(name, 1)
    cost = decoder.cost()
    assert cost.operations > 0
    assert cost.bytes > 0


@pytest.mark.parametrize("name", [*decoder_names()[1:], *OUTSIDE])
def test_evidence_makes_it_and_what_it_says_of_itself_makes_it_again(name):
    evidence = problem()
    decoder, report = make_decoder(name, evidence)
    assert type(decoder) is DECODERS[name]
    assert (decoder.n_bits, decoder.n_classes) == (12, 30)
    assert report.settings.keys() <= DECODERS[name].settings.keys()
    again, second = make_decoder({"name": name, **report.settings}, evidence)
    assert (type(again), second.settings) == (type(decoder), report.settings)
    assert evidence.held_out.right(decoder).mean() > 0.3


@pytest.mark.parametrize("name", sorted(set(DECODERS) - set(decoder_names())))
def test_what_declares_no_settings_is_not_made_from_evidence(name):
    with pytest.raises(InputError, match=f"a '{name}' decoder cannot be made"):
        DECODERS[name].make(problem())
