"""The face that all classifiers share: what scikit-learn asks for, around a `Predictor`."""

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

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
    is_clean,
)
from dsnc.classifier.provenance import plain_number
from dsnc.decoders import Cost
from dsnc.decoders.linear import keep_best
from dsnc.errors import InputError
from dsnc.features import are_none, are_texts
from dsnc.labels import Labels
from dsnc.predictor import Predictor

if TYPE_CHECKING:
    from dsnc.training.history import History


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
    _measured: tuple[Any, dict[str, Any]] = (None, {})  # a decoder, and what it is worth

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of the columns of `predict_proba`."""
        return self._labels.names

    @property
    def figures_(self) -> dict[str, Any]:
        """What the decoder that predicts is worth on rows that were not trained on.

        ``validation_accuracy``, of the rows that chose epoch and decoder, and ``test``, which
        `keep_test_figures` was given. Empty where nothing was measured, or another decoder has come
        since.
        """
        decoder, figures = self._measured
        return dict(figures) if decoder is self.predictor_.decoder else {}

    def keep_test_figures(self, figures: Mapping[str, float]) -> None:
        """Keep figures on test rows for the model file and its card, such as ``accuracy``."""
        check_is_fitted(self, "predictor_")
        plain = {str(name): plain_number(f"figures: {name}", v) for name, v in figures.items()}
        self._measured = (self.predictor_.decoder, {**self.figures_, "test": plain})

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
