import random
import time
import tracemalloc
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsnc.features import TextFeatures
from dsnc.features.points import _marks, normalized

MARKS = "\u0301\u0316\u0345\u093f\u0f73\uff9e\ufe0f"
RUNS = st.tuples(st.sampled_from("aé字 \n"), st.text(MARKS, max_size=75)).map("".join)


def with_short_runs(text):
    kept, run = [], 0
    for character in text:
        is_mark = unicodedata.combining(unicodedata.normalize("NFKD", character)[0])
        run = run + 1 if is_mark else 0
        kept += [character] if run <= 30 else []
    return "".join(kept)


@given(text=st.lists(RUNS | st.text(MARKS, max_size=40), max_size=5).map("".join))
def test_thirty_marks_stay_and_more_are_left_out(text):
    assert normalized(text, lowercase=False) == unicodedata.normalize("NFKC", with_short_runs(text))


def test_whatever_is_sorted_is_a_mark():
    marks = _marks()[0]
    for code in range(0x110000):
        if chr(code) not in marks and not 0xD800 <= code < 0xE000:
            first = unicodedata.normalize("NFKD", chr(code))[0]
            assert not unicodedata.combining(first), hex(code)


def test_a_long_text_is_normalized_in_pieces_as_the_whole():
    joining = "\u1100\u1161\u11a8\u3131\u314f\uffa1\uffc2\u0bc6\u0bbe\u30ab\uff9ee\u0301\ufdfa x\n"
    text = "".join(random.Random(0).choices(joining, k=300_000))
    assert normalized(text, lowercase=False) == unicodedata.normalize("NFKC", text)


def test_cases_are_folded_in_pieces_as_in_the_whole():
    text = "".join(random.Random(0).choices("ẞßſΣςİIıéÉ\u0345\u0301Ǆ\ufb01x\n", k=50_000))
    whole = unicodedata.normalize("NFKC", text).casefold()
    assert normalized(text, lowercase=True) == whole


def test_a_text_that_becomes_longer_takes_little_beside_the_result():
    normalized("\ufdfa", lowercase=True)  # the tables are made once
    tracemalloc.start()
    size = len(normalized("\ufdfa" * 100_000, lowercase=True))  # each becomes 18 characters
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * 2 * size  # the pieces, and what they make together; two bytes a character


@pytest.mark.parametrize("some", ["\u0301\u0316", "\u0f73", "\uff9e\u0316", "\u0345\u0301\u093c"])
def test_endless_marks_take_no_endless_time(some):
    n = 400_000  # pairs of them take Python minutes, in one call that nothing stops
    texts = ["ba" + "".join(mark * (n // len(some)) for mark in some), "ba" + some * n, some * n]
    features = TextFeatures(min_rows=1).fit(["ba"])
    start = time.perf_counter()
    features.transform(texts)
    assert time.perf_counter() - start < 5


def test_a_text_with_too_many_marks_gives_the_same_alone_and_among_others():
    texts = ["a" + "\u0301\u0316" * 20, "\u0316" * 40 + "b", "c"]
    features = TextFeatures(min_rows=1).fit(texts)
    alone = [features.transform([text]).toarray() for text in texts]
    assert np.array_equal(features.transform(texts).toarray(), np.concatenate(alone))
    assert {name for text in texts for name in sum(features.names([text]).values(), [])}
