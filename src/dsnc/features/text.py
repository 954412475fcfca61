"""`TextFeatures`: turns texts into sparse rows, by hashed n-grams of words and characters."""

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
    """Turns texts into sparse rows of length 1: weighted n-grams of words and of characters.

    A text is normalized (Unicode's form NFKC, then case folding) and cut into words: runs of
    letters, digits, "_" and the combining marks after them. N-grams are hashed into buckets.
    Buckets that enough texts of `fit` contain become columns, with the weight

        (1 + ln tf) * (ln((1 + n) / (1 + df)) + 1)

    for an n-gram that occurs tf times in the text, and in df of the n texts of `fit`. No vocabulary
    is kept. Two n-grams may share a column, but this is rare as long as there are far fewer columns
    than buckets. Changes of parameters other than `n_jobs` take effect at the next `fit`.

    Parameters
    ----------
    words : (int, int) or None, default (1, 2)
        Shortest and longest n-gram of words; None for no words.
    characters : (int, int) or None, default (1, 5)
        Shortest and longest n-gram of characters inside a word, whose borders count as spaces
        ("char_wb" in scikit-learn); None for no characters. They recognize inflected, compound and
        misspelled words.
    lowercase : bool, default True
        Whether to fold cases (`str.casefold`): "Straße" becomes "strasse", and all forms of the
        Greek sigma are the same.
    n_hashes : int, default 2**20
        Number of buckets, a power of two. Each takes 8 bytes while `fit` runs.
    min_rows : int, default 2
        How many texts must contain a bucket for it to become a column; 1 if no bucket is in that
        many.
    max_features : int, default 2**16
        Maximum number of columns. The most frequent buckets become columns; of equally frequent
        ones, the lower.
    sublinear : bool, default True
        Whether to use 1 + ln tf rather than tf.
    n_jobs : int, optional
        Number of threads of `transform`; by default 1, and -1 uses all cores.

    Attributes
    ----------
    buckets_ : uint32 array of shape (n_features_,)
        The bucket of each column, ascending.
    idf_ : float32 array of shape (n_features_,)
        The second factor of the weight of each column.
    n_features_, n_rows_ : int
        Number of columns, and number of texts that `fit` has seen.
    grams_ : Grams
        How texts are cut into n-grams.
    min_rows_, max_features_ : int
        The parameters as they were in `fit`.

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
            The texts. A generator is read block by block.
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
            raise InputError(f"none of the {n_rows} texts has a word that is long enough.")
        if len(kept) > self.max_features:
            order = np.argsort(-counts[kept], kind="stable")
            kept = np.sort(kept[order[: self.max_features]])
        idf = np.log((1 + n_rows) / (1 + counts[kept])) + 1
        self._keep(kept.astype(np.uint32), idf.astype(np.float32), n_rows)
        return self

    def transform(self, texts: Iterable[str]) -> Any:
        """Return the rows of n texts, of shape (n, n_features_), with columns ascending.

        A text without known n-grams becomes a row of zeros. `set_output` chooses between a CSR
        matrix and a DataFrame.
        """
        rows = self.rows(texts)
        if getattr(self, "_sklearn_output_config", {}).get("transform") != "pandas":
            return rows
        return _pandas().DataFrame.sparse.from_spmatrix(rows, columns=self.get_feature_names_out())

    def fit_transform(self, X: Iterable[str], y: Any = None, **unused: Any) -> Any:
        """Learn from texts and return their rows; a generator is read once and kept as a list."""
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
            A sample of texts. A column whose n-grams occur in it is named after the most frequent
            one.
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
        transform : "default", "pandas" or None, default None
            "default" for a CSR matrix, "pandas" for a DataFrame with sparse columns.
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
