"""What every fitted model does: it predicts labels."""

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dsnc.data.columns import Columns
from dsnc.decoders.memory import Memory
from dsnc.decoders.novelty import Novelty
from dsnc.errors import InputError
from dsnc.features import are_none, are_texts, unframed
from dsnc.labels import Labels
from dsnc.model.records import NO_RECORDS, Records
from dsnc.predictor import Predictor
from dsnc.rows import as_rows, is_plain, without_means

_PLAIN = (np.dtype(np.float32), np.dtype(np.float64))
_MAX_TABLE = 1 << 31  # bytes of the scores of all classes


class FittedModel:
    """The methods that every fitted classifier has: it predicts labels."""

    kind: ClassVar[str]  # in model files, for ever the same
    predictor_: Predictor
    n_features_in_: int
    n_jobs: int | None
    data_: dict[str, Any]
    _labels: Labels
    _memory: Memory | None = None
    _novelty: Novelty | None = None
    _far_means: NDArray[np.float64] | None = None  # of features far from 0
    _records: tuple[Any, Records] = (None, NO_RECORDS)  # with what they were made of

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
            The rows: strings if the model was fitted to strings. Series and DataFrames of pandas
            and polars are accepted, too.
        reject_below : float, optional
            Give no label to rows whose best class has a probability below this.
        rejected : object, default None
            What such rows get instead of a label. The labels become an object array if they cannot
            hold it.

        Returns
        -------
        labels : array of shape (n,)
        """
        if reject_below is None:
            best = None
            if self._is_plain(X):
                best = self.predictor_.predict_at_once(X, n_jobs=self._n_jobs())
            if best is None:
                X = self._check_rows(X)
                best = self.predictor_.predict(X, n_jobs=self._n_jobs())
            return self._labels.of(best)
        if not 0 <= reject_below <= 1:
            raise InputError(f"reject_below={reject_below!r} is not a probability from 0 to 1.")
        numbers, probabilities = self._best(X, 1)
        labels = self._labels.of(numbers[:, 0])
        return refused(labels, probabilities[:, 0] < reject_below, rejected)

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the probability of each class for each row, in the order of `classes_`.

        This is a (n, n_classes) array; with very many classes, prefer `predict_top_k`.
        """
        X = self._check_rows(X)
        return self.predictor_.proba(X)

    def predict_top_k(self, X: Any, k: int = 5) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Return the `k` most probable labels of each row, best first, and their probabilities.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, d), or list of str
            The rows.
        k : int, default 5
            How many labels to return for each row: 1 to the number of classes.

        Returns
        -------
        labels : array of shape (n, k)
        probabilities : float32 array of shape (n, k)
        """
        numbers, probabilities = self._best(X, k)
        return self._labels.of(numbers), probabilities

    @property
    def records(self) -> Records:
        """What makes rows of records, where the model learned from a table."""
        plain = getattr(self, "data_", {}).get("columns")
        if self._records[0] is not plain:
            self._records = plain, Records(Columns.from_plain(plain))
        return self._records[1]

    def _n_jobs(self) -> int | None:
        """Return the number of threads that predict; not all estimators have the parameter."""
        n_jobs: int | None = getattr(self, "n_jobs", None)
        return n_jobs

    def _best(self, X: Any, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the k best classes of each row and their probabilities."""
        n_jobs = self._n_jobs()
        if self._is_plain(X):
            found = self.predictor_.top_k_at_once(X, k, with_shares=True, n_jobs=n_jobs)
            if found is not None:
                return found
        X = self._check_rows(X)
        return self.predictor_.top_k_proba(X, k, n_jobs=n_jobs)

    def _is_plain(self, X: Any) -> bool:
        """Tell whether rows need no checks but those of the native core, as far as it is fitted.

        Those of scikit-learn take longer than predicting a row.
        """
        own = self.__dict__
        if "predictor_" not in own or "feature_names_in_" in own or self._far_means is not None:
            return False
        return type(X) is not list or self.records.takes_lines

    def _check_rows(self, X: Any) -> Any:
        """Return rows of numbers, or texts, as the predictor takes them; to be called once."""
        return without_means(self._checked_rows(X), self._far_means)

    def _checked_rows(self, X: Any) -> Any:
        if not hasattr(self, "feature_names_in_") and is_clean(X, self.n_features_in_):
            return X  # scikit-learn's checks take longer than predicting a row
        X = self._without_records(X)
        if are_texts(X):
            return X  # the predictor knows what to do with them
        if self.predictor_.features is not None and are_none(X):
            X = np.empty((0, self.n_features_in_))  # refused as no rows of numbers are
        return self._check_numbers(X)

    def _without_records(self, X: Any) -> Any:
        """Return X with its records, if it has some, as texts or rows of numbers."""
        X = unframed(X)
        return self.records.rows(X) if self.records.are_in(X) else X

    def _check_numbers(self, X: Any) -> Any:
        """Return rows that are not clean as an array or matrix, or refuse them."""
        from sklearn.utils import check_array

        X = check_array(X, accept_sparse="csr", dtype="numeric", input_name="X")
        return as_rows(X, self.n_features_in_)


def check_table(X: Any, n_classes: int, instead: str = "predict_top_k") -> None:
    """Refuse scores of rows x classes that would not fit the memory of a usual machine."""
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if 4 * n_rows * n_classes > _MAX_TABLE:
        raise InputError(
            f"scores of {n_rows:,} rows and {n_classes:,} classes would take more than "
            f"{_MAX_TABLE:,} bytes; pass fewer rows, or use {instead}."
        )


def refused(labels: NDArray[Any], which: NDArray[np.bool_], instead: Any) -> NDArray[Any]:
    """Give some rows another label, which need not be of the type of the others."""
    kind = np.min_scalar_type(instead)
    to_text = labels.dtype.kind == "U" != kind.kind  # numpy would cast a number to text
    if to_text or not np.can_cast(kind, labels.dtype):
        labels = labels.astype(object)
    labels[which] = instead
    return labels


def is_clean(X: Any, n_features: int) -> bool:
    """Tell quickly whether rows are plain finite numbers of the right width.

    False only means that scikit-learn's checks have to look. A finite sum has finite terms.
    """
    if not is_plain(X, n_features) or not X.shape[0]:
        return False
    values = X if isinstance(X, np.ndarray) else X.data
    return values.dtype in _PLAIN and math.isfinite(np.add.reduce(values, axis=None))
