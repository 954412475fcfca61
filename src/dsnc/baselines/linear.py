"""What the baselines with linear classifiers share: loss, settings and memory."""

import os
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from dsnc.checks import one_of, real
from dsnc.classifier.learned import LearnedClassifier
from dsnc.errors import InputError
from dsnc.training.settings import RunSettings

if TYPE_CHECKING:
    from dsnc.training.examples import Examples

LINKS = {"logistic": "sigmoid", "squared_hinge": "margin"}
"""Loss to what its minimum says about probabilities: a `link` of `ScoresDecoder`."""
_COPIES = 5  # weights, gradient, two moments, best ones; or, at export, weights in float64, too
_ACTIVE = 3  # rows x classes numbers of a batch: outputs, gradient, one temporary
_FLOAT = 4


@dataclass(frozen=True, kw_only=True)
class LinearSettings(RunSettings):
    """Settings of linear classifiers: rates of Adam for dense rows, of row-wise Adagrad else."""

    rates: ClassVar[tuple[float, float]] = (5e-2, 4.0)
    steps: ClassVar[int] = 25
    # A large batch mentions each feature once for many rows.
    most_rows: ClassVar[tuple[int, int]] = (256, 1000)


@dataclass(kw_only=True, eq=False, repr=False)
class LinearBaseline(LearnedClassifier):
    """Linear classifiers, one for each output of the encoder, trained jointly.

    The objective is that of scikit-learn's `LinearSVC` and `LogisticRegression`: half the sum of
    squared weights, plus `C` times the sum of the losses over the rows.
    """

    settings_kind: ClassVar[type[RunSettings]] = LinearSettings

    loss: str = "squared_hinge"
    C: float = 1.0
    max_epochs: int = 20
    validation_fraction: float = 0.0

    def _settings(self) -> RunSettings:
        one_of("loss", self.loss, LINKS)
        real("C", self.C, above=True)
        return super()._settings()

    def _settings_for(self, settings: RunSettings, examples: "Examples") -> RunSettings:
        # The loop minimizes the mean loss; dividing the objective by C * n_rows says the same.
        return replace(settings, weight_decay=1 / (float(self.C) * examples.n_rows))


class Memory(NamedTuple):
    """Bytes of a model, and bytes that its training needs besides the rows."""

    model: int
    training: int

    def check(self, device: str, *, verbose: bool) -> None:
        """Print what is needed if `verbose`, and raise an error if the machine does not have it."""
        if verbose:
            sys.stderr.write(f"Memory: {self}.\n")
        there = _on_device(device)
        if there is not None and self.training > there:
            raise InputError(
                f"Training needs {self.training / 1e9:.2f} GB besides X, and device={device!r} has "
                f"{there / 1e9:.2f} GB. Use fewer features, ECOCBaseline or DSNCClassifier: their "
                "size does not grow with features x classes."
            )

    def __str__(self) -> str:
        """Return one line of text."""
        model, training = self.model / 1e9, self.training / 1e9
        return f"{model:.2f} GB for the model, {training:.2f} GB while it is trained"


def linear_memory(n_features: int, n_classes: int, batch_size: int) -> Memory:
    """Return the bytes of a linear layer and of its training with Adam."""
    model = _FLOAT * (n_features + 1) * n_classes
    return Memory(model, _COPIES * model + _ACTIVE * _FLOAT * batch_size * n_classes)


def _on_device(device: str) -> int | None:
    """Return the bytes that a device has, if that can be known."""
    if device != "cpu":
        import torch

        if torch.cuda.is_available():
            return int(torch.cuda.mem_get_info()[1])
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
