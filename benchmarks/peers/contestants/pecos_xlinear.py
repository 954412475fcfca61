"""PECOS XR-Linear: linear classifiers in a tree of the labels, by way of libpecos.

It depends on torch and transformers for its other models; the linear one runs without.
"""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from peers.contestant import Contestant
from peers.data import Data


class Pecos(Contestant):
    """`pecos.xmc.xlinear.XLinearModel` over a hierarchy of label embeddings (PIFA)."""

    package = "libpecos"
    module = "pecos.xmc.xlinear.model"
    requirements = ("numpy<2", "scipy<1.14", "scikit-learn")
    alone = ("libpecos==1.2.8",)
    if_it_fails = "There are wheels for Linux only, up to Python 3.11."
    takes_sets = True
    choices = (
        {},
        {"threshold": 0.01, "beam_size": 50},
        {"Cp": 4.0, "beam_size": 50},
        {"negative_sampling_scheme": "tfn+man", "threshold": 0.0, "beam_size": 50},
        {"negative_sampling_scheme": "tfn+man", "threshold": 0.0, "beam_size": 50, "Cp": 4.0},
    )

    def prepare(self, data: Data) -> None:
        """Write rows and label sets as it takes them."""
        self.X = sp.csr_matrix(data.train.X, dtype=np.float32)
        y = data.train.y
        if not data.has_sets:
            parts = np.ones(len(y)), y, np.arange(len(y) + 1)
            y = sp.csr_matrix(parts, shape=(len(y), data.n_classes))
        self.Y = sp.csr_matrix(y, dtype=np.float32)

    def fit(self, data: Data) -> None:
        """Train: the hierarchy, then its classifiers."""
        from pecos.xmc import Indexer, LabelEmbeddingFactory
        from pecos.xmc.xlinear.model import XLinearModel

        features = LabelEmbeddingFactory.create(self.Y, self.X, method="pifa")
        chain = Indexer.gen(features, threads=self.threads, seed=0)
        settings = {"threads": self.threads} | self.settings
        self.options = {"threads": self.threads, "beam_size": settings.pop("beam_size", 10)}
        model = XLinearModel.train(self.X, self.Y, C=chain, **settings)
        model.save(str(self.work / "model"))
        self.model = XLinearModel.load(str(self.work / "model"), is_predict_only=True)

    def predict(self, rows: Any, k: int) -> Any:
        """Return a sparse matrix of scores, the k best of each row."""
        rows = sp.csr_matrix(rows, dtype=np.float32)
        return self.model.predict(rows, only_topk=k, **self.options)

    def numbers(self, answers: Any) -> NDArray[Any]:
        """Return label numbers by their scores."""
        found = [
            answers.indices[start:end][np.argsort(-answers.data[start:end], kind="stable")]
            for start, end in zip(answers.indptr[:-1], answers.indptr[1:], strict=True)
        ]
        return super().numbers(found)

    def save(self) -> Path:
        """Return what `fit` has written."""
        return self.work / "model"
