import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from dsnc.training.losses import base, softmax
from dsnc.training.losses.softmax import SoftmaxLoss


def make_problem(n, n_bits, n_classes, *, seed=0, dtype=torch.float64, size=1.0):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        values = size * torch.randn(*shape, generator=generator, dtype=torch.float64)
        return values.to(dtype).requires_grad_()

    y = torch.randint(n_classes, (n,), generator=generator)
    row_weight = torch.rand(n, generator=generator, dtype=torch.float64).to(dtype)
    return normal(n, n_bits), normal(n_classes, n_bits), normal(n_classes), y, row_weight


def plain(rows, weight, bias, y, row_weight, smoothing=0.0):
    each = F.cross_entropy(
        F.linear(rows, weight, bias), y, reduction="none", label_smoothing=smoothing
    )
    return (each * row_weight).sum(), each.detach()


def linear_cross_entropy(*problem, **options):
    return SoftmaxLoss().for_run(**options)(*problem)


def results(function, problem, **options):
    """Total, losses and the gradients for rows, weight and bias, behind a factor of 3."""
    total, each = function(*problem, **options)
    return [total.detach(), each, *torch.autograd.grad(3 * total, problem[:3])]


@given(
    n=st.integers(1, 9),
    n_bits=st.integers(1, 5),
    n_classes=st.integers(2, 7),
    smoothing=st.sampled_from([0.0, 0.1, 1.0]),
    block=st.integers(1, 60),
    seed=st.integers(0, 1000),
)
def test_equals_the_plain_way(n, n_bits, n_classes, smoothing, block, seed):
    problem = make_problem(n, n_bits, n_classes, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "_CPU_BLOCK", block)  # from one row at a time to all at once
        ours = results(linear_cross_entropy, problem, smoothing=smoothing, precision=torch.float64)
    for a, b in zip(ours, results(plain, problem, smoothing=smoothing), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def test_a_second_backward_is_refused_rather_than_wrong():
    problem = make_problem(3, 2, 4)
    total, _ = linear_cross_entropy(*problem, precision=torch.float64)
    torch.autograd.grad(total, problem[:3], retain_graph=True)
    with pytest.raises(RuntimeError, match="inplace"):
        torch.autograd.grad(total, problem[:3])


def test_float32_is_as_good_as_the_plain_way():
    problem = make_problem(50, 16, 300, dtype=torch.float32)
    exact = results(plain, make_problem(50, 16, 300))
    ours = results(linear_cross_entropy, problem)
    assert all(part.dtype == torch.float32 for part in ours)
    for a, b in zip(ours, exact, strict=True):
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # a processor without bfloat16
@pytest.mark.parametrize("block", [1, 1000, 1 << 22])
def test_bfloat16_is_close(monkeypatch, block):
    monkeypatch.setattr(base, "_CPU_BLOCK", block)
    problem = make_problem(60, 16, 40, dtype=torch.float32, size=0.5)
    ours = results(linear_cross_entropy, problem, precision=torch.bfloat16)
    for a, b in zip(ours, results(plain, problem), strict=True):
        assert a.dtype == torch.float32
        assert (a - b).norm() < 0.01 * b.norm()  # bfloat16 has 8 bits


def test_huge_scores_do_not_overflow():
    rows = torch.tensor([[1e4, -1e4]], requires_grad=True)
    weight = torch.tensor([[1e4, 0.0], [0.0, 1e4]], requires_grad=True)
    bias, y = torch.zeros(2, requires_grad=True), torch.tensor([1])
    total, each = linear_cross_entropy(rows, weight, bias, y, torch.ones(1))
    total.backward()
    assert each.item() == pytest.approx(2e8)
    assert bias.grad.tolist() == [1, -1]


def test_losses_are_numbers_and_rows_of_no_weight_count_nothing():
    problem = make_problem(4, 3, 5)
    problem[4][1] = 0
    total, each = linear_cross_entropy(*problem, precision=torch.float64)
    assert not each.requires_grad
    assert each[1] > 0
    (of_rows,) = torch.autograd.grad(total, problem[:1])
    assert of_rows[1].tolist() == [0, 0, 0]
    assert of_rows[0].abs().min() > 0


def test_no_rows_cost_nothing():  # a process's part of a short batch
    problem = make_problem(0, 3, 5, dtype=torch.float32)
    total, each, of_rows, of_weight, of_bias = results(linear_cross_entropy, problem)
    assert total == 0 and each.shape == (0,) and of_rows.shape == (0, 3)
    assert not of_weight.any() and not of_bias.any()


def test_the_score_matrix_is_never_held(monkeypatch):
    monkeypatch.setattr(base, "_CPU_BLOCK", 700)
    seen = []
    to_gradient = softmax.to_gradient

    def watch(scores, *rest):
        seen.append(tuple(scores.shape))
        return to_gradient(scores, *rest)

    monkeypatch.setattr(softmax, "to_gradient", watch)
    linear_cross_entropy(*make_problem(25, 3, 100, dtype=torch.float32))
    assert seen == [(7, 100), (7, 100), (7, 100), (4, 100)]
