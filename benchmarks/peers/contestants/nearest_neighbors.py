"""The nearest training rows, exactly: each votes for its classes, by one over its distance.

Validation rows choose how many, and whether dense rows are compared by distance or by angle; sparse
rows are compared by angle. The search is that of scikit-learn's `NearestNeighbors`: a tree for few
columns, else all rows, block by block.
"""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from peers.contestant import Contestant
from peers.data import Data
from peers.rankings import validation_score

_COUNTS = (1, 3, 5, 10, 20, 50, 100)
_MEGABYTES = 64  # of distances at once
_LEAST = 1e-6  # distance of rows that are the same


class Neighbors(Contestant):
    """`NearestNeighbors`; ``n_neighbors`` and ``metric`` may be set."""

    package = "scikit-learn"
    module = "sklearn.neighbors"
    takes_sets = True

    def warm_up(self, data: Data) -> None:
        """Import, and hold few distances at once: a gigabyte by default."""
        import sklearn

        super().warm_up(data)
        sklearn.set_config(working_memory=_MEGABYTES)

    @classmethod
    def most_classes(cls, settings: dict[str, Any]) -> int:
        """Return some: with more, training rows are so many that each search takes long."""
        return 20_000

    def fit(self, data: Data) -> None:
        """Keep the rows; validation rows choose what is not set."""
        from sklearn.neighbors import NearestNeighbors

        y = data.train.y
        if not data.has_sets:
            y = sp.csr_matrix((np.ones(len(y)), y, np.arange(len(y) + 1)))
        self.votes, self.best = sp.csr_matrix(y, dtype=np.float32), -1.0
        usual = ["cosine"] if sp.issparse(data.train.X) else ["euclidean", "cosine"]
        for metric in [self.settings["metric"]] if "metric" in self.settings else usual:
            search = NearestNeighbors(metric=metric, n_jobs=self.threads).fit(data.train.X)
            self._choose_count(search, data)

    def _choose_count(self, search: Any, data: Data) -> None:
        """Keep the search, and the best number of neighbors, if they beat those before."""
        wanted = self.settings.get("n_neighbors", _COUNTS)
        counts = [k for k in np.atleast_1d(wanted).tolist() if k <= search.n_samples_fit_]
        if not data.validation.y.shape[0]:
            self.search, self.n_neighbors = search, counts[0]
            return
        found = search.kneighbors(data.validation.X, max(counts))
        for count in counts:
            answers, _ = self._voted(*(part[:, :count] for part in found), 5)
            score = validation_score(data.train.y, data.validation.y, answers)
            if score > self.best:
                self.best, self.search, self.n_neighbors = score, search, count

    def _voted(
        self, distances: NDArray[Any], neighbors: NDArray[Any], k: int
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the k classes with most votes, -1 where fewer have any, and their shares."""
        n_rows, count = neighbors.shape
        weights = 1 / (distances + _LEAST)
        weights /= weights.sum(axis=1, keepdims=True)
        starts = np.arange(0, n_rows * count + 1, count)
        shape = n_rows, self.votes.shape[0]
        votes = sp.csr_matrix((weights.ravel(), neighbors.ravel(), starts), shape) @ self.votes
        classes, shares = np.full((n_rows, k), -1), np.zeros((n_rows, k))
        for i, (start, end) in enumerate(zip(votes.indptr[:-1], votes.indptr[1:], strict=True)):
            order = np.argsort(-votes.data[start:end], kind="stable")[:k]
            classes[i, : len(order)] = votes.indices[start:end][order]
            shares[i, : len(order)] = votes.data[start:end][order]
        return classes, shares

    def predict(self, rows: Any, k: int) -> NDArray[Any]:
        """Return class numbers."""
        return self._voted(*self.search.kneighbors(rows, self.n_neighbors), k)[0]

    def confidences(self, rows: Any) -> NDArray[Any]:
        """Return the share of votes of the best class."""
        found = self.search.kneighbors(rows, self.n_neighbors)
        return self._voted(*found, 1)[1][:, 0].clip(0, 1)

    def chosen(self) -> dict[str, Any]:
        """Return what validation rows have chosen."""
        return {"n_neighbors": self.n_neighbors, "metric": self.search.metric}

    def save(self) -> Path:
        """Pickle rows and classes."""
        path = self.work / "model.pickle"
        path.write_bytes(pickle.dumps((self.search, self.votes), protocol=5))
        return path
