import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import dsnc
from dsnc.errors import InputError
from dsnc.features import TextFeatures
from odd_texts import TEXTS


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
        (lambda a: {"buckets": a["buckets"][:-1]}, "expected the same number"),
        (lambda a: {"buckets": a["buckets"][:0], "idf": a["idf"][:0]}, "expected the same number"),
        (lambda a: {"buckets": a["buckets"].astype(np.int64)}, "'buckets' is int64 1"),
        (lambda a: {"idf": a["idf"] * np.float32(np.nan)}, "idf has values from nan"),
        (lambda a: {"words": np.array([1, 99], np.int32)}, r"words=\(1, 99\)"),
        (lambda a: {"words": np.array([1, 2, 3], np.int32)}, r"words=\(1, 2, 3\)"),
        (lambda a: {"n_hashes": np.array([2**40])}, "n_hashes=1099511627776 is not"),
        (lambda a: {"n_hashes": np.array([1, 2])}, "'n_hashes' is not a single number"),
        (lambda a: {"max_features": np.array([1])}, "expected the same number"),
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
