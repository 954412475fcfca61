"""Omikuji: label trees by clustering (Parabel, Bonsai), in Rust.

It reads its training rows from a file, and predicts row by row. A row without features ends the
process (a panic in Rust), so such rows get no answer here.
"""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from peers.contestant import Contestant
from peers.data import Data

_PARABEL: dict[str, Any] = {"linear_weight_threshold": 0.01}
_BONSAI = _PARABEL | {"cluster_balanced": False, "cluster_k": 100, "max_depth": 3}


class Omikuji(Contestant):
    """`omikuji.Model`: three trees, weights down to 0.01; its default of 0.1 is less accurate."""

    package = "omikuji"
    module = "omikuji"
    requirements = ("omikuji==0.5.2",)
    takes_sets = True
    choices = (
        _PARABEL,
        _PARABEL | {"linear_c": 0.3},
        _BONSAI,
        _BONSAI | {"linear_c": 0.3},
        _PARABEL | {"linear_c": 10.0},
    )

    def prepare(self, data: Data) -> None:
        """Write the file that it trains from, of rows that have features and labels."""
        X, y = sp.csr_matrix(data.train.X), data.train.y
        sets = y.tolil().rows.tolist() if data.has_sets else y[:, None].tolist()
        lines = [
            f"{','.join(map(str, labels))} {_pairs(X, i)}\n"
            for i, labels in enumerate(sets)
            if labels and X.indptr[i] < X.indptr[i + 1]
        ]
        header = f"{len(lines)} {X.shape[1]} {data.n_classes}\n"
        (self.work / "train.txt").write_text(header + "".join(lines), encoding="utf-8")

    def fit(self, data: Data) -> None:
        """Train, reading included: it knows no other way."""
        from omikuji import Model

        options = Model.default_hyper_param()
        for name, value in self.settings.items():
            setattr(options, name, value)
        train = str(self.work / "train.txt")
        self.model = Model.train_on_data(train, options, n_threads=self.threads)
        self.model.init_prediction_thread_pool(self.threads)

    def predict(self, rows: Any, k: int) -> Any:
        """Return lists of pairs of label and score."""
        rows = sp.csr_matrix(rows)
        bounds = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        return [self._best(rows.indices[a:b], rows.data[a:b], k) for a, b in bounds]

    def _best(self, features: NDArray[Any], values: NDArray[Any], k: int) -> Any:
        if not len(features):
            return []
        pairs = list(zip(features.tolist(), values.tolist(), strict=True))
        return self.model.predict(pairs, top_k=k)

    def confidences(self, rows: Any) -> NDArray[Any]:
        """Return the score of the best label, which is between 0 and 1."""
        found = self.predict(rows, 1)
        return np.array([pairs[0][1] if pairs else 0.0 for pairs in found]).clip(0, 1)

    def numbers(self, answers: Any) -> NDArray[Any]:
        """Return the labels of the pairs."""
        return super().numbers([[label for label, _ in pairs] for pairs in answers])

    def save(self) -> Path:
        """Write its folder."""
        self.model.save(str(self.work / "model"))
        return self.work / "model"


def _pairs(X: Any, i: int) -> str:
    row = slice(X.indptr[i], X.indptr[i + 1])
    return " ".join(
        f"{j}:{x:g}" for j, x in zip(X.indices[row].tolist(), X.data[row].tolist(), strict=True)
    )
