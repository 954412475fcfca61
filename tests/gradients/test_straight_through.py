import pytest
import torch

from dsnc.errors import InputError
from dsnc.gradients import StraightThrough


def step(gradient, logits, price, draw=0.5):
    """Return the code and the gradient for the loss code @ price."""
    codes = []

    def loss_of_code(code):
        codes.append(code.detach())
        each = code @ price
        return each.sum(dim=1).mean(dim=0), each.detach()

    logits = logits.clone().requires_grad_()
    surrogate, _ = gradient(logits, loss_of_code, lambda shape: torch.full(shape, draw))
    return codes[0], torch.autograd.grad(surrogate, logits)[0]


def test_backward_is_the_derivative_of_the_sigmoid():
    logits, price = torch.tensor([[-1.0, 0.0, 2.0]]), torch.tensor([3.0, -1.0, 2.0])
    code, slope = step(StraightThrough(n_draws=2), logits, price)
    phi = torch.sigmoid(logits)
    assert code.tolist() == [[[0.0, 0.0, 1.0]]] * 2
    torch.testing.assert_close(slope, price * phi * (1 - phi))


def test_the_slope_grows_with_the_epochs_forward_and_backward():
    gradient = StraightThrough(slope_growth=2.0, n_draws=1)
    logits, price = torch.tensor([[0.5]]), torch.tensor([1.0])
    for epoch, phi in enumerate(torch.sigmoid(torch.tensor([0.5, 1.0, 2.0]))):
        gradient.start_epoch(epoch)
        code, slope = step(gradient, logits, price, draw=0.7)
        assert code.item() == (0.7 < phi)
        torch.testing.assert_close(slope.item(), (2.0**epoch * phi * (1 - phi)).item())


def test_a_thousand_doublings_do_not_overflow():
    gradient = StraightThrough(slope_growth=2.0)
    gradient.start_epoch(100_000)
    _, slope = step(gradient, torch.tensor([[-3.0, 0.0, 3.0]]), torch.ones(3))
    assert slope.isfinite().all()


def test_the_slope_of_the_paper():
    gradient = StraightThrough(slope_growth=1.0001)
    gradient.start_epoch(50)
    assert gradient.state_dict() == {"slope": 1.0001**50}


@pytest.mark.parametrize("value", [0, -1.0, float("inf"), float("nan"), "1", None, True])
def test_growth_is_checked(value):
    with pytest.raises(InputError, match=r"slope_growth=.* must be a number above 0"):
        StraightThrough(slope_growth=value)
