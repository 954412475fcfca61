import pytest
import torch

from dsnc.errors import InputError
from dsnc.gradients import DisARM


def step(logits, uniform, price, n_draws=2):
    """Return the codes and the gradient for the loss (code @ price)^2."""
    codes = []

    def loss_of_code(code):
        codes.append(code)
        each = (code @ price) ** 2
        return each.sum(dim=1).mean(dim=0), each.detach()

    logits = logits.clone().requires_grad_()
    gradient = DisARM(n_draws=n_draws)
    surrogate, _ = gradient(logits, loss_of_code, lambda shape: uniform.expand(shape))
    assert len(codes) == 1  # both draws of all pairs in one call
    return codes[0], torch.autograd.grad(surrogate, logits)[0]


def test_one_pair_by_hand():
    logits, price = torch.tensor([[0.0, 3.0, -1.0]]), torch.tensor([1.0, 2.0, 4.0])
    codes, slope = step(logits, torch.tensor([0.9, 0.5, 0.1]), price)
    # the certain bit is 1 in both draws, and learns nothing from this pair
    assert codes.tolist() == [[[1.0, 1.0, 0.0]], [[0.0, 1.0, 1.0]]]
    half = (3.0**2 - 6.0**2) / 2
    weight = torch.sigmoid(logits.abs())[0]
    torch.testing.assert_close(slope[0], torch.tensor([half, 0.0, -half]) * weight)


def test_fair_bits_are_opposite():
    uniform = torch.linspace(0, 0.99, 100)
    codes, _ = step(torch.zeros(1, 100), uniform, torch.ones(100), n_draws=4)
    assert codes.shape == (4, 1, 100)
    assert torch.equal(codes[:2], 1 - codes[2:])


@pytest.mark.parametrize("logit", [-3.0, -0.1, 1.0, 4.0])
def test_both_draws_have_the_right_probability(logit):
    logits = torch.full((1, 10_000), logit)
    codes, _ = step(logits, (torch.arange(10_000) + 0.5) / 10_000, torch.ones(10_000))
    expected = torch.sigmoid(torch.tensor(logit)).item()
    assert codes.mean(dim=-1).ravel().tolist() == pytest.approx([expected] * 2, abs=1e-4)


def test_half_a_pair_is_refused():
    with pytest.raises(InputError, match=r"n_draws=3 must be even: codes are drawn in opposite"):
        DisARM(n_draws=3)
