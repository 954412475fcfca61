"""Recognizes texts in X, and handles them where rows of numbers are expected."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dsnc.errors import InputError
from dsnc.features.points import not_a_text
from dsnc.sparse import sp

if TYPE_CHECKING:
    from dsnc.features.fitted import FittedTextFeatures

_LOOKED_AT = 8  # items that show what X is
_PER_CHARACTER = 4  # n-grams, about


class TextRows:
    """Texts in place of the rows that they will become: sliced like rows, converted at the end."""

    def __init__(self, texts: list[str], features: "FittedTextFeatures") -> None:
        self.texts, self.features = texts, features
        self.shape = (len(texts), features.n_features_)

    @classmethod
    def of(cls, X: Any, features: "FittedTextFeatures | None") -> Self:
        """Make them from texts of any kind, for the features of a model."""
        if features is None:
            raise InputError(
                "X holds texts, but the model was trained on rows of numbers; pass rows of "
                "numbers, or fit it to texts."
            )
        return cls(cls.listed(X), features)

    @staticmethod
    def listed(X: Any) -> list[str]:
        """Return texts as a list. A single string, or an iterator, is refused."""
        if isinstance(X, str):
            raise InputError("X is one string; pass a list, such as [text].")
        if isinstance(X, Iterator):
            raise InputError(f"X is of type {type(X).__name__}, which has no length; pass a list.")
        return as_texts(unframed(X))

    @property
    def nnz(self) -> int:
        """A rough estimate of how many nonzero numbers the rows will have."""
        return _PER_CHARACTER * sum(map(len, self.texts))

    def __getitem__(self, rows: slice) -> Self:
        """Return some of the texts."""
        return type(self)(self.texts[rows], self.features)

    def numbers(self) -> "sp.csr_matrix":
        """Return the rows as a CSR matrix."""
        return self.features.rows(self.texts)


def unframed(X: Any) -> Any:
    """Return the texts of a Series or of a DataFrame with one column as a list; other X unchanged.

    Any library's Series or DataFrame works that numpy can read as an array.
    """
    if isinstance(X, np.ndarray | list | tuple) or not hasattr(X, "__array__"):
        return X
    shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
    if len(shape) > 2 or shape[1:] not in ((), (1,)):
        return X
    items = np.asarray(X).reshape(-1)
    if items.dtype.kind not in "UOT":
        return X
    texts = items.tolist()
    return texts if any(isinstance(item, str) for item in texts[:_LOOKED_AT]) else X


def are_texts(X: Any) -> bool:
    """Return whether X seems to be texts rather than rows of numbers, by its first few items."""
    X = unframed(X)
    if isinstance(X, np.ndarray):  # first: rows of numbers should not wait
        if X.ndim != 1 or X.dtype.kind not in "UOT":
            return False
    elif sp.issparse(X):
        return False
    elif isinstance(X, str | Iterator):
        return True  # and `TextRows.of` says what is wrong
    elif not isinstance(X, list | tuple) and getattr(X, "ndim", 0) != 1:  # a Series has 1
        return False
    # What is missing, or of bytes, is no row of numbers: messages about texts say what to do.
    return any(isinstance(item, str | bytes | None) for item in islice(X, _LOOKED_AT))


def are_none(X: Any) -> bool:
    """Return whether X is an empty sequence, which might have been texts."""
    return not X if isinstance(X, list | tuple) else getattr(X, "shape", None) == (0,)


def as_texts(texts: Any) -> list[str]:
    """Return the texts as a list, or refuse what is none."""
    items = as_list(texts)
    if set(map(type, items)) - {str} and not all(isinstance(item, str) for item in items):
        raise not_a_text(items)
    return items


def as_list(texts: Any) -> list[Any]:
    """Return what came as texts as a list, its items unseen."""
    if type(texts) is list:
        return texts
    if isinstance(texts, np.ndarray) and (texts.ndim != 1 or texts.dtype.kind not in "UOT"):
        raise InputError(
            f"texts is an array of shape {texts.shape} and type {texts.dtype}; expected (n,) texts."
        )
    if hasattr(texts, "tolist"):  # of numpy, and of pandas
        texts = texts.tolist()
    return list(as_iterable(texts))


def as_iterable(texts: Any) -> Iterable[Any]:
    """Refuse what cannot be texts at all."""
    if isinstance(texts, str | bytes):
        raise InputError("texts is one string; pass a list, such as [text].")
    if isinstance(texts, Mapping) or sp.issparse(texts) or not hasattr(texts, "__iter__"):
        raise InputError(f"texts is of type {type(texts).__name__}; pass a list of str.")
    iterable: Iterable[Any] = texts
    return iterable
