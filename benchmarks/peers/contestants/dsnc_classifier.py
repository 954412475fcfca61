"""dsnc, through its public interface."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from peers.contestant import Contestant
from peers.data import Data, Part

_FEW = 8  # classes to warm up with


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
        """Compile all kernels, and go once through everything with a few rows."""
        from dsnc.codes import warm_up
        from dsnc.fast._warm_up import STEPS

        warm_up()
        for compile_some in STEPS.values():
            compile_some()
        few = [self._some(part) for part in (data.train, data.validation)]
        small = data._replace(train=few[0], validation=few[1])
        self.fit(small)
        self.predict(self.rows(few[0]), 1)

    def _some(self, part: Part) -> Part:
        y = part.y
        if sp.issparse(y):
            y = y[:, :_FEW]
            at = np.flatnonzero(np.diff(y.indptr))
        else:
            at = np.flatnonzero(y < _FEW)
        X = None if part.X is None else part.X[at]
        texts = None if part.texts is None else [part.texts[i] for i in at]
        return Part(X, y[at], texts)

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
