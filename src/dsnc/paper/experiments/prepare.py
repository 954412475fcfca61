"""Data for an experiment: a split, and rows as classifiers want them."""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from dsnc.data import Dataset, Split, load_dataset
from dsnc.errors import InputError
from dsnc.paper.experiments.definition import Source

WEIGHTINGS = ("tfidf", "none")
_PICTURES = 4096  # classes whose first picture is kept, at most


class Prepared(NamedTuple):
    """A data set that is ready for every method."""

    name: str
    fingerprint: str
    description: str
    parts: Split
    left_out: tuple[int, int]  # validation and test rows of classes without a training row
    classes_left_out: int  # by `Source.n_classes`
    image_shape: tuple[int, int] | None

    @property
    def rows(self) -> dict[str, int]:
        """How many rows each part has, how many classes there are, and how many were left out."""
        sizes = zip(Split._fields, map(len, self.parts), strict=True)
        names = (*Split._fields[1:], "classes")
        left_out = zip(names, (*self.left_out, self.classes_left_out), strict=True)
        n_classes = self.parts.train.n_classes
        return {
            **dict(sizes),
            "classes": n_classes,
            **{f"{name} left out": n for name, n in left_out},
        }

    def about(self) -> dict[str, Any]:
        """Return what a report says of the data."""
        train = self.parts.train
        return {
            "name": self.name,
            "fingerprint": self.fingerprint,
            "description": self.description,
            "rows": [len(part) for part in self.parts],
            "left_out": list(self.left_out),
            "features": train.width,
            "classes": [str(label) for label in train.classes.tolist()],
            "image_shape": self.image_shape,
        }

    def pictures(self) -> Any:
        """Return one picture of each class (uint8), None where rows are none."""
        if self.image_shape is None or self.parts.train.n_classes > _PICTURES:
            return None
        train = self.parts.train
        classes, first = np.unique(np.asarray(train.y), return_index=True)
        rows = np.asarray(train.X[first], dtype=np.float32)
        scale = 255 / max(float(rows.max()), 1e-9)
        pictures = np.zeros((train.n_classes, *self.image_shape), dtype=np.uint8)
        pictures[classes] = (rows * scale).clip(0, 255).reshape(-1, *self.image_shape)
        return pictures


@lru_cache(maxsize=4)  # two recipes, and the draw after this one
def prepare(source: Source, weighting: str = "tfidf") -> Prepared:
    """Load, split and weigh.

    A predefined split is used; else 80/10/10 at random, the same for all seeds of the methods. Rows
    to validate or to test with are left out where no training row has their class, as in the
    authors' script: nothing could be learned of it.

    Parameters
    ----------
    source : Source
    weighting : "tfidf" or "none"
        With "tfidf", text becomes hashed n-grams, sparse rows of whole numbers are counts and
        become ``(1 + log tf) * idf`` with the idf of the training rows, and dense whole numbers are
        divided by their largest. With "none" features stay as they are in the file, and text
        becomes plain counts of its words.
    """
    options = {} if source.draw is None else {"draw": source.draw}
    dataset = load_dataset(source.path, **options)
    if dataset.is_multilabel:
        raise InputError(
            f"data={source.path!r} has label sets, but the experiments need one label a row."
        )
    n_classes = dataset.n_classes
    if source.n_classes is not None and source.n_classes < n_classes:
        dataset = dataset.subset_classes(source.n_classes)
    whole = dataset.predefined_split() if dataset.splits else dataset.split()
    parts = _of_known_classes(whole)
    for part, name in zip(parts, Split._fields, strict=True):
        if not len(part):
            raise InputError(
                f"data={source.path!r} has no {name} rows of classes that have training rows; the "
                "experiments need some."
            )
    left_out = (
        len(whole.validation) - len(parts.validation),
        len(whole.test) - len(parts.test),
    )
    subset = f"{dataset.name}-{dataset.n_classes}" if source.n_classes else dataset.name
    weigh = _weighed if weighting == "tfidf" else _counted
    return Prepared(
        subset,
        _fingerprint(parts),
        dataset.source,
        weigh(parts),
        left_out,
        n_classes - dataset.n_classes,
        dataset.image_shape,
    )


def _of_known_classes(parts: Split) -> Split:
    """Leave out the rows of which a model could know nothing."""
    known = parts.train.rows_per_class > 0
    return Split(parts.train, *(part.take(known[part.y]) for part in parts[1:]))


def _weighed(parts: Split) -> Split:
    train = parts.train
    if train.is_text:
        from dsnc.features import TextFeatures

        return _transformed(parts, TextFeatures().fit(train.X).transform)
    if train.is_sparse and _is_whole(train.X.data):
        return _transformed(parts, TfidfTransformer(sublinear_tf=True).fit(train.X).transform)
    if not train.is_sparse and train.X.dtype.kind in "iu":
        largest = np.float32(max(1, train.X.max()))
        return _transformed(parts, lambda X: X.astype(np.float32) / largest)
    return parts


def _counted(parts: Split) -> Split:
    """Leave numbers as they are; text becomes a bag of words."""
    train = parts.train
    if train.is_text:
        words = CountVectorizer(dtype=np.float32).fit(train.X)
        return _transformed(parts, words.transform)
    if train.X.dtype.kind in "iu":
        return _transformed(parts, lambda X: X.astype(np.float32))
    return parts


def _transformed(parts: Split, transform: Callable[[Any], Any]) -> Split:
    return Split(*(Dataset(transform(part.X), part.y, part.classes) for part in parts))


def _is_whole(data: Any) -> bool:
    return bool(data.dtype.kind in "iu" or (np.all(data >= 0) and np.all(data == np.rint(data))))


def _fingerprint(parts: Split) -> str:
    """Return a digest of rows and classes, part by part."""
    digest = hashlib.sha256()
    for part in parts:
        X = part.X
        arrays = [X.data, X.indices, X.indptr] if part.is_sparse else [X]
        for array in [*arrays, part.y]:
            if array.dtype == object:  # texts
                for text in array:
                    digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
            else:
                digest.update(f"{array.shape}".encode())
                digest.update(np.ascontiguousarray(array).astype(np.float64).tobytes())
    return digest.hexdigest()[:16]
