import pytest
import torch

from dsnc.errors import InputError
from dsnc.gradients import Reinforce


def constant_loss(value):
    def loss_of_code(code):
        each = torch.full(code.shape[:2], value / code.shape[1])
        return each.sum(dim=1).mean(dim=0), each

    return loss_of_code


def step(gradient, value, n_examples=2):
    logits = torch.zeros(n_examples, 3, requires_grad=True)
    surrogate, loss = gradient(logits, constant_loss(value), torch.rand)
    assert loss == pytest.approx(value)
    return torch.autograd.grad(surrogate, logits)[0]


def test_a_constant_loss_is_all_baseline():
    assert (step(Reinforce(n_draws=2, baseline="leave_one_out"), 3.0) == 0).all()
    assert (step(Reinforce(n_draws=1, baseline="none"), 3.0) != 0).all()


def test_the_running_baseline_is_used_before_it_is_updated():
    gradient = Reinforce(n_draws=1, baseline="running")
    # one sample at logit 0: the score of each bit is +1/2 or -1/2, the batch's loss is halved
    assert step(gradient, 4.0).abs().unique().tolist() == [1.0]
    assert gradient.state_dict() == {"average": 4.0}
    assert step(gradient, 4.0).abs().unique().tolist() == [0.0]
    assert step(gradient, 8.0).abs().unique().tolist() == [1.0]
    assert gradient.state_dict()["average"] == pytest.approx(0.9 * 4 + 0.1 * 8)


def test_a_short_last_batch_finds_the_same_running_baseline():
    gradient = Reinforce(n_draws=1, baseline="running")
    step(gradient, 4.0, n_examples=8)
    assert (step(gradient, 4.0, n_examples=2) == 0).all()


def test_the_other_baselines_have_no_state():
    for baseline in ("none", "leave_one_out"):
        gradient = Reinforce(baseline=baseline)
        step(gradient, 4.0)
        assert gradient.state_dict() == {}
        with pytest.raises(InputError, match="does not belong to Reinforce"):
            gradient.load_state_dict({"average": 1.0})


def test_certain_bits_have_finite_log_probabilities():
    logits = torch.tensor([[1e4, -1e4]], requires_grad=True)
    surrogate, _ = Reinforce()(logits, constant_loss(1.0), torch.rand)
    assert surrogate.isfinite()


def test_leaving_one_out_needs_another_one():
    with pytest.raises(InputError, match="n_draws=1 must be a whole number, 2 or more"):
        Reinforce(n_draws=1, baseline="leave_one_out")


def test_the_baseline_is_checked():
    with pytest.raises(InputError, match="baseline='runing' is not known. Did you mean 'running'"):
        Reinforce(baseline="runing")
