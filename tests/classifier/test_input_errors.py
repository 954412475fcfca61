"""Rows, labels and settings that are refused: parameter, value, fix."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from dsnc.errors import DsncError, DsncWarning, InputError
from input_rows import X, Y, quick


def changed(row, column, value):
    rows = X.copy()
    rows[row, column] = value
    return rows


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (changed(3, 1, np.nan), Y, "X contains NaN"),
        (changed(3, 1, np.inf), Y, "X contains infinity"),
        (sp.csr_array(changed(3, 1, np.nan)), Y, "X contains NaN"),
        (X[:0], Y[:0], r"0 sample\(s\)"),
        (X[:, :0], Y, r"0 feature\(s\)"),
        (X[0], Y, "Expected 2D array"),
        (X + 1j, Y, "Complex data not supported"),
        ([["a"] * 5] * len(X), Y, "not compatible with arrays of bytes/strings"),
        (X, Y[:-1], r"inconsistent numbers of samples: \[80, 79\]"),
        (X, np.zeros(len(X)), "y has one class, .*0.*at least 2 classes"),
        (X, None, "requires y to be passed"),
        (X, np.where(Y == 0, np.nan, Y), r"y\[.*\] is NaN"),
        (X, Y + 0.5, "Unknown label type: continuous"),
        (X, np.stack([Y, Y], axis=1), "y should be a 1d array"),
    ],
)
def test_wrong_rows_and_labels(rows, labels, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(rows, labels)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_bits": 0}, "n_bits=0 must be a whole number, 1 or more"),
        ({"n_bits": -3}, "n_bits=-3 must be"),
        ({"n_bits": 2.5}, "n_bits=2.5 must be"),
        ({"n_bits": "8"}, "n_bits='8' must be"),
        ({"n_bits": True}, "n_bits=True must be"),
        ({"max_epochs": 0}, "max_epochs=0 must be"),
        ({"batch_size": 0}, "batch_size=0 must be"),
        ({"gradient": {"name": "straight_through", "n_draws": 0}}, "n_draws=0 must be"),
        ({"validation_every": 0}, "validation_every=0 must be"),
        ({"patience": 0}, "patience=0 must be"),
        ({"learning_rate": 0}, "learning_rate=0 must be a number above 0"),
        ({"learning_rate": "fast"}, "learning_rate='fast' must be"),
        ({"weight_decay": -1}, "weight_decay=-1 must be"),
        ({"beta": -1}, "beta=-1 must be"),
        ({"gamma": float("nan")}, "gamma=nan must be"),
        ({"soft_share": 1.5}, "soft_share=1.5 must be a number from 0 to 1"),
        ({"label_smoothing": 2}, "label_smoothing=2 must be a number from 0 to 1"),
        ({"time_limit": 0}, "time_limit=0 must be"),
        ({"encoder": "linea"}, "encoder='linea' is not known. Did you mean 'linear'"),
        ({"encoder": 5}, "encoder=5 is not known"),
        ({"encoder": "mlp", "hidden": ()}, r"hidden=\(\)"),
        ({"encoder": "mlp", "hidden": (0,)}, r"hidden=\(0,\)"),
        ({"gradient": "straight"}, "gradient='straight' .* Did you mean 'straight_through'"),
        ({"gradient": 3}, "gradient=3 must be a name"),
        ({"gradient": {"name": "relaxed", "temprature": 1}}, "Did you mean 'temperature'"),
        ({"decoder": "linaer"}, "decoder='linaer' is not known. Did you mean 'linear'"),
        ({"scaling": "standrd"}, "scaling='standrd' is not known. Did you mean 'standard'"),
        ({"schedule": "onecycle"}, "schedule='onecycle' .* Did you mean 'one_cycle'"),
        ({"code_values": "sign"}, "code_values='sign' is not known. Did you mean 'signs'"),
        ({"precision": "float16"}, "precision='float16' .* Did you mean 'bfloat16'"),
        ({"device": "cuda:99"}, "device='cuda:99' cannot be used here .*; try 'cpu'"),
        ({"device": "nonsense"}, "device='nonsense' cannot be used here"),
        ({"device": None}, "device=None cannot be used here"),
        ({"random_state": -1}, "random_state=-1 is not a seed; use a whole number"),
        ({"random_state": "a"}, "random_state='a' is not a seed"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_wrong_settings_are_named_with_the_fix(settings, message):
    with pytest.raises(DsncError, match=f"(?s){message}") as caught:
        quick(**settings).fit(X, Y)
    assert isinstance(caught.value, ValueError)


def test_sparse_rows_of_mostly_zeros_are_not_standardized():
    wide = sp.hstack([sp.csr_array(X), sp.csr_array((len(X), 60))], format="csr")
    with pytest.raises(InputError, match="scaling='standard' .* use 'unit_rows' or 'none'"):
        quick(scaling="standard").fit(wide, Y)


@pytest.mark.parametrize("scaling", ["auto", "standard", "common", "none"])
def test_dense_and_sparse_rows_of_the_same_numbers_learn_the_same(scaling):
    dense, sparse = (quick(scaling=scaling).fit(rows, Y) for rows in (X, sp.csr_array(X)))
    np.testing.assert_allclose(dense.predict_proba(X), sparse.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_top_k", "encode", "score"])
def test_wrong_rows_to_predict(method):
    arguments = (Y,) if method == "score" else ()
    with pytest.raises(NotFittedError, match="not fitted yet. Call 'fit'"):
        getattr(quick(), method)(X, *arguments)
    model = quick(max_epochs=1).fit(X, Y)
    ask = getattr(model, method)
    with pytest.raises(ValueError, match="X has 3 features, but DSNCClassifier is expecting 5"):
        ask(X[:, :3], *arguments)
    with pytest.raises(ValueError, match="X contains NaN"):
        ask(changed(0, 0, np.nan), *arguments)
    with pytest.raises(ValueError, match="Complex data"):
        ask(X + 1j, *arguments)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        quick().save("nowhere")
    with pytest.raises(NotFittedError):
        quick().with_decoder("linear")


def test_a_fit_that_fails_changes_nothing():
    model = quick()
    with pytest.raises(InputError, match="one class"):
        model.fit(X, np.zeros(len(X)))
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X, Y)
    before = model.predict(X)
    for settings, y in (({"encoder": "none such"}, Y + 10), ({"encoder": "linear"}, Y * 0)):
        with pytest.raises(InputError):
            model.set_params(**settings).fit(X, y)
        assert np.array_equal(model.predict(X), before)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_values_beyond_float32_are_named(make):
    with pytest.raises(InputError, match="X has values up to .*e.4., too large for float32"):
        quick().fit(make(X * 1e39), Y)


def test_the_number_of_bits_makes_sense():
    with pytest.raises(InputError, match="n_bits=1000000 is more than 4096.*n_bits=40 for"):
        quick(n_bits=1_000_000).fit(X, Y)
    with pytest.warns(DsncWarning, match="at least 2 bits; n_bits=8 is a good start"):
        quick(n_bits=1).fit(X, Y)
