"""Data for an experiment: a split, and rows as classifiers want them."""

import hashlib
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer

from dsnc.data import Dataset, Split, load_dataset
from dsnc.errors import InputError
from dsnc.experiments.definition import Source

_PICTURES = 4096  # classes whose first picture is kept, at most


class Prepared(NamedTuple):
    """A data set that is ready for every method."""

    name: str
    fingerprint: str
    description: str
    parts: Split
    image_shape: tuple[int, int] | None

    def about(self) -> dict[str, Any]:
        """Return what a report says of the data."""
        train = self.parts.train
        return {
            "name": self.name,
            "fingerprint": self.fingerprint,
            "description": self.description,
            "rows": [len(part) for part in self.parts],
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


@lru_cache(maxsize=2)
def prepare(source: Source) -> Prepared:
    """Load, split and weigh.

    A predefined split is used; else 80/10/10 at random, the same for all seeds of the methods.
    Text becomes hashed n-grams. Sparse rows of whole numbers are counts, and become
    ``(1 + log tf) * idf`` with the idf of the training rows. Dense whole numbers are divided by
    their largest.
    """
    dataset = load_dataset(source.path)
    if dataset.is_multilabel:
        raise InputError(f"data={source.path!r} has label sets; the experiments take one label.")
    if source.n_classes is not None and source.n_classes < dataset.n_classes:
        dataset = dataset.subset_classes(source.n_classes)
    parts = dataset.predefined_split() if dataset.splits else dataset.split()
    for part, name in zip(parts, Split._fields, strict=True):
        if not len(part):
            raise InputError(f"data={source.path!r} has no {name} rows; the experiments need some.")
    subset = f"{dataset.name}-{dataset.n_classes}" if source.n_classes else dataset.name
    return Prepared(
        subset, _fingerprint(parts), dataset.source, _weighed(parts), dataset.image_shape
    )


def _weighed(parts: Split) -> Split:
    train = parts.train
    if train.is_text:
        from dsnc.features import TextFeatures

        features = TextFeatures().fit(train.X)
        return Split(*(_with_rows(part, features.transform(part.X)) for part in parts))
    if train.is_sparse and _is_whole(train.X.data):
        weights = TfidfTransformer(sublinear_tf=True).fit(train.X)
        return Split(*(_with_rows(part, weights.transform(part.X)) for part in parts))
    if not train.is_sparse and train.X.dtype.kind in "iu":
        largest = np.float32(max(1, train.X.max()))
        return Split(*(_with_rows(p, p.X.astype(np.float32) / largest) for p in parts))
    return Split(*(_with_rows(part, part.X) for part in parts))


def _is_whole(data: Any) -> bool:
    return bool(data.dtype.kind in "iu" or (np.all(data >= 0) and np.all(data == np.rint(data))))


def _with_rows(part: Dataset, X: Any) -> Dataset:
    return Dataset(X, part.y, part.classes)


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
