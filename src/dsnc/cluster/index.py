"""`ShardedIndex`: known codes split over the actors of a cluster, searched exactly."""

import os
from contextlib import ExitStack
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from dsnc.arrays import class_numbers
from dsnc.cluster.connection import check_nodes, connected, take_workers
from dsnc.codes import Encoded, HammingIndex, PackedCodes
from dsnc.codes.index import ClassNeighbors
from dsnc.errors import InputError
from dsnc.rerank import ClassVectors, FeatureReranker

Ints = NDArray[np.int64]
_ROW_BITS = 40  # of a number among all codes; the distance stands above it
_GONE = np.iinfo(np.int64).max


class ShardedIndex:
    """Finds the nearest of more codes than one memory can hold, exactly as `HammingIndex` does.

    Each actor finds the nearest of its own codes. The nearest of everything found, by (distance,
    number), are the nearest of all codes: this order has no ties.

    Parameters
    ----------
    codes : PackedCodes or path
        The codes to search. A path names an ``.npy`` file of words that all nodes can read: each
        actor reads its own part only, and the driver none.
    shards : int, optional
        Number of actors; by default, as many as the cluster has room for.
    n_bits : int, optional
        Width of the codes. Required if `codes` is a path.
    vectors : ClassVectors, optional
        If each code belongs to one class: the feature vectors of the classes, for `margins`. They
        are split like the codes.
    ray : str, default "auto"
        As in `dsnc.cluster.predict`.
    cpus_per_shard : int, default 1
        Cores and threads of each actor.
    method : str, default "auto"
        As in `HammingIndex`.

    Examples
    --------
    >>> with ShardedIndex(codes, shards=4) as index:  # doctest: +SKIP
    ...     distances, rows = index.search(queries, k=10)
    """

    def __init__(
        self,
        codes: PackedCodes | str | os.PathLike[str],
        *,
        shards: int | None = None,
        n_bits: int | None = None,
        vectors: ClassVectors | None = None,
        ray: str = "auto",
        cpus_per_shard: int = 1,
        method: str = "auto",
    ) -> None:
        words, self.n_bits = _words_of(codes, n_bits)
        self._n_codes, self._n_jobs = len(words), cpus_per_shard
        if vectors is not None and vectors.n_classes != len(words):
            raise InputError(
                f"vectors has {vectors.n_classes} classes, but there are {len(words)} codes."
            )
        with ExitStack() as stack:
            self._ray = stack.enter_context(connected(ray, "ShardedIndex"))
            check_nodes(self._ray)
            n = take_workers(self._ray, shards, cpus_per_shard, most=len(words))
            self.bounds = np.array([len(words) * i // n for i in range(n + 1)], np.int64)
            actor = self._ray.remote(num_cpus=cpus_per_shard)(_Shard)
            self._shards = []
            for first, last in zip(self.bounds[:-1], self.bounds[1:], strict=True):
                some = words[first:last] if isinstance(codes, PackedCodes) else os.fspath(codes)
                own = None if vectors is None else vectors.with_classes(np.arange(first, last))
                parts = (some, int(first), int(last), self.n_bits, method, own)
                self._shards.append(actor.remote(*parts))
            self._ray.get([shard.n_codes.remote() for shard in self._shards])
            self._stack = stack.pop_all()

    def search(self, queries: PackedCodes, k: int = 1) -> tuple[NDArray[np.int32], Ints]:
        """Find the k nearest codes of each query; returns the same as `HammingIndex.search`.

        Parameters
        ----------
        queries : PackedCodes
            As wide as the codes.
        k : int, default 1
            How many to find; if there are fewer codes, all of them.
        """
        found = self._ask("search", queries, k)
        keys = np.hstack([_keys(distances, rows) for distances, rows in found])
        keys = np.sort(keys, axis=1)[:, :k]
        return _parts(keys)

    def search_classes(self, queries: PackedCodes, k: int, labels: ArrayLike) -> ClassNeighbors:
        """Find the k nearest classes of each query; the same as `HammingIndex.search_classes`.

        Parameters
        ----------
        queries : PackedCodes
            As wide as the codes.
        k : int
            How many to find; if there are fewer classes, all of them.
        labels : int array of shape (n_codes,)
            The class of each code.
        """
        owned = class_numbers("labels", labels, self._n_codes)
        bounds = zip(self.bounds[:-1], self.bounds[1:], strict=True)
        found = self._ask("search_classes", queries, k, each=[owned[a:b] for a, b in bounds])
        keys = np.hstack([_keys(distances, rows) for distances, _, rows in found])
        owners = np.hstack([classes for _, classes, _ in found])
        order = np.lexsort((keys, owners), axis=1)
        keys, owners = (np.take_along_axis(x, order, axis=1) for x in (keys, owners))
        keys[:, 1:][owners[:, 1:] == owners[:, :-1]] = _GONE  # a nearer code of the class is there
        width = min(k, len(np.unique(owned)))
        order = np.argsort(keys, axis=1)[:, :width]
        keys, owners = (np.take_along_axis(x, order, axis=1) for x in (keys, owners))
        distances, rows = _parts(keys)
        return ClassNeighbors(distances, owners, rows)

    def margins(self, X: Any, classes: ArrayLike) -> NDArray[np.float32]:
        """Return the scores that the feature vectors of some classes give each row.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, d)
            The rows.
        classes : int array of shape (n, m)
            The candidates of each row.

        Returns
        -------
        margins : float32 array of shape (n, m)
        """
        wanted = np.asarray(classes, dtype=np.int64)
        rows = self._ray.put(sp.csr_array(X, dtype=np.float32))
        asked = [shard.margins.remote(rows, wanted) for shard in self._shards]
        total: NDArray[np.float32] = np.sum(self._ray.get(asked), axis=0, dtype=np.float32)
        return total

    def _ask(
        self, what: str, queries: PackedCodes, k: int, each: list[Any] | None = None
    ) -> list[tuple[Any, ...]]:
        """Ask all actors at the same time; `each` has what is told to one of them only."""
        if queries.n_bits != self.n_bits:
            raise InputError(f"queries have {queries.n_bits} bits; the codes have {self.n_bits}.")
        sent, found = self._ray.put(queries.words), []
        for number, shard in enumerate(self._shards):
            own = () if each is None else (each[number],)
            found.append(getattr(shard, what).remote(sent, k, self._n_jobs, *own))
        answers: list[tuple[Any, ...]] = self._ray.get(found)
        return answers

    def __len__(self) -> int:
        """Return the number of codes."""
        return self._n_codes

    def close(self) -> None:
        """Stop the actors."""
        for shard in self._shards:
            self._ray.kill(shard)
        self._shards = []
        self._stack.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the actors."""
        self.close()


class _Shard:
    """The codes from `first` to `last`, in a process of their own."""

    def __init__(
        self, words: Any, first: int, last: int, n_bits: int, method: str, vectors: Any
    ) -> None:
        if isinstance(words, str):
            words = np.load(words, mmap_mode="r")[first:last]
        self._first, self._n_bits = first, n_bits
        self._reranker = None if vectors is None else FeatureReranker(vectors)
        self._index = HammingIndex(PackedCodes(np.asarray(words), n_bits), method=method)

    def n_codes(self) -> int:
        return len(self._index)

    def search(self, words: Any, k: int, n_jobs: int) -> tuple[Any, ...]:
        queries = PackedCodes(words, self._n_bits)
        distances, rows = self._index.search(queries, k, n_jobs=n_jobs)
        return distances, rows + self._first

    def search_classes(self, words: Any, k: int, n_jobs: int, labels: Any) -> tuple[Any, ...]:
        queries = PackedCodes(words, self._n_bits)
        found = self._index.search_classes(queries, k, labels, n_jobs=n_jobs)
        return found.distances, found.classes, found.rows + self._first

    def margins(self, X: Any, classes: Any) -> NDArray[np.float32]:
        if self._reranker is None:
            raise InputError("the index was built without vectors=, which margins needs.")
        own = classes - self._first
        own = np.where((own >= 0) & (own < len(self._index)), own, -1)
        if X.shape[1] != self._reranker.vectors.n_features:
            raise InputError(
                f"X has {X.shape[1]} features; vectors has {self._reranker.vectors.n_features}."
            )
        logits = np.zeros((X.shape[0], self._n_bits), np.float32)  # nobody looks at them
        encoded = Encoded(logits, source=(sp.csr_matrix(X), slice(0, X.shape[0])))
        margins = self._reranker.margins(encoded, own)
        return np.where(own >= 0, margins, np.float32(0))


def _words_of(codes: Any, n_bits: int | None) -> tuple[Any, int]:
    """Return the words of codes, those of a file memory-mapped, and the width of the codes."""
    if isinstance(codes, PackedCodes):
        return codes.words, codes.n_bits
    if n_bits is None:
        raise InputError("n_bits is required when codes come from a file.")
    try:
        words = np.load(codes, mmap_mode="r")
    except (OSError, ValueError) as error:
        raise InputError(f"codes={os.fspath(codes)!r} cannot be read ({error}).") from error
    if words.dtype != np.uint64 or words.ndim != 2:
        raise InputError(
            f"codes={os.fspath(codes)!r} does not hold code words; expected a 2-D array of uint64."
        )
    return words, n_bits


def _keys(distances: Any, rows: Any) -> Ints:
    keys: Ints = (distances.astype(np.int64) << _ROW_BITS) | rows
    return keys


def _parts(keys: Ints) -> tuple[NDArray[np.int32], Ints]:
    return (keys >> _ROW_BITS).astype(np.int32), keys & ((1 << _ROW_BITS) - 1)
