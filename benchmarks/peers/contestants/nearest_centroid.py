"""scikit-learn's NearestCentroid: the means of the rows of each class, Euclidean distance.

Sparse rows have length 1. Its scores of all classes divide by deviations, which its `predict` does
not: so the best class is all that it names here.
"""

from typing import Any

from peers.contestants.scikit_learn import ScikitLearn


class Centroid(ScikitLearn):
    """`NearestCentroid`."""

    module = "sklearn.neighbors"
    ranks = False

    def estimator(self, n_classes: int) -> Any:
        """Return `NearestCentroid`."""
        from sklearn.neighbors import NearestCentroid

        return NearestCentroid(**self.settings)
