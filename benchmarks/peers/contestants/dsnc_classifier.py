"""dsnc, through its public interface."""

import importlib
from pathlib import Path
from typing import Any

from peers.contestant import Contestant
from peers.data import Data

_LOADED_LATER = ("dsnc.classifier", "dsnc.codes.index", "dsnc.fast", "dsnc.rerank")


class DSNC(Contestant):
    """`DSNCClassifier` on rows, on the CPU unless ``device`` says otherwise.

    Where rows have label sets it is `DSNCMultiLabelClassifier`.
    """

    package = "dsnc"
    module = "dsnc"
    takes_sets = True

    def _new(self, data: Data) -> Any:
        import dsnc

        kind = dsnc.DSNCMultiLabelClassifier if data.has_sets else dsnc.DSNCClassifier
        return kind(**{"device": "cpu", "n_jobs": self.threads} | self.settings)

    def warm_up(self, data: Data) -> None:
        """Import also what dsnc imports when it is first used."""
        super().warm_up(data)
        for name in _LOADED_LATER:
            importlib.import_module(name)

    def fit(self, data: Data) -> None:
        """Train, with the validation rows if there are some."""
        validation = (self.rows(data.validation), data.validation.y)
        options = {"validation": validation} if data.validation.y.shape[0] else {}
        self.has_sets = data.has_sets
        self.model = self._new(data).fit(self.rows(data.train), data.train.y, **options)

    def predict(self, rows: Any, k: int) -> Any:
        """Return class numbers."""
        if k == 1 and not self.has_sets:
            return self.model.predict(rows)
        return self.model.predict_top_k(rows, k)[0]

    def confidences(self, rows: Any) -> Any:
        """Return them beside the best."""
        return self.model.predict_top_k(rows, 1)[1][:, 0]

    def save(self) -> Path:
        """Write the model folder."""
        self.model.save(self.work / "model")
        return self.work / "model"


class DSNCTexts(DSNC):
    """The same on strings: making features of them is part of all times, as it is in fastText's."""

    reads = "texts"
    needs_texts = True
