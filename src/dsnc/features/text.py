"""`TextFeatures`: texts to sparse rows, by hashed n-grams of words and characters."""

import importlib
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from dsnc.checks import one_of
from dsnc.errors import InputError, MissingExtraError
from dsnc.features.fitted import FittedTextFeatures
from dsnc.features.inputs import as_iterable, as_list
from dsnc.features.points import blocks_of

_OUTPUTS = ("default", "pandas")


class TextFeatures(  # scikit-learn's own wrapping refuses sparse rows
    FittedTextFeatures,
    TransformerMixin,
    BaseEstimator,
    auto_wrap_output_keys=None,  # type: ignore[call-arg]
):
    """Weights n-grams of words and of characters, in rows of length 1.

    A text is brought into Unicode's form NFKC, its cases are folded, and it is cut into words: runs
    of letters, digits, "_" and the combining marks after them. N-grams are hashed into buckets;
    buckets that enough texts of `fit` had become columns, with the weight

        (1 + ln tf) * (ln((1 + n) / (1 + df)) + 1)

    for an n-gram that a text has tf times and df of the n texts have. No vocabulary is kept: two
    n-grams may share a column, which is rare while the columns are much fewer than the buckets.
    Parameters other than `n_jobs` that change after `fit` count at the next one.

    Parameters
    ----------
    words : (int, int) or None
        Shortest and longest n-gram of words.
    characters : (int, int) or None
        Shortest and longest n-gram of characters inside a word, whose borders count as spaces: the
        "char_wb" of scikit-learn. They see through endings, compounds and slips of the pen.
    lowercase : bool
        Fold cases (`str.casefold`): "Straße" is "STRASSE", and a sigma the same at the end.
    n_hashes : int
        Number of buckets, a power of two. While `fit` runs, each takes 8 bytes.
    min_rows : int
        Least number of texts for a column; 1 where no bucket has as many.
    max_features : int
        Most columns; the most frequent buckets get them, of equal ones the lower.
    sublinear : bool
        Use 1 + ln tf, or else tf.
    n_jobs : int, optional
        Threads of `transform`; -1 takes all cores.

    Attributes
    ----------
    buckets_ : uint32 array of shape (n_features_,)
        Bucket of each column, ascending.
    idf_ : float32 array of shape (n_features_,)
    n_features_, n_rows_ : int
        Number of columns, and of the texts of `fit`.
    grams_ : Grams
    min_rows_, max_features_ : int
        The parameters as they were at `fit`.

    Examples
    --------
    >>> texts = ["night nurse", "nurse in a ward", "bus driver", "truck driver"]
    >>> features = TextFeatures(characters=None).fit(texts)
    >>> features.transform(["a nurse", "nobody"]).toarray()
    array([[1., 0.],
           [0., 0.]], dtype=float32)
    >>> features.names(texts)
    {0: ['nurse'], 1: ['driver']}
    """

    def fit(self, texts: Iterable[str], y: Any = None) -> Self:
        """Learn columns and weights in one pass.

        Parameters
        ----------
        texts : iterable of str
            Any; a generator is read block by block.
        y : ignored
        """
        from dsnc.features.columns import count_texts

        self.check_parameters()
        counts, n_rows = count_texts(blocks_of(as_iterable(texts)), self._grams())
        if not n_rows:
            raise InputError("texts is empty; there is nothing to learn from.")
        least = int(self.min_rows) if counts.max() >= self.min_rows else 1
        kept = np.flatnonzero(counts >= least)
        if not len(kept):
            raise InputError(f"none of the {n_rows} texts has a word, or none long enough.")
        if len(kept) > self.max_features:
            order = np.argsort(-counts[kept], kind="stable")
            kept = np.sort(kept[order[: self.max_features]])
        idf = np.log((1 + n_rows) / (1 + counts[kept])) + 1
        self._keep(kept.astype(np.uint32), idf.astype(np.float32), n_rows)
        return self

    def transform(self, texts: Iterable[str]) -> Any:
        """Return the (n, n_features_) rows of n texts, columns ascending.

        A text without known n-grams is a row of zeros. `set_output` chooses between a CSR matrix
        and a DataFrame.
        """
        rows = self.rows(texts)
        if getattr(self, "_sklearn_output_config", {}).get("transform") != "pandas":
            return rows
        return _pandas().DataFrame.sparse.from_spmatrix(rows, columns=self.get_feature_names_out())

    def fit_transform(self, X: Iterable[str], y: Any = None, **unused: Any) -> Any:
        """Learn from texts and return their rows; a generator is read once and kept."""
        texts = as_list(X)
        return self.fit(texts).transform(texts)

    def get_feature_names_out(
        self, input_features: Any = None, *, texts: Iterable[str] | None = None
    ) -> NDArray[Any]:
        """Return a name for each column: ``bucket123``, since no vocabulary is kept.

        Parameters
        ----------
        input_features : ignored
        texts : iterable of str, optional
            A sample. A column that `names` knows by it is called after its most frequent n-gram.
        """
        self._check_is_fitted()
        names = np.array([f"bucket{bucket}" for bucket in self.buckets_.tolist()], dtype=object)
        for column, grams in self.names(texts).items() if texts is not None else ():
            names[column] = grams[0]
        return names

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `transform` returns; None changes nothing.

        Parameters
        ----------
        transform : "default", "pandas" or None
            A CSR matrix, or a DataFrame of sparse columns, which needs pandas.
        """
        if transform is None:
            return self
        if one_of("transform", transform, _OUTPUTS) == "pandas":
            _pandas()  # to fail here, and not in the middle of a pipeline
        # Under scikit-learn's name, so that its `clone` takes it along.
        self._sklearn_output_config = {"transform": transform}
        return self

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that rows are texts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


def _pandas() -> Any:
    try:
        return importlib.import_module("pandas")
    except ImportError as error:
        message = "set_output(transform='pandas') needs pandas; install it with: pip install pandas"
        raise MissingExtraError(message) from error
