"""The nearest class mean by angle: `dsnc.baselines.NearestCentroidBaseline`.

scikit-learn's `NearestCentroid` takes Euclidean distances to means that are not scaled, which is
worse on sparse rows; dense rows are compared as they are here, too.
"""

from typing import Any

from peers.contestants.dsnc_classifier import DSNC
from peers.data import Data


class CentroidBaseline(DSNC):
    """`NearestCentroidBaseline`, which has no settings."""

    takes_sets = False

    @classmethod
    def most_classes(cls, settings: dict[str, Any]) -> int:
        """Return some: it holds a number for each feature of each class."""
        return 20_000

    def _new(self, data: Data) -> Any:
        from dsnc.baselines import NearestCentroidBaseline

        return NearestCentroidBaseline(**self.settings)

    def fit(self, data: Data) -> None:
        """Take the means; there is nothing to stop."""
        self.has_sets = False
        self.model = self._new(data).fit(self.rows(data.train), data.train.y)

    def confidences(self, rows: Any) -> None:
        """Return none: its scores are no probabilities."""
        return None
