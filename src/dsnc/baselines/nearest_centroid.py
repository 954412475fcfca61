"""The mean of each class, and the nearest of them: nothing to tune, and hard to beat.

Where classes have few rows, most trained methods lose to it. scikit-learn's `NearestCentroid` makes
sparse rows dense in `fit` (features x rows numbers); this one does not.
"""

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from dsnc.baselines.linear import linear_memory
from dsnc.checks import one_of
from dsnc.classifier.base import PredictorClassifier
from dsnc.classifier.inputs import learned_labels, row_weights
from dsnc.classifier.texts import as_numbers, learned_features, make_features
from dsnc.decoders import ScoresDecoder
from dsnc.encoders import Layer, NumpyEncoder
from dsnc.errors import InputError
from dsnc.predictor import Predictor
from dsnc.rows import unit_rows
from dsnc.training.history import History
from dsnc.training.settings import SCALINGS

_NEVER = -1e30  # score of a class that has no mean


class UntrainedBaseline(PredictorClassifier):
    """A baseline whose encoder scores all classes, and is known without training."""

    scaling: str
    text: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : ndarray, CSR or memory map of shape (n, d), or list of n str
            The rows.
        y : array of shape (n,)
            The label of each row: integers, strings or booleans.
        sample_weight : array of shape (n,), optional
            Weight of each row, 0 or more. By default, all rows count the same.
        """
        with self._all_or_nothing():
            self._check_parameters()
            features = learned_features(X, self.text)
            X, y = self._check_rows_and_labels(as_numbers(X, features), y)
            if self.scaling in ("standard", "common") and sp.issparse(X):
                raise InputError(
                    f"scaling={self.scaling!r} would make a sparse X dense; use 'unit_rows' or "
                    "'none'."
                )
            labels, numbers = learned_labels(y)
            weight = row_weights(X, y, sample_weight, None, relative=False)
            weight = np.ones(len(numbers)) if weight is None else weight
            encoder = self._encoder(X, numbers, weight, len(labels))
            self.predictor_ = Predictor(encoder, ScoresDecoder(len(labels)), features)
            self._labels, self.n_iter_ = labels, 1
            self.history_, self.data_ = History(stopped="fitted"), {"rows": len(numbers)}
        return self

    def _check_parameters(self) -> None:
        make_features(self.text)
        one_of("scaling", self.scaling, SCALINGS)

    def _encoder(self, X: Any, y: NDArray[Any], weight: NDArray[Any], n_classes: int) -> Any:
        """Return what scores the classes, which are numbers here."""
        raise NotImplementedError


class NearestCentroidBaseline(UntrainedBaseline):
    """Gives a row the class whose mean is nearest.

    The mean m that is nearest in Euclidean distance has the largest ``x . m - |m|^2 / 2``, so this
    is a linear classifier whose weights are known without training. If rows are divided by their
    length, so are the means, and the nearest mean is the one at the smallest angle.

    Parameters
    ----------
    scaling : "auto", "standard", "common", "unit_rows" or "none", default "auto"
        How features are scaled. "auto" divides the rows of a sparse matrix by their length and
        leaves dense ones alone, since standardized features were measured to be worse here.
        "common" is the same as "none": one common deviation does not change which mean is nearest.
    text : dict, TextFeatures or None, default None
        As in `DSNCClassifier`.

    Attributes
    ----------
    classes_, predictor_, n_features_in_
        As in `DSNCClassifier`.

    Examples
    --------
    >>> from dsnc.data import make_dense_codes
    >>> data = make_dense_codes(n_rows=600, n_classes=20, n_features=16)
    >>> model = NearestCentroidBaseline().fit(data.X, data.labels)
    >>> model.predict_top_k(data.X[:2], k=3)[0].shape
    (2, 3)
    """

    kind: ClassVar[str] = "nearest_centroid"

    def __init__(self, *, scaling: str = "auto", text: Any = None) -> None:
        self.scaling = scaling
        self.text = text

    def _encoder(
        self, X: Any, y: NDArray[Any], weight: NDArray[Any], n_classes: int
    ) -> NumpyEncoder:
        """Return a layer of the means."""
        linear_memory(X.shape[1], n_classes, 0).check("cpu", verbose=False)
        scaling = self.scaling
        if scaling == "auto":
            scaling = "unit_rows" if sp.issparse(X) else "none"
        rows = unit_rows(X.astype(np.float32)) if scaling == "unit_rows" else X
        means = weights = _means(rows, y, weight, n_classes)
        if scaling == "standard":
            deviation = StandardScaler().fit(X, sample_weight=weight).scale_
            weights = means / deviation.astype(np.float32) ** 2
        elif scaling == "unit_rows":
            lengths = np.linalg.norm(means, axis=1, keepdims=True)
            means /= np.where(lengths > 0, lengths, 1)
        bias = -np.einsum("ij,ij->i", means, weights) / 2
        bias[np.bincount(y, weight) == 0] = _NEVER
        return NumpyEncoder([Layer(weights.T, bias)], row_normalize=scaling == "unit_rows")


def _means(X: Any, y: NDArray[Any], weight: NDArray[Any], n_classes: int) -> NDArray[np.float32]:
    """Return the weighted mean of each class's rows; 0 for a class that weighs nothing."""
    total = np.bincount(y, weight, minlength=n_classes)
    share = weight / np.where(total > 0, total, 1)[y]
    pick = sp.csr_array((share, (y, np.arange(len(y)))), shape=(n_classes, len(y)))
    means = (pick @ X).astype(np.float32)  # before a sparse one is made dense
    result: NDArray[np.float32] = means.toarray() if sp.issparse(means) else means
    return result
