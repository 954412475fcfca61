"""What reaches fit and predict: kinds of rows and labels, weights, validation rows, errors."""

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.utils import compute_sample_weight

from dsnc import DSNCClassifier
from dsnc.classifier.inputs import hold_out, row_weights, seed_of
from dsnc.errors import DsncError, InputError
from dsnc.labels import Targets


def blobs(n=80, n_classes=4, n_features=5, seed=0):
    """Rows around one point per class, far apart; no number is negative."""
    rng = np.random.default_rng(seed)
    centers = rng.permutation(np.linspace(0, 200, n_classes * n_features))
    y = np.arange(n) % n_classes
    X = centers.reshape(n_classes, n_features)[y] + rng.normal(scale=3, size=(n, n_features))
    return np.clip(X, 0, 255), y


def quick(**settings):
    fast = {"n_bits": 12, "max_epochs": 12, "learning_rate": 0.1, "device": "cpu"}
    return DSNCClassifier(**fast | settings)


def weights_of(model):
    return model.predictor_.arrays()


def same_model(a, b):
    mine, other = weights_of(a), weights_of(b)
    return all(np.array_equal(mine[name], other[name]) for name in mine)


X, Y = blobs()
X.flags.writeable = Y.flags.writeable = False  # whoever changes them is found out


# Labels


@pytest.mark.parametrize(
    "labels",
    [
        np.array([7, -3, 2**60 + 1, 0]),
        np.array([1, 2, 3, 4], dtype=np.uint8),
        np.array([0, 2**64 - 1, 5, 2**63], dtype=np.uint64),
        np.array(["b", "ä", "", "字"]),
        np.array(["b", "ä", "a\0", "a"], dtype=object),
        np.array([1.0, -2.0, 1e9, 0.0]),
        np.array([1.0, -2.0, 1e9, 0.0], dtype=np.float32),
    ],
    ids=lambda labels: f"{labels.dtype}-{labels[0]!r}",
)
def test_labels_of_any_kind_come_back(labels):
    y = labels[Y]
    model = quick().fit(X, y)
    predicted = model.predict(X)
    assert model.classes_.tolist() == sorted(labels.tolist())
    assert model.classes_.dtype == predicted.dtype == labels.dtype
    assert np.mean(predicted == y) > 0.9


@pytest.mark.parametrize("labels", [[True, False], ["no", "yes"], [0, 1], [3.0, -1.0]])
def test_two_classes(labels):
    y = [labels[i] for i in Y % 2]
    model = quick(n_bits=6).fit(X[:, :2], y)
    assert model.score(X[:, :2], y) > 0.5
    assert model.predict_proba(X[:, :2]).shape == (len(X), 2)


def test_a_class_with_one_example_and_unbalanced_ones():
    y = np.where(Y == 1, 0, Y)
    y[5] = 99
    rows = X.copy()
    rows[5] = 255
    model = quick(validation_fraction=0.4).fit(rows, y)
    assert model.classes_.tolist() == [0, 2, 3, 99]
    assert model.predict(rows[5:6]) == [99]


# Rows


DENSE = [np.float64, np.float32, np.float16, np.uint8, np.int64, np.int8, np.longdouble, ">f4"]


@pytest.mark.parametrize("dtype", DENSE)
def test_dense_rows_of_any_type(dtype):
    rows = (X / 2).astype(dtype)
    assert quick().fit(rows, Y).score(rows, Y) > 0.9


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, np.int16, np.int64])
@pytest.mark.parametrize("scaling", ["unit_rows", "none"])
def test_sparse_and_dense_rows_of_any_type_train_alike(dtype, scaling):
    # Values up to 255: in the narrow types their squares are beyond the type's range.
    rows = X.astype(dtype)
    settings = {"scaling": scaling}
    sparse = quick(**settings).fit(sp.csr_array(rows), Y)
    as_float = quick(**settings).fit(sp.csr_array(rows.astype(np.float64)), Y)
    assert same_model(sparse, as_float)
    assert np.array_equal(sparse.predict(rows), sparse.predict(sp.csr_array(rows)))


FEW = X * (X > 60)


@functools.cache
def fitted_to_sparse_rows():
    return quick().fit(sp.csr_array(FEW), Y)


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_rows_in_any_format(index_type, format, kind):
    make = {"array": sp.coo_array, "matrix": sp.coo_matrix}[kind]
    rows = make(FEW).asformat(format)
    for name in {"csr": ("indices", "indptr"), "csc": ("indices", "indptr")}.get(format, ()):
        setattr(rows, name, getattr(rows, name).astype(index_type))
    model = quick().fit(rows, Y)
    assert same_model(model, fitted_to_sparse_rows())
    assert model.data_["sparse"]
    assert np.array_equal(model.predict(rows), model.predict(FEW))


def test_lists_and_memory_maps(tmp_path):
    expected = quick().fit(X, Y)
    assert same_model(quick().fit(X.tolist(), Y.tolist()), expected)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = quick().fit(mapped, Y)
    assert same_model(model, expected)
    assert np.array_equal(model.predict(mapped), expected.predict(X))


@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_are_left_alone(dtype, writeable):
    expected = X.astype(dtype)
    rows, labels, sparse = expected.copy(), Y.copy(), sp.csr_array(expected)
    for array in (rows, labels, sparse.data, sparse.indices, sparse.indptr):
        array.flags.writeable = writeable
    for some in (rows, sparse):
        quick(max_epochs=1).fit(some, labels).predict(some)
        quick(max_epochs=1, validation_fraction=0).fit(some, labels)
        quick(max_epochs=1).fit(some, labels, validation=(some, labels))
        quick(max_epochs=1).partial_fit(some, labels, classes=labels)
    assert np.array_equal(rows, expected)
    assert np.array_equal(sparse.toarray(), expected)
    assert np.array_equal(labels, Y)


def test_an_offset_and_a_scale_of_the_features_do_not_matter():
    scale = np.array([1e-6, 1, 1e6, 1e-3, 1e3])
    shift = np.array([1e-3, 1e3, -1e8, 1, -1e6])
    assert quick().fit(X * scale + shift, Y).score(X * scale + shift, Y) > 0.9


# Validation rows


@given(
    y=st.lists(st.integers(0, 6), min_size=1, max_size=60),
    fraction=st.floats(0, 1, exclude_max=True),
    seed=st.integers(0, 2**40),
    data=st.data(),
)
def test_hold_out_leaves_every_class_a_row(y, fraction, seed, data):
    y = np.array(y, dtype=np.int32)
    some = data.draw(st.none() | st.sets(st.integers(0, len(y) - 1), min_size=1))
    rows = np.arange(len(y)) if some is None else np.array(sorted(some))
    targets = Targets(y, 7)
    train, held = hold_out(targets, fraction, seed, None if some is None else rows)
    assert np.array_equal(np.sort(np.concatenate([train, held])), rows)
    assert set(y[train]) == set(y[rows])
    n_classes = len(set(y[rows].tolist()))
    assert len(held) == min(int(fraction * len(rows)), len(rows) - n_classes)
    again = hold_out(targets, fraction, seed, None if some is None else rows)
    assert np.array_equal(again[0], train)
    assert np.array_equal(again[1], held)


@pytest.mark.parametrize("fraction", [1, 1.0, -0.1, 2, float("nan"), "0.1", None, [0.1]])
def test_an_impossible_validation_fraction(fraction):
    with pytest.raises(InputError, match="validation_fraction=.* at least 0 and below 1"):
        quick(validation_fraction=fraction).fit(X, Y)


def test_no_validation():
    model = quick(validation_fraction=0).fit(X, Y)
    assert model.history_.best_accuracy is None
    assert set(model.history_.column("validation_accuracy")) == {None}
    assert model.data_["rows"] == len(X)
    assert model.score(X, Y) > 0.9


def test_a_share_is_held_out():
    model = quick(validation_fraction=0.25).fit(X, Y)
    assert model.data_["rows"] == len(X) - 20
    assert model.history_.best_accuracy == max(model.history_.column("validation_accuracy"))


def test_given_validation_rows_choose_the_epoch():
    other, labels = blobs(seed=0, n=40)
    model = quick().fit(X, Y, validation=(other, labels))
    assert model.data_["rows"] == len(X)
    assert model.score(other, labels) == pytest.approx(model.history_.best_accuracy, abs=1e-5)
    some = labels < 2  # not every class has to be there
    quick().fit(X, Y, validation=(other[some], labels[some]))


def test_given_validation_rows_may_be_sparse_where_the_others_are_dense():
    rows = X + 50
    dense = quick().fit(rows, Y, validation=(rows, Y))
    sparse = quick().fit(rows, Y, validation=(sp.csr_array(rows), Y))
    accuracies = sparse.history_.column("validation_accuracy")
    assert accuracies == dense.history_.column("validation_accuracy")


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        ((X, Y + 1), r"y\[\d+\] is 4, which is none of the 4 classes"),
        ((X, Y.astype(str)), r"y\[0\] is '0', which is none of the 4 classes"),
        ((X, Y.astype(str).astype(object)), r"y\[0\] is '0', which is none of the 4 classes"),
        ((X[:, :2], Y), "X has 2 features, but DSNCClassifier is expecting 5"),
        ((X, Y[:-1]), "inconsistent numbers of samples"),
        ((X[:0], Y[:0]), "0 sample"),
        (X, r"validation is a ndarray; pass a pair \(X, y\)"),
        ((X, Y, Y), r"pass a pair \(X, y\)"),
    ],
)
def test_wrong_validation_rows(validation, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(X, Y, validation=validation)


# Weights


def contradiction():
    """The same rows twice, with two opinions."""
    return np.concatenate([X, X]), np.concatenate([Y, (Y + 1) % 4])


@pytest.mark.parametrize("heavy", [0, 1])
def test_rows_with_large_weight_win(heavy):
    rows, labels = contradiction()
    weight = np.where(np.arange(len(rows)) // len(X) == heavy, 50.0, 1.0)
    model = quick(validation_fraction=0).fit(rows, labels, sample_weight=weight)
    assert np.mean(model.predict(X) == (Y + heavy) % 4) > 0.9
    assert np.array_equal(
        model.predict(X),
        quick(validation_fraction=0).fit(rows, labels, sample_weight=weight * 1e30).predict(X),
    )


@pytest.mark.parametrize("validation_fraction", [0, 0.3])
def test_rows_of_weight_zero_do_not_exist(validation_fraction):
    rng = np.random.default_rng(0)
    weight = (np.arange(2 * len(X)) < len(X)).astype(float)
    models = []
    for _ in range(2):
        noise = rng.normal(scale=1e6, size=X.shape)
        rows, labels = np.concatenate([X, noise]), np.concatenate([Y, rng.integers(0, 4, len(X))])
        model = quick(validation_fraction=validation_fraction)
        models.append(model.fit(rows, labels, sample_weight=weight))
    assert same_model(*models)
    assert models[0].score(X, Y) > 0.9


def test_nearly_all_rows_of_weight_zero():
    weight = np.zeros(len(X))
    weight[:12] = 1
    model = quick(max_epochs=30).fit(X, Y, sample_weight=weight)
    assert model.score(X[:12], Y[:12]) > 0.9
    tiny = quick(max_epochs=2).fit(X, Y, sample_weight=np.where(weight, 1, 1e-300))
    assert np.isfinite(tiny.history_.column("loss")).all()


def test_weight_zero_in_partial_fit():
    weight = np.ones(len(X))
    weight[Y == 2] = 0
    model = quick().partial_fit(X, Y, classes=range(4), sample_weight=weight)
    assert np.isfinite(model.history_.column("loss")).all()
    assert model.classes_.tolist() == [0, 1, 2, 3]


def test_class_weight_balanced_is_a_sample_weight():
    y = np.where(np.arange(len(Y)) % 3, 0, Y)
    weight = compute_sample_weight("balanced", y)
    balanced = quick(class_weight="balanced").fit(X, y)
    assert same_model(balanced, quick().fit(X, y, sample_weight=weight))
    doubled = quick(class_weight="balanced").fit(X, y, sample_weight=np.full(len(y), 2.0))
    assert same_model(balanced, doubled)


def test_class_weight_decides_a_draw():
    rows, labels = contradiction()
    rows, labels = rows[np.isin(labels, [1, 2])], labels[np.isin(labels, [1, 2])]
    for heavy, light in ((1, 2), (2, 1)):
        model = quick(class_weight={heavy: 20, light: 1}, validation_fraction=0).fit(rows, labels)
        assert np.mean(model.predict(X[Y == 1]) == heavy) == 1


def test_weights_are_one_on_average():
    weight = row_weights(X, Y, np.arange(len(Y)), {0: 1, 1: 2, 2: 3, 3: 4})
    assert weight.dtype == np.float32
    assert weight.mean() == pytest.approx(1)
    assert weight[7] / weight[3] == pytest.approx(7 / 3)
    assert row_weights(X, Y, None, None) is None


@pytest.mark.parametrize(
    ("weight", "class_weight", "message"),
    [
        (-np.ones(len(X)), None, "Negative values in data passed to `sample_weight`"),
        (np.zeros(len(X)), None, "at least one non-zero"),
        (np.ones(3), None, "sample_weight.shape"),
        (np.full(len(X), np.nan), None, "sample_weight contains NaN"),
        (None, {0: -1, 1: 1, 2: 1, 3: 1}, "class_weight=.* below 0"),
        (None, dict.fromkeys(range(4), 0), "adds up to 0"),
        (None, "balancd", "class_weight.*balanc"),
    ],
)
def test_impossible_weights(weight, class_weight, message):
    with pytest.raises(ValueError, match=message):
        quick(class_weight=class_weight).fit(X, Y, sample_weight=weight)


# Errors: parameter, value, fix


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
        (X, np.where(Y == 0, np.nan, Y), "y contains NaN"),
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
        ({"n_draws": 0}, "n_draws=0 must be"),
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


def test_sparse_rows_are_not_standardized():
    with pytest.raises(InputError, match="scaling='standard' .* use 'unit_rows' or 'none'"):
        quick(scaling="standard").fit(sp.csr_array(X), Y)


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


# Seeds


def test_seeds():
    assert seed_of(7) == seed_of(np.int64(7)) == 7
    assert seed_of(2**80) == 2**80
    assert seed_of(np.random.RandomState(3)) == seed_of(np.random.RandomState(3))
    assert seed_of(None) != seed_of(None)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_values_beyond_float32_are_named(make):
    with pytest.raises(InputError, match="X has values up to .*e.4., too large for float32"):
        quick().fit(make(X * 1e39), Y)


def test_weights_count_also_where_a_row_is_alone_in_its_batch():
    """Labels are noise, and those of class 1 weigh ten times as much."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    weight = np.where(labels == 1, 10.0, 1.0)
    model = quick(batch_size=1, learning_rate=0.003).fit(rows, labels, sample_weight=weight)
    assert model.predict_proba(rows)[:, 1].mean() > 0.75
