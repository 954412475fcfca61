"""Measure bias and deviation of every gradient, and draw them.

Run it without arguments: it writes ``docs/images/gradient_bias.png``. With 8 bits the exact
gradient is a sum over 256 codes.
"""

import itertools
from collections.abc import Callable
from pathlib import Path

import matplotlib
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from dsnc.gradients import DisARM, Gradient, Reinforce, Relaxed, StraightThrough

matplotlib.use("Agg")
from matplotlib import pyplot as plt

N_BITS, N_EXAMPLES, N_CLASSES = 8, 16, 20
N_REPEATS, N_ROUNDS = 2_000, 10
EVALUATIONS = (1, 2, 4, 8, 16)
PICTURE = Path(__file__).parents[1] / "images" / "gradient_bias.png"

# label -> (color, gradient for a number of evaluations of the loss, the fewest evaluations)
KINDS: dict[str, tuple[str, Callable[[int], Gradient], int]] = {
    "straight_through": ("#d55e00", lambda m: StraightThrough(n_draws=m), 1),
    "relaxed, temperature 1": ("#b8a100", lambda m: Relaxed(n_draws=m, temperature=1.0), 1),
    "relaxed, temperature 2/3": ("#e69f00", lambda m: Relaxed(n_draws=m), 1),
    "relaxed, temperature 0.2": ("#8c6500", lambda m: Relaxed(n_draws=m, temperature=0.2), 1),
    "reinforce, none": ("#999999", lambda m: Reinforce(n_draws=m, baseline="none"), 1),
    "reinforce, running": ("#56b4e9", lambda m: Reinforce(n_draws=m, baseline="running"), 1),
    "reinforce, leave_one_out": ("#0072b2", lambda m: Reinforce(n_draws=m), 2),
    "disarm": ("#009e73", lambda m: DisARM(n_draws=m), 2),
}


class Problem:
    """A linear decoder on bits written as -1 and +1, and examples to classify."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(0)
        self.logits = 1.5 * torch.randn(N_EXAMPLES, N_BITS, generator=generator)
        self.decoder = torch.randn(N_CLASSES, N_BITS, generator=generator)
        self.labels = torch.randint(N_CLASSES, (N_EXAMPLES,), generator=generator)

    def losses(self, code: Tensor) -> Tensor:
        """Return the loss of each code, (S, R * N_EXAMPLES), for R repetitions."""
        scores = (2 * code - 1) @ self.decoder.T
        labels = self.labels.repeat(code.shape[0] * code.shape[1] // N_EXAMPLES)
        losses = cross_entropy(scores.flatten(0, 1), labels, reduction="none")
        return losses.view(code.shape[:2]) / N_EXAMPLES

    def loss_of_code(self, code: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss as a gradient asks for it."""
        each = self.losses(code)
        return each.sum(dim=1).mean(dim=0), each.detach()

    def exact(self) -> Tensor:
        """Return the gradient of the expected loss, by enumeration of all codes."""
        logits = self.logits.clone().requires_grad_()
        codes = torch.tensor(list(itertools.product([0.0, 1.0], repeat=N_BITS)))[:, None]
        code = codes.expand(-1, N_EXAMPLES, -1)
        phi = torch.sigmoid(logits)
        probability = (code * phi + (1 - code) * (1 - phi)).prod(dim=-1)
        return torch.autograd.grad((probability * self.losses(code)).sum(), logits)[0]

    def measure(self, gradient: Gradient) -> tuple[float, float, float]:
        """Return bias, its standard error and the deviation, relative to the exact gradient."""
        generator = torch.Generator().manual_seed(1)

        def noise(shape: tuple[int, ...]) -> Tensor:
            return torch.rand(shape, generator=generator)

        rounds = []
        # examples do not know each other: a batch of repetitions is a set of independent estimates
        for number in range(N_ROUNDS + 1):
            logits = self.logits.repeat(N_REPEATS, 1).requires_grad_()
            surrogate, _ = gradient(logits, self.loss_of_code, noise)
            if number > 0:  # the first round only gives the running baseline a past
                rounds.append(torch.autograd.grad(surrogate, logits)[0])
        samples = torch.cat(rounds).unflatten(0, (-1, N_EXAMPLES)).double()
        exact = self.exact().double()
        variance = samples.var(dim=0).sum()
        error = variance / len(samples)
        # the mean's own scatter would pass for bias
        bias = ((samples.mean(dim=0) - exact).square().sum() - error).clamp(min=0)
        relative = torch.stack([bias, error, variance]).sqrt() / exact.norm()
        return relative[0].item(), relative[1].item(), relative[2].item()


def draw(bias: dict[str, tuple[float, float]], deviation: dict[str, list[float]]) -> None:
    """Draw bias as bars and deviation against cost."""
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.2), layout="constrained")
    for row, (label, (value, error)) in enumerate(bias.items()):
        seen = value > 3 * error
        left.barh(row, 100 * value if seen else 0, color=KINDS[label][0], height=0.7)
        text = f" {100 * value:.0f} %" if seen else " none"
        left.text(100 * value if seen else 0, row, text, va="center")
    left.set_yticks(range(len(bias)), list(bias))
    left.invert_yaxis()
    left.set_xlim(0, 118 * max(value for value, _ in bias.values()))
    left.set_xlabel("bias, % of the exact gradient's norm")
    for label, values in deviation.items():
        # the last points, because some begin later
        costs = EVALUATIONS[-len(values) :]
        right.loglog(costs, values, "o-", ms=3, lw=1.4, color=KINDS[label][0], label=label)
    right.set_xticks(EVALUATIONS, [str(m) for m in EVALUATIONS])
    right.set_yticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
    right.minorticks_off()
    right.grid(alpha=0.25)
    right.set_xlabel("evaluations of the loss per example")
    right.set_ylabel("standard deviation / norm of gradient")
    right.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=90, pil_kwargs={"optimize": True})


def main() -> None:
    """Measure and draw."""
    problem = Problem()
    bias: dict[str, tuple[float, float]] = {}
    deviation: dict[str, list[float]] = {}
    for label, (_, make, fewest) in KINDS.items():
        costs = [m for m in EVALUATIONS if m >= fewest]
        measured = [problem.measure(make(m)) for m in costs]
        # it does not depend on the number of samples: the largest one measures it best
        bias[label] = measured[-1][:2]
        deviation[label] = [value for _, _, value in measured]
    draw(bias, deviation)


if __name__ == "__main__":
    main()
