"""The face that all classifiers share: what scikit-learn asks for, around a `Predictor`."""

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dsnc.classifier import files
from dsnc.classifier.inputs import (
    PresentNames,
    check_range,
    check_table,
    hold_out,
    is_clean,
    learned_labels,
    row_weights,
    rows_that_count,
    seed_of,
)
from dsnc.classifier.texts import as_numbers, learned_features, make_features
from dsnc.decoders import Cost
from dsnc.decoders.linear import keep_best
from dsnc.errors import InputError, require
from dsnc.features import TextFeatures, are_none, are_texts
from dsnc.labels import Labels, Targets
from dsnc.predictor import Predictor
from dsnc.training.settings import RunSettings

if TYPE_CHECKING:
    from dsnc.training.examples import Examples
    from dsnc.training.history import History
    from dsnc.training.learner import Learner
    from dsnc.training.setup import MakeObjective
    from dsnc.training.world import World


_LEAST_PROBABILITY = np.float32(1e-45)  # above 0, which has no logarithm


class ModelCost(NamedTuple):
    """What one row takes on its way through the model."""

    encoding: Cost  # a sparse row takes only its share of nonzero features
    decoding: Cost


class PredictorClassifier(PresentNames, ClassifierMixin, BaseEstimator):
    """A classifier whose fitted state is a `Predictor` and the labels of its class numbers."""

    kind: ClassVar[str]  # the key in KINDS and in model files, for ever the same
    width: ClassVar[str | None] = "n_bits"  # the parameter that says how wide the encoder is
    predictor_: Predictor
    _labels: Labels
    history_: "History"
    n_iter_: int
    data_: dict[str, Any]

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of the columns of `predict_proba`."""
        return self._labels.names

    def predict(
        self, X: Any, *, reject_below: float | None = None, rejected: Any = None
    ) -> NDArray[Any]:
        """Return the label of each row.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, d), or list of str
            Strings, if it was fitted to strings.
        reject_below : float, optional
            Give no label to rows whose best class is less probable than this.
        rejected : object
            What such rows get instead. The labels keep their type if it is of it.
        """
        X = self._check_rows(X)
        if reject_below is None:
            return self._labels.of(self.predictor_.predict(X, n_jobs=self._n_jobs()))
        if not 0 <= reject_below <= 1:
            raise InputError(f"reject_below={reject_below!r} is not a probability, 0 to 1.")
        numbers, probabilities = self.predictor_.top_k_proba(X, 1, n_jobs=self._n_jobs())
        labels = self._labels.of(numbers[:, 0])
        kind = np.min_scalar_type(rejected)
        to_text = labels.dtype.kind == "U" != kind.kind  # numpy would cast a number to text
        if to_text or not np.can_cast(kind, labels.dtype):
            labels = labels.astype(object)
        labels[probabilities[:, 0] < reject_below] = rejected
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the probability of each class for each row, in the order of `classes_`."""
        X = self._check_rows(X)
        return self.predictor_.proba(X)

    def decision_function(self, X: Any) -> NDArray[np.float32]:
        """Return a score of each class for each row; `predict` gives the class of the largest.

        Scores are logarithms of probabilities, since not all decoders score all classes; of two
        classes, the log-odds of the second, above 0 where that is the answer. For more rows and
        classes than fit 2 GiB there is `predict_top_k`.

        Returns
        -------
        scores : array of shape (n, n_classes), or (n,) for two classes
        """
        X = self._check_rows(X)
        check_table(X, len(self._labels))
        scores = self.predictor_.proba(X)
        best = scores.argmax(axis=1)
        np.log(np.maximum(scores, _LEAST_PROBABILITY, out=scores), out=scores)
        keep_best(scores, best)
        return one_for_two(scores)

    def predict_top_k(self, X: Any, k: int = 5) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Return the `k` most probable labels of each row, best first, and their probabilities."""
        X = self._check_rows(X)
        numbers, probabilities = self.predictor_.top_k_proba(X, k, n_jobs=self._n_jobs())
        return self._labels.of(numbers), probabilities

    def cost(self) -> ModelCost:
        """Return the operations that one row takes, and the bytes that must be in memory."""
        check_is_fitted(self, "predictor_")
        of_encoder = getattr(self.predictor_.encoder, "cost", None)
        unknown = Cost(float("nan"), 0)  # the user's own module or estimators
        return ModelCost(of_encoder() if of_encoder else unknown, self.predictor_.decoder.cost())

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model as a folder, whole or not at all; `dsnc.load` reads it.

        Under ``torchrun`` the first process writes and the others do nothing.
        """
        check_is_fitted(self, "predictor_")
        files.save(self, path, overwrite=overwrite)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[dict[str, Any]]:
        """Undo everything if learning fails; scikit-learn's checks set attributes on the way."""
        before = dict(vars(self))
        try:
            yield before
        except BaseException:  # Ctrl-C as well
            self.__dict__ = before
            raise

    def _n_jobs(self) -> int | None:
        """Return the number of threads that predict, for estimators that have the parameter."""
        n_jobs: int | None = getattr(self, "n_jobs", None)
        return n_jobs

    def _check_parameters(self) -> None:
        """Refuse parameters that cannot work."""

    def _plain_parameter(self, name: str, value: Any) -> Any:
        """Return a parameter as JSON can hold it; for those that need more than `files` does."""
        return value

    def _restore(self) -> None:
        """Set what `_plain_parameter` left to the arrays of the model file."""

    def _check_rows_and_labels(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, Any]:
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype="numeric", reset=reset)
        check_range(X)
        with warnings.catch_warnings():
            # Many classes with one row each do not make this a regression.
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            check_classification_targets(y)
        return X, y

    def _check_rows(self, X: Any) -> Any:
        if not hasattr(self, "predictor_"):
            check_is_fitted(self, "predictor_")
        if not hasattr(self, "feature_names_in_") and is_clean(X, self.n_features_in_):
            return X  # scikit-learn's checks take longer than predicting a row
        if are_texts(X):
            return X  # the predictor knows what to do with them
        if self.predictor_.features is not None and are_none(X):
            X = np.empty((0, self.n_features_in_))  # refused as no rows of numbers are
        return validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=False)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse rows are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def one_for_two(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return scores as scikit-learn has them: of two classes, how far the second is ahead."""
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


@dataclass(kw_only=True, eq=False, repr=False)  # only what scikit-learn wants __init__ to be
class LearnedClassifier(PredictorClassifier):
    """A classifier that the training loop trains: `fit` and `partial_fit`.

    A member names its settings in `settings_kind`, has a parameter for each of their fields that
    it lets the user choose, and says in `_make_objective` what is trained around the encoder.
    """

    settings_kind: ClassVar[type[RunSettings]] = RunSettings

    scaling: str = "auto"
    text: Any = None
    class_weight: Any = None
    max_epochs: int = 50
    batch_size: int | str = "auto"
    learning_rate: float | str = "auto"
    validation_fraction: float = 0.1
    validation_every: int = 1
    patience: int | None = None
    time_limit: float | None = None
    device: str = "auto"
    checkpoint: str | os.PathLike[str] | None = None
    callbacks: Sequence[Callable[..., Any]] = ()
    verbose: bool = False
    random_state: Any = 0

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Learn from rows and their labels; where that fails, everything stays as it was.

        Parameters
        ----------
        X : ndarray, CSR or memory map of shape (n, d), or list of n str
            The rows. Strings become rows by `dsnc.features.TextFeatures` with the settings `text`,
            fitted to all of X.
        y : array of shape (n,)
            Labels of any type.
        sample_weight : array of shape (n,), optional
            How much each row counts.
        validation : (X, y), optional
            Rows to choose the best epoch by, instead of a share of the others.
        """
        require("torch", extra="torch", caller=f"{type(self).__name__}.fit")
        from dsnc.training.examples import Examples
        from dsnc.training.world import join_world

        with self._all_or_nothing():
            settings = self._settings()
            features = learned_features(X, self.text)
            X, y = self._check_rows_and_labels(as_numbers(X, features), y)
            labels, numbers = learned_labels(y)
            seed = seed_of(self.random_state)
            weight = row_weights(X, y, sample_weight, self.class_weight)
            examples = Examples(X, Targets(numbers, len(labels)), weight, rows_that_count(weight))
            held_out: Examples | None = None
            if validation is not None:
                held_out = self._given_validation(validation, labels, features)
            else:
                rows, held = hold_out(
                    examples.targets, self.validation_fraction, seed, examples.rows
                )
                if len(held):
                    held_out = examples._replace(rows=held)
                    examples = examples._replace(rows=rows)
            world = join_world(settings.device)
            learner = self._make_learner(settings, examples, len(labels), seed, world)
            history = learner.fit(examples, held_out)
            self._finish(learner, examples, labels, history, held_out=held_out, features=features)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn one pass over some more rows, also of a model that was fitted or loaded before.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. Of strings, the first call decides which n-grams are known.
        classes : array, optional
            All labels that will ever come; needed at the first call.
        """
        from dsnc.training.examples import Examples

        require("torch", extra="torch", caller=f"{type(self).__name__}.partial_fit")
        with self._all_or_nothing() as before:
            first = not hasattr(self, "predictor_")
            features = learned_features(X, self.text) if first else self.predictor_.features
            X, y = self._check_rows_and_labels(as_numbers(X, features), y, reset=first)
            if first:
                if classes is None:
                    raise InputError(
                        "classes must name all labels at the first call of partial_fit."
                    )
                labels, _ = learned_labels(classes, "classes")
            else:
                labels = self._labels
                if classes is not None and set(np.asarray(classes).tolist()) != set(
                    labels.names.tolist()
                ):
                    raise InputError(
                        "classes differs from the classes of the first call of partial_fit."
                    )
            targets = Targets(labels.numbers(y, "y"), len(labels))
            weight = row_weights(X, y, sample_weight, self.class_weight)
            examples = Examples(X, targets, weight, rows_that_count(weight))
            learner = self._learner_for(examples, len(labels))
            calls = getattr(self, "_calls", 0) + 1
            before.pop("_learner", None)  # training moves it; what predicts stays as it is
            history = learner.partial_fit(examples, calls)
            self._finish(learner, examples, labels, history, calls=calls, features=features)
        return self

    def _settings(self) -> RunSettings:
        """Return the checked settings of a run; what the user cannot choose has its default."""
        make_features(self.text)
        names = [field.name for field in fields(self.settings_kind)]
        settings = self.settings_kind(**{n: getattr(self, n) for n in names if hasattr(self, n)})
        settings.check()
        return settings

    def _check_parameters(self) -> None:
        self._settings()

    def _make_objective(self, examples: "Examples", n_classes: int, seed: int) -> "MakeObjective":
        """Return what makes the objective: that of the paper's model."""
        from dsnc.training.objective import Objective

        return Objective

    def _settings_for(
        self, settings: RunSettings, examples: "Examples", n_classes: int
    ) -> RunSettings:
        """Return the settings of a run, for those that depend on what there is to learn."""
        return settings

    def _make_learner(
        self,
        settings: RunSettings,
        examples: "Examples",
        n_classes: int,
        seed: int,
        world: "World | None" = None,
    ) -> "Learner":
        from dsnc.training.learner import Learner

        settings = self._settings_for(settings, examples, n_classes)
        make_objective = self._make_objective(examples, n_classes, seed)
        return Learner(settings, examples, n_classes, seed, make_objective, world)

    def _given_validation(
        self, validation: Any, labels: Labels, features: TextFeatures | None
    ) -> "Examples":
        from dsnc.training.examples import Examples

        if not isinstance(validation, tuple | list) or len(validation) != 2:
            raise InputError(f"validation is a {type(validation).__name__}; pass a pair (X, y).")
        X, y = validation
        X, y = self._check_rows_and_labels(as_numbers(X, features), y, reset=False)
        weight = row_weights(X, y, None, self.class_weight)
        return Examples(X, Targets(labels.numbers(y, "y"), len(labels)), weight)

    def _learner_for(self, examples: "Examples", n_classes: int) -> "Learner":
        """Return the learner of the last call, or one that goes on from the trained arrays."""
        learner: Learner | None = getattr(self, "_learner", None)
        settings = self._settings()
        if learner is not None:
            names = ("batch_size", "learning_rate", "weight_decay")  # may be set between calls
            pace = {name: getattr(self, name) for name in names if hasattr(self, name)}
            learner.settings = replace(learner.settings, **pace)
            return learner
        seed = seed_of(self.random_state)
        learner = self._make_learner(settings, examples, n_classes, seed)
        if hasattr(self, "predictor_"):
            learner.load(self.predictor_.encoder, self._trained_decoder())
        return learner

    def _finish(
        self,
        learner: "Learner",
        examples: "Examples",
        labels: Labels,
        history: "History",
        *,
        held_out: "Examples | None" = None,
        calls: int = 0,
        features: TextFeatures | None = None,
    ) -> None:
        """Keep what was learned, all of it at once."""
        predictor = Predictor(*learner.export(), features)
        chosen = self._choose_decoder(predictor, learner, examples, held_out, calls)
        self.__dict__.update(chosen)
        self._labels, self.history_ = labels, history
        self.n_iter_ = len(self.history_)
        self.data_ = learner.describe(examples)
        self._learner, self._calls = learner, calls

    def _trained_decoder(self) -> Any:
        """Return the decoder that training goes on from."""
        return self.predictor_.decoder

    def _choose_decoder(
        self,
        trained: Predictor,
        learner: "Learner",
        examples: "Examples",
        held_out: "Examples | None",
        calls: int,
    ) -> dict[str, Any]:
        """Return what predicts, and other fitted attributes of a choice; here there is none."""
        return {"predictor_": trained}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the learner: it holds the state of training, and torch."""
        state = dict(super().__getstate__())
        state.pop("_learner", None)
        return state
