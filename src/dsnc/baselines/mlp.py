"""The paper's MLP: a hidden layer, and a softmax over all classes on top of it."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from dsnc.checks import one_of, whole
from dsnc.classifier.learned import LearnedClassifier
from dsnc.training.settings import RunSettings, SoftmaxSettings

if TYPE_CHECKING:
    from dsnc.training.examples import Examples
    from dsnc.training.setup import MakeObjective

ACTIVATIONS = ("sigmoid", "tanh", "relu")


@dataclass(kw_only=True, eq=False, repr=False)
class MLPBaseline(LearnedClassifier):
    """Multilayer perceptron with one hidden layer: `DSNCClassifier` without the bits.

    It sets the bar for accuracy: with as many units as the codes have bits, it knows everything
    that the codes know and more, but pays for that with units x classes multiplications for every
    row. The paper's two columns are ``MLPBaseline()`` and ``MLPBaseline(beta=1e-3, gamma=1e-3)``.

    Parameters
    ----------
    n_units : int, default 64
        Width of the hidden layer; corresponds to the paper's code size.
    activation : "sigmoid", "tanh" or "relu", default "sigmoid"
        Activation of the hidden layer: "sigmoid", "tanh" or "relu".
    beta, gamma : float, default 0.0
        Weights of the regularizer on the hidden layer: mean squared distances within and between
        classes, as in `DSNCClassifier`.
    adaptive : "none", "previous" or "best", default "none"
        As in `DSNCClassifier`.
    scaling, text, label_smoothing, class_weight
        As in `DSNCClassifier`.
    max_epochs, batch_size, learning_rate, schedule, weight_decay
        As in `DSNCClassifier` with torch, except that `weight_decay` is 1e-6 by default.
    validation_fraction, validation_every, patience, time_limit
        As in `DSNCClassifier`.
    device, precision, checkpoint, callbacks, verbose, random_state
        As in `DSNCClassifier`.

    Attributes
    ----------
    classes_, predictor_, history_, n_features_in_, n_iter_
        As in `DSNCClassifier`.

    Examples
    --------
    >>> from dsnc.data import make_dense_codes
    >>> data = make_dense_codes(n_rows=600, n_classes=20, n_features=16)
    >>> model = MLPBaseline(n_units=16, max_epochs=10, device="cpu").fit(data.X, data.labels)
    >>> model.predict_top_k(data.X[:2], k=3)[0].shape
    (2, 3)
    """

    kind: ClassVar[str] = "mlp"
    width: ClassVar[str | None] = "n_units"
    settings_kind: ClassVar[type[RunSettings]] = SoftmaxSettings

    n_units: int = 64
    activation: str = "sigmoid"
    beta: float = 0.0
    gamma: float = 0.0
    adaptive: str = "none"
    label_smoothing: float = 0.0
    schedule: str = "one_cycle"
    weight_decay: float = 1e-6
    precision: str = "auto"

    def _settings(self) -> RunSettings:
        whole("n_units", self.n_units)
        one_of("activation", self.activation, ACTIVATIONS)
        return replace(super()._settings(), n_bits=self.n_units)

    def _make_objective(self, examples: "Examples", seed: int) -> "MakeObjective":
        from dsnc.baselines.objectives import MLPObjective

        return partial(MLPObjective, activation=self.activation)
