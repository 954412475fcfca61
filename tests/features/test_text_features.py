import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

import oracles
from dsnc import _native
from dsnc.errors import InputError
from dsnc.features import TextFeatures, grams, points
from odd_texts import ANY_TEXT, SIZES, TEXTS, assert_canonical


def dense(rows, n_columns):
    result = np.zeros((len(rows), n_columns))
    for i, row in enumerate(rows):
        for column, weight in row.items():
            result[i, column] = weight
    return result


# Against the naive twin


@given(
    texts=st.lists(ANY_TEXT, min_size=1, max_size=8),
    others=st.lists(ANY_TEXT, max_size=5),
    words=SIZES,
    characters=SIZES,
    lowercase=st.booleans(),
    sublinear=st.booleans(),
    n_hashes=st.sampled_from([2**8, 2**20]),
    min_rows=st.integers(1, 3),
    max_features=st.sampled_from([1, 5, 70, 5000]),
)
def test_rows_are_those_of_the_naive_twin(
    level, texts, others, words, characters, lowercase, sublinear, **settings
):
    if words is None and characters is None:
        words = (1, 1)
    grams = [oracles.text_grams(text, words, characters, lowercase) for text in texts]
    features = TextFeatures(
        words=words,
        characters=characters,
        lowercase=lowercase,
        sublinear=sublinear,
        **settings,
    )
    if not any(grams):
        with pytest.raises(InputError, match="texts has a word"):
            features.fit(texts)
        return
    features.fit(texts)
    more = [oracles.text_grams(text, words, characters, lowercase) for text in others]
    buckets, rows = oracles.text_rows(grams, grams + more, sublinear=sublinear, **settings)
    assert features.buckets_.tolist() == buckets
    assert (features.n_features_, features.n_rows_) == (len(buckets), len(texts))
    matrix = features.transform(texts + others)
    assert_canonical(matrix)
    np.testing.assert_allclose(matrix.toarray(), dense(rows, len(buckets)), rtol=1e-5)


@given(texts=st.lists(ANY_TEXT, min_size=1, max_size=8), lowercase=st.booleans())
def test_a_text_gives_the_same_alone_and_in_a_block(level, texts, lowercase):
    features = TextFeatures(min_rows=1, lowercase=lowercase).fit([*texts, "a"])
    together = features.transform(texts).toarray()
    alone = [features.transform([text]).toarray() for text in texts]
    assert np.array_equal(together, np.concatenate(alone))


def test_many_blocks_and_threads(monkeypatch):
    rng = np.random.default_rng(0)
    vocabulary = ["nurse", "Ärztin", "σίγμας", "bus", "driver", "字", "x" * 40]
    texts = [" ".join(rng.choice(vocabulary, rng.integers(0, 9))) for _ in range(1500)]
    whole = TextFeatures().fit(texts)
    expected = whole.transform(texts)
    monkeypatch.setattr(points, "_ROWS", 50)
    monkeypatch.setattr(points, "_LENGTH", 300)
    cut = TextFeatures(n_jobs=3).fit(iter(texts))
    assert np.array_equal(cut.buckets_, whole.buckets_)
    assert np.array_equal(cut.idf_, whole.idf_)
    found = cut.transform(texts)
    assert_canonical(found)
    assert (found != expected).nnz == 0
    assert (cut.fit_transform(text for text in texts) != expected).nnz == 0


def test_rows_keep_their_order_whichever_thread_is_first(monkeypatch):
    texts = [f"nurse {i} ward {i % 7}" for i in range(400)]
    features = TextFeatures(min_rows=1).fit(texts)
    expected = features.transform(texts)
    monkeypatch.setattr("dsnc.features.fitted.in_threads", last_first)
    assert (features.transform(texts) != expected).nnz == 0


def last_first(work, n, n_jobs):
    """Do what `in_threads` does, the last rows first."""
    for start in range(n - n % 50, -1, -50):
        if start < n:
            work(slice(start, min(start + 50, n)))


def test_threads_share_the_features():
    texts = [f"nurse {i} ward {i % 7}" for i in range(2000)]
    features = TextFeatures(min_rows=1).fit(texts)
    expected = features.transform(texts)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(features.transform, [texts] * 16):
            assert (found != expected).nnz == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_hashes": 100}, "not a power of two"),
        ({"words": (0, 3)}, "do not ascend from 1 to 32"),
        ({"characters": (3, 33)}, "do not ascend from 1 to 32"),
        ({"buckets": np.array([3, 3], np.uint32)}, "buckets do not ascend"),
        ({"buckets": np.array([3, 64], np.uint32)}, "not below n_hashes"),
        ({"idf": np.ones(3, np.float32)}, "not as many weights"),
    ],
)
def test_the_core_refuses_what_leads_outside(change, message):
    settings = {"words": (1, 2), "characters": (1, 5), "lowercase": True, "sublinear": True}
    settings |= {"n_hashes": 64, "buckets": np.array([3, 4], np.uint32)}
    settings |= {"idf": np.ones(2, np.float32), **change}
    arrays = settings.pop("buckets"), settings.pop("idf")
    with pytest.raises(ValueError, match=message):
        _native.TextColumns(grams.Grams(**settings), points.read_others, *arrays)


@pytest.mark.parametrize("said", [("é", np.zeros(0x110000, np.uint8)), ("é\n", np.zeros(9, "u1"))])
def test_the_core_refuses_what_normalizing_may_not_return(said):
    some = grams.Grams((1, 1), (0, 0), True, True, 64)
    columns = _native.TextColumns(
        some, lambda texts, lowercase: said, np.array([1], np.uint32), np.ones(1, np.float32)
    )
    with pytest.raises(ValueError, match="missing"):
        columns.rows(["é"])


def test_scratch_is_left_clean():
    features = TextFeatures(min_rows=1).fit(TEXTS)
    first = features.transform(TEXTS).toarray()
    for _ in range(3):
        assert np.array_equal(features.transform(TEXTS[::-1]).toarray()[::-1], first)


@pytest.mark.parametrize(
    ("text", "settings", "bucket"),
    [
        ("nurse", {"words": (1, 1), "characters": None}, 4406634),
        ("night nurse", {"words": (2, 2), "characters": None}, 917364),
        ("nurse", {"words": None, "characters": (7, 7)}, 15138080),
        ("字", {"words": None, "characters": (7, 7)}, 5556300),
        ("🙂a", {"words": (1, 1), "characters": None}, 13365147),
    ],
)
def test_the_hash_is_the_same_for_ever(level, text, settings, bucket):
    """Model files hold buckets: these numbers must never change."""
    features = TextFeatures(n_hashes=2**24, **settings).fit([text])
    assert features.buckets_.tolist() == [bucket]


# Words


@pytest.mark.parametrize("analyzer", ["word", "char_wb"])
@pytest.mark.parametrize("sizes", [(1, 1), (2, 3), (3, 5), (4, 8)])
def test_the_same_n_grams_as_scikit_learn(analyzer, sizes):
    texts = [*TEXTS, "a b", "ab", "one two three four five", "abc straße", "été 12_3", "aaaa aaaa"]
    pattern = {"token_pattern": r"(?u)\b\w+\b"} if analyzer == "word" else {}
    vectorizer = CountVectorizer(analyzer=analyzer, ngram_range=sizes, dtype=np.float32, **pattern)
    folded = [text.casefold() for text in texts]
    counts = vectorizer.fit_transform(folded).toarray()
    kind = {"word": {"characters": None, "words": sizes}, "char_wb": {"words": None}}[analyzer]
    settings = {"characters": sizes, **kind}
    features = TextFeatures(min_rows=1, sublinear=False, n_hashes=2**26, **settings).fit(texts)
    assert features.n_features_ == counts.shape[1]
    rows = features.transform(texts).toarray() / features.idf_
    sums = rows.sum(axis=1, keepdims=True)
    rows *= counts.sum(axis=1, keepdims=True) / np.where(sums, sums, 1)
    np.testing.assert_allclose(
        np.sort(rows.round(3), axis=1), np.sort(counts, axis=1), rtol=1e-4, atol=1e-3
    )


def test_every_character_has_its_kind():
    kinds = points.all_kinds()
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if character.isalnum() or character == "_":
            expected = grams.WORD
        else:
            marked = oracles.unicodedata.category(character).startswith("M")
            expected = grams.MARK if marked else grams.BREAK
        if kinds[code] != expected:
            pytest.fail(f"U+{code:04X} is {kinds[code]}")


def test_ascii_has_its_kinds(level):
    for code in range(128):
        known = TextFeatures(words=(1, 1), characters=None, min_rows=1).fit([f"{chr(code)} word"])
        assert known.n_features_ == 1 + (points.all_kinds()[code] == grams.WORD)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Straße", "STRASSE"),
        ("ΟΔΟΣ οδος", "οδοσ ΟΔΟς"),
        ("e\u0301te\u0301", "été"),
        ("ﬁre １２", "fire 12"),
        ("a-b\nc\0d", "a b c d"),
        ("\u0301x", "x"),
        ("a 🙂\ufe0f b", "a b"),
    ],
)
def test_texts_that_mean_the_same(one, other):
    rows = TextFeatures(min_rows=1).fit_transform([one, other]).toarray()
    assert np.array_equal(rows[0], rows[1])


def test_marks_belong_to_their_word():
    features = TextFeatures(words=(1, 1), characters=None, min_rows=1).fit(["हिन्दी में"])
    assert sorted(sum(features.names(["हिन्दी में"]).values(), [])) == ["में", "हिन्दी"]


def test_case_is_kept_if_so_wished():
    assert TextFeatures(min_rows=1, words=(1, 1), characters=None).fit(["a A"]).n_features_ == 1
    cased = TextFeatures(min_rows=1, words=(1, 1), characters=None, lowercase=False).fit(["a A"])
    assert cased.n_features_ == 2


# Columns


def test_ties_go_to_the_lower_bucket():
    every = TextFeatures(min_rows=1, words=(1, 1), characters=None).fit(["a b c d", "d"])
    few = TextFeatures(min_rows=1, words=(1, 1), characters=None, max_features=2)
    few.fit(["a b c d", "d"])
    (d,) = TextFeatures(min_rows=1, words=(1, 1), characters=None).fit(["d"]).buckets_
    lowest = min(bucket for bucket in every.buckets_ if bucket != d)
    assert few.buckets_.tolist() == sorted([d, lowest])


def test_min_rows_gives_way_where_nothing_would_be_left():
    assert TextFeatures(min_rows=9, characters=(3, 5)).fit(["a", "b"]).n_features_ == 4
    assert TextFeatures(min_rows=2, characters=(3, 5)).fit(["a", "b", "b"]).n_features_ == 2


def test_names_say_what_a_column_is():
    features = TextFeatures(words=(1, 2), characters=(4, 4)).fit(["a nurse"] * 2)
    names = features.names(["a nurse", "A Nurse"])
    shown = sorted(sum(names.values(), []))
    assert shown == ["' a '", "' nur'", "'nurs'", "'rse '", "'urse'", "a", "a nurse", "nurse"]
    column = next(column for column, found in names.items() if found == ["nurse"])
    assert features.names(["nurse"], [column]) == {column: ["nurse"]}
    assert features.names(["nothing here"], [column]) == {}
    crowded = TextFeatures(words=(1, 1), characters=None, n_hashes=2**8, min_rows=1)
    sample = [" ".join(map(str, range(2000))), "7", "7 8"]
    for found in crowded.fit(sample).names(sample).values():
        assert 1 <= len(found) <= 3
    assert any(found[0] == "7" for found in crowded.names(sample).values())
