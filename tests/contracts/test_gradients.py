"""Every gradient against the truth: with few bits, the expectation over all 2^c codes is a sum."""

import itertools
import json
import math
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy, logsigmoid

from dsnc.errors import InputError
from dsnc.gradients import (
    GRADIENTS,
    DisARM,
    Gradient,
    Reinforce,
    Relaxed,
    StraightThrough,
    make_gradient,
    sample_bits,
)
from outside.arm import ARM
from outside.gumbel_straight_through import GumbelStraightThrough

VARIANTS = [
    *(pytest.param(kind, {}, id=name) for name, kind in GRADIENTS.items()),
    pytest.param(Reinforce, {"n_draws": 1, "baseline": "none"}, id="reinforce-none"),
    pytest.param(Reinforce, {"n_draws": 1, "baseline": "running"}, id="reinforce-running"),
    pytest.param(DisARM, {"n_draws": 6}, id="disarm-6"),
    pytest.param(ARM, {}, id="arm"),
    pytest.param(GumbelStraightThrough, {}, id="gumbel_straight_through"),
]
UNBIASED = [case for case in VARIANTS if not case.values[0].max_bias]
BIASED = [case for case in VARIANTS if case.values[0].max_bias]
N_REPEATS = 50_000


class Problem(NamedTuple):
    """A linear decoder on bits written as -1 and +1, and weighted examples to classify."""

    logits: torch.Tensor  # (B, c)
    decoder: torch.Tensor  # (K, c), or (B, K, c): one for each example
    labels: torch.Tensor  # (B,)
    weights: torch.Tensor  # (B,)

    def loss_of_code(self, code):
        assert code.shape[1:] == self.logits.shape
        scores = ((2 * code - 1).unsqueeze(-2) * self.decoder).sum(dim=-1)
        labels = self.labels.expand(code.shape[:2])
        losses = cross_entropy(scores.permute(2, 0, 1)[None], labels[None], reduction="none")[0]
        each = losses * self.weights
        return each.sum(dim=1).mean(dim=0), each.detach()

    def repeated(self, times):
        """Return the problem `times` over, each with its own leaves: gradients stay apart."""
        decoder = self.decoder.expand(len(self.labels), *self.decoder.shape)
        return Problem(
            self.logits.repeat(times, 1).requires_grad_(),
            decoder.repeat(times, 1, 1).requires_grad_(),
            self.labels.repeat(times),
            self.weights.repeat(times),
        )


def make_problem(n_bits=4, n_examples=3, n_classes=5, dtype=torch.float64, seed=1):
    generator = torch.Generator().manual_seed(seed)
    normal = torch.randn(n_examples + n_classes, n_bits, generator=generator, dtype=dtype)
    weights = torch.arange(1, n_examples + 1, dtype=dtype)
    return Problem(
        logits=1.5 * normal[:n_examples],
        decoder=normal[n_examples:],
        labels=torch.arange(n_examples) % n_classes,
        weights=weights / weights.sum(),
    )


def make_noise(seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return lambda shape: torch.rand(shape, generator=generator, dtype=dtype)


def exact_gradient(problem):
    """Return the derivatives of sum_b P(b) loss(b) for the logits and the decoder."""
    logits = problem.logits.clone().requires_grad_()
    decoder = problem.decoder.clone().requires_grad_()
    n_bits = logits.shape[1]
    codes = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n_bits)), dtype=logits.dtype)
    phi = torch.sigmoid(logits)
    code = codes[:, None].expand(-1, *logits.shape)
    probability = (code * phi + (1 - code) * (1 - phi)).prod(dim=-1)
    scores = (2 * code - 1) @ decoder.T
    log_likelihood = scores.log_softmax(dim=-1)[:, torch.arange(len(phi)), problem.labels]
    expected = -(probability * log_likelihood * problem.weights).sum()
    return torch.autograd.grad(expected, [logits, decoder])


def estimates(gradient, problem, seed=0):
    """Return many independent estimates: (R, B, c) for the logits, (R, K, c) for the decoder."""
    many = problem.repeated(N_REPEATS)
    noise = make_noise(seed)
    if gradient.settings().get("baseline") == "running":
        gradient(many.logits.detach(), many.loss_of_code, noise)  # there must be a past to average
    surrogate, _ = gradient(many.logits, many.loss_of_code, noise)
    of_logits, of_decoder = torch.autograd.grad(surrogate, [many.logits, many.decoder])
    shape = (N_REPEATS, *problem.logits.shape[:1])
    return of_logits.unflatten(0, shape), of_decoder.unflatten(0, shape).sum(dim=1)


def is_unbiased(samples, exact):
    """Whether the mean agrees with the truth, by a measurement that is sharp enough to tell."""
    error = (samples.mean(dim=0) - exact).abs()
    standard_error = samples.std(dim=0) / math.sqrt(len(samples))
    assert standard_error.norm() < 0.02 * exact.norm()
    return bool((error <= 5 * standard_error + 1e-12).all())


def relative_bias(samples, exact):
    return ((samples.mean(dim=0) - exact).norm() / exact.norm()).item()


@pytest.mark.parametrize(("kind", "settings"), UNBIASED)
def test_unbiased_gradients_agree_with_enumeration(kind, settings):
    problem = make_problem()
    for samples, exact in zip(
        estimates(kind(**settings), problem), exact_gradient(problem), strict=True
    ):
        assert is_unbiased(samples, exact)


class OwnBaseline(Gradient):
    """REINFORCE whose baseline, the mean over all samples, knows the sample: too short."""

    max_bias = 0.0
    direction = 1

    def __call__(self, logits, loss_of_code, noise):
        bits = sample_bits(torch.sigmoid(logits), noise, n_draws=4)
        mean, each = loss_of_code(bits)
        score = (each - each.mean(dim=0)) * logsigmoid((2 * bits - 1) * logits).sum(dim=-1)
        return mean + self.direction * score.sum(dim=1).mean(dim=0), mean.detach()


class Corrected(OwnBaseline):
    direction = 4 / 3


class Uphill(OwnBaseline):
    direction = -4 / 3


@pytest.mark.parametrize(
    ("kind", "right"), [(OwnBaseline, False), (Corrected, True), (Uphill, False)]
)
def test_the_comparison_tells_right_from_wrong(kind, right):
    problem = make_problem()
    (samples, _), (exact, _) = estimates(kind(), problem), exact_gradient(problem)
    assert is_unbiased(samples, exact) == right


def test_the_comparison_misses_no_forgotten_decoder():
    class NoDecoder(DisARM):
        def __call__(self, logits, loss_of_code, noise):
            def numbers_only(code):
                mean, each = loss_of_code(code)
                return mean.detach() + 0 * mean, each

            return super().__call__(logits, numbers_only, noise)

    problem = make_problem()
    (_, samples), (_, exact) = estimates(NoDecoder(), problem), exact_gradient(problem)
    assert not is_unbiased(samples, exact)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("kind", "settings"), BIASED)
def test_biased_gradients_are_off_by_no_more_than_they_declare(kind, settings, seed):
    problem = make_problem(seed=seed)
    (samples, _), (exact, _) = estimates(kind(**settings), problem), exact_gradient(problem)
    assert relative_bias(samples, exact) < kind.max_bias < 1  # below 1, the direction is right


def test_straight_through_is_exact_for_the_decoder_and_relaxed_is_not():
    problem = make_problem()
    _, exact = exact_gradient(problem)
    assert is_unbiased(estimates(StraightThrough(), problem)[1], exact)
    assert 0.1 < relative_bias(estimates(Relaxed(), problem)[1], exact) < 0.4


def test_a_cold_relaxation_trades_bias_for_variance():
    problem = make_problem()
    exact, _ = exact_gradient(problem)
    warm, cold = (estimates(Relaxed(temperature=t), problem)[0] for t in (1.0, 0.2))
    assert relative_bias(cold, exact) < relative_bias(warm, exact) / 4
    assert cold.var(dim=0).sum() > 4 * warm.var(dim=0).sum()


def test_disarm_varies_less_than_reinforce_at_the_same_cost():
    ratios = []
    for seed in range(3):
        problem = make_problem(seed=seed)
        pair, two = (estimates(g(n_draws=2), problem)[0] for g in (DisARM, Reinforce))
        ratios.append((pair.var(dim=0).sum() / two.var(dim=0).sum()).item())
    assert sum(ratios) / len(ratios) < 0.85
    assert max(ratios) < 0.95


class Recorder:
    """A loss that remembers the codes that it was asked about."""

    def __init__(self, problem):
        self.problem, self.codes, self.means = problem, [], []

    def __call__(self, code):
        self.codes.append(code.detach())
        mean, each = self.problem.loss_of_code(code)
        self.means.append(mean.detach())
        return mean, each


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("n_bits", "n_examples"), [(1, 1), (4, 3)])
@pytest.mark.parametrize(("kind", "settings"), VARIANTS)
def test_one_step(kind, settings, n_bits, n_examples, dtype):
    problem = make_problem(n_bits, n_examples, dtype=dtype).repeated(1)
    gradient, loss_of_code = kind(**settings), Recorder(problem)
    global_state = torch.get_rng_state()
    surrogate, loss = gradient(problem.logits, loss_of_code, make_noise(dtype=dtype))
    surrogate.backward()

    assert torch.equal(torch.get_rng_state(), global_state)
    assert surrogate.shape == loss.shape == ()
    assert not loss.requires_grad
    assert loss == torch.stack(loss_of_code.means).mean()
    for leaf in (problem.logits, problem.decoder):
        assert leaf.grad.dtype == dtype
        assert leaf.grad.isfinite().all()
    for code in loss_of_code.codes:
        assert code.dtype == dtype
        assert code.shape[1:] == (n_examples, n_bits)
        if kind is Relaxed:
            assert ((code >= 0) & (code <= 1)).all()
        else:
            assert ((code == 0) | (code == 1)).all()


@pytest.mark.parametrize(("kind", "settings"), VARIANTS)
def test_the_same_noise_gives_the_same_gradient(kind, settings):
    def step(seed):
        problem = make_problem().repeated(1)
        surrogate, loss = kind(**settings)(problem.logits, problem.loss_of_code, make_noise(seed))
        return [loss, *torch.autograd.grad(surrogate, [problem.logits, problem.decoder])]

    assert all(map(torch.equal, step(seed=3), step(seed=3)))
    assert not all(map(torch.equal, step(seed=3), step(seed=4)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("kind", "settings"), VARIANTS)
def test_extreme_noise_and_logits_stay_finite(kind, settings, dtype):
    extremes = [-50.0, -20.0, 0.0, 20.0, 50.0]
    for draw in (0.0, 0.5, 1 - torch.finfo(dtype).eps / 2):
        problem = make_problem(n_bits=5, n_examples=2, dtype=dtype)
        problem = problem._replace(logits=torch.tensor([extremes, extremes[::-1]], dtype=dtype))
        problem = problem.repeated(1)
        noise = lambda shape, draw=draw: torch.full(shape, draw, dtype=dtype)  # noqa: E731
        surrogate, _ = kind(**settings)(problem.logits, problem.loss_of_code, noise)
        for part in torch.autograd.grad(surrogate, [problem.logits, problem.decoder]):
            assert part.isfinite().all()


@pytest.mark.parametrize(("kind", "settings"), VARIANTS)
def test_settings_make_a_twin(kind, settings):
    gradient = kind(**settings)
    written = json.loads(json.dumps(gradient.settings()))
    assert written.items() >= settings.items()
    twin = kind(**written)
    assert twin.settings() == gradient.settings()
    assert repr(twin) == repr(gradient)
    assert repr(gradient).startswith(kind.__name__)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("kind", "settings"), VARIANTS)
def test_interrupted_and_resumed_is_uninterrupted(kind, settings, dtype):
    def run(gradient, epochs, noise):
        problem, results = make_problem(dtype=dtype).repeated(1), []
        for epoch in epochs:
            gradient.start_epoch(epoch)
            for _ in range(3):
                surrogate, loss = gradient(problem.logits, problem.loss_of_code, noise)
                results += [loss, *torch.autograd.grad(surrogate, [problem.logits])]
        return results

    whole = run(kind(**settings), range(4), make_noise(dtype=dtype))
    noise, first, second = make_noise(dtype=dtype), kind(**settings), kind(**settings)
    head = run(first, range(2), noise)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert second.state_dict() == first.state_dict()
    assert all(map(torch.equal, whole, head + run(second, range(2, 4), noise)))


@pytest.mark.parametrize(("kind", "settings"), VARIANTS)
def test_foreign_state_is_refused(kind, settings):
    with pytest.raises(InputError, match="state="):
        kind(**settings).load_state_dict({"momentum": 0.5})


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2", None])
@pytest.mark.parametrize("kind", GRADIENTS.values(), ids=GRADIENTS)
def test_sample_counts_are_checked(kind, value):
    with pytest.raises(InputError, match=r"n_draws=.* must be a whole number, [12] or more"):
        kind(n_draws=value)


@pytest.mark.parametrize("kind", GRADIENTS.values(), ids=GRADIENTS)
def test_numbers_of_numpy_are_welcome_and_written_plainly(kind):
    written = kind(n_draws=np.int64(2)).settings()
    assert json.loads(json.dumps(written)) == written


@pytest.mark.parametrize("kind", GRADIENTS.values(), ids=GRADIENTS)
def test_parameters_have_names(kind):
    with pytest.raises(TypeError):
        kind(2)


@pytest.mark.parametrize("name", GRADIENTS)
def test_made_by_name(name):
    assert type(make_gradient(name)) is GRADIENTS[name]


def test_an_instance_is_copied_with_its_state():
    mine = StraightThrough(slope_growth=2.0)
    mine.start_epoch(3)
    made = make_gradient(mine)
    made.start_epoch(0)
    assert made is not mine
    assert made.settings() == mine.settings()
    assert mine.state_dict() == {"slope": 8.0}


def test_unknown_names_are_refused():
    with pytest.raises(InputError, match="gradient='reinforced' is not known. Did you mean 'reinf"):
        make_gradient("reinforced")
    with pytest.raises(InputError, match="must be a name, a mapping with one, or an instance"):
        make_gradient(DisARM)
