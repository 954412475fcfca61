"""The paper's MLP: a hidden layer, and a softmax over all classes on top of it."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from dsnc.checks import one_of, whole
from dsnc.classifier.base import LearnedClassifier
from dsnc.training.settings import RunSettings, SoftmaxSettings

if TYPE_CHECKING:
    from dsnc.training.examples import Examples
    from dsnc.training.setup import MakeObjective

ACTIVATIONS = ("sigmoid", "tanh", "relu")


class MLPBaseline(LearnedClassifier):
    """Multi-layer perceptron with one hidden layer: what `DSNCClassifier` is without the bits.

    It is the bar: with as many units as the codes have bits it knows everything that the codes
    know and more, and it pays for that with units x classes multiplications for every row. The
    paper's two columns are ``MLPBaseline()`` and ``MLPBaseline(beta=1e-3, gamma=1e-3)``.

    Parameters
    ----------
    n_units : int
        Width of the hidden layer; the paper's code size.
    activation : "sigmoid", "tanh" or "relu"
        Of the hidden layer.
    beta, gamma : float
        Weights of the intra-class and the inter-class term on the hidden layer (means of squared
        distances), as in `DSNCClassifier`.
    adaptive : "none", "previous" or "best"
        How validation accuracy scales both, as there.
    scaling, text, label_smoothing, class_weight
        As in `DSNCClassifier`.
    max_epochs, batch_size, learning_rate, schedule, weight_decay
        Of Adam, as there.
    validation_fraction, validation_every, patience, time_limit
        When training ends, and which epoch is kept, as there.
    device, precision, checkpoint, callbacks, verbose, random_state
        As there.

    Attributes
    ----------
    classes_, predictor_, history_, n_features_in_, n_iter_
        As there.

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

    def __init__(
        self,
        *,
        n_units: int = 64,
        activation: str = "sigmoid",
        beta: float = 0.0,
        gamma: float = 0.0,
        adaptive: str = "none",
        scaling: str = "auto",
        text: Any = None,
        label_smoothing: float = 0.0,
        class_weight: Any = None,
        max_epochs: int = 50,
        batch_size: int | str = "auto",
        learning_rate: float | str = "auto",
        schedule: str = "one_cycle",
        weight_decay: float = 1e-6,
        validation_fraction: float = 0.1,
        validation_every: int = 1,
        patience: int | None = None,
        time_limit: float | None = None,
        device: str = "auto",
        precision: str = "float32",
        checkpoint: str | os.PathLike[str] | None = None,
        callbacks: Sequence[Callable[..., Any]] = (),
        verbose: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.n_units = n_units
        self.activation = activation
        self.beta = beta
        self.gamma = gamma
        self.adaptive = adaptive
        self.scaling = scaling
        self.text = text
        self.label_smoothing = label_smoothing
        self.class_weight = class_weight
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.validation_every = validation_every
        self.patience = patience
        self.time_limit = time_limit
        self.device = device
        self.precision = precision
        self.checkpoint = checkpoint
        self.callbacks = callbacks
        self.verbose = verbose
        self.random_state = random_state

    def _settings(self) -> RunSettings:
        whole("n_units", self.n_units)
        one_of("activation", self.activation, ACTIVATIONS)
        return replace(super()._settings(), n_bits=self.n_units)

    def _make_objective(self, examples: "Examples", n_classes: int, seed: int) -> "MakeObjective":
        from dsnc.baselines.objectives import MLPObjective

        return partial(MLPObjective, activation=self.activation)
