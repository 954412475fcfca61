"""`DSNCClassifier`: fit, predict, save."""

import copy
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from dsnc.classifier.base import LearnedClassifier
from dsnc.codes import PackedCodes
from dsnc.decoders import DECODERS
from dsnc.errors import unknown_name
from dsnc.training.settings import RunSettings, Settings


class DSNCClassifier(LearnedClassifier):
    """Classifier for very many classes: learns a short binary code of x, decodes it to the class.

    Setting only `n_bits` gives the best recipe we know; ``DSNCClassifier(**PAPER)`` is the paper's.

    Parameters
    ----------
    n_bits : int
        Length of the codes. More bits cost time and memory and gain accuracy; log2 of the number
        of classes is the least that can work, four times as many is a good start.
    encoder : "linear", "mlp" or torch.nn.Module
        Maps a row to `n_bits` numbers. A module of your own maps a (rows, features) tensor to
        (rows, n_bits).
    hidden : sequence of int
        Widths of the hidden layers of "mlp".
    normalize : bool
        Batch normalization in "mlp".
    gradient : str or dsnc.gradients.Gradient
        How learning passes the sampling of bits: "straight_through", "reinforce", "relaxed",
        "disarm", or an instance.
    n_samples : int
        Codes sampled for each example in a step, for a gradient given by name.
    code_values : "signs" or "bits"
        Whether the decoder sees -1 and +1 in training, or the paper's 0 and 1.
    decoder : "auto" or a key of dsnc.decoders.DECODERS
        Maps a code to its class.
    scaling : "auto", "standard", "unit_rows" or "none"
        What is done to X: "auto" standardizes dense features and divides sparse rows by their
        length.
    beta, gamma : float
        Weights of the intra-class and the inter-class term (means of squared distances).
    adaptive : bool
        Double both when validation accuracy rises, halve them when it falls, as the paper does.
    label_smoothing : float
        Share of the target spread over all classes.
    class_weight : dict, "balanced" or None
        As in scikit-learn.
    max_epochs, batch_size, learning_rate, schedule, weight_decay
        Of Adam; `schedule` is "one_cycle" or "constant". ``batch_size="auto"`` takes a fiftieth of
        the rows, at least 16 and at most 1,000; ``learning_rate="auto"`` is 0.02 for dense rows
        and 0.01 for sparse ones.
    validation_fraction : float
        Share of the rows held out to choose the best epoch, where `fit` is given no others. A
        class never loses its last row to it.
    validation_every : int
        Epochs between validations.
    patience : int, optional
        Stop after so many validations without a new best.
    time_limit : float, optional
        Stop after so many seconds, with the best model so far.
    device : str
        "auto", "cpu", "cuda", ...
    precision : "float32" or "bfloat16"
        Of the large matrix products in training.
    checkpoint : path, optional
        A folder where every epoch is saved; `fit` with the same data and settings goes on there.
    callbacks : sequence of callable
        Called with (epoch, objective) after each epoch; a true answer stops training.
    verbose : bool
        Draw a progress bar on stderr.
    random_state : int, RandomState or None
        The same number gives the same model, bit for bit, on one machine.

    Attributes
    ----------
    classes_ : array
        The labels.
    predictor_ : dsnc.predictor.Predictor
        The trained arrays; it alone predicts.
    history_ : dsnc.training.history.History
        What happened in training.
    n_features_in_, feature_names_in_, n_iter_
        As in scikit-learn.
    """

    kind: ClassVar[str] = "dsnc"
    settings_kind: ClassVar[type[RunSettings]] = Settings

    def __init__(
        self,
        *,
        n_bits: int = 64,
        encoder: Any = "linear",
        hidden: Sequence[int] = (1024,),
        normalize: bool = True,
        gradient: Any = "straight_through",
        n_samples: int = 4,
        code_values: str = "signs",
        decoder: str = "auto",
        scaling: str = "auto",
        beta: float = 0.0,
        gamma: float = 0.0,
        adaptive: bool = True,
        label_smoothing: float = 0.0,
        class_weight: Any = None,
        max_epochs: int = 50,
        batch_size: int | str = "auto",
        learning_rate: float | str = "auto",
        schedule: str = "one_cycle",
        weight_decay: float = 0.0,
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
        self.n_bits = n_bits
        self.encoder = encoder
        self.hidden = hidden
        self.normalize = normalize
        self.gradient = gradient
        self.n_samples = n_samples
        self.code_values = code_values
        self.decoder = decoder
        self.scaling = scaling
        self.beta = beta
        self.gamma = gamma
        self.adaptive = adaptive
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

    def encode(self, X: Any) -> PackedCodes:
        """Return the binary code of each row."""
        X = self._check_rows(X)
        return self.predictor_.encode(X)

    def with_decoder(self, decoder: str) -> Self:
        """Return a classifier with the same codes and another decoder; nothing is trained."""
        check_is_fitted(self, "predictor_")
        _check_decoder(decoder)
        other = copy.copy(self)
        other.decoder = decoder
        return other

    def _settings(self) -> RunSettings:
        _check_decoder(self.decoder)
        # Training changes a module; what the user passed stays as it was.
        return replace(super()._settings(), encoder=copy.deepcopy(self.encoder))


def _check_decoder(decoder: Any) -> None:
    if decoder not in ("auto", *DECODERS):
        raise unknown_name("decoder", decoder, ["auto", *DECODERS])
