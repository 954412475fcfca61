"""scikit-learn's LinearSVC: one-vs-rest, liblinear; one thread whatever is allowed."""

from typing import Any

from peers.contestants.scikit_learn import ScikitLearn


class SVC(ScikitLearn):
    """`LinearSVC`."""

    module = "sklearn.svm"
    takes_sets = True
    choices = ({"C": 1.0}, {"C": 3.0}, {"C": 0.3}, {"C": 10.0})

    @classmethod
    def most_classes(cls, settings: dict[str, Any]) -> int:
        """Return few: each class is a problem over all rows."""
        return 5000

    def estimator(self, n_classes: int) -> Any:
        """Return `LinearSVC`."""
        from sklearn.svm import LinearSVC

        return LinearSVC(**self.settings)
