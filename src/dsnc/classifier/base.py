"""What all classifiers share: scikit-learn's interface around a `Predictor`."""

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
from dsnc.classifier.inputs import check_range, label_column
from dsnc.decoders import Cost
from dsnc.decoders.linear import keep_best
from dsnc.files import Replace
from dsnc.model import FittedModel, check_table
from dsnc.model.provenance import plain_number
from dsnc.rows import far_means, without_means

if TYPE_CHECKING:
    from dsnc.training.history import History


_LEAST_PROBABILITY = np.float32(1e-45)  # above 0, which has no logarithm


class ModelCost(NamedTuple):
    """What one row costs: the operations and bytes of encoding and of decoding."""

    encoding: Cost  # a sparse row takes only its share of nonzero features
    decoding: Cost


class PredictorClassifier(FittedModel, ClassifierMixin, BaseEstimator):
    """A classifier whose fitted state is a `Predictor` and the label of each class number."""

    width: ClassVar[str | None] = None  # the parameter that says how wide the encoder is, if any
    history_: "History"
    n_iter_: int
    _measured: tuple[Any, dict[str, Any]] = (None, {})  # what decides, and what that is worth

    @property
    def figures_(self) -> dict[str, Any]:
        """How accurate the model is on rows that it was not trained on.

        ``validation_accuracy`` is measured on the rows that chose the epoch and the decoder;
        ``test`` holds what `keep_test_figures` was given. Empty if nothing was measured, or if the
        decoder has changed since.
        """
        stages, figures = self._measured
        return dict(figures) if stages is self.predictor_.stages else {}

    def keep_test_figures(self, figures: Mapping[str, float]) -> None:
        """Keep figures of test rows, such as ``accuracy``, for the model file and its card.

        Parameters
        ----------
        figures : dict of str to float
            Names and values. They replace those of an earlier call.
        """
        check_is_fitted(self, "predictor_")
        plain = {str(name): plain_number(f"figures: {name}", v) for name, v in figures.items()}
        self._measured = (self.predictor_.stages, {**self.figures_, "test": plain})

    def decision_function(self, X: Any) -> NDArray[np.float32]:
        """Return a score of each class for each row; `predict` returns the class of the largest.

        Scores are logarithms of probabilities, since some decoders do not score every class. With
        two classes, the score is the log-odds of the second: above 0 where `predict` returns it.
        Tables above 2 GiB are refused; use `predict_top_k` instead.

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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose label is predicted correctly."""
        return float(super().score(X, label_column(y), sample_weight))

    def cost(self) -> ModelCost:
        """Return the operations per row and the bytes in memory, for encoding and for decoding.

        A second stage is not included. For a module or estimator of your own, the operations are
        NaN.
        """
        check_is_fitted(self, "predictor_")
        of_encoder = getattr(self.predictor_.encoder, "cost", None)
        unknown = Cost(float("nan"), 0)  # the user's own module or estimators
        return ModelCost(of_encoder() if of_encoder else unknown, self.predictor_.decoder.cost())

    def save(self, path: str | os.PathLike[str], *, overwrite: Replace = False) -> None:
        """Write the model as a folder, completely or not at all; `dsnc.load` reads it.

        Under ``torchrun``, only the first process writes.

        Parameters
        ----------
        path : path
            The folder to write.
        overwrite : bool or callable, default False
            Whether to replace a folder that already exists. A callable is given the folder that was
            there, and where it returns False that one is put back: nothing is lost that another
            process has just written.
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

    def _check_parameters(self) -> None:
        """Refuse parameters that cannot work."""

    def _plain_parameter(self, name: str, value: Any) -> Any:
        """Return a parameter as JSON can hold it; for those that need more than `files` does."""
        return value

    def _restore(self) -> None:
        """Set what `_plain_parameter` left to the arrays of the model file."""

    def _check_rows_and_labels(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, Any]:
        y = None if y is None else label_column(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype="numeric", reset=reset)
        X = self._near_zero(X, reset=reset)
        with warnings.catch_warnings():
            # Many classes with one row each do not make this a regression.
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            check_classification_targets(y)
        return X, y

    def _near_zero(self, X: Any, *, reset: bool) -> Any:
        """Return rows of numbers that float32 can hold, as `_check_rows` does."""
        check_range(X)
        if reset:
            self._far_means = far_means(X)
        return without_means(X, self._far_means)

    def _check_rows(self, X: Any) -> Any:
        if not hasattr(self, "predictor_"):
            check_is_fitted(self, "predictor_")
        return super()._check_rows(X)

    def _check_numbers(self, X: Any) -> Any:
        return validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=False)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def one_for_two(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return scores as scikit-learn has them: of two classes, how far the second is ahead."""
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores
