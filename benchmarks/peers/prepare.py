"""Any data set -> the folder that every contestant reads, written once.

Sparse counts become (1 + log tf) * idf with the idf of the training rows, other sparse rows stay;
both get length 1. Dense whole numbers are divided by the largest, other dense columns get mean 0
and deviation 1. Texts become `TextFeatures`.
Where a set has no validation rows, a tenth of its training rows are. Classes are numbered 0..K-1
among those with a training row; rows of others are left out. Of label sets the labels are, and all
rows stay.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler, normalize

from dsnc.data import Dataset, load_dataset, make_dense_codes, make_sparse_topics
from dsnc.errors import DsncError, InputError
from dsnc.features import TextFeatures
from dsnc.files import whole_folder
from peers.data import PARTS, Part, read_about, write_part

FORMAT = 6  # of the folder; another number writes it again
SYNTHETIC = {
    "documents": lambda: make_sparse_topics(5000, 200, 5000, words_per_row=24),
    "dense codes": lambda: make_dense_codes(5000, 200, 64),
}
_HELD_OUT = 10  # of so many training rows one is for validation, where a set has no such rows
_TEXTS = "texts.jsonl.gz"


class Loaded(NamedTuple):
    """Rows as they are in their files, part by part."""

    name: str
    X: list[Any] | None
    y: list[Any]  # class numbers, or CSR of label sets
    texts: list[list[str]] | None


def prepare(source: str, folder: Path) -> Path:
    """Write the data set into a folder of its own in `folder`, unless it is there; return that."""
    stamp = {"format": FORMAT, "source": source, "changed": _changed(source)}
    target = folder / Path(source).name.replace(" ", "_")
    if (target / "about.json").is_file() and stamp.items() <= read_about(target).items():
        return target
    loaded = _load(source)
    print(f"writing {source} to {target}", flush=True)
    kept, targets, n_classes = _known(loaded.y)
    X = _weighed(loaded)
    texts = loaded.texts or _tokens(loaded.X or [])
    about = {
        **stamp,
        "name": loaded.name,
        "classes": n_classes,
        "label sets": sp.issparse(targets[0]),
        "features": X[0].shape[1],
        "dense": not sp.issparse(X[0]),
        "rows": dict(zip(PARTS, map(int, map(np.sum, kept)), strict=True)),
        "own texts": loaded.texts is not None,
    }
    with whole_folder(target, replace=True) as aside:
        for i, name in enumerate(PARTS):
            lines = [text for text, keep in zip(texts[i], kept[i], strict=True) if keep]
            write_part(aside, name, Part(X[i][kept[i]], targets[i], lines))
        (aside / "about.json").write_text(json.dumps(about, indent=1), encoding="utf-8")
    return target


def _known(y: list[Any]) -> tuple[list[NDArray[np.bool_]], list[Any], int]:
    """Return which rows are kept, their classes or sets as numbers, and how many classes."""
    if sp.issparse(y[0]):
        occurs = np.flatnonzero(np.diff(sp.csc_matrix(y[0]).indptr))
        sets = [sp.csr_matrix(part, dtype=np.float32)[:, occurs] for part in y]
        return [np.ones(part.shape[0], np.bool_) for part in y], sets, len(occurs)
    classes = np.unique(y[0])
    kept = [np.isin(part, classes) for part in y]
    pairs = zip(y, kept, strict=True)
    numbers = [np.searchsorted(classes, part[keep]).astype(np.int32) for part, keep in pairs]
    return kept, numbers, len(classes)


def _changed(source: str) -> float:
    """Return when the files of a source changed last, 0 for what has none."""
    path = Path(source)
    files = path.iterdir() if path.is_dir() else [path] if path.exists() else []
    return max((file.stat().st_mtime for file in files), default=0.0)


def _load(source: str) -> Loaded:
    path = Path(source)
    if source in SYNTHETIC:
        dataset = SYNTHETIC[source]()
    elif (path / _TEXTS).is_file() and not any(path.glob("X.np[yz]")):
        return _load_texts(path)
    else:
        try:
            dataset = load_dataset(source)
        except (DsncError, OSError) as error:
            raise InputError(
                f"{source}: {error}\nA data set is a folder of arrays (X.npz, y.npy), of "
                f"train/validation/test files or of {_TEXTS}, y.npy and split.npy, a file that "
                f"dsnc reads, or one of: {', '.join(SYNTHETIC)}."
            ) from error
    return _from_dataset(dataset, path)


def _from_dataset(dataset: Dataset, path: Path) -> Loaded:
    """Split; texts that stand beside the arrays of a folder belong to their rows."""
    parts = dataset.predefined_split() if dataset.splits else dataset.split(random_state=0)
    parts = _with_validation(*parts)
    X = [part.X for part in parts]
    y = [part.targets.classes if part.is_multilabel else np.asarray(part.y) for part in parts]
    if dataset.is_text:
        return Loaded(dataset.name, None, y, [x.tolist() for x in X])
    files = [path / f"{name}.tsv" for name in PARTS]
    if dataset.is_multilabel or not all(file.is_file() for file in files):
        return Loaded(dataset.name, X, y, None)
    tables = [load_dataset(file) for file in files]
    for part, table, file in zip(parts, tables, files, strict=True):
        if part.labels.tolist() != table.labels.tolist():
            raise InputError(f"{file}: its labels are not those of the rows of {path}.")
    return Loaded(dataset.name, X, y, [table.X.tolist() for table in tables])


def _with_validation(train: Dataset, validation: Dataset, test: Dataset) -> list[Dataset]:
    """Return the parts, validation rows taken from training rows where there are none."""
    if len(validation):
        return [train, validation, test]
    return [*(train.take(rows) for rows in _a_tenth_aside(len(train))), test]


def _a_tenth_aside(n_rows: int) -> list[NDArray[np.intp]]:
    """Return the numbers of the rows to train on, and of those that stand in for validation."""
    order = np.random.default_rng(0).permutation(n_rows)
    n = n_rows // _HELD_OUT
    return [np.sort(order[n:]), np.sort(order[:n])]


def _load_texts(path: Path) -> Loaded:
    """Read a folder of texts, classes and split numbers, of which 0, 1 and 2 count."""
    with gzip.open(path / _TEXTS, "rt", encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    y, split = np.load(path / "y.npy"), np.load(path / "split.npy")
    places = [np.flatnonzero(split == number) for number in range(len(PARTS))]
    if not len(places[1]):
        places[:2] = [places[0][rows] for rows in _a_tenth_aside(len(places[0]))]
    lists = [[texts[i] for i in at] for at in places]
    return Loaded(path.resolve().name, None, [y[at] for at in places], lists)


def _weighed(loaded: Loaded) -> list[Any]:
    """Return rows as all contestants get them, float32."""
    if loaded.X is None:
        texts = loaded.texts or []
        features = TextFeatures().fit(texts[0])
        return [sp.csr_matrix(features.transform(part)) for part in texts]
    X = loaded.X
    if sp.issparse(X[0]):
        X = [_small(part) for part in X]
        if _is_whole(X[0].data):
            weigh = TfidfTransformer(sublinear_tf=True).fit(X[0])
            X = [weigh.transform(part) if part.shape[0] else part for part in X]
        X = [normalize(part) if part.shape[0] else part for part in X]
        return [sp.csr_matrix(part, dtype=np.float32) for part in X]
    X = [np.asarray(part) for part in X]
    if X[0].dtype.kind in "iu":
        return [part.astype(np.float32) / np.float32(max(1, X[0].max())) for part in X]
    scaler = StandardScaler().fit(X[0])
    return [((part - scaler.mean_) / scaler.scale_).astype(np.float32) for part in X]


def _small(X: Any) -> Any:
    """Return a matrix with the short indices that liblinear asks for."""
    X = sp.csr_matrix(X, dtype=np.float32)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def _is_whole(data: Any) -> bool:
    return bool(np.all(data >= 0) and np.all(data == np.rint(data)))


def _tokens(X: list[Any]) -> list[list[str]]:
    """Return rows as words: a feature's number, as often as it is counted. Dense rows have none."""
    if not sp.issparse(X[0]):
        return [[""] * len(part) for part in X]
    counted = _is_whole(X[0].data)
    return [list(_words_of_counts(sp.csr_matrix(part), counted)) for part in X]


def _words_of_counts(X: Any, counted: bool) -> Iterator[str]:
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        features = X.indices[start:stop]
        times = X.data[start:stop].astype(int) if counted else 1
        yield " ".join(map(str, np.repeat(features, times)))
