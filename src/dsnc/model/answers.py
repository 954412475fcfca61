"""What a model is asked about rows, and tables that come back with its answers."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Any

import numpy as np

from dsnc.checks import whole
from dsnc.data.columns import (
    TEXT_NAMES,
    Columns,
    Roles,
    choose_columns,
    columns_for_rows,
    split_options,
)
from dsnc.data.readers import READERS, rows_reader
from dsnc.data.stream import NO_NUMBER, NO_TEXT, stream_table
from dsnc.data.table_output import TableWriter
from dsnc.data.table_rows import SHOWN, some_rows
from dsnc.data.tables import Table
from dsnc.errors import InputError, shorten, warn
from dsnc.model.facts import columns_of, feature_names, takes_text
from dsnc.model.sets import SetModel
from dsnc.sparse import sp

ANSWER, PERSON = "answer", "person"  # what becomes of a row
NO_FEATURE, UNREAD = "without any known feature", "could not be read"  # kinds of rows
_FOLLOWS = {
    NO_FEATURE: "the same prediction for all such rows",
    UNREAD: "the column 'error' says why",
}


@dataclass(frozen=True)
class Question:
    """What is asked about each row.

    Parameters
    ----------
    top_k : int, optional
        The k most probable labels; by default the label, of a model of label sets its set.
    reject_below : float, optional
        Leave a row to a person whose best label is less probable; of label sets, leave out such
        labels.
    unknown : str or number, optional
        The label of rows that seem to belong to no class.
    unknown_share : float
        Share of rows of known classes that `unknown` may lose.
    """

    top_k: int | None = None
    reject_below: float | None = None
    unknown: str | int | float | None = None
    unknown_share: float = 0.05

    def of(self, model: Any) -> "Question":
        """Return what this model is asked; refuse what it cannot tell."""
        has_sets = isinstance(model, SetModel)
        if self.unknown is not None and (not hasattr(model, "novelty") or has_sets):
            raise InputError(
                f"unknown={self.unknown!r}: a model of kind {model.kind!r} cannot "
                "recognize unknown rows."
            )
        if self.top_k is None:
            return self if has_sets else replace(self, top_k=1)
        whole("top_k", self.top_k, most=len(model.classes_))
        return self

    @property
    def decides(self) -> bool:
        """Whether rows are left to a person."""
        return self.reject_below is not None and self.top_k is not None

    def decision(self, shares: list[float]) -> str:
        """Return whether the best label, with its probability, is the answer."""
        return ANSWER if shares and shares[0] >= (self.reject_below or 0.0) else PERSON


@dataclass
class Noticed:
    """Rows that a user should know of: how many of each kind, and the lines of the first."""

    counts: Counter[str] = field(default_factory=Counter)
    lines: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, kind: str, line: int) -> None:
        """Count a row."""
        self.counts[kind] += 1
        if self.counts[kind] <= SHOWN:
            self.lines[kind].append(line)

    def __str__(self) -> str:
        """Return a line for each kind."""
        return "\n".join(
            f"{some_rows(self.lines[kind], kind, n)}: {_FOLLOWS.get(kind, 'no prediction')}"
            for kind, n in self.counts.items()
        )


def features_of(
    model: Any, X: Any, lines: Sequence[int], errors: Sequence[str], noticed: Noticed
) -> Any:
    """Return texts as rows of features, numbers as they are.

    Notices rows that are not to be answered, for the reasons in `errors`, and rows without a known
    feature; `lines` says where each stands.
    """
    for line, error in zip(lines, errors, strict=True):
        if error:
            noticed.add(error if error in (NO_TEXT, NO_NUMBER) else UNREAD, line)
    if isinstance(X, list):
        features = model.predictor_.features
        features.n_jobs = getattr(model, "n_jobs", None)
        X = features.rows(X)
    if sp.issparse(X):
        for row in np.flatnonzero(np.diff(X.indptr) == 0).tolist():
            if not errors[row]:
                noticed.add(NO_FEATURE, lines[row])
    return X


def answers(model: Any, rows: Any, question: Question) -> Iterator[tuple[list[Any], list[float]]]:
    """Yield the labels of each row and their probabilities, best first.

    The label of a row of no class has no probability.
    """
    if question.top_k is None:
        yield from _sets(model, rows, question.reject_below or 0.0)
        return
    labels, probabilities = model.predict_top_k(rows, k=question.top_k)
    is_strange = [False] * len(labels)
    if question.unknown is not None:
        is_strange = model.is_unknown(rows, question.unknown_share).tolist()
    found = zip(labels.tolist(), probabilities.tolist(), is_strange, strict=True)
    for names, shares, strange in found:
        yield ([question.unknown], []) if strange else (names, shares)


def _sets(model: Any, rows: Any, least: float) -> Iterator[tuple[list[Any], list[float]]]:
    """Yield the set of each row, best first, without labels that are less probable than `least`."""
    for names, shares in zip(*model.sets_and_probabilities(rows), strict=True):
        kept = [(name, share) for name, share in zip(names, shares, strict=True) if share >= least]
        yield [name for name, _ in kept], [share for _, share in kept]


def table_for(model: Any, name: str, options: dict[str, Any]) -> tuple[Table, Columns] | None:
    """Open the table that a model is asked about; None if its rows are lines or arrays.

    A file is a table by its name, by its options, or because its first line names the columns that
    the model has learned from.
    """
    known = columns_of(model)
    of_table, roles = split_options(options, "predict")
    names = [*roles.names(), *(known.names if known else TEXT_NAMES)]
    table = rows_reader(name, known).open(name, of_table, names)
    if table is None and set(options) - {"encoding", "decode_errors", "label_separator"}:
        table = READERS["csv"].open(name, of_table, names)
    if table is None:
        return None
    return table, columns_in(model, table, roles)


def columns_in(model: Any, table: Table, roles: Roles) -> Columns:
    """Find what a model reads in a table."""
    known = columns_of(model)
    if known is not None:
        return choose_columns(table, roles, known)
    width = None if takes_text(model) else model.n_features_in_
    return columns_for_rows(table, roles, width, feature_names(model))


def write_answers(
    model: Any,
    table: Table,
    columns: Columns,
    file: IO[bytes],
    question: Question,
    *,
    batch: int = 4096,
    skip_errors: bool = False,
    kind: str | None = None,
    check: Callable[[int], None] | None = None,
) -> tuple[int, Noticed]:
    """Write a table with the answers of a model as columns added; return the number of rows.

    The columns are those of the model, found in this table, and the question is one that
    `Question.of` gave. With `skip_errors`, rows pass that cannot be read; their column ``error``
    says why. `kind` is another format than the table's: "jsonl" or, where the table has a schema,
    "parquet". `check` is told the number of rows before they are answered, and may end it all.
    """
    k = question.top_k
    added: dict[str, Any] = {"prediction": list[str], "probability": list[float]}
    if k is not None:
        numbers = [""] if k == 1 else [f"_{place}" for place in range(1, k + 1)]
        added = {}
        for place in numbers:
            added |= {f"prediction{place}": str, f"probability{place}": float}
    width = len(added)
    added |= {"decision": str} if question.decides else {}
    added |= {"error": str} if skip_errors else {}
    separator = table.label_separator or separator_of(columns, table.delimiter)
    if k is None and table.is_delimited and kind is None:
        _warn_of_separator(model, separator)
    n_rows, noticed = 0, Noticed()
    with TableWriter(file, table, added, kind, separator) as writer:
        for block in stream_table(table, columns, batch=batch, skip_errors=skip_errors):
            cells = []
            n_rows += len(block.rows)
            if check is not None:
                check(n_rows)
            lines = [row.line for row in block.rows]
            X = features_of(model, block.X, lines, block.errors, noticed)
            found = answers(model, X, question)
            for (labels, shares), error in zip(found, block.errors, strict=True):
                some = [None] * width if error else _cells(labels, shares, width, k)
                some += [question.decision([] if error else shares)] if question.decides else []
                cells.append([*some, error] if skip_errors else some)
            writer.write(block.rows, cells)
    return n_rows, noticed


def _cells(labels: list[Any], shares: list[float], width: int, k: int | None) -> list[Any]:
    """Return what is added to a row: lists of a set, or a cell for each label and probability."""
    if k is None:
        return [[str(label) for label in labels], shares]
    pairs = itertools.zip_longest(labels, shares)
    some = [x for label, share in pairs for x in (str(label), share)]
    return some + [None] * (width - len(some))


def separator_of(columns: Columns | None, delimiter: str = ",") -> str:
    """Return what stands between labels in a cell: as in the table that was read, if it was one."""
    known = None if columns is None else columns.label_separator
    return known or (";" if delimiter == "|" else "|")


def _warn_of_separator(model: Any, separator: str) -> None:
    """Say if a set cannot be told from a label that has the separator inside."""
    found = next((x for x in model.classes_.tolist() if separator in str(x)), None)
    if found is not None:
        warn(
            f"the label {shorten(found)} contains {separator!r}, which separates labels; "
            "choose another with label_separator=, or JSON."
        )
