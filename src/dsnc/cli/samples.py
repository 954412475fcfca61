"""Labelled data for training and evaluation: the right columns, and labels that a model knows."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dsnc.errors import DsncWarning, InputError, did_you_mean

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dsnc.data import Dataset


class Loaded(NamedTuple):
    """A data set, and the number that its svmlight files give to the first feature, if any."""

    dataset: "Dataset"
    first_index: int | None


class Parts(NamedTuple):
    """Rows to learn from, to choose the best epoch by, and to measure at the end."""

    train: "Dataset"
    validation: "Dataset | None"
    test: "Dataset | None"
    first_index: int | None


def check_data(name: str) -> None:
    """Refuse a ``--data`` that is neither there nor in the catalog, before anything is run."""
    from dsnc.data import DATASETS

    if Path(name).expanduser().exists() or name in DATASETS:
        return
    names = sorted(DATASETS)
    raise InputError(
        f"--data {name}: does not exist.{did_you_mean(name, names)} "
        f"Expected a file, a folder or a catalog name ({', '.join(names)})"
    )


def load(
    name: str,
    reader: str | None = None,
    *,
    first_index: int | None = None,
    n_features: int | None = None,
) -> Loaded:
    """Load labelled data for a model.

    A svmlight file alone does not tell whether its features are numbered from 0 or from 1 unless a
    0 occurs. So a file that belongs to a model is read as that model's training file was.

    Parameters
    ----------
    name : str
        A file, a folder, or a name of the catalog.
    reader : str, optional
        The format, where it is not recognized.
    first_index : 0 or 1, optional
        The number of the first feature in svmlight files; found out by default.
    n_features : int, optional
        Width that the model expects: features beyond it are dropped, as it never saw them.
    """
    from dsnc.data import load_dataset

    if not _is_svmlight(name, reader):
        dataset = load_dataset(name, reader=reader)
    else:
        dataset = load_dataset(name, reader=reader, zero_based=True)
        lowest = int(dataset.X.indices.min()) if dataset.X.nnz else 1
        if first_index is None:
            first_index = min(lowest, 1)
        if first_index > lowest:
            raise InputError(
                f"{name} has a feature 0, but the model's features were numbered from 1. "
                "Use --first-index 0 if that is what is meant."
            )
        dataset = replace(dataset, X=dataset.X[:, first_index:])
    if dataset.is_multilabel:
        raise InputError(f"{name} has rows with several labels; one label a row is needed here.")
    if n_features is not None and dataset.is_sparse:
        dataset = replace(dataset, X=_of_width(dataset.X, n_features, name))
    return Loaded(dataset, first_index)


def load_parts(data: str, reader: str | None, validation: str | None, test: str | None) -> Parts:
    """Load what a training run needs; files of their own beat the parts of a predefined split."""
    whole, first = load(data, reader)
    parts: dict[str, Dataset | None] = {"train": whole, "validation": None, "test": None}
    if whole.splits is not None:
        names = [name for name, rows in whole.splits.items() if len(rows)]
        parts |= {name: whole.take(whole.splits[name]) for name in names}
    train = parts["train"]
    if train is None or not len(train):
        raise InputError(f"{data} has no rows to learn from.")
    for name, file in (("validation", validation), ("test", test)):
        if file is not None:
            # Features that no training row has cannot be learned.
            width = train.width
            parts[name] = load(file, reader, first_index=first, n_features=width).dataset
    for name in ("validation", "test"):
        part = parts[name]
        if part is not None and part.is_text != train.is_text:
            raise InputError(f"The {name} rows and the training rows are not both texts.")
    return Parts(train, parts["validation"], parts["test"], first)


def rows_of(dataset: "Dataset") -> Any:
    """Return the rows as estimators take them: texts as a list, numbers as they are."""
    return dataset.X.tolist() if dataset.is_text else dataset.X


def known_rows(dataset: "Dataset", labels: "NDArray[Any]") -> tuple[Any, "NDArray[Any]"]:
    """Return validation rows and their labels, without those that no training row has."""
    from dsnc.labels import Labels

    known = Labels.fit(labels)[0].find(dataset.labels) >= 0
    warn_of_unknown("validation", dataset.labels, known, "they are left out")
    kept = dataset if known.all() else dataset.take(known)
    return rows_of(kept), kept.labels


def warn_of_unknown(
    what: str, labels: "NDArray[Any]", known: "NDArray[np.bool_]", consequence: str
) -> None:
    """Say how many labels no training row has, which for example, and what follows."""
    import warnings

    strange = labels[~known].tolist()  # numbers of Python: they are shown
    if not len(strange):
        return
    if len(strange) == len(labels):
        raise InputError(
            f"None of the {len(labels):,} {what} rows has a label that was learned; the first is "
            f"{strange[0]!r}. Is it the right file, and the right column?"
        )
    warnings.warn(
        f"{len(strange):,} of {len(labels):,} {what} rows have labels that were not learned, such "
        f"as {strange[0]!r}; {consequence}.",
        DsncWarning,
        stacklevel=2,
    )


def _is_svmlight(name: str, reader: str | None) -> bool:
    """Tell whether files without a header of their own are in svmlight's format."""
    from dsnc.data.folder import is_folder
    from dsnc.data.parts import find_parts
    from dsnc.data.readers import detect_reader
    from dsnc.data.svmlight import has_header

    path = Path(name).expanduser()
    if not path.exists() or reader not in (None, "svmlight"):
        return False
    if path.is_dir():
        if is_folder(path):
            return False
        path = find_parts(path)["train"]
    return (reader or detect_reader(path)) == "svmlight" and not has_header(path)


def _of_width(X: Any, n_features: int, name: str) -> Any:
    import warnings

    import scipy.sparse as sp

    if X.shape[1] > n_features:
        beyond = int((X.indices >= n_features).sum())
        if beyond:
            warnings.warn(
                f"{name} has {beyond:,} values of features above the {n_features:,} that were "
                "learned; they are left out.",
                DsncWarning,
                stacklevel=3,
            )
        return sp.csr_array(X[:, :n_features])
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
