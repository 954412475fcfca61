"""`DSNCClassifier`: fit, predict, save."""

import copy
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dsnc.classifier import files
from dsnc.classifier.inputs import (
    check_classes,
    check_range,
    class_numbers,
    hold_out,
    row_weights,
    rows_that_count,
    seed_of,
)
from dsnc.codes import PackedCodes
from dsnc.decoders import DECODERS, LinearDecoder
from dsnc.errors import InputError, unknown_name
from dsnc.predictor import Layer, NumpyEncoder, Predictor

if TYPE_CHECKING:
    from dsnc.training.history import History
    from dsnc.training.learner import Examples, Learner
    from dsnc.training.settings import Settings


class DSNCClassifier(ClassifierMixin, BaseEstimator):
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

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Learn from rows and their labels.

        Parameters
        ----------
        X : ndarray, CSR or memory map of shape (n, d)
            The rows.
        y : array of shape (n,)
            Labels of any type.
        sample_weight : array of shape (n,), optional
            How much each row counts.
        validation : (X, y), optional
            Rows to choose the best epoch by, instead of a share of the others.
        """
        from dsnc.training.learner import Examples, Learner

        settings = self._settings()
        X, y = self._check_rows_and_labels(X, y)
        classes, numbers = np.unique(y, return_inverse=True)
        check_classes("y", classes)
        seed = seed_of(self.random_state)
        weight = row_weights(X, y, sample_weight, self.class_weight)
        examples = Examples(X, numbers.astype(np.int32), weight, rows_that_count(weight))
        held_out: Examples | None = None
        if validation is not None:
            held_out = self._given_validation(validation, classes)
        else:
            rows, held = hold_out(examples.y, self.validation_fraction, seed, examples.rows)
            if len(held):
                held_out = examples._replace(rows=held)
                examples = examples._replace(rows=rows)
        learner = Learner(settings, examples, len(classes), seed)
        history = learner.fit(examples, held_out)
        self._finish(learner, examples, classes, history, calls=0)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn one pass over some more rows, also of a model that was fitted or loaded before.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array, optional
            All labels that will ever come; needed at the first call.
        """
        from dsnc.training.learner import Examples

        first = not hasattr(self, "predictor_")
        X, y = self._check_rows_and_labels(X, y, reset=first)
        if first:
            if classes is None:
                raise InputError("classes must name all labels at the first call of partial_fit.")
            known = np.unique(classes)
            check_classes("classes", known)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise InputError("classes differs from the classes of the first call of partial_fit.")
        else:
            known = self.classes_
        weight = row_weights(X, y, sample_weight, self.class_weight)
        examples = Examples(X, class_numbers(y, known), weight, rows_that_count(weight))
        learner = self._learner_for(examples, len(known))
        calls = getattr(self, "_calls", 0) + 1
        history = learner.partial_fit(examples, calls)
        self._finish(learner, examples, known, history, calls=calls)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row."""
        X = self._check_rows(X)
        labels: NDArray[Any] = self.classes_[self.predictor_.predict(X)]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the probability of each class for each row, in the order of `classes_`."""
        X = self._check_rows(X)
        return self.predictor_.proba(X)

    def predict_top_k(self, X: Any, k: int = 5) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Return the `k` most probable labels of each row, best first, and their probabilities."""
        X = self._check_rows(X)
        numbers, probabilities = self.predictor_.top_k_proba(X, k)
        return self.classes_[numbers], probabilities

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

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model as a folder, whole or not at all; `dsnc.load` reads it.

        Under ``torchrun`` the first process writes and the others do nothing.
        """
        check_is_fitted(self, "predictor_")
        files.save(self, path, overwrite=overwrite)

    def _settings(self) -> "Settings":
        from dsnc.training.settings import Settings

        _check_decoder(self.decoder)
        values = {field.name: getattr(self, field.name) for field in fields(Settings)}
        # Training changes a module; what the user passed stays as it was.
        settings = Settings(**values | {"encoder": copy.deepcopy(self.encoder)})
        settings.check()
        return settings

    def _check_rows_and_labels(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, Any]:
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype="numeric", reset=reset)
        check_range(X)
        with warnings.catch_warnings():
            # Here a class may well have one row only; that is no sign of a regression.
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            check_classification_targets(y)
        return X, y

    def _check_rows(self, X: Any) -> Any:
        check_is_fitted(self, "predictor_")
        return validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=False)

    def _given_validation(self, validation: Any, classes: NDArray[Any]) -> "Examples":
        from dsnc.training.learner import Examples

        if not isinstance(validation, tuple | list) or len(validation) != 2:
            raise InputError(f"validation is a {type(validation).__name__}; pass a pair (X, y).")
        X, y = self._check_rows_and_labels(*validation, reset=False)
        weight = row_weights(X, y, None, self.class_weight)
        return Examples(X, class_numbers(y, classes), weight)

    def _learner_for(self, examples: "Examples", n_classes: int) -> "Learner":
        """Return the learner of the last call, or one that goes on from the trained arrays."""
        from dsnc.training.learner import Learner

        learner: Learner | None = getattr(self, "_learner", None)
        if learner is not None:
            names = ("batch_size", "learning_rate", "weight_decay")  # may be set between calls
            pace = {name: getattr(self, name) for name in names}
            learner.settings = replace(learner.settings, **pace)
            learner.settings.check()
        else:
            seed = seed_of(self.random_state)
            learner = Learner(self._settings(), examples, n_classes, seed)
            if hasattr(self, "predictor_"):
                learner.load(self.predictor_.encoder, self.predictor_.decoder)
        return learner

    def _finish(
        self,
        learner: "Learner",
        examples: "Examples",
        classes: NDArray[Any],
        history: "History",
        calls: int,
    ) -> None:
        """Keep what was learned, all of it at once: a `fit` that fails changes nothing."""
        trained = learner.export()
        encoder = trained.module or NumpyEncoder(
            [Layer(*layer) for layer in trained.layers], row_normalize=trained.unit_rows
        )
        decoder = LinearDecoder(trained.decoder_weight, trained.decoder_bias)
        self.predictor_ = Predictor(encoder, decoder)
        self.classes_, self.history_ = classes, history
        self.n_iter_ = len(self.history_)
        self.data_ = learner.describe(examples)
        self._learner, self._calls = learner, calls

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse rows are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the learner: it holds the state of training, and torch."""
        state = dict(super().__getstate__())
        state.pop("_learner", None)
        return state


def _check_decoder(decoder: Any) -> None:
    if decoder not in ("auto", *DECODERS):
        raise unknown_name("decoder", decoder, ["auto", *DECODERS])
