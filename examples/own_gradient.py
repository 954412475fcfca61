"""Try a new gradient: one small class, and it trains.

Hard sigmoid straight-through: as the paper's, but the backward pass is that of a clipped line,
which stops pushing bits that are certain.

Run it with:  python examples/own_gradient.py
"""

from torch import Tensor

from dsnc import DSNCClassifier
from dsnc.data import make_dense_codes
from dsnc.gradients import Gradient, StraightThrough
from dsnc.gradients.base import LossOfCode, Noise, sample_bits


class HardSigmoid(Gradient):
    """Hard bits forward, a clipped line backward."""

    max_bias = 0.5
    uses_only_mean = True
    is_steady = True

    def __init__(self, *, n_draws: int = 4, width: float = 4.0) -> None:
        self.n_draws, self.width = n_draws, width

    def __call__(
        self, logits: Tensor, loss_of_code: LossOfCode, noise: Noise
    ) -> tuple[Tensor, Tensor]:
        """Return what to backpropagate, and the loss of the codes that were drawn."""
        line = (logits / (2 * self.width) + 0.5).clamp(0, 1)
        code = sample_bits(logits.sigmoid(), noise, self.n_draws) + (line - line.detach())
        mean, _ = loss_of_code(code)
        return mean, mean.detach()


def main() -> dict[str, float]:
    """Train with both on the same data; return their accuracies with the paper's decoder."""
    data = make_dense_codes(n_rows=6000, n_classes=100, n_features=32, random_state=0)
    train, _, test = data.split(0.8, 0.1, 0.1, random_state=0)
    accuracies = {}
    for gradient in (StraightThrough(), HardSigmoid()):
        # soft_share=0: only the gradient under test teaches the encoder; both by the same trainer.
        model = DSNCClassifier(
            n_bits=24,
            gradient=gradient,
            trainer="torch",
            soft_share=0.0,
            decoder="linear",
            max_epochs=12,
        )
        model.fit(train.X, train.labels)
        accuracies[type(gradient).__name__] = float(model.score(test.X, test.labels))
        print(f"{gradient!r:50} {accuracies[type(gradient).__name__]:.1%}")
    return accuracies


if __name__ == "__main__":
    main()
