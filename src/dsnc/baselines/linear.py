"""What the baselines of linear binary classifiers share: a loss, and how much it counts."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import scipy.sparse as sp

from dsnc.checks import real
from dsnc.classifier.base import LearnedClassifier
from dsnc.errors import unknown_name
from dsnc.training.settings import RunSettings

if TYPE_CHECKING:
    from dsnc.training.examples import Examples
    from dsnc.training.learner import Learner

LINKS = {"logistic": "sigmoid", "squared_hinge": "margin"}
"""Loss to what its minimum says about probabilities, as `ScoresDecoder` has it."""
_STEPS = 25  # of an epoch, at least
_SMALLEST_BATCH, _LARGEST_DENSE, _LARGEST_SPARSE = 16, 256, 1000


@dataclass(frozen=True, kw_only=True)
class LinearSettings(RunSettings):
    """Settings of linear classifiers: rates of Adam for dense rows, of row-wise Adagrad else."""

    rates: ClassVar[tuple[float, float]] = (5e-2, 4.0)


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

    def _make_learner(
        self, settings: Any, examples: "Examples", n_classes: int, seed: int
    ) -> "Learner":
        n_rows = examples.n_rows
        batch_size = settings.batch_size
        if batch_size == "auto":  # a large batch mentions each feature once for many rows
            largest = _LARGEST_SPARSE if sp.issparse(examples.X) else _LARGEST_DENSE
            batch_size = min(largest, max(_SMALLEST_BATCH, -(-n_rows // _STEPS)))
        # The loop minimizes the mean loss; dividing the objective by C * n_rows says the same.
        decay = 1 / (float(self.C) * n_rows)
        settings = replace(settings, weight_decay=decay, batch_size=batch_size)
        return super()._make_learner(settings, examples, n_classes, seed)
