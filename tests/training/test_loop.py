import copy
import math

import numpy as np
import pytest
import torch

from dsnc.encoders.torch import make_encoder
from dsnc.errors import DsncWarning, InputError
from dsnc.gradients import StraightThrough
from dsnc.targets import Targets
from dsnc.training import feed, loop
from dsnc.training.batches import Batches, make_source
from dsnc.training.feed import Validation
from dsnc.training.history import Epoch, History
from dsnc.training.objective import Objective
from dsnc.training.regularizer import PartnerSampler
from dsnc.training.settings import Settings
from dsnc.training.steps import TorchSteps, one_cycle
from dsnc.training.world import World

CPU = torch.device("cpu")
N, D, K = 120, 6, 4


def make_data(seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(N) % K
    centers = 6 * np.eye(K, D)
    return (centers[y] + rng.normal(size=(N, D))).astype(np.float32), torch.from_numpy(y)


def make_objective(seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    encoder = make_encoder("linear", D, 8, generator)
    options = {"n_bits": 8, "gradient": StraightThrough(n_draws=2), "soft_share": 0.0, **options}
    return Objective(Settings(**options), encoder, K, generator)


def make_batches(seed=0, batch_size=40, partners=False):
    X, y = make_data()
    return Batches(
        make_source(X, CPU, unit_rows=False),
        y,
        torch.ones(N),
        batch_size=batch_size,
        seed=seed,
        partners=PartnerSampler(y, K) if partners else None,
    )


def make_validation(seed=1, weight=None):
    X, y = make_data(seed)
    weight = torch.ones(N) if weight is None else weight
    return Validation(make_source(X, CPU, unit_rows=False), Targets(y.numpy(), K), weight)


def train(objective, batches, settings, *, checkpoint=None, unit="epoch", **how):
    steps = TorchSteps(objective, batches, settings, **how)
    return loop.train(steps, settings, checkpoint=checkpoint, unit=unit)


class Script:
    """Validation that says what it was told to say, and counts how often it was asked."""

    targets = range(7)

    def __init__(self, *accuracies):
        self.accuracies, self.asked = accuracies, 0

    def accuracy(self, objective, world):
        self.asked += 1
        return self.accuracies[self.asked - 1]


class Weights:
    """A callback that keeps the weights of an objective after each epoch."""

    def __init__(self, objective=None):
        self.objective, self.kept = objective, []

    def __call__(self, progress):
        self.kept.append(state_of(self.objective))


def state_of(objective):
    return [p.detach().clone() for p in objective.parameters()]


def same(a, b):
    return all(map(torch.equal, a, b))


def run(objective=None, *, batches=None, seed=0, callbacks=(), validation=None, **config):
    objective = objective or make_objective(seed)
    options = {"max_epochs": 5, "learning_rate": 0.03, **config}
    for callback in callbacks:
        if isinstance(callback, Weights):
            callback.objective = objective
    settings = Settings(**options, callbacks=callbacks)
    history = train(objective, batches or make_batches(seed), settings, validation=validation)
    return objective, history


# Learning


@pytest.mark.parametrize("schedule", ["one_cycle", "constant"])
def test_a_separable_problem_is_learned(schedule):
    objective, history = run(validation=make_validation(), max_epochs=30, schedule=schedule)
    assert history.best_accuracy > 0.95
    assert history.epochs[-1].loss < 0.2 * history.epochs[0].loss
    X, y = make_data(seed=2)
    assert (objective.best(torch.from_numpy(X), 1)[:, 0] == y).float().mean() > 0.95
    assert not objective.training


def test_the_history_says_what_happened():
    objective = make_objective(beta=0.1, gamma=0.1)
    batches = make_batches(partners=True)
    _, history = run(objective, batches=batches, validation=make_validation(), max_epochs=4)
    assert history.column("epoch") == [1, 2, 3, 4]
    assert len(history) == len(history.records()) == 4
    assert history.stopped == "max_epochs reached"
    assert history.column("factor")[0] == 1
    accuracies, seconds = history.column("validation_accuracy"), history.column("seconds")
    assert history.best_accuracy == max(accuracies) == accuracies[history.best_epoch - 1]
    assert seconds == sorted(seconds) and seconds[0] > 0
    for name in ("loss", "intra", "inter"):
        assert all(math.isfinite(value) and value > 0 for value in history.column(name))
    assert f"4 epochs, best validation accuracy {max(accuracies):.4f}" in repr(history)
    twin = History.from_dict(history.to_dict())
    assert twin == history and isinstance(twin.epochs[0], Epoch)


def test_the_loss_of_an_epoch_is_the_mean_over_its_batches():
    objective = make_objective()
    losses = [objective(batch).loss.item() for batch in make_batches().epoch(0)]
    _, history = run(objective, max_epochs=1, learning_rate=1e-12)
    assert history.epochs[0].loss == pytest.approx(np.mean(losses), rel=1e-5)
    assert history.epochs[0].intra == history.epochs[0].inter == 0


# The learning rate


def test_one_cycle_rises_and_falls():
    rates = [one_cycle(p) for p in np.linspace(0, 1, 1001)]
    peak = int(np.argmax(rates))
    assert rates[0] == pytest.approx(0.04)
    assert peak == 300 and rates[peak] == pytest.approx(1, abs=1e-4)
    assert rates[-1] == pytest.approx(0, abs=1e-12)
    assert np.all(np.diff(rates[: peak + 1]) > 0) and np.all(np.diff(rates[peak:]) < 0)


def test_the_rate_follows_the_steps_of_the_run():
    _, history = run(max_epochs=10, learning_rate=0.5)  # three steps each
    expected = [0.5 * one_cycle((3 * epoch + 2) / 30) for epoch in range(10)]
    assert history.column("learning_rate") == pytest.approx(expected)
    _, history = run(max_epochs=3, learning_rate=0.5, schedule="constant")
    assert history.column("learning_rate") == [0.5] * 3


def test_weight_decay_shrinks_weights():
    plain, decayed = (run(weight_decay=w)[0].weight.norm() for w in (0.0, 1.0))
    assert decayed < 0.8 * plain


# Validation and when to stop


def test_the_accuracy_is_weighted_and_by_hard_codes():
    objective, _ = run(max_epochs=2)
    validation = make_validation(weight=torch.rand(N, generator=torch.Generator().manual_seed(0)))
    X, y = make_data(1)
    right = objective.best(torch.from_numpy(X), 1)[:, 0] == y
    share = (right * validation.weight).sum() / validation.weight.sum()
    assert 0 < right.sum() < N
    accuracy = validation.accuracy(objective, World())
    assert accuracy == pytest.approx(share.item(), abs=1e-6)


def test_the_accuracy_is_the_same_in_blocks(monkeypatch):
    objective, validation = make_objective(), make_validation()
    whole = validation.accuracy(objective, World())
    monkeypatch.setattr(feed, "_VALIDATION_ROWS", 7)
    assert validation.accuracy(objective, World()) == whole


def test_rows_without_weight_have_no_accuracy():
    assert make_validation(weight=torch.zeros(N)).accuracy(make_objective(), World()) == 0


def test_validation_may_be_rare_but_the_last_epoch_is_measured():
    script = Script(0.1, 0.2, 0.3)
    _, history = run(validation=script, max_epochs=8, validation_every=3)
    measured = [a is not None for a in history.column("validation_accuracy")]
    assert measured == [False, False, True, False, False, True, False, True]
    assert script.asked == 3
    assert (history.best_epoch, history.best_accuracy) == (8, 0.3)


def test_the_best_epoch_is_kept():
    weights = Weights()
    script = Script(0.1, 0.5, 0.4, 0.5, 0.3)
    objective, history = run(validation=script, callbacks=[weights])
    assert history.best_epoch == 4  # of equals the one that was trained longer
    assert same(state_of(objective), weights.kept[3])
    assert not same(weights.kept[3], weights.kept[4])


def test_without_validation_the_last_is_kept():
    weights = Weights()
    objective, history = run(callbacks=[weights])
    assert history.best_epoch is None and history.best_accuracy is None
    assert same(state_of(objective), weights.kept[-1])
    assert history.column("validation_accuracy") == [None] * 5


def test_the_regularizer_hears_of_accuracies():
    objective = make_objective(adaptive="previous")
    _, history = run(objective, validation=Script(0.1, 0.2, 0.3, 0.3, 0.2))
    assert history.column("factor") == [1, 1, 2, 4, 4]  # as it was in the epoch


def test_patience_ends():
    script = Script(0.3, 0.5, 0.4, 0.5, 0.4, 0.6)
    _, history = run(validation=script, max_epochs=9, patience=3)
    assert len(history) == 5  # an equal is no new best
    assert history.stopped == "no progress in 3 validations"
    _, history = run(validation=Script(0.5, 0.6, 0.7, 0.8, 0.9), patience=1)
    assert history.stopped == "max_epochs reached"


def test_the_time_limit_stops_within_an_epoch():
    steps = []
    batches = make_batches(batch_size=1)
    epoch = batches.epoch
    batches.epoch = lambda number: (steps.append(1) or batch for batch in epoch(number))
    _, history = run(batches=batches, time_limit=1e-9, validation=make_validation())
    assert history.stopped == "time_limit reached"
    assert len(history) == len(steps) == 1
    assert history.best_accuracy is not None


def test_a_generous_time_limit_changes_nothing():
    assert same(state_of(run()[0]), state_of(run(time_limit=1e6)[0]))


def test_a_callback_sees_each_record_and_may_stop():
    seen = []

    def stop_at_two(progress):
        seen.append(progress)
        if progress.epoch.epoch == 2:
            progress.stop()

    others = Weights()
    _, history = run(callbacks=[stop_at_two, others])
    assert [progress.epoch for progress in seen] == history.epochs
    assert all(progress.history is history for progress in seen)
    assert len(history) == len(others.kept) == 2
    assert history.stopped == "a callback asked for it"


# What goes wrong


def test_ctrl_c_keeps_the_best():
    weights = Weights()

    def ctrl_c(progress):
        if progress.epoch.epoch == 3:
            raise KeyboardInterrupt

    with pytest.warns(DsncWarning, match="interrupted .* best model so far is kept"):
        objective, history = run(validation=Script(0.2, 0.9, 0.4), callbacks=[weights, ctrl_c])
    assert history.stopped == "interrupted"
    assert history.best_epoch == 2
    assert same(state_of(objective), weights.kept[1])


def test_ctrl_c_in_the_first_epoch_is_an_interrupt_like_any():
    batches = make_batches()

    def epoch(number):
        yield from list(make_batches().epoch(number))[:2]
        raise KeyboardInterrupt

    batches.epoch = epoch
    with pytest.raises(KeyboardInterrupt):
        run(batches=batches)


def test_other_errors_of_a_callback_come_through():
    def wrong(progress):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(callbacks=[wrong])


@pytest.mark.parametrize("validation", [None, make_validation()])
def test_a_loss_that_is_no_number_names_the_learning_rate(validation):
    objective = make_objective()
    with torch.no_grad():
        objective.bias[0] = math.nan
    with pytest.raises(InputError, match=r"loss is nan after epoch 1; try learning_rate=0\.003"):
        run(objective, validation=validation)


def test_a_late_divergence_keeps_the_best():
    weights, objective = Weights(), make_objective()

    def poison(progress):
        if progress.epoch.epoch == 2:
            with torch.no_grad():
                objective.bias[0] = math.nan

    script = Script(0.5, 0.6, 0.9)
    with pytest.warns(DsncWarning, match="loss became nan in epoch 3; .* try learning_rate=0.003"):
        _, history = run(objective, validation=script, callbacks=[weights, poison])
    assert history.stopped == "the loss is not finite"
    assert script.asked == 2  # what is not a number is no candidate
    assert history.best_epoch == 2
    assert same(state_of(objective), weights.kept[1])


# Repeatability


def test_the_same_seed_gives_the_same_bits():
    runs = [run(seed=seed, validation=make_validation()) for seed in (0, 0, 1)]
    states = [state_of(objective) for objective, _ in runs]
    assert same(states[0], states[1]) and not same(states[0], states[2])
    first, second = (
        [{**record, "seconds": 0} for record in history.records()] for _, history in runs[:2]
    )
    assert first == second


def test_watching_changes_nothing():
    bare = state_of(run()[0])
    assert same(bare, state_of(run(callbacks=[Weights()])[0]))
    script = Script(0.1, 0.2, 0.3, 0.4, 0.5)
    assert same(bare, state_of(run(validation=script)[0]))


def test_global_generators_are_left_alone():
    before = torch.get_rng_state(), copy.deepcopy(np.random.get_state())  # noqa: NPY002
    run(validation=make_validation())
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1][1])  # noqa: NPY002


def test_the_bar_is_drawn_on_stderr_and_only_if_asked(capfd):
    run(max_epochs=2)
    assert capfd.readouterr() == ("", "")
    run(max_epochs=2, verbose=True, validation=make_validation())
    out, err = capfd.readouterr()
    assert out == ""
    assert "2/2" in err and "loss" in err
