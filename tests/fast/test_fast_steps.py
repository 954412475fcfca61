"""Rows on their way into the kernels, and rows that tell how good an epoch was."""

import numpy as np
import pytest
import scipy.sparse as sp
from made_steps import make_plan, make_rows, make_steps

from dsnc.codes import Encoded
from dsnc.decoders import SoftDecoder
from dsnc.fast import recipe
from dsnc.fast import rows as fast_rows
from dsnc.fast import steps as fast_steps
from dsnc.fast.model import Model, log_frequencies, log_odds, padded
from dsnc.fast.rows import Feed, Scaling, without_some
from dsnc.fast.steps import HeldOutRows
from dsnc.rows import draw_rows
from dsnc.targets import Targets
from dsnc.training.examples import Examples

SCALED = Scaling(shift=np.arange(40, dtype=np.float32), factor=np.full(40, 0.5, np.float32))
SCALINGS = {
    "none": (Scaling(), lambda x: x),
    "unit_rows": (
        Scaling(unit_rows=True),
        lambda x: x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-30),
    ),
    "each": (SCALED, lambda x: (x - np.arange(40)) * 0.5),
}


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("chosen", [None, np.arange(10, 70, 2)])
def test_rows_come_scaled_in_their_order(scaling, dense, chosen):
    examples = make_rows(7, weighted=True)
    if dense:
        examples = examples._replace(X=examples.X.toarray().astype(np.float16))
    feed = Feed(examples._replace(rows=chosen), SCALINGS[scaling][0])
    which = np.array([5, 0, 29, 5])
    indptr, indices, values, starts, y, gains, weight, _ = feed.take(which)
    rows = which if chosen is None else chosen[which]
    X = examples.X if dense else examples.X.toarray()
    found = sp.csr_array((values, indices, indptr), shape=(4, 40)).toarray()
    expected = SCALINGS[scaling][1](X[rows].astype(np.float32))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert np.array_equal(y, examples.targets.y[rows]) and np.array_equal(starts, range(5))
    assert gains.tolist() == [1, 1, 1, 1]
    assert np.array_equal(weight, examples.weight[rows])
    assert (indptr.dtype, indices.dtype, values.dtype) == (np.int64, np.int32, np.float32)


def test_features_are_left_out_by_lot():
    feed = Feed(make_rows(7), Scaling())

    def table(some):
        return sp.csr_array((some.values, some.indices, some.indptr), shape=(90, 40)).toarray()

    def drawn(seed):
        return table(without_some(feed.take(np.arange(90)), 0.2, np.uint32(seed)))

    draws = np.array([drawn(seed) for seed in range(400)])
    whole = table(feed.take(np.arange(90)))
    seen = draws[:, whole != 0]
    assert np.all(np.isclose(seen, whole[whole != 0] / 0.8) | (seen == 0))
    assert (draws[:, whole == 0] == 0).all()
    errors = np.sqrt(0.2 * 0.8 / len(draws)) * np.ones(seen.shape[1])
    assert (abs((seen == 0).mean(axis=0) - 0.2) < 5 * errors).all()
    assert np.array_equal(draws[0], drawn(0))
    assert not np.array_equal(draws[0], draws[1])


@pytest.mark.parametrize("at_once", [32, 50])
def test_all_rows_are_passed_however_many_are_ready_at_a_time(at_once, monkeypatch):
    examples = make_rows(7)
    monkeypatch.setattr(fast_rows, "_MOST", at_once)
    looks = []
    steps = make_steps(examples, make_plan(n_bits=8))
    passed = steps.run(0, lambda: bool(looks.append(1)))
    assert (passed.rows, passed.is_whole, len(looks)) == (90, True, 3)
    cut = steps.run(1, lambda: True)
    assert (cut.rows, cut.is_whole) == (32, False)


def same_arrays(a, b):
    assert a.keys() == b.keys()
    return all(np.array_equal(a[name], b[name]) for name in a)


def test_nearest_classes_are_part_of_the_state(monkeypatch):
    """An epoch that does not look for them goes on after a restart as if nothing had happened."""
    monkeypatch.setattr(recipe, "FEW", 100)
    examples, plan = make_rows(150), make_plan(n_bits=16)
    steps, others = (make_steps(examples, plan, max_epochs=8) for _ in range(2))
    epoch = next(epoch for epoch in range(8) if not recipe.searches(epoch))
    for earlier in range(epoch):
        steps.run(earlier, lambda: False)
    others.load_state({"arrays": {k: v.copy() for k, v in steps.state()["arrays"].items()}})
    before = steps._near.copy()
    for each in (steps, others):
        each.run(epoch, lambda: False)
    assert same_arrays(steps.state()["arrays"], others.state()["arrays"])
    assert np.array_equal(steps._near, before)  # this epoch did not look
    steps.run(epoch + 1, lambda: False)
    assert not np.array_equal(steps._near, before)  # and the next one did


def test_nearest_classes_are_kept_only_where_they_are_taken_again(monkeypatch):
    examples, plan = make_rows(150), make_plan(n_bits=16)

    def kept(epochs):
        steps = make_steps(examples, plan, max_epochs=epochs)
        steps.run(0, lambda: False)
        return steps._near is not None

    assert not kept(8)  # so few classes are quickly looked through
    monkeypatch.setattr(recipe, "FEW", 149)
    assert kept(8) and not kept(2)
    monkeypatch.setattr(recipe, "MOST_KEPT", 90 * 32 - 1)
    assert not kept(8)


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    arrays = rng.normal(size=(40, 9)), rng.normal(size=9), rng.normal(size=(7, 9)), np.zeros(7)
    return Model.of(*arrays)


def naive_accuracy(model, examples, sharpness):
    vectors = model.decoder()
    encoded = Encoded(model.logits(examples.X))
    shares = []
    for sharp in sharpness:
        decoder = SoftDecoder(vectors.weight, vectors.bias, sharpness=sharp)
        right = decoder.top_k(encoded, 1)[0][:, 0] == examples.targets.y
        shares.append(np.average(right, weights=examples.weight))
    return max(shares)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("at_once", [8192, 7])
def test_an_epoch_is_worth_the_best_of_several_sharpnesses(model, weighted, at_once, monkeypatch):
    monkeypatch.setattr(fast_rows, "_MOST", at_once)
    examples = make_rows(7, weighted=weighted)
    held_out = HeldOutRows(examples, Scaling())
    for sharpness in ((1.0,), (1.0, 0.5, 0.25)):
        found = held_out.accuracy(model, sharpness)
        assert found == pytest.approx(naive_accuracy(model, examples, sharpness), abs=1e-6)
    assert held_out.n_rows == 90


def test_of_very_many_held_out_rows_some_are_looked_at(model, monkeypatch):
    monkeypatch.setattr(fast_steps, "_MOST_ROWS", 30)
    examples = make_rows(7)._replace(rows=np.arange(1, 90))
    held_out = HeldOutRows(examples, Scaling())
    assert held_out.n_rows == 30
    some = 1 + draw_rows(89, 30)
    picked = Examples(examples.X[some], Targets(examples.targets.y[some], 7))
    found = held_out.accuracy(model, (1.0,))
    assert found == pytest.approx(naive_accuracy(model, picked, (1.0,)), abs=1e-6)


@pytest.mark.parametrize("n_bits", [1, 15, 16, 17, 208])
def test_rows_are_filled_up_with_zeros(n_bits):
    array = np.ones((3, n_bits))
    wide = padded(array)
    assert wide.shape == (3, -(-n_bits // 16) * 16) and wide.dtype == np.float32
    assert (wide[:, :n_bits] == 1).all() and not wide[:, n_bits:].any()


def test_scores_under_sigmoids_begin_with_the_odds_of_a_class():
    found = log_odds(np.array([1.0, 0.0, 9.0]), 9.0)
    np.testing.assert_allclose(found, np.log([1.5 / 8.5, 0.5 / 9.5, 9.5 / 0.5]), rtol=1e-6)


def test_a_first_model_knows_how_frequent_classes_are():
    bias = log_frequencies(np.array([1.0, 0.0, 9.0]))
    model = Model.start(5, 20, bias, seed=0)
    assert bias[1] < bias[0] < bias[2] and np.isfinite(bias).all()
    assert not model.weights.encoder[:, 20:].any() and not model.weights.bias.any()
    other = Model.start(5, 20, bias, seed=1)
    assert not np.array_equal(model.weights.encoder, other.weights.encoder)
