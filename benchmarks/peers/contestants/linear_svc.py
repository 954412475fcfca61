"""scikit-learn's LinearSVC: one-vs-rest, liblinear; one thread whatever is allowed.

Label sets take OneVsRestClassifier around it, which can use several.
"""

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from peers.contestant import Contestant
from peers.data import Data

_BLOCK = 1024  # rows whose scores of all classes are held at once


class SVC(Contestant):
    """`LinearSVC`."""

    package = "scikit-learn"
    module = "sklearn.svm"
    takes_sets = True

    @classmethod
    def most_classes(cls, settings: dict[str, Any]) -> int:
        """Return few: each class is a problem over all rows."""
        return 5000

    def fit(self, data: Data) -> None:
        """Train."""
        from sklearn.svm import LinearSVC

        self.model = LinearSVC(**self.settings)
        if data.has_sets:
            from sklearn.multiclass import OneVsRestClassifier

            self.model = OneVsRestClassifier(self.model, n_jobs=self.threads)
        self.model.fit(data.train.X, data.train.y)

    def predict(self, rows: Any, k: int) -> Any:
        """Return class numbers."""
        if k == 1 and not hasattr(self.model, "estimators_"):
            return self.model.predict(rows)
        scores = (
            self.model.decision_function(rows[start : start + _BLOCK])
            for start in range(0, rows.shape[0], _BLOCK)
        )
        best = [np.argsort(-block, axis=1, kind="stable")[:, :k] for block in scores]
        return self.model.classes_[np.concatenate(best)]

    def save(self) -> Path:
        """Pickle it."""
        path = self.work / "model.pickle"
        path.write_bytes(pickle.dumps(self.model, protocol=5))
        return path
