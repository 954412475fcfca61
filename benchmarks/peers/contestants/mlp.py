"""An MLP with a softmax over all classes: trained by torch on the CPU, predictions in numpy.

It is `dsnc.baselines.MLPBaseline`, which stops by validation rows as dsnc does; of label sets
`MLPMultiLabelBaseline`, which has no label smoothing.
"""

from typing import Any

from peers.contestants.dsnc_classifier import DSNC
from peers.data import Data


class MLP(DSNC):
    """A hidden layer as wide as the longest of our codes."""

    package = "torch"
    module = "torch"
    choices = ({}, {"label_smoothing": 0.1}, {"label_smoothing": 0.1, "max_epochs": 60})

    @classmethod
    def most_classes(cls, settings: dict[str, Any]) -> int:
        """Return few: a step scores all classes, and moves all weights of all features."""
        return 5000

    def _new(self, data: Data) -> Any:
        from dsnc.baselines import MLPBaseline, MLPMultiLabelBaseline

        kind = MLPMultiLabelBaseline if data.has_sets else MLPBaseline
        usual = {"device": "cpu", "n_units": 200, "batch_size": 256, "max_epochs": 20}
        settings = dict(self.settings)
        if data.has_sets:
            settings.pop("label_smoothing", None)
        return kind(**usual | settings)
