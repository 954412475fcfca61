"""The learner, where rows have sets of classes."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from dsnc.baselines.objectives import CodebookObjective
from dsnc.codes import PackedCodes
from dsnc.errors import InputError
from dsnc.fast.model import log_odds
from dsnc.targets import Targets
from dsnc.training.examples import Examples
from dsnc.training.learner import Learner
from dsnc.training.losses.sampled_softmax import SampledSoftmaxLoss
from dsnc.training.losses.sigmoid import SigmoidLoss
from made_examples import K, learn, make_dense, make_settings, predictor_of


def make_sets(n=300, seed=0, *, sparse=False, most=3):
    """Rows of one to three classes, each of which has words of its own; every tenth has none."""
    rng = np.random.default_rng(seed)
    Y = np.zeros((n, K), dtype=bool)
    for row, size in enumerate(rng.integers(1, most + 1, size=n)):
        Y[row, rng.choice(K, size, replace=False)] = row % 10 > 0
    if sparse:
        words = rng.random((n, 20 * K)) < np.where(np.repeat(Y, 20, axis=1), 0.3, 0.01)
        X = sp.csr_array(words, dtype=np.float32)
    else:
        X = (6 * Y @ np.eye(K, 12) + rng.normal(size=(n, 12))).astype(np.float32)
    return Examples(X, Targets(sp.csr_array(Y), K))


def precision(learner, examples):
    """P@1 of the rows that have a class."""
    answers = predictor_of(learner).predict(examples.X)
    has_class = np.diff(examples.targets.classes.indptr) > 0
    return examples.targets.contains(answers)[has_class].mean()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("encoder", ["linear", "mlp"])
def test_first_answers_are_right(sparse, encoder):
    examples = make_sets(sparse=sparse)
    training, held_out = (examples._replace(rows=rows) for rows in np.split(np.arange(300), [240]))
    settings = {"encoder": encoder, "hidden": (32,), "n_bits": 24, "max_epochs": 8}
    learner, history = learn(training, held_out, **settings)
    assert isinstance(learner.objective.loss_of, SigmoidLoss)
    assert precision(learner, examples) > 0.97
    best = 0.9 * np.mean([1, 2 / 3, 2 / 5])  # P@1, 3, 5: nine tenths have two classes on average
    assert history.best_accuracy > 0.9 * best
    assert history.column("loss")[-1] < 0.7 * history.column("loss")[0]


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "sampled_sigmoid"},
        {"loss": "softmax"},
        {"loss": "sampled_softmax", "label_smoothing": 0.1},
        {"beta": 1e-3, "gamma": 1e-3},
        {"gradient": "disarm"},
        {"gradient": "reinforce", "max_epochs": 12},
        {"gradient": "relaxed", "soft_share": 0.0},
        {"batch_size": 13},
    ],
)
def test_every_setting_learns_from_sets(settings):
    examples = make_sets(200, sparse=True)
    learner, _ = learn(examples, **{"max_epochs": 6, "n_bits": 24, **settings})
    assert precision(learner, examples) > 0.9


@pytest.mark.parametrize("loss", ["sigmoid", "sampled_sigmoid"])
def test_one_class_a_row_may_have_sigmoids_too(loss):
    examples = make_dense()
    learner, _ = learn(examples, loss=loss)
    answers = predictor_of(learner).predict(examples.X)
    assert (answers == examples.targets.y).mean() > 0.95


def test_few_classes_of_very_many_are_taken_by_themselves(monkeypatch):
    monkeypatch.setattr("dsnc.training.losses.making.MANY", K)
    learner, _ = learn(make_sets(100), max_epochs=1)
    assert isinstance(learner.objective.loss_of, SampledSoftmaxLoss)
    assert learner.objective.scores_few


@pytest.mark.parametrize("gained", [False, True])
def test_biases_begin_at_the_log_odds(gained):
    examples = make_sets(200)
    weight = np.linspace(0.5, 2, 200, dtype=np.float32)
    examples = examples._replace(weight=weight)
    gains = np.linspace(1, 4, K, dtype=np.float32) if gained else None
    settings = make_settings(max_epochs=1, learning_rate=1e-12)
    examples = examples._replace(gains=gains)
    learner = Learner(settings, examples, K, 0)
    learner.fit(examples)
    counts, total = examples.counts(), weight.sum(dtype=np.float64)
    expected = log_odds(counts, total)
    if gained:
        expected = np.log(gains * counts + 0.5) - np.log(total - counts + 0.5)
    np.testing.assert_allclose(learner.objective.bias.detach(), expected, rtol=1e-4)


def test_more_rows_follow():
    examples = make_sets(200, sparse=True)
    learner, _ = learn(examples, n_bits=24, max_epochs=6)
    trained = learner.export()
    again = Learner(make_settings(n_bits=24), examples, K, 0)
    again.load(trained.encoder, trained.decoder)
    again.partial_fit(examples, 1)
    assert isinstance(again.objective.loss_of, SigmoidLoss)
    assert precision(again, examples) > 0.95


def test_the_seed_decides_everything():
    settings = {"max_epochs": 2, "beta": 1e-3, "gamma": 1e-3, "loss": "sampled_sigmoid"}
    examples = make_sets(100)
    first, second, other = (
        learn(examples, seed=seed, **settings)[0].export().decoder.weight for seed in (0, 0, 1)
    )
    assert np.array_equal(first, second) and not np.array_equal(first, other)


def test_killed_and_resumed_is_uninterrupted(tmp_path):
    examples = make_sets(100)
    settings = {"max_epochs": 4, "beta": 1e-3, "loss": "sampled_sigmoid"}
    whole = learn(examples, **settings)[0].export()
    stop = lambda progress: progress.epoch.epoch == 1 and progress.stop()  # noqa: E731
    learn(examples, checkpoint=tmp_path, callbacks=[stop], **settings)
    resumed = learn(examples, checkpoint=tmp_path, **settings)[0].export()
    assert np.array_equal(whole.decoder.weight, resumed.decoder.weight)


def test_a_large_set_costs_its_batch_alone():
    sizes = np.ones(2000, dtype=np.int64)
    sizes[0] = 5000
    flat = np.concatenate([np.arange(5000), np.arange(1999) % K])
    X = np.eye(K, dtype=np.float32)[np.arange(2000) % K]
    examples = Examples(X, Targets.from_lists(flat, sizes, 5000))
    learner = Learner(make_settings(batch_size=50), examples, 5000, 0)
    batches, _ = learner._feed(learner.objective, examples, None, 0, learner.world)
    widths = [batch.y.shape[1] for batch in batches.epoch(0)]
    assert sorted(widths) == [1] * 39 + [5000]


def test_objectives_of_one_class_a_row_say_so():
    examples = make_sets(50)

    def make_objective(*frame):
        codes = PackedCodes.from_ints(range(K), n_bits=K)
        rest = {"decoding": "hamming", "loss": "logistic", "sparse": False}
        return CodebookObjective(*frame, codes=codes, **rest)

    learner = Learner(make_settings(n_bits=K), examples, K, 0, make_objective)
    with pytest.raises(InputError, match="one class a row"):
        learner.fit(examples)


def test_rows_without_any_class_are_no_trouble():
    examples = make_sets(60)
    empty = Targets(sp.csr_array((60, K), dtype=bool), K)
    for settings in ({}, {"loss": "sampled_sigmoid"}, {"loss": "softmax"}, {"beta": 1e-3}):
        learner, history = learn(examples._replace(targets=empty), max_epochs=2, **settings)
        assert np.isfinite(history.column("loss")).all()
        assert torch.isfinite(learner.objective.weight).all()
