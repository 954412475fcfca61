"""Series and DataFrames of pandas, polars and pyarrow, in place of lists and arrays."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dsnc import DSNCClassifier
from dsnc.baselines import NearestCentroidBaseline
from dsnc.errors import InputError

NAMES = ["bee", "cat", "ox"]
LABELS = [NAMES[i % 3] for i in range(30)]
TEXTS = [f"{name} sound {i % 2}" for i, name in enumerate(LABELS)]
ROWS = np.eye(3)[[NAMES.index(name) for name in LABELS]]
COLUMNS = ["a", "b", "c"]

SERIES = {
    "pandas": pd.Series,
    "pandas, other index": lambda items: pd.Series(items, index=range(100, 100 + len(items))),
    "pandas object": lambda items: pd.Series(items, dtype=object),
    "pandas string": lambda items: pd.Series(items, dtype="string"),
    "pandas arrow": lambda items: pd.Series(items, dtype=pd.ArrowDtype(pa.string())),
    "pandas category": lambda items: pd.Series(items, dtype="category"),
    "polars": pl.Series,
    "polars category": lambda items: pl.Series(items, dtype=pl.Categorical),
    "pyarrow": pa.array,
    "pyarrow chunks": lambda items: pa.chunked_array([items[:7], items[7:]]),
}
FRAMES = {
    "pandas": lambda rows: pd.DataFrame(rows, columns=COLUMNS),
    "pandas nullable": lambda rows: pd.DataFrame(rows, columns=COLUMNS).astype("Float64"),
    "pandas arrow": lambda rows: pd.DataFrame(rows, columns=COLUMNS).astype("double[pyarrow]"),
    "polars": lambda rows: pl.DataFrame(rows, schema=COLUMNS),
}


def learner(**parameters):
    return DSNCClassifier(
        n_bits=8,
        max_epochs=2,
        device="cpu",
        **parameters,
    )


@pytest.fixture(scope="module")
def of_texts():
    return learner().fit(TEXTS, LABELS)


@pytest.mark.parametrize("series", SERIES.values(), ids=SERIES)
def test_texts_and_labels_in_a_series(of_texts, series):
    model = learner().fit(series(TEXTS), series(LABELS))
    assert model.classes_.tolist() == NAMES
    assert not hasattr(model, "feature_names_in_")
    expected = of_texts.predict(TEXTS).tolist()
    assert model.predict(series(TEXTS)).tolist() == expected
    np.testing.assert_array_equal(model.predict_proba(series(TEXTS)), of_texts.predict_proba(TEXTS))
    assert model.predict_top_k(series(TEXTS), k=2)[0].tolist()[0][0] == expected[0]
    assert model.score(series(TEXTS), series(LABELS)) == of_texts.score(TEXTS, LABELS)


ONE_COLUMN = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("frame", ONE_COLUMN.values(), ids=ONE_COLUMN)
def test_one_column_of_texts(of_texts, frame):
    X = frame({"title": TEXTS})
    assert learner().fit(X, LABELS).predict(X).tolist() == of_texts.predict(TEXTS).tolist()


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_numbers_in_a_frame(frame):
    expected = learner().fit(ROWS, LABELS)
    model = learner().fit(frame(ROWS), pl.Series(LABELS))
    assert model.feature_names_in_.tolist() == COLUMNS
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(frame(ROWS)).tolist() == expected.predict(ROWS).tolist()
        np.testing.assert_array_equal(
            model.predict_proba(frame(ROWS)), expected.predict_proba(ROWS)
        )
        assert model.score(frame(ROWS), pd.Series(LABELS)) == expected.score(ROWS, LABELS)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pd.DataFrame(ROWS, columns=["c", "a", "b"]))


@pytest.mark.parametrize("series", [pd.Series, pl.Series], ids=["pandas", "polars"])
def test_partial_fit_of_series(series):
    model = learner()
    for _ in range(2):
        model.partial_fit(series(TEXTS), series(LABELS), classes=NAMES)
    assert model.predict(series(TEXTS[:3])).shape == (3,)


@pytest.mark.parametrize(
    "y",
    [
        pd.Series([1, 2] * 15, dtype="Int64"),
        pd.Series([1, 2] * 15, dtype="int32[pyarrow]"),
        pd.Series([1, 2] * 15, dtype="category"),
        pl.Series([1, 2] * 15, dtype=pl.UInt8),
        pa.array([1, 2] * 15),
    ],
    ids=lambda y: f"{type(y).__module__} {getattr(y, 'dtype', '')}",
)
def test_numbers_as_labels(y):
    model = NearestCentroidBaseline().fit(ROWS, y)
    assert model.classes_.tolist() == [1, 2]
    assert model.classes_.dtype.kind in "iu"


@pytest.mark.parametrize(
    ("y", "shown"),
    [
        (["a", None, "b", None], r"y\[1\] is None; remove the rows"),
        (["a", "b", float("nan"), "a"], r"y\[2\] is nan; remove the rows"),
        ([1.0, float("nan"), 2.0, 1.0], r"y\[1\] is NaN; remove the rows"),
        (pd.Series(["a", None, "b", "a"]), r"y\[1\] is nan; remove the rows"),
        (pd.Series([1, None, 2, 1], dtype="Int64"), r"y\[1\] is NaN; remove the rows"),
        (pl.Series(["a", "b", None, "a"]), r"y\[2\] is None; remove the rows"),
        (pl.Series([1, None, 2, 1]), r"y\[1\] is NaN; remove the rows"),
        (
            ["a", "b", 3, "a"],
            r"y\[2\] is 3 of type int, but y\[0\] is 'a' of type str; use one type",
        ),
        ([1, 2, "a", 1], r"y\[2\] is 'a' of type str, but y\[0\] is 1 of type int; use one type"),
    ],
)
def test_labels_that_are_missing_or_mixed(y, shown):
    for model in (learner(), NearestCentroidBaseline()):
        with pytest.raises(InputError, match=shown):
            model.fit(ROWS[:4], y)


@pytest.mark.parametrize(
    "X",
    [
        pd.Series(["a", None, "b", "c"]),
        pd.Series(["a", None, "b", "c"], dtype="string"),
        pl.Series(["a", None, "b", "c"]),
        pl.DataFrame({"title": ["a", None, "b", "c"]}),
    ],
    ids=lambda X: type(X).__module__,
)
def test_texts_that_are_missing(of_texts, X):
    with pytest.raises(InputError, match=r"texts\[1\] is .*; give missing texts as ''"):
        of_texts.predict(X)
