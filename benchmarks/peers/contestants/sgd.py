"""scikit-learn's SGDClassifier: one-vs-rest, stochastic gradient descent, averaged weights."""

from typing import Any

from peers.contestants.scikit_learn import ScikitLearn


class SGD(ScikitLearn):
    """`SGDClassifier` with a smooth margin loss, of which it has probabilities."""

    module = "sklearn.linear_model"
    takes_sets = True
    choices = ({"alpha": 1e-5}, {"alpha": 1e-6}, {"alpha": 1e-4})

    @classmethod
    def most_classes(cls, settings: dict[str, Any]) -> int:
        """Return few: each class is a problem over all rows."""
        return 5000

    def estimator(self, n_classes: int) -> Any:
        """Return `SGDClassifier`."""
        from sklearn.linear_model import SGDClassifier

        usual = {"loss": "modified_huber", "average": True, "random_state": 0}
        return SGDClassifier(**usual | {"n_jobs": self.threads} | self.settings)
