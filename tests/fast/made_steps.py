"""Steps of training over rows that are made up, and the same by their naive twin."""

import numpy as np
import scipy.sparse as sp

import oracles
from dsnc.fast import recipe
from dsnc.fast.model import Model, Weights, log_frequencies
from dsnc.fast.rows import Feed, Scaling
from dsnc.fast.steps import FastSteps, Plan
from dsnc.targets import Targets
from dsnc.training.examples import Examples
from dsnc.training.settings import Settings


def make_plan(**changes):
    usual = {
        "n_draws": 3,
        "soft_share": 0.25,
        "sharpness": 1.0,
        "n_uniform": 20,
        "window": 128,
        "smoothing": 0.0,
        "fading": 0.999,
        "bias_rate": 0.3,
        "moves_encoder": True,
        "each_alone": False,
    } | changes
    return Plan(**usual)


def make_rows(n_classes, n=90, n_features=40, seed=0, weighted=False):
    """A few features of each row tell its class; some rows have none."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n).astype(np.int32)
    X = rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) < 0.15)
    X[np.arange(n), y % n_features] += 2
    X[::20] = 0
    weight = rng.exponential(size=n).astype(np.float32) if weighted else None
    return Examples(sp.csr_array(X.astype(np.float32)), Targets(y, n_classes), weight)


def make_sets(n_classes, n=90, seed=0):
    """Rows that have no class, one, or several."""
    examples, rng = make_rows(n_classes, n, seed=seed), np.random.default_rng(seed)
    has = rng.random((n, n_classes)) < min(0.5, 2 / n_classes)
    has[np.arange(n), examples.targets.y] = rng.random(n) < 0.8
    return examples._replace(targets=Targets(sp.csr_array(has), n_classes))


def make_steps(examples, plan, *, seed=3, size=32, n_threads=1, gains=None, **settings):
    settings = Settings(n_bits=plan.n_bits, **{"max_epochs": 2, "learning_rate": 0.3} | settings)
    bias = log_frequencies(examples.counts())
    model = Model.start(examples.X.shape[1], plan.n_bits, bias, seed=1)
    feed = Feed(examples._replace(gains=gains), Scaling())
    return FastSteps(model, feed, settings, plan, seed=seed, n_threads=n_threads, batch_size=size)


def run_twin(steps, examples, plan, *, epochs, seed=3, size=32, gains=None):
    """Do what `steps` are about to do, slowly; return weights and losses."""
    weights, squares = exact(steps.model.weights, plan), exact(steps.model.squares, plan)
    settings, n = steps.settings, examples.n_rows
    starts, classes = examples.targets.lists()
    gains = np.ones(examples.targets.n_classes) if gains is None else gains
    own = [classes[starts[i] : starts[i + 1]].tolist() for i in range(n)]
    y = [{k: float(gains[k]) for k in some} for some in own]
    weight = np.ones(n) if examples.weight is None else examples.weight
    X, losses, near = examples.X, [], [None] * n
    for epoch in range(epochs):
        sequence = np.random.SeedSequence([seed, epoch])
        order = np.random.default_rng(sequence).permutation(n)
        ends = [recipe.share_of_peak(epoch + e, settings.max_epochs, "one_cycle") for e in (0, 1)]
        rates = [[peak * end for end in ends] for peak in recipe.peak_rates(settings)]
        rows = [list(zip(X[[i]].indices, X[[i]].data.astype(float), strict=True)) for i in order]
        noise = int(sequence.generate_state(1, np.uint64)[0])
        n_nearest = min(recipe.N_NEAREST, examples.targets.n_classes)
        how = {"size": size, "n_nearest": n_nearest}
        given = rows, [y[i] for i in order], weight[order], weights, squares, plan, rates, noise
        known = [None if recipe.searches(epoch) else near[i] for i in order]
        losses.append(oracles.training_steps(*given, known, **how) / n)
        for i, classes in zip(order, known, strict=True):
            near[i] = classes
    return weights, losses


def exact(arrays, plan):
    """Arrays in double precision, without what fills them up."""
    return Weights(
        *(
            array.astype(float)[..., : plan.n_bits] if array.ndim > 1 else array.astype(float)
            for array in arrays
        )
    )
