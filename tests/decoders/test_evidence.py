"""What training leaves, what decoders still hold of it, and how they go on."""

import numpy as np
import pytest

from dsnc.codes import Encoded
from dsnc.decoders import CodebookDecoder, Evidence, HeldOut, LinearDecoder, ShortlistDecoder
from dsnc.decoders.confidence import Confidence
from dsnc.decoders.known_codes import weight_codes
from dsnc.errors import InputError
from dsnc.targets import Targets
from made_evidence import make_decoder, problem


@pytest.fixture(scope="module")
def evidence():
    return problem()


def some_rows(n):
    return HeldOut(Encoded(np.arange(2 * n).reshape(n, 2)), Targets(np.arange(n), n), np.arange(n))


def test_some_rows_are_taken():
    rows = some_rows(11)
    some = rows.take(6)
    assert len(set(some.targets.y.tolist())) == 6
    assert some.encoded.logits.tolist() == rows.encoded.logits[some.targets.y].tolist()
    assert some.encoded.codes == rows.encoded.codes.take(some.targets.y)
    assert some.weight.tolist() == some.targets.y.tolist()
    assert rows.take(11) is rows.take(99) is rows
    assert rows.take(0).targets.y.tolist() == [0]
    assert rows._replace(weight=None).take(3).weight is None


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 100, 1000, 4096, 7181])
def test_rows_are_all_over_them_and_fewer_are_the_first_of_more(n):
    rows = some_rows(n)
    every = rows.spread(n)
    assert sorted(every) == list(range(n))
    for some in {1, n // 3, n // 2, n - 1} - {0}:
        assert np.array_equal(rows.spread(some), every[:some])
        edges = np.concatenate([[0], np.sort(every[:some]), [n]])
        assert np.diff(edges).max() <= 3 * n / some + 1


def test_what_is_compared_was_tried_on_the_same_rows():
    rows = some_rows(100)
    is_even = rows.targets.y % 2 == 0
    few, more = (is_even[rows.take(n).targets.y] for n in (20, 50))
    for answers in ((few, more), (more, few), (few, is_even), (is_even, more), (is_even, is_even)):
        (one, other), weight = rows.common(*answers)
        n = min(map(len, answers))
        assert np.array_equal(one, other)
        assert np.array_equal(weight, rows.spread(n))
        assert np.array_equal(one, weight % 2 == 0)


def test_what_decoders_still_hold(evidence):
    for choice in ("linear", "soft", "shortlist", "table"):
        decoder, _ = make_decoder(choice, evidence)
        held = Evidence.left_by(decoder, None)
        assert type(held.linear) is LinearDecoder
        assert np.array_equal(held.linear.weight, evidence.linear.weight)
        assert np.array_equal(held.linear.bias, evidence.linear.bias)
        assert held.held_out is None
    assert Evidence.left_by(make_decoder("nearest", evidence)[0], None) is None


def test_a_shortlist_still_holds_training_codes_but_signs_of_weights_are_none(evidence):
    decoder, _ = make_decoder({"name": "shortlist", "known": "training"}, evidence)
    held = Evidence.left_by(decoder, None)
    nearest, _ = make_decoder("nearest", held)
    codes = evidence.held_out.encoded.codes
    assert np.array_equal(
        nearest.predict(Encoded(codes=codes)),
        make_decoder("nearest", evidence)[0].predict(Encoded(codes=codes)),
    )
    decoder, _ = make_decoder({"name": "shortlist", "known": "weights"}, evidence)
    with pytest.raises(InputError, match="has no training codes"):
        make_decoder("nearest", Evidence.left_by(decoder, None))


def test_what_codes_are_of_is_said_and_not_guessed(evidence):
    """A code of each class in their order may well be of training rows; a file keeps the word."""
    codes, labels = weight_codes(evidence.linear)
    for codes_of, is_known in [("training", True), ("weights", False)]:
        decoder = ShortlistDecoder(evidence.linear, codes, labels, codes_of=codes_of)
        for either in (decoder, ShortlistDecoder.from_arrays(decoder.arrays())):
            assert either.codes_of == codes_of
            assert (either.evidence().codes is not None) == is_known
    arrays = decoder.arrays() | {"codes_of": np.array([3], dtype=np.int8)}
    with pytest.raises(InputError, match="'codes_of' is 3"):
        ShortlistDecoder.from_arrays(arrays)


def test_weights_that_were_trained_further_keep_the_settings(evidence):
    moved = LinearDecoder(evidence.linear.weight[::-1], evidence.linear.bias + 1)
    for choice in ("linear", "soft"):
        decoder, _ = make_decoder(choice, evidence)
        again = decoder.renewed(moved)
        assert type(again) is type(decoder)
        assert np.array_equal(again.weight, moved.weight)
        assert again.confidence == decoder.confidence != Confidence()
    for known in ("weights", "training"):
        decoder, _ = make_decoder({"name": "shortlist", "known": known, "size": 9}, evidence)
        again = decoder.renewed(moved)
        assert again.linear is moved
        assert again.codes == weight_codes(moved)[0]
        names = ["size", "flips", "closeness", "confidence"]
        assert all(getattr(again, name) == getattr(decoder, name) for name in names)
        assert again.size == 9


def test_decoders_that_need_the_codes_of_all_rows_cannot_be_trained_further(evidence):
    codebook = CodebookDecoder(weight_codes(evidence.linear)[0])
    decoders = [make_decoder(name, evidence)[0] for name in ("nearest", "table")]
    for decoder in (*decoders, codebook):
        with pytest.raises(
            InputError, match=f"'{decoder.name}' decoder needs the codes of all row"
        ):
            decoder.renewed(evidence.linear)


def test_where_a_class_is_among_those_of_its_row():
    rows = HeldOut(Encoded([[1.0], [2.0], [3.0]]), Targets(np.array([4, 5, 6]), 10))
    assert rows.places(np.array([[4, 1], [9, 5], [1, 2]])).tolist() == [0, 1, -1]


def test_vectors_beside_a_decoder_say_what_its_own_are(evidence):
    decoder, _ = make_decoder("soft", evidence)
    other = LinearDecoder(decoder.weight + 1, decoder.bias)
    known = Evidence.left_by(decoder, other)
    assert known.linear is other
    codebook = CodebookDecoder(weight_codes(evidence.linear)[0])
    assert Evidence.left_by(codebook, other).linear is other
