"""What contestants of scikit-learn share; one of them is an estimator and its settings.

Label sets take OneVsRestClassifier around it, which can use several threads.
"""

import pickle
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from peers.contestant import Contestant
from peers.data import Data

_BLOCK = 1024  # rows whose scores of all classes are held at once


class ScikitLearn(Contestant):
    """An estimator of scikit-learn."""

    package = "scikit-learn"
    ranks: ClassVar[bool] = True
    """Whether its scores of all classes are those by which it chooses the best."""

    @abstractmethod
    def estimator(self, n_classes: int) -> Any:
        """Return one that is not fitted."""

    def fit(self, data: Data) -> None:
        """Train."""
        self.model = self.estimator(data.n_classes)
        if data.has_sets:
            from sklearn.multiclass import OneVsRestClassifier

            self.model = OneVsRestClassifier(self.model, n_jobs=self.threads)
        self.model.fit(data.train.X, data.train.y)

    def predict(self, rows: Any, k: int) -> Any:
        """Return class numbers; only the best where the estimator has no scores of others."""
        if not self.ranks or (k == 1 and not self._has_sets):
            return self.model.predict(rows)
        best = _in_blocks(rows, lambda block: _best(self.model.decision_function(block), k))
        return self.model.classes_[best]

    @property
    def _has_sets(self) -> bool:
        return bool(getattr(self.model, "multilabel_", False))

    def confidences(self, rows: Any) -> NDArray[Any] | None:
        """Return the largest probability, where the estimator has some."""
        if not (self.ranks and hasattr(self.model, "predict_proba")):
            return None
        return _in_blocks(rows, lambda block: self.model.predict_proba(block).max(axis=1))

    def save(self) -> Path:
        """Pickle it."""
        path = self.work / "model.pickle"
        path.write_bytes(pickle.dumps(self.model, protocol=5))
        return path


def _best(scores: NDArray[Any], k: int) -> NDArray[Any]:
    some = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, some, axis=1), axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1)


def _in_blocks(rows: Any, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
    starts = range(0, rows.shape[0], _BLOCK)
    return np.concatenate([function(rows[start : start + _BLOCK]) for start in starts])
