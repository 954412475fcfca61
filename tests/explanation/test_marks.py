"""N-grams stand where they are marked, in every script."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsnc.explanation.marks import mark, shades
from dsnc.features import TextFeatures
from dsnc.features.naming import grams_of, placed_grams, placed_words
from dsnc.features.points import normalized

TEXTS = [
    "Night nurse",
    "night shift",
    "ward nurse\x1fnurse",
    "Straße",
    "cafe\u0301",
    "가\u1100\u1161",
]


@pytest.fixture(scope="module")
def features():
    return TextFeatures(min_rows=1).fit(TEXTS * 2)


def columns_of(features, text):
    return features.rows([text]).indices.tolist()


@given(st.text(st.sampled_from("aB ßǅé\u0301한\u1100\u1161ﬁ²\x1f\n_-.٣\u0940क"), max_size=12))
def test_an_n_gram_is_what_stands_there(text):
    grams = TextFeatures(min_rows=1)._grams()
    clean = normalized(text, lowercase=True)
    names = []
    for name, bucket, start, stop in placed_grams(clean, grams):
        names.append((name, bucket))
        there = clean[start:stop]
        if name.startswith("'"):
            assert name.strip("'").strip() == there
        else:
            assert name.split()[0] == there[: len(name.split()[0])]
            assert there.endswith(name.split()[-1])
    assert names == list(grams_of(text, grams))


@pytest.mark.parametrize("text", TEXTS[:5])
def test_marks_belong_to_the_characters_of_the_text(features, text):
    columns = columns_of(features, text)
    shown, marks, names = mark(text, features, dict.fromkeys(columns, 1.0))
    assert shown == text
    assert len(marks) == len(text)
    assert set(names) == set(columns)
    for character, value in zip(text, marks, strict=True):
        if character.isalnum():
            assert value > 0


def test_a_word_is_marked_where_it_is(features):
    text = "Night, nurse!"
    columns = columns_of(features, text)
    names = mark(text, features, dict.fromkeys(columns, 0.0))[2]
    nurse = next(column for column, name in names.items() if name == "nurse")
    _, marks, _ = mark(text, features, {nurse: 2.0})
    assert marks == (0.0,) * 7 + (2.0,) * 5 + (0.0,)


def test_what_is_repeated_shares_its_column(features):
    columns = columns_of(features, "nurse nurse")
    names = mark("nurse nurse", features, dict.fromkeys(columns, 0.0))[2]
    nurse = next(column for column, name in names.items() if name == "nurse")
    assert mark("nurse nurse", features, {nurse: 2.0})[1] == (*(1.0,) * 5, 0.0, *(1.0,) * 5)


def test_letters_that_only_a_whole_text_composes_are_shown_as_normalized(features):
    text = TEXTS[-1]
    shown, marks, _ = mark(text, features, dict.fromkeys(columns_of(features, text), 1.0))
    assert shown == normalized(text, lowercase=True) != text
    assert len(marks) == len(shown)


def test_shades():
    assert shades("", ()) == []
    assert shades("ab", (0.0, 0.0)) == [("ab", 0)]
    assert shades("a\x1fb", (0.01, 0.02, -1.0)) == [("a | ", 0), ("b", -4)]


def test_long_words_take_time_in_proportion(features):
    text = "e\u0301\u0316" + 300_000 * "\u0301"
    seconds = []
    for part in (text[: len(text) // 4], text):
        start = time.perf_counter()
        mark(part, features, {0: 1.0})
        assert placed_words(20 * part)
        seconds.append(time.perf_counter() - start)
    assert seconds[1] < 9 * seconds[0] + 1
