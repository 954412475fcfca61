"""What `TextFeatures` knows after `fit`, and everything it does with it; without scikit-learn.

This is all that prediction needs, and importing scikit-learn takes longer than predicting.
"""

import copy
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.arrays import bounded, check_arrays, number_arrays, numbers
from dsnc.checks import is_whole, whole
from dsnc.errors import InputError, shorten
from dsnc.features.grams import LONGEST, NO_SIZES, Grams
from dsnc.features.inputs import as_list, as_texts
from dsnc.features.points import blocks_of
from dsnc.sparse import sp
from dsnc.threads import in_threads, n_threads

if TYPE_CHECKING:
    from dsnc.features.columns import HashedColumns

_FEWEST_HASHES, _MOST_HASHES = 1 << 8, 1 << 28
_OF_GRAMS = {"lowercase": "bool 1", "sublinear": "bool 1", "n_hashes": "int64 1"}
_OF_FIT = ("min_rows", "max_features", "n_rows")
_ARRAYS = {
    "buckets": "uint32 1",
    "idf": "float32 1",
    "words": "int32 1",
    "characters": "int32 1",
    **_OF_GRAMS,
    **dict.fromkeys(_OF_FIT, "int64 1"),
}


class FittedTextFeatures:
    """Turns texts into rows by known n-grams; see `TextFeatures` for the parameters."""

    buckets_: NDArray[np.uint32]
    idf_: NDArray[np.float32]
    n_features_: int
    n_rows_: int
    grams_: Grams
    min_rows_: int
    max_features_: int

    def __init__(
        self,
        *,
        words: tuple[int, int] | None = (1, 2),
        characters: tuple[int, int] | None = (1, 5),
        lowercase: bool = True,
        n_hashes: int = 2**20,
        min_rows: int = 2,
        max_features: int = 2**16,
        sublinear: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.words = words
        self.characters = characters
        self.lowercase = lowercase
        self.n_hashes = n_hashes
        self.min_rows = min_rows
        self.max_features = max_features
        self.sublinear = sublinear
        self.n_jobs = n_jobs

    def rows(self, texts: Iterable[str]) -> "sp.csr_matrix":
        """Return a CSR matrix of shape (n, n_features_) for n texts, columns ascending."""
        self._check_is_fitted()
        columns = self.columns
        texts = as_list(texts)
        if len(texts) == 1:
            return columns.matrix([columns.rows(texts)])
        parts: dict[int, Any] = {}

        def work(rows: slice) -> None:
            parts[rows.start] = columns.rows(texts[rows], rows.start)

        in_threads(work, len(texts), self.n_jobs)
        return columns.matrix([parts[start] for start in sorted(parts)])

    def with_texts(self, texts: list[str]) -> tuple[Self, NDArray[np.int64]]:
        """Return features that also know the n-grams of more texts, and the new places of columns.

        N-grams that at least `min_rows` of these texts have get columns, the most frequent first,
        up to `max_features`. If `fit` reached that limit already, none are added, since a new
        n-gram cannot be told from one that was left out. The weights of known n-grams stay as they
        are.
        """
        from dsnc.features.columns import count_texts

        self._check_is_fitted()
        counts, n_rows = count_texts(blocks_of(as_texts(texts)), self.grams_)
        counts[self.buckets_] = 0
        fresh = np.flatnonzero(counts >= self.min_rows_)
        order = np.argsort(-counts[fresh], kind="stable")
        fresh = fresh[order[: self.max_features_ - self.n_features_]]
        n_rows += self.n_rows_
        buckets = np.concatenate([self.buckets_, fresh.astype(np.uint32)])
        idf = np.concatenate([self.idf_, np.log((1 + n_rows) / (1 + counts[fresh])) + 1])
        order = np.argsort(buckets)
        wider = copy.copy(self)
        wider._keep(buckets[order], idf[order].astype(np.float32), n_rows)
        return wider, np.argsort(order)[: self.n_features_]

    def names(
        self, texts: Iterable[str], columns: Iterable[int] | None = None
    ) -> dict[int, list[str]]:
        """Return up to three n-grams for each column, the most frequent first, from a sample.

        N-grams of characters are in quotes. This runs in plain Python, so a few thousand texts are
        enough.

        Parameters
        ----------
        texts : iterable of str
            The sample.
        columns : iterable of int, optional
            Which columns; all by default. Columns that do not occur in the sample are left out.

        Returns
        -------
        dict of int to list of str
        """
        from dsnc.features.naming import readable_buckets

        self._check_is_fitted()
        found = readable_buckets(as_texts(texts), self.grams_)
        wanted = range(self.n_features_) if columns is None else [int(c) for c in columns]
        pairs = ((column, int(self.buckets_[column])) for column in wanted)
        return {column: found[bucket] for column, bucket in pairs if bucket in found}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return plain arrays for a model file; `from_arrays` reverses this."""
        self._check_is_fitted()
        ranges = {"words": self.grams_.words, "characters": self.grams_.characters}
        return {
            "buckets": self.buckets_,
            "idf": self.idf_,
            **{name: np.array(sizes, dtype=np.int32) for name, sizes in ranges.items()},
            **number_arrays(self.grams_, _OF_GRAMS),
            **{name: np.array([getattr(self, f"{name}_")], dtype=np.int64) for name in _OF_FIT},
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make fitted features from the result of `arrays`, which is checked."""
        check_arrays("features", arrays, _ARRAYS)
        settings = numbers("features", arrays, (*_OF_GRAMS, *_OF_FIT))
        n_rows = settings.pop("n_rows")
        for name in ("words", "characters"):
            sizes = tuple(arrays[name].tolist())
            settings[name] = None if sizes == NO_SIZES else sizes
        features = cls(**settings)
        features.check_parameters()
        buckets, idf = np.ascontiguousarray(arrays["buckets"]), bounded("idf", arrays["idf"])
        if not 1 <= len(buckets) <= features.max_features or buckets.shape != idf.shape:
            raise InputError(
                f"features: {len(buckets)} buckets, {len(idf)} weights; expected the same "
                f"number of both, 1 to {features.max_features}."
            )
        if buckets[-1] >= features.n_hashes or not (buckets[1:] > buckets[:-1]).all():
            raise InputError("features: buckets do not ascend, or are not below n_hashes.")
        if n_rows < 1:
            raise InputError(f"features: n_rows={n_rows}; expected 1 or more.")
        features._keep(buckets, idf, n_rows)
        return features

    def check_parameters(self) -> None:
        """Raise an error for parameters that cannot work."""
        for name in ("words", "characters"):
            _check_sizes(name, getattr(self, name))
        if self.words is None and self.characters is None:
            raise InputError("words=None and characters=None leave no n-grams; give one of them.")
        for name in ("lowercase", "sublinear"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise InputError(f"{name}={shorten(getattr(self, name))} is not True or False.")
        n = whole("n_hashes", self.n_hashes)
        if n & (n - 1) or not _FEWEST_HASHES <= n <= _MOST_HASHES:
            raise InputError(f"n_hashes={n} is not a power of two from 2**8 to 2**28.")
        for name in ("min_rows", "max_features"):
            whole(name, getattr(self, name))
        n_threads(self.n_jobs)

    def _keep(self, buckets: NDArray[Any], idf: NDArray[Any], n_rows: int) -> None:
        buckets, idf = buckets.view(), idf.view()
        buckets.flags.writeable = idf.flags.writeable = False
        self.buckets_, self.idf_ = buckets, idf
        self.n_features_, self.n_rows_ = len(buckets), int(n_rows)
        self.grams_ = self._grams()
        self.min_rows_, self.max_features_ = int(self.min_rows), int(self.max_features)
        self.__dict__.pop("_cached_columns", None)

    def _grams(self) -> Grams:
        """Return what the parameters say, once they are checked."""
        words, characters = (
            NO_SIZES if sizes is None else (int(sizes[0]), int(sizes[1]))
            for sizes in (self.words, self.characters)
        )
        lowercase, sublinear = bool(self.lowercase), bool(self.sublinear)
        return Grams(words, characters, lowercase, sublinear, int(self.n_hashes))

    @property
    def columns(self) -> "HashedColumns":
        """Return the tables of the native core, made at first use: they are no part of a file."""
        columns: HashedColumns | None = self.__dict__.get("_cached_columns")
        if columns is None:
            from dsnc.features import columns as native

            columns = native.HashedColumns(self.buckets_, self.idf_, self.grams_)
            self._cached_columns = columns
        return columns

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again."""
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        state.pop("_cached_columns", None)
        return state

    def _check_is_fitted(self) -> None:
        if not hasattr(self, "buckets_"):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self, "buckets_")


def _check_sizes(name: str, sizes: Any) -> None:
    if sizes is None:
        return
    fits = isinstance(sizes, tuple | list) and len(sizes) == 2
    if not fits or not is_whole(sizes[0]) or not is_whole(sizes[1], sizes[0], LONGEST):
        raise InputError(
            f"{name}={shorten(sizes)} is not a range of n-grams; give (shortest, longest), from 1 "
            f"to {LONGEST}, or None."
        )
