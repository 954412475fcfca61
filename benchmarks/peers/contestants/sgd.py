"""scikit-learn's SGDClassifier: one-vs-rest, plain stochastic gradient descent."""

from typing import Any

import numpy as np

from peers.contestants.scikit_learn import ScikitLearn
from peers.data import Data


class SGD(ScikitLearn):
    """`SGDClassifier`; it has probabilities of some of its losses."""

    module = "sklearn.linear_model"
    takes_sets = True
    choices = ({"alpha": 1e-4}, {"alpha": 1e-5}, {"loss": "modified_huber"})

    @classmethod
    def most_classes(cls, settings: dict[str, Any]) -> int:
        """Return few: each class is a problem over all rows."""
        return 5000

    def fit(self, data: Data) -> None:
        """Train, and lay weights out as LinearSVC has them: else each call copies them all."""
        super().fit(data)
        if not data.has_sets:
            self.model.coef_ = np.asfortranarray(self.model.coef_)

    def estimator(self, n_classes: int) -> Any:
        """Return `SGDClassifier`."""
        from sklearn.linear_model import SGDClassifier

        return SGDClassifier(**{"random_state": 0, "n_jobs": self.threads} | self.settings)
