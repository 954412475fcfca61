"""Whole steps against their naive twin, and gradients against exact expectations."""

import itertools

import numpy as np
import pytest
from made_steps import exact, make_plan, make_rows, make_sets, make_steps, run_twin

from dsnc.fast import recipe
from dsnc.fast.model import Weights


def check_against_twin(
    plan, *, n_classes, size=32, weighted=False, n=60, epochs=2, sets=False, gains=None
):
    examples = make_sets(n_classes, n) if sets else make_rows(n_classes, n=n, weighted=weighted)
    steps = make_steps(examples, plan, size=size, gains=gains, max_epochs=epochs)
    before = exact(steps.model.weights, plan)
    expected, losses = run_twin(steps, examples, plan, epochs=epochs, size=size, gains=gains)
    passes = [steps.run(epoch, lambda: False) for epoch in range(epochs)]
    assert [made.loss for made in passes] == pytest.approx(losses, rel=1e-4)
    for name, trained in exact(steps.model.weights, plan)._asdict().items():
        twin = getattr(expected, name)
        np.testing.assert_allclose(trained, twin, rtol=2e-3, atol=2e-4, err_msg=name)
        moved = not np.array_equal(trained, getattr(before, name))
        assert moved == (plan.moves_encoder or "class" in name), name
    for array in steps.model.weights[:3]:
        assert not array[:, plan.n_bits :].any()  # what fills up the rows stays empty


@pytest.mark.parametrize("n_bits", [5, 16, 24, 70])
@pytest.mark.parametrize("n_classes", [2, 7, 32, 150])
def test_steps_are_those_of_the_twin(n_bits, n_classes):
    check_against_twin(make_plan(n_bits=n_bits), n_classes=n_classes)


@pytest.mark.parametrize("n_bits", [5, 24])
@pytest.mark.parametrize(
    "change",
    [
        {"smoothing": 0.1},
        {"soft_share": 0},
        {"soft_share": 1},
        {"n_draws": 1},
        {"n_draws": 4},
        {"n_uniform": 0},
        {"n_uniform": 3, "smoothing": 0.3},
        {"n_draws": 0, "soft_share": 1, "moves_encoder": False, "sharpness": 0.4},
    ],
    ids=str,
)
def test_settings_of_a_step(n_bits, change):
    check_against_twin(make_plan(n_bits=n_bits, **change), n_classes=60)


def test_weights_of_rows():
    check_against_twin(make_plan(n_bits=24, smoothing=0.1), n_classes=60, weighted=True)


@pytest.mark.parametrize("size", [1, 7, 60, 128])
def test_batches_of_any_size(size):
    check_against_twin(make_plan(n_bits=16), n_classes=60, size=size)


@pytest.mark.parametrize("window", [1, 2])
def test_a_window_of_the_classes(window):
    """Three blocks of 512 classes, the last one nearly empty."""
    plan = make_plan(n_bits=24, window=window, n_uniform=4)
    check_against_twin(plan, n_classes=1030, size=8, epochs=1)


@pytest.mark.parametrize("sets", [False, True])
def test_later_epochs_take_the_nearest_classes_of_earlier_ones(sets, monkeypatch):
    monkeypatch.setattr(recipe, "_SEARCHED", 1)
    monkeypatch.setattr(recipe, "FEW", 100)
    assert [recipe.searches(epoch) for epoch in range(4)] == [True, False, True, False]
    plan = make_plan(n_bits=16, n_uniform=4)
    check_against_twin(plan, n_classes=150, n=30, epochs=4, sets=sets)


@pytest.mark.parametrize("n_classes", [2, 7, 150])
@pytest.mark.parametrize("each_alone", [True, False])
@pytest.mark.parametrize("weighs", [False, True])
def test_rows_with_sets_of_classes(n_classes, each_alone, weighs):
    gains = np.linspace(0.5, 3, n_classes, dtype=np.float32) if weighs else None
    plan = make_plan(n_bits=24, each_alone=each_alone, n_uniform=8)
    check_against_twin(plan, n_classes=n_classes, sets=True, gains=gains)


# Gradients


def mean_gradients(plan, *, n=20_000, n_classes=5, y=1, smoothing=0.0):
    """Mean gradients of a row without features, drawn anew many times, in a single batch.

    The sums of squares are so large that a step is the gradient.
    """
    examples = make_rows(n_classes, n=n)
    examples = examples._replace(
        X=0 * examples.X, targets=type(examples.targets)(np.full(n, y, np.int32), n_classes)
    )
    rate = 1e4
    steps = make_steps(examples, plan, size=n, schedule="constant", learning_rate=rate / 1.2)
    rng, model = np.random.default_rng(0), steps.model
    model.weights.bias[0, : plan.n_bits] = rng.normal(size=plan.n_bits)
    model.weights.classes[:, : plan.n_bits] = rng.normal(size=(n_classes, plan.n_bits))
    model.weights.class_bias[:] = rng.normal(size=n_classes)
    for array in model.squares:
        array[:] = rate**2
    before = exact(model.weights, plan)
    loss = steps.run(0, lambda: False).loss
    after = exact(model.weights, plan)
    scale = Weights(1, 1.2, 1, 1 / float(plan.bias_rate))  # what the rates differ in
    moved = [(a - b) * s / n for a, b, s in zip(before, after, scale, strict=True)]
    return before, Weights(*moved), loss


def loss_of(weights, inputs, y, smoothing):
    scores = weights.classes @ inputs + weights.class_bias
    target = np.full(len(scores), smoothing / len(scores))
    target[y] += 1 - smoothing
    return np.log(np.exp(scores).sum()) - target @ scores


def numeric_gradient(function, array):
    """Central differences, number by number."""
    result = np.zeros_like(array)
    for place in np.ndindex(array.shape):
        kept, sides = array[place], []
        for step in (1e-5, -1e-5):
            array[place] = kept + step
            sides.append(function())
        array[place] = kept
        result[place] = (sides[0] - sides[1]) / 2e-5
    return result


@pytest.mark.parametrize("smoothing", [0, 0.2])
def test_the_gradient_of_soft_bits_is_exact(smoothing):
    plan = make_plan(n_bits=3, n_draws=0, soft_share=1, smoothing=smoothing, fading=1)
    weights, found, loss = mean_gradients(plan, n=4)

    def function():
        return loss_of(weights, np.tanh(weights.bias[0] / 2), 1, smoothing)

    assert loss == pytest.approx(function(), rel=1e-5)
    for name in ("bias", "classes", "class_bias"):
        expected = numeric_gradient(function, getattr(weights, name))
        np.testing.assert_allclose(getattr(found, name), expected, atol=2e-4, err_msg=name)


@pytest.mark.parametrize("n_draws", [1, 4])
def test_the_gradient_of_drawn_bits_is_on_average_that_of_all_codes(n_draws):
    n = 20_000
    plan = make_plan(n_bits=3, n_draws=n_draws, soft_share=0, fading=1)
    weights, found, loss = mean_gradients(plan, n=n)
    chances = 1 / (1 + np.exp(-weights.bias[0]))
    codes = [np.array(code) for code in itertools.product((-1.0, 1.0), repeat=3)]
    likely = [np.prod(np.where(code > 0, chances, 1 - chances)) for code in codes]

    def function():
        pairs = zip(likely, codes, strict=True)
        return sum(p * loss_of(weights, code, 1, 0) for p, code in pairs)

    tolerance = 6 / np.sqrt(n * n_draws)  # deviations of a gradient are below 1
    assert loss == pytest.approx(function(), abs=3 * tolerance)
    for name in ("classes", "class_bias"):
        expected = numeric_gradient(function, getattr(weights, name))
        np.testing.assert_allclose(getattr(found, name), expected, atol=tolerance, err_msg=name)

    def through(code):  # the gradient of the code, straight through the drawing
        probabilities = np.exp(weights.classes @ code + weights.class_bias)
        probabilities /= probabilities.sum()
        return (probabilities - np.eye(len(probabilities))[1]) @ weights.classes

    expected = sum(p * through(code) for p, code in zip(likely, codes, strict=True))
    expected = expected * 2 * chances * (1 - chances)
    np.testing.assert_allclose(found.bias[0], expected, atol=tolerance)
