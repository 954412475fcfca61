"""Data for a model: the right columns, and labels that it knows."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dsnc.cli.common import note
from dsnc.errors import InputError, did_you_mean, warn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dsnc.data import Dataset, Split
    from dsnc.data.columns import Columns
    from dsnc.data.tables import Table


def check_data(name: str, option: str = "--data") -> None:
    """Refuse what is neither there nor in the catalog, before anything is run."""
    from dsnc.data import DATASETS

    if Path(name).expanduser().exists() or name in DATASETS:
        return
    names = sorted(DATASETS)
    raise InputError(
        f"{option} {name}: does not exist.{did_you_mean(name, names)} "
        f"Expected a file, a folder or a catalog name ({', '.join(names)})"
    )


def load(
    name: str,
    reading: dict[str, Any],
    *,
    like: "Dataset | None" = None,
    sets: bool | None = None,
) -> "Dataset":
    """Load labelled rows, with the columns of training rows if these are given.

    `reading` has options of `load_dataset`. Rows have label sets where those of `like` do, or as
    `sets` says for a model; without both, the file decides.
    """
    from dsnc.data import load_dataset

    if like is not None:
        sets = like.is_multilabel
        if like.columns is not None:
            reading = {**reading, "columns": like.columns}
    dataset = load_dataset(name, **reading, multilabel=True if sets else "auto")
    if dataset.columns is not None or sets:
        note(dataset.source)
    if dataset.is_multilabel and sets is False:
        raise InputError(
            f"{name} has rows with several labels, but only one label a row is allowed here."
        )
    if like is None:
        return dataset
    if dataset.is_text != like.is_text:
        raise InputError(
            f"The rows of {name} are not of the same kind as the training rows: texts, or numbers."
        )
    if like.width is None:
        return dataset
    # Features that no training row has cannot be learned.
    return dataset.numbered_from(like.first_index).of_width(like.width)


def load_parts(
    data: str, reading: dict[str, Any], validation: str | None, test: str | None = None
) -> "Split":
    """Load what a training run needs; files of their own beat the parts of a predefined split."""
    from dsnc.data import Split

    named = {"validation": validation, "test": test}
    for part, file in named.items():
        if file is not None:
            check_data(file, f"--{part}")
    texts: Any = reading.get("text_column")
    several = isinstance(texts, list) and len(texts) > 1
    whole = load(data, {**reading, "separate_texts": True} if several else reading)
    none = whole.take(slice(0))
    parts = Split(whole, none, none) if whole.splits is None else whole.predefined_split()
    if not len(parts.train):
        raise InputError(f"{data} has no rows to learn from.")
    loaded = {
        name: load(file, reading, like=parts.train)
        for name, file in named.items()
        if file is not None
    }
    parts = parts._replace(**loaded)
    both = (parts.train, parts.test)
    learned, tested = (one.classes[one.rows_per_class > 0].tolist() for one in both)
    if tested and set(tested).isdisjoint(learned):
        raise InputError(
            f"--test {test}: none of its labels is in the training rows, such as {tested[0]!r}. "
            "Is it the right file, and the right column?"
        )
    if not several:
        return parts
    from dsnc.selection.texts import with_better_texts

    parts = with_better_texts(parts)
    separate = parts.train.columns is not None and parts.train.columns.separate
    how = "each have n-grams of their own" if separate else "are joined"
    note(f"texts of {' and '.join(texts)} {how}, which is better on held-out rows")
    return parts


def rows_of(dataset: "Dataset") -> Any:
    """Return the rows as estimators take them: texts as a list, numbers as they are."""
    return dataset.X.tolist() if dataset.is_text else dataset.X


def model_table(model: Any, name: str, options: dict[str, Any]) -> "tuple[Table, Columns] | None":
    """Open the table that a model is asked about, and say so; None if its rows are not a table."""
    from dsnc.model.answers import table_for

    found = table_for(model, name, options)
    if found is not None:
        note(f"{name}: {found[0].how}, {found[1]}")
    return found


def stream_for(
    model: Any, name: str, batch: int, first_index: int | None, options: dict[str, Any]
) -> Iterator[Any]:
    """Yield blocks of rows without labels, as the model takes them."""
    from dsnc import model as look
    from dsnc.data.stream import stream_rows, stream_table

    found = model_table(model, name, options)
    if found is not None:
        table, columns = found
        if columns.missing == "drop":  # nothing would tell which rows were
            columns = replace(columns, missing="refuse")
        return (block.X for block in stream_table(table, columns, batch=batch))
    if not model.records.takes_lines:
        raise InputError(
            f"{name} is no table with the columns that the model reads, "
            f"{', '.join(map(repr, model.records.names))}. Give one that names them (csv, tsv, "
            f"Parquet), or lines of JSON such as {json.dumps(model.records.example)}"
        )
    n_features = None if look.takes_text(model) else model.n_features_in_
    first = look.first_index(model) if first_index is None else first_index
    told: dict[str, Any] = {} if first is None else {"first_index": first}
    told |= {key: options[key] for key in ("encoding", "decode_errors") if key in options}
    return stream_rows(name, n_features, batch=batch, **told)


def known_rows(dataset: "Dataset", train: "Dataset") -> tuple[Any, Any]:
    """Return validation rows and their labels, without those that no training row has.

    Label sets come as a CSR indicator over the labels of `trained_sets`.
    """
    from dsnc.labels import Labels, warn_of_unknown

    if train.is_multilabel:
        sets = sets_over(dataset, trained_sets(train)[1])
        warn_of_strange("validation", sets, "they are left out of their sets")
        return rows_of(dataset), sets.Y[:, : sets.n_known]
    labels = train.labels
    known = Labels.fit(labels)[0].find(dataset.labels) >= 0
    warn_of_unknown("validation", dataset.labels, known, "they are left out")
    kept = dataset if known.all() else dataset.take(known)
    return rows_of(kept), kept.labels


# Label sets


class Sets(NamedTuple):
    """Label sets by the numbers of labels that are known; strange ones come behind them."""

    Y: Any  # CSR of shape (n, known + strange)
    n_known: int
    strange: list[Any]  # labels that are not known


def has_label_sets(model: Any) -> bool:
    """Tell whether a model predicts sets of labels."""
    from dsnc.model import SetModel

    return isinstance(model, SetModel)


def trained_sets(train: "Dataset") -> "tuple[Any, NDArray[Any]]":
    """Return the sets of training rows and the labels of their columns: those that a row has."""
    import numpy as np

    occurs = np.flatnonzero(train.rows_per_class)
    return train.Y[:, occurs], train.classes[occurs]


def sets_over(dataset: "Dataset", classes: "NDArray[Any]") -> Sets:
    """Return label sets with a column for each of these classes, then for each strange one."""
    import numpy as np
    import scipy.sparse as sp

    from dsnc.labels import Labels

    sets = dataset.as_label_sets().targets
    numbers = Labels(classes).find(dataset.classes)
    strange = np.flatnonzero((numbers < 0) & (sets.counts() > 0))
    numbers[strange] = len(classes) + np.arange(len(strange))
    members = sets.classes
    parts = np.ones(members.nnz, np.int8), numbers[members.indices], members.indptr
    Y = sp.csr_array(parts, shape=(len(dataset), len(classes) + len(strange)))
    Y.sort_indices()
    return Sets(Y, len(classes), dataset.classes[strange].tolist())


def warn_of_strange(what: str, sets: Sets, consequence: str) -> None:
    """Say how many labels no training row has, which for example, and what follows."""
    if not sets.strange:
        return
    times = int((sets.Y.indices >= sets.n_known).sum())
    if times == sets.Y.nnz:
        raise InputError(
            f"None of the {times:,} labels of the {what} rows was learned; the first is "
            f"{sets.strange[0]!r}. Is it the right file, the right column, and the right "
            "--label-separator?"
        )
    warn(
        f"{times:,} of {sets.Y.nnz:,} labels of the {what} rows were not learned, such as "
        f"{sets.strange[0]!r}; {consequence}."
    )
