import copy
import pickle
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

import dsnc
import oracles
from dsnc.errors import InputError
from dsnc.features import TextFeatures, grams, points

TEXTS = ["night nurse", "Nurse in a ward", "bus driver", "truck driver", "the the bus"]
ODD = [  # letters of every kind that a step could treat in a way of its own
    *"aAbB019_ .-\n\r\t\0ßſİıΣσςΐ🙂字é",
    "e\u0301",
    "\u0301",
    "\u0345",
    "\ufe0f",
    "\u200d",
    "\u1100",
    "\u1161",
    "हिन्दी",
    "\ud800",
    "\udc00",
    "ﬁ",
    "½",
    "\u2028",
    "\U0001d49c",
    "\U000e0100",
    "x" * 70,
]
ANY_TEXT = st.lists(st.sampled_from(ODD), max_size=12).map("".join) | st.text(max_size=20)
SIZES = st.none() | st.tuples(st.integers(1, 6), st.integers(0, 4)).map(lambda p: (p[0], sum(p)))


def dense(rows, n_columns):
    result = np.zeros((len(rows), n_columns))
    for i, row in enumerate(rows):
        for column, weight in row.items():
            result[i, column] = weight
    return result


def assert_canonical(matrix):
    assert type(matrix) is sp.csr_matrix
    assert matrix.dtype == np.float32
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    checked = sp.csr_matrix((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    checked.check_format(full_check=True)
    assert checked.has_canonical_format


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
    texts, others, words, characters, lowercase, sublinear, **settings
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
def test_a_text_gives_the_same_alone_and_in_a_block(texts, lowercase):
    features = TextFeatures(min_rows=1, lowercase=lowercase).fit([*texts, "a"])
    together = features.transform(texts).toarray()
    alone = [features.transform([text]).toarray() for text in texts]
    assert np.array_equal(together, np.concatenate(alone))


def test_many_blocks_and_threads(monkeypatch):
    rng = np.random.default_rng(0)
    vocabulary = ["nurse", "Ärztin", "σίγμας", "bus", "driver", "字", "x" * 40]
    texts = [" ".join(rng.choice(vocabulary, rng.integers(0, 9))) for _ in range(700)]
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


def test_another_thread_may_take_the_last_scratch():
    class TakenMeanwhile(list):
        def __bool__(self):
            return True

    features = TextFeatures(min_rows=1).fit(TEXTS)
    expected = features.transform(TEXTS)
    features._columns()._spare = TakenMeanwhile()
    assert (features.transform(TEXTS) != expected).nnz == 0


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
def test_the_hash_is_the_same_for_ever(text, settings, bucket):
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
    assert np.array_equal(points._ascii_kinds(), kinds[:128])


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
    assert TextFeatures(min_rows=9).fit(["a", "b"]).n_features_ == 4
    assert TextFeatures(min_rows=2).fit(["a", "b", "b"]).n_features_ == 2


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


# Manners


def test_it_is_a_transformer():
    features = TextFeatures(words=(1, 3), max_features=100)
    assert clone(features).get_params() == features.get_params()
    model = make_pipeline(TextFeatures(), MultinomialNB()).fit(TEXTS, [0, 0, 1, 1, 1])
    assert model.predict(["nurse", "driver"]).tolist() == [0, 1]
    expected = features.fit(TEXTS).transform(TEXTS)
    for other in (pickle.loads(pickle.dumps(features)), copy.deepcopy(features)):
        assert (other.transform(TEXTS) != expected).nnz == 0
    assert not any("cached" in name for name in features.__getstate__())
    features.fit(["other texts"] * 2)
    assert features.transform(["texts"]).shape == (1, features.n_features_)


@pytest.mark.parametrize(
    "changes",
    [
        {"characters": (5, 3)},
        {"words": (9, 1), "characters": None},
        {"words": None},
        {"words": (1, 32), "characters": (1, 32)},
        {"n_hashes": 2**8},
        {"lowercase": False, "sublinear": False},
        {"min_rows": -1, "max_features": 1},
    ],
)
@pytest.mark.parametrize("used_before", [False, True])
def test_changed_parameters_count_at_the_next_fit(changes, used_before):
    texts = [*TEXTS, "A b c d e f " * 2000]
    untouched = TextFeatures(min_rows=1).fit(TEXTS)
    expected, names = untouched.transform(texts), untouched.names(TEXTS)
    features = TextFeatures(min_rows=1).fit(TEXTS)
    if used_before:
        features.transform(texts)
    features.set_params(**changes)
    again = TextFeatures.from_arrays(features.arrays())
    assert again.get_params() == untouched.get_params()
    for other in (features, pickle.loads(pickle.dumps(features)), again):
        assert (other.transform(texts) != expected).nnz == 0
        assert other.names(TEXTS) == names
    if changes == {"words": None}:
        fresh = TextFeatures(min_rows=1, words=None).fit(TEXTS)
        assert (features.fit(TEXTS).transform(texts) != fresh.transform(texts)).nnz == 0


def test_sizes_are_taken_as_they_were_at_fit():
    sizes = [1, 2]
    features = TextFeatures(min_rows=1, words=sizes).fit(TEXTS)
    expected = features.transform(TEXTS)
    sizes[:] = [32, 1]
    other = pickle.loads(pickle.dumps(features))
    assert (other.transform(TEXTS) != expected).nnz == 0


class Series:
    """As pandas has it, for our purposes."""

    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)

    def tolist(self):
        return self.items


@pytest.mark.parametrize(
    "make",
    [tuple, np.array, lambda t: np.array(t, dtype=object), iter, Series, lambda t: map(str, t)],
)
def test_any_iterable_of_texts(make):
    expected = TextFeatures().fit(TEXTS)
    assert np.array_equal(TextFeatures().fit(make(TEXTS)).buckets_, expected.buckets_)
    assert (expected.transform(make(TEXTS)) != expected.transform(TEXTS)).nnz == 0


def test_no_texts_make_no_rows():
    features = TextFeatures().fit(TEXTS)
    empty = features.transform([])
    assert empty.shape == (0, features.n_features_)
    assert_canonical(empty)
    assert features.transform([""]).nnz == 0


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("nurse", r"texts is one string; pass a list, such as \[text\]"),
        (b"nurse", "texts is one string; pass a list"),
        (["a", None], r"texts\[1\] is None, a NoneType; give missing texts as ''"),
        (["a", "b", float("nan")], r"texts\[2\] is nan, a float; give missing texts as ''"),
        (["a", 3], r"texts\[1\] is 3, a int; convert it with str\(\)"),
        ([b"a"], r"texts\[0\] is b'a'?, a bytes"),
        ([["a"]], r"texts\[0\] is \['a'\], a list"),
        (3, "texts is a int; pass a list of str"),
        ({"a": 1}, "texts is a dict; pass a list of str"),
        (np.eye(2), r"texts is an array of shape \(2, 2\) and type float64"),
        (sp.eye(2).tocsr(), "texts is a csr_matrix|texts is a dia_matrix"),
    ],
)
def test_what_is_no_list_of_texts(texts, message):
    fitted = TextFeatures().fit(TEXTS)
    for method in (TextFeatures().fit_transform, fitted.transform, fitted.names):
        with pytest.raises(InputError, match=message):
            method(texts)


def test_a_wrong_item_is_named_by_its_row_in_any_block(monkeypatch):
    monkeypatch.setattr(points, "_ROWS", 50)
    texts = ["a"] * 300
    features = TextFeatures(n_jobs=2).fit(texts)
    texts[260] = None
    for method in (features.transform, features.fit):
        with pytest.raises(InputError, match=r"texts\[260\] is None"):
            method(texts)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"words": (2, 1)}, r"words=\(2, 1\) is not a range of n-grams"),
        ({"words": (0, 1)}, r"words=\(0, 1\) is not a range"),
        ({"words": 2}, "words=2 is not a range"),
        ({"words": (1, 2.0)}, "is not a range"),
        ({"characters": (3, 33)}, r"characters=\(3, 33\) .* from 1 to 32, or None"),
        ({"characters": "35"}, "characters='35' is not a range"),
        ({"words": None, "characters": None}, "leave no n-grams"),
        ({"n_hashes": 1000}, r"n_hashes=1000 is not a power of two from 2\*\*8 to 2\*\*28"),
        ({"n_hashes": 2**29}, "is not a power of two"),
        ({"n_hashes": 2.0**20}, "n_hashes=1048576.0 must be a whole number"),
        ({"min_rows": 0}, "min_rows=0 must be a whole number, 1 or more"),
        ({"max_features": None}, "max_features=None must be a whole number"),
        ({"max_features": True}, "max_features=True must be a whole number"),
        ({"lowercase": "yes"}, "lowercase='yes' is not True or False"),
        ({"sublinear": 1}, "sublinear=1 is not True or False"),
        ({"n_jobs": 0}, "n_jobs=0 is not a number of threads"),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(InputError, match=message):
        TextFeatures(**settings).fit(TEXTS)


def test_nothing_to_learn_from():
    with pytest.raises(InputError, match="texts is empty"):
        TextFeatures().fit([])
    with pytest.raises(InputError, match="none of the 2 texts has a word"):
        TextFeatures().fit(["", "- !"])
    for method in ("transform", "names"):
        with pytest.raises(NotFittedError):
            getattr(TextFeatures(), method)(TEXTS)
    with pytest.raises(NotFittedError):
        TextFeatures().arrays()


# Files


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"words": None, "lowercase": False},
        {"characters": None, "sublinear": False, "n_hashes": 2**8, "min_rows": 1},
    ],
)
def test_arrays_come_back(settings):
    features = TextFeatures(**settings).fit(TEXTS)
    arrays = features.arrays()
    other = TextFeatures.from_arrays({name: array.copy() for name, array in arrays.items()})
    assert other.get_params() == features.get_params()
    assert other.n_rows_ == len(TEXTS)
    assert (other.transform(TEXTS) != features.transform(TEXTS)).nnz == 0
    assert {array.dtype.kind for array in arrays.values()} <= set("biuf")


def last_bucket(arrays):
    buckets = arrays["buckets"].copy()
    buckets[-1] = 2**20
    return {"buckets": buckets}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: {"buckets": a["buckets"][::-1].copy()}, "buckets do not ascend"),
        (lambda a: {"buckets": np.repeat(a["buckets"][:1], len(a["idf"]))}, "do not ascend"),
        (last_bucket, "not below n_hashes"),
        (lambda a: {"buckets": a["buckets"][:-1]}, "expected as many"),
        (lambda a: {"buckets": a["buckets"][:0], "idf": a["idf"][:0]}, "expected as many"),
        (lambda a: {"buckets": a["buckets"].astype(np.int64)}, "'buckets' is int64 1"),
        (lambda a: {"idf": a["idf"] * np.float32(np.nan)}, "idf has values from nan"),
        (lambda a: {"words": np.array([1, 99], np.int32)}, r"words=\(1, 99\)"),
        (lambda a: {"words": np.array([1, 2, 3], np.int32)}, r"words=\(1, 2, 3\)"),
        (lambda a: {"n_hashes": np.array([2**40])}, "n_hashes=1099511627776 is not"),
        (lambda a: {"n_hashes": np.array([1, 2])}, "'n_hashes' is not one number"),
        (lambda a: {"max_features": np.array([1])}, "expected as many"),
        (lambda a: {"min_rows": np.array([-1])}, "min_rows=-1"),
        (lambda a: {"n_rows": np.array([-1])}, "n_rows=-1"),
        (lambda a: {"more": np.array([1])}, r"unknown arrays \['more'\]"),
    ],
)
def test_arrays_that_nobody_wrote(change, message):
    arrays = TextFeatures().fit(TEXTS).arrays()
    with pytest.raises(InputError, match=message):
        TextFeatures.from_arrays(arrays | change(arrays))


def test_arrays_must_all_be_there():
    arrays = TextFeatures().fit(TEXTS).arrays()
    del arrays["idf"]
    with pytest.raises(InputError, match=re.escape("missing arrays ['idf']")):
        TextFeatures.from_arrays(arrays)


# Names of columns, and what transform returns


def test_columns_have_names():
    texts = ["night nurse", "nurse in a ward", "bus driver", "truck driver"]
    features = TextFeatures(characters=None).fit(texts)
    buckets = [f"bucket{bucket}" for bucket in features.buckets_]
    assert features.get_feature_names_out().tolist() == buckets
    assert features.get_feature_names_out(["text"]).tolist() == buckets
    assert features.get_feature_names_out(texts=texts).tolist() == ["nurse", "driver"]
    half = features.get_feature_names_out(texts=["a driver"])
    assert half.tolist() == [buckets[0], "driver"]
    assert half.dtype == object
    with pytest.raises(NotFittedError):
        TextFeatures().get_feature_names_out()


def test_rows_may_come_as_a_data_frame(monkeypatch):
    """With a stand-in for pandas, which is no dependency."""
    texts = ["night nurse", "nurse in a ward"]
    features = TextFeatures(characters=None).fit(texts)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        features.set_output(transform="pandas")
    assert sp.issparse(features.transform(texts))
    frame = SimpleNamespace(sparse=SimpleNamespace(from_spmatrix=lambda X, columns: (X, columns)))
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=frame))
    assert features.set_output(transform="pandas") is features
    for changed in (features, clone(features).fit(texts)):
        rows, columns = changed.transform(texts)
        assert (rows != changed.rows(texts)).nnz == 0
        assert columns.tolist() == changed.get_feature_names_out().tolist()
    monkeypatch.undo()
    settings = {"n_bits": 4, "max_epochs": 1, "device": "cpu", "text": features}
    model = dsnc.DSNCClassifier(**settings).fit(texts * 9, [0, 1] * 9)
    assert model.predict(texts).shape == (2,)  # a classifier has rows of its own
    assert sp.issparse(features.set_output(transform=None).set_output(transform="default").rows([]))
    assert sp.issparse(features.transform(texts))
    with pytest.raises(InputError, match="transform='polars' is not known"):
        features.set_output(transform="polars")
