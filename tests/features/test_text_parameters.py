import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from dsnc.errors import InputError
from dsnc.features import TextFeatures, points
from odd_texts import TEXTS, assert_canonical


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
        (["a", None], r"texts\[1\] is None of type NoneType; give missing texts as ''"),
        (["a", "b", float("nan")], r"texts\[2\] is nan of type float; give missing texts as ''"),
        (["a", 3], r"texts\[1\] is 3 of type int; convert it with str\(\)"),
        ([b"a"], r"texts\[0\] is b'a'? of type bytes"),
        ([["a"]], r"texts\[0\] is \['a'\] of type list"),
        (3, "texts is of type int; pass a list of str"),
        ({"a": 1}, "texts is of type dict; pass a list of str"),
        (np.eye(2), r"texts is an array of shape \(2, 2\) and type float64"),
        (sp.eye(2).tocsr(), "texts is of type csr_matrix|texts is of type dia_matrix"),
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
