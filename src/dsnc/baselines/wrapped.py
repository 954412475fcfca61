"""Estimators of the user's own behind the face that the predictor knows: a column for each."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from dsnc.errors import InputError

_SURE = 1e-7  # probabilities are kept from 0 and 1 by this much


class EstimatorEncoder:
    """Binary estimators, each of which gives one number for a row, above 0 for a set bit.

    They are fitted, with classes False and True; a plain bool stands for a bit that never changes.
    """

    def __init__(self, estimators: list[Any], n_features: int) -> None:
        self.estimators, self.n_features, self.n_bits = estimators, n_features, len(estimators)

    @classmethod
    def fit(
        cls,
        base: Any,
        X: Any,
        book: NDArray[np.bool_],
        y: NDArray[Any],
        weight: NDArray[Any] | None,
        *,
        n_jobs: int | None,
    ) -> Self:
        """Fit a clone of `base` for each column of the codebook."""
        if weight is not None and not has_fit_parameter(base, "sample_weight"):
            raise InputError(f"base={base!r} does not accept sample_weight; leave weights out.")
        jobs = (delayed(_fit_bit)(base, X, column[y], weight) for column in book.T)
        return cls(list(Parallel(n_jobs=n_jobs)(jobs)), X.shape[1])

    def logits(self, X: Any) -> NDArray[np.float32]:
        """Return (n, n_bits) numbers for n rows."""
        result = np.empty((X.shape[0], self.n_bits), dtype=np.float32)
        for column, estimator in zip(result.T, self.estimators, strict=True):
            column[:] = _confidence(estimator, X)
        return result


def _fit_bit(base: Any, X: Any, bit: NDArray[np.bool_], weight: NDArray[Any] | None) -> Any:
    if bit.all() or not bit.any():  # the classes that would differ have no rows that count
        return bool(bit.all())
    if weight is None:
        return clone(base).fit(X, bit)
    return clone(base).fit(X, bit, sample_weight=weight)


def _confidence(estimator: Any, X: Any) -> Any:
    """Return log-odds, a margin, or -1 and +1: whatever the estimator can tell."""
    if isinstance(estimator, bool):
        return 1.0 if estimator else -1.0
    if hasattr(estimator, "decision_function"):
        return np.clip(estimator.decision_function(X), -1e9, 1e9)
    if hasattr(estimator, "predict_proba"):
        p = np.clip(estimator.predict_proba(X)[:, 1].astype(np.float64), _SURE, 1 - _SURE)
        return np.log(p) - np.log1p(-p)
    return np.where(estimator.predict(X), 1.0, -1.0)
