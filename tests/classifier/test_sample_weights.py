"""Weights of rows and of classes."""

import numpy as np
import pytest
from sklearn.utils import compute_sample_weight

from comparing import same_model
from dsnc.classifier.inputs import row_weights
from input_rows import X, Y, quick


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


def test_weights_count_also_where_a_row_is_alone_in_its_batch():
    """Labels are noise, and those of class 1 weigh ten times as much."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(120, 3)), rng.integers(0, 2, 120)
    weight = np.where(labels == 1, 10.0, 1.0)
    model = quick(batch_size=1, max_epochs=4, learning_rate=0.01)
    model.fit(rows, labels, sample_weight=weight)
    assert model.predict_proba(rows)[:, 1].mean() > 0.75
