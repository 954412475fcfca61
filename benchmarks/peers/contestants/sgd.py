"""scikit-learn's SGDClassifier: one-vs-rest, plain stochastic gradient descent."""

from typing import Any

from peers.contestants.scikit_learn import ScikitLearn


class SGD(ScikitLearn):
    """`SGDClassifier`; it has probabilities of some of its losses."""

    module = "sklearn.linear_model"
    takes_sets = True
    choices = ({"alpha": 1e-4}, {"alpha": 1e-5}, {"loss": "modified_huber"})

    @classmethod
    def most_classes(cls, settings: dict[str, Any]) -> int:
        """Return few: each class is a problem over all rows."""
        return 5000

    def estimator(self, n_classes: int) -> Any:
        """Return `SGDClassifier`."""
        from sklearn.linear_model import SGDClassifier

        return SGDClassifier(**{"random_state": 0, "n_jobs": self.threads} | self.settings)
