import pytest
import torch

from dsnc.errors import InputError
from dsnc.gradients import Relaxed


def codes(logits, uniform, **settings):
    """Return the codes that are drawn with the given uniform numbers."""
    seen = []

    def loss_of_code(code):
        seen.append(code)
        return code.sum(), code.sum(dim=-1).detach()

    Relaxed(**settings)(logits, loss_of_code, lambda shape: uniform.expand(shape))
    return seen[0]


def test_the_harder_half_of_a_relaxed_bit_is_the_hard_bit():
    uniform = torch.linspace(0, 0.999, 101)
    logits = torch.linspace(-4, 4, 9)[:, None].expand(-1, 101)
    soft = codes(logits, uniform, temperature=0.7)
    # the draw goes the other way round than "u < phi": a large u makes a one
    assert torch.equal(soft[0] > 0.5, 1 - uniform < torch.sigmoid(logits))


def test_cold_bits_are_hard():
    generator = torch.Generator().manual_seed(0)
    soft = codes(torch.zeros(1, 1000), torch.rand(1000, generator=generator), temperature=1e-4)
    assert ((soft < 0.01) | (soft > 0.99)).float().mean() > 0.99


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_no_draw_is_without_a_logit(dtype):
    logits = torch.zeros(1, 2, dtype=dtype, requires_grad=True)
    soft = codes(logits, torch.tensor([0.0, 1.0], dtype=dtype), n_draws=3)
    assert soft.shape == (3, 1, 2)
    assert soft.isfinite().all()
    assert torch.autograd.grad(soft.sum(), logits)[0].isfinite().all()


@pytest.mark.parametrize("value", [0, -0.5, float("inf"), float("nan"), "cold", None, True])
def test_the_temperature_is_checked(value):
    with pytest.raises(InputError, match=r"temperature=.* must be a number above 0"):
        Relaxed(temperature=value)
