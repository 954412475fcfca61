"""scikit-learn's OutputCodeClassifier: random codes, and a LinearSVC for each bit."""

from typing import Any

from peers.contestants.scikit_learn import ScikitLearn


class OutputCode(ScikitLearn):
    """`OutputCodeClassifier`; ``n_bits`` is its ``code_size`` times the classes."""

    module = "sklearn.multiclass"
    ranks = False
    choices = ({"n_bits": 64}, {"n_bits": 200})

    @classmethod
    def most_classes(cls, settings: dict[str, Any]) -> int:
        """Return few: random halves of the classes are hard to tell apart."""
        return 5000

    def estimator(self, n_classes: int) -> Any:
        """Return `OutputCodeClassifier` around `LinearSVC`, which gets the other settings."""
        from sklearn.multiclass import OutputCodeClassifier
        from sklearn.svm import LinearSVC

        settings = dict(self.settings)
        code_size = settings.pop("n_bits") / n_classes
        options = {"code_size": code_size, "random_state": 0, "n_jobs": self.threads}
        return OutputCodeClassifier(LinearSVC(**settings), **options)
