"""Rows for soft bits: what is trained, what stays, and when they are left out."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn

from dsnc.codes import Encoded
from dsnc.decoders import LinearDecoder, SoftDecoder
from dsnc.errors import DsncWarning
from dsnc.targets import Targets
from dsnc.training import learner as module
from dsnc.training.batches import Batch
from dsnc.training.examples import Examples
from dsnc.training.learner import Learner
from dsnc.training.settings import Settings
from dsnc.training.soft_vectors import SoftVectorsObjective

K, D, BITS = 60, 10, 7


def make_examples(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(9).normal(size=(K, D))
    y = rng.integers(0, K, n).astype(np.int32)
    return Examples((centers[y] + 0.3 * rng.normal(size=(n, D))).astype(np.float32), Targets(y, K))


TRAIN, HELD_OUT = make_examples(), make_examples(400, seed=1)


@pytest.fixture(scope="module")
def learner():
    settings = Settings(n_bits=BITS, max_epochs=10, learning_rate=0.03, device="cpu")
    learner = Learner(settings, TRAIN, K, 0)
    learner.fit(TRAIN, HELD_OUT)
    return learner


def hard_rows(learner):
    return LinearDecoder(*learner.objective.decoder_for_signs())


def soft_accuracy(learner, rows, sharpness):
    logits = learner.objective.encoder(torch.from_numpy(HELD_OUT.X)).detach().numpy()
    classes, _ = SoftDecoder(rows.weight, rows.bias, sharpness=sharpness).top_k(Encoded(logits), 1)
    return float((classes[:, 0] == HELD_OUT.targets.y).mean())


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_loss_is_the_likelihood_of_soft_bits(smoothing):
    rng = np.random.default_rng(0)
    rows = LinearDecoder(rng.normal(size=(5, 3)), rng.normal(size=5))
    objective = SoftVectorsObjective(
        Settings(n_bits=rows.n_bits, label_smoothing=smoothing), nn.Identity(), rows, 0.4
    )
    logits, y = torch.from_numpy(rng.normal(size=(4, 3)).astype("f4")), torch.tensor([0, 3, 4, 1])
    weight = torch.tensor([0.1, 0.2, 0.3, 0.4])
    noise = torch.Generator()
    terms = objective(Batch(logits, y, weight, (0, 4, 4), noise))
    scores = np.tanh(0.2 * logits.numpy()) @ rows.weight.T + rows.bias
    each = nn.functional.cross_entropy(
        torch.from_numpy(scores), y, reduction="none", label_smoothing=smoothing
    )
    assert terms.loss.item() == pytest.approx(float((each * weight).sum()), rel=1e-5)


def test_only_the_rows_are_its_parameters(learner):
    objective = SoftVectorsObjective(
        learner.settings, learner.objective.encoder, hard_rows(learner), 0.5
    )
    assert {name for name, _ in objective.named_parameters()} == {"weight", "bias"}


def test_the_encoder_stays_and_soft_bits_win(learner):
    before = {
        k: v.clone() for k, v in learner.objective.state_dict().items() if k != "_extra_state"
    }
    rows = hard_rows(learner)
    soft = learner.fit_soft_vectors(rows, 0.3, TRAIN)
    again = learner.fit_soft_vectors(rows, 0.3, TRAIN)
    after = learner.objective.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    assert np.array_equal(soft.weight, again.weight) and np.array_equal(soft.bias, again.bias)
    assert soft_accuracy(learner, soft, 0.3) > soft_accuracy(learner, rows, 0.3) + 0.03


def test_each_call_of_partial_fit_passes_once_in_an_order_of_its_own(learner):
    rows = hard_rows(learner)
    one, two = (learner.partial_fit_soft_vectors(rows, 0.3, TRAIN, call) for call in (1, 2))
    assert not np.array_equal(one.weight, rows.weight)
    assert not np.array_equal(one.weight, two.weight)


def test_rows_of_no_weight_teach_nothing(learner):
    rows = hard_rows(learner)
    weight = np.ones(len(TRAIN.targets), dtype=np.float32)
    weight[::2] = 0
    kept = Examples(TRAIN.X, TRAIN.targets, weight, np.flatnonzero(weight))
    wrong = np.where(weight > 0, TRAIN.targets.y, 0).astype(np.int32)
    other = kept._replace(targets=Targets(wrong, K))
    answers = [learner.fit_soft_vectors(rows, 0.3, part) for part in (kept, other)]
    assert np.array_equal(answers[0].weight, answers[1].weight)


def test_they_are_left_out_when_there_is_no_time(learner):
    rows = hard_rows(learner)
    settings = Settings(n_bits=BITS, max_epochs=3, device="cpu", time_limit=1e-9)
    late = Learner(settings, TRAIN, K, 0)
    assert late.fit(TRAIN, HELD_OUT).stopped == "time_limit reached"
    assert late.fit_soft_vectors(rows, 0.3, TRAIN) is rows


def test_an_interrupted_training_is_not_followed_by_them():
    def interrupt(progress):
        if progress.epoch.epoch == 2:
            raise KeyboardInterrupt

    settings = Settings(n_bits=BITS, max_epochs=5, device="cpu", callbacks=[interrupt])
    stopped = Learner(settings, TRAIN, K, 0)
    with pytest.warns(DsncWarning, match="interrupted in epoch 3"):
        stopped.fit(TRAIN, HELD_OUT)
    rows = hard_rows(stopped)
    assert stopped.fit_soft_vectors(rows, 0.3, TRAIN) is rows


def test_interrupting_them_keeps_what_was_trained_before(learner, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "train", interrupted)
    rows = hard_rows(learner)
    with pytest.warns(DsncWarning, match="before class vectors for soft bits"):
        assert learner.fit_soft_vectors(rows, 0.3, TRAIN) is rows
    with pytest.raises(KeyboardInterrupt):  # a loop over parts of the rows must end
        learner.partial_fit_soft_vectors(rows, 0.3, TRAIN, 1)


def test_a_resumed_run_has_the_time_that_it_did_not_take(tmp_path):
    settings = {"n_bits": BITS, "max_epochs": 10, "device": "cpu", "checkpoint": tmp_path}
    whole = Learner(Settings(**settings), TRAIN, K, 0)
    took = whole.fit(TRAIN, HELD_OUT).epochs[-1].seconds
    resumed = Learner(Settings(**settings, time_limit=0.9 * took), TRAIN, K, 0)
    resumed.fit(TRAIN, HELD_OUT)  # has nothing left to do
    rows = hard_rows(resumed)
    assert resumed.fit_soft_vectors(rows, 0.3, TRAIN) is not rows


def test_a_checkpoint_does_not_care_for_them(tmp_path):
    settings = {"n_bits": BITS, "max_epochs": 2, "device": "cpu", "checkpoint": tmp_path}
    for soft_vectors in (True, False):
        learner = Learner(Settings(**settings, soft_vectors=soft_vectors), TRAIN, K, 0)
        assert len(learner.fit(TRAIN, HELD_OUT)) == 2


def test_many_small_passes_keep_what_the_optimizer_has_learned():
    """A new Adam moves every weight of every class by the whole rate, in each call."""
    settings = Settings(n_bits=BITS, max_epochs=10, learning_rate=0.03, device="cpu")
    learner = Learner(settings, TRAIN, K, 0)
    learner.fit(TRAIN, HELD_OUT)
    first = rows = learner.fit_soft_vectors(hard_rows(learner), 0.3, TRAIN)
    for call in range(1, 61):
        part = TRAIN._replace(rows=np.arange(20 * call, 20 * call + 20))
        rows = learner.partial_fit_soft_vectors(rows, 0.3, part, call)
    lost = soft_accuracy(learner, first, 0.3) - soft_accuracy(learner, rows, 0.3)
    assert lost < 0.1


def test_the_bar_says_what_it_counts(capsys):
    settings = Settings(n_bits=BITS, max_epochs=1, device="cpu", verbose=True)
    talking = Learner(settings, TRAIN, K, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        talking.fit(TRAIN, HELD_OUT)
        talking.fit_soft_vectors(hard_rows(talking), 0.3, TRAIN)
    assert "soft epoch" in capsys.readouterr().err
