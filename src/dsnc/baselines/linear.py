"""What the baselines of linear binary classifiers share: a loss, and how much it counts."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from dsnc.checks import real
from dsnc.classifier.base import LearnedClassifier
from dsnc.errors import unknown_name
from dsnc.training.settings import RunSettings

if TYPE_CHECKING:
    from dsnc.training.examples import Examples

LINKS = {"logistic": "sigmoid", "squared_hinge": "margin"}
"""Loss to what its minimum says about probabilities, as `ScoresDecoder` has it."""


@dataclass(frozen=True, kw_only=True)
class LinearSettings(RunSettings):
    """Settings of linear classifiers: rates of Adam for dense rows, of row-wise Adagrad else."""

    rates: ClassVar[tuple[float, float]] = (5e-2, 4.0)
    steps: ClassVar[int] = 25
    # A large batch mentions each feature once for many rows.
    most_rows: ClassVar[tuple[int, int]] = (256, 1000)


class LinearBaseline(LearnedClassifier):
    """Linear classifiers, one for each output of the encoder, trained jointly.

    The objective is that of scikit-learn's `LinearSVC` and `LogisticRegression`: half the squared
    weights, plus `C` times the sum of the losses over the rows.
    """

    settings_kind: ClassVar[type[RunSettings]] = LinearSettings
    loss: str
    C: float

    def _settings(self) -> RunSettings:
        if self.loss not in LINKS:
            raise unknown_name("loss", self.loss, LINKS)
        real("C", self.C, above=True)
        return super()._settings()

    def _settings_for(
        self, settings: RunSettings, examples: "Examples", n_classes: int
    ) -> RunSettings:
        # The loop minimizes the mean loss; dividing the objective by C * n_rows says the same.
        return replace(settings, weight_decay=1 / (float(self.C) * examples.n_rows))
