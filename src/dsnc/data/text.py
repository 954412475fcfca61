"""Files of rows with labels: tables (tsv, csv, JSON lines, Parquet) and fastText lines.

What comes out of texts is a `Dataset` whose X holds the strings; features come later.
"""

import os
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dsnc.data.columns import (
    LABEL_NAMES,
    TEXT_NAMES,
    Columns,
    Roles,
    choose_columns,
)
from dsnc.data.dataset import Classes, Dataset, check_multilabel
from dsnc.data.files import read_lines, stem
from dsnc.data.parquet import open_parquet
from dsnc.data.seeking import Names
from dsnc.data.table_rows import Made, RowMaker
from dsnc.data.tables import Kind, Table, TableOptions, open_table
from dsnc.errors import DataFileError, InputError, warn
from dsnc.labels import UnknownLabelError, object_array
from dsnc.progress import count

_SHOWN = 5  # columns that are not used


def read_table(
    path: str | os.PathLike[str],
    *,
    kind: Kind = "csv",
    label_column: str | int | None = None,
    text_column: Names = None,
    id_column: str | int | None = None,
    number_column: Names = None,
    category_column: Names = None,
    missing: str = "refuse",
    separate_texts: bool = False,
    label_separator: str | None = None,
    multilabel: bool | str = "auto",
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    decode_errors: str = "strict",
    classes: Classes = None,
    columns: Columns | None = None,
) -> Dataset:
    """Read a table with a column of labels: texts, or numbers.

    Parameters
    ----------
    path : path
        The file, compressed or not.
    kind : "csv", "tsv", "jsonl" or callable
        As of `dsnc.data.tables.open_table`. Cells of "csv" are quoted as spreadsheets do; between
        tabs, a quote is a quote.
    label_column, text_column, id_column : str or int, optional
        A header's name or a 0-based number; several texts are joined. Without them the header's
        names decide ("label", "class", "category", ... and "text", "title", ...); in a table of two
        columns without such names, the one with fewer distinct values is the label. Without texts,
        the columns of numbers are the rows.
    number_column, category_column : str, int or several
        Columns to learn from besides. Without texts, all columns of numbers are taken unless some
        are named, and a column of few different texts becomes a column of 0 and 1 for each of them;
        beside texts, both become words: which sixteenth of the range, and which value.
    missing : "refuse", "zero", "mean" or "drop"
        What becomes of rows with a number that is not there.
    separate_texts : bool
        Whether each of several texts has n-grams of its own, instead of one joined text;
        ``dsnc train`` takes what is better on held-out rows.
    label_separator : str, optional
        What stands between the labels of a cell, such as "|"; then rows have label sets.
    multilabel : bool or "auto"
        Whether rows have label sets; "auto": with a separator, or where a label is a list (JSON
        lines, Parquet). Then a row without a label has the empty set; otherwise it is left out.
    delimiter : str, optional
        The character between cells; without it, the one that cuts all rows alike.
    header : bool, optional
        Whether the first row names the columns; without it, by its cells. A warning says so where
        that is not clear.
    encoding, decode_errors : str
        Of the file; what is not of the encoding is an error ("strict") or becomes U+FFFD
        ("replace").
    classes : sequence, optional
        The known classes, for a test file; another label is an error.
    columns : Columns, optional
        Those of a model, to be found by name.
    """
    check_multilabel(multilabel)
    if label_separator is not None and multilabel is False:
        raise InputError(
            f"label_separator={label_separator!r} is for label sets; leave multilabel=False out."
        )
    options = TableOptions(delimiter, header, encoding, decode_errors, label_separator)
    roles = Roles(label_column, text_column, id_column, number_column, category_column, missing)
    known = [*LABEL_NAMES, *TEXT_NAMES, *roles.names(), *(columns.names if columns else ())]
    table = open_table(path, kind, options, known)
    chosen = choose_columns(table, roles, columns)
    if columns is None:
        chosen = replace(chosen, separate=separate_texts and len(chosen.text) > 1)
    if chosen.label is None:
        raise InputError(f"{os.fspath(path)} has no column of labels; name one with label_column=.")
    made, chosen = RowMaker(table, chosen, multilabel).make(table.rows())
    if (
        label_separator is not None
        and columns is None
        and max(map(len, made.labels), default=2) < 2
    ):
        warn(
            f"{os.fspath(path)}: label_separator={label_separator!r} occurs in no cell of column "
            f"{chosen.label!r}, so no row has several labels. Is it the right separator?"
        )
    return _dataset(path, made, classes, f"{table.how}, {chosen}{_unused(table, chosen)}", chosen)


read_csv = partial(read_table, kind="csv")
read_tsv = partial(read_table, kind="tsv")
read_jsonl = partial(read_table, kind="jsonl")
read_parquet = partial(read_table, kind=open_parquet)


def read_fasttext(
    path: str | os.PathLike[str],
    *,
    prefix: str = "__label__",
    multilabel: bool | str = "auto",
    classes: Classes = None,
    encoding: str = "utf-8",
) -> Dataset:
    """Read fastText lines: ``__label__cat __label__pet the text``.

    Parameters
    ----------
    path : path
        The file, compressed or not.
    prefix : str
        What a label begins with.
    multilabel : bool or "auto"
        Whether rows have label sets; "auto": if a line has several labels. Then a line without a
        label has the empty set; otherwise it is an error.
    classes : sequence, optional
        The known classes, for a test file; another label is an error.
    encoding : str
        Of the file.
    """
    check_multilabel(multilabel)
    texts: list[str] = []
    labels: list[Any] = []
    lines: list[int] = []
    for number, line in enumerate(read_lines(path, encoding), 1):
        words = line.split()
        if words:
            labels.append([w.removeprefix(prefix) for w in words if w.startswith(prefix)])
            texts.append(" ".join(w for w in words if not w.startswith(prefix)))
            lines.append(number)
    sizes = np.array([len(some) for some in labels], np.int64)
    if multilabel is False or (multilabel == "auto" and not (sizes > 1).any()):
        wrong = np.flatnonzero(sizes != 1)
        if len(wrong):
            row = int(wrong[0])
            problem, expected = "has no label", f"{prefix}NAME text"
            if sizes[row]:
                problem, expected = f"has {sizes[row]} labels", "one label a row (multilabel=False)"
            text = " ".join([*(prefix + label for label in labels[row]), texts[row]])
            raise DataFileError.at(path, problem, line=lines[row], text=text, expected=expected)
        labels = [label for [label] in labels]
    made = Made(object_array(texts), labels, None, np.array(lines, np.int64))
    return _dataset(path, made, classes, "fastText")


def _unused(table: Table, chosen: Columns) -> str:
    """Say which columns are not read."""
    used = {chosen.label, chosen.id, *chosen.names}
    names = [name for name in table.names if name not in used] if table.has_names else []
    shown = ", ".join(map(repr, names[:_SHOWN]))
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f", not used: {shown}{more}" if names else ""


def _dataset(
    path: Any, made: Made, classes: Classes, how: str, columns: Columns | None = None
) -> Dataset:
    """Return rows and labels as a data set; a list of labels makes it multi-label."""
    if not len(made.lines):
        raise DataFileError.at(path, "is empty", expected="rows with labels")
    fields: dict[str, Any] = {
        "classes": classes,
        "name": stem(path),
        "source": f"{os.fspath(path)}: {how}, {count(len(made.lines), 'row')}",
        "lines": made.lines,
        "ids": None if made.ids is None else object_array(made.ids),
        "columns": columns,
    }
    labels = made.labels
    counts = np.array([len(x) if isinstance(x, list) else 1 for x in labels])
    try:
        if made.is_multilabel:
            flat = [one for x in labels for one in (x if isinstance(x, list) else [x])]
            return Dataset.from_label_lists(made.X, flat, counts, **fields)
        return Dataset.from_labels(made.X, labels, **fields)
    except UnknownLabelError as error:
        raise error.in_file(path, int(made.lines[error.row(counts)])) from error
    except (InputError, TypeError) as error:
        raise DataFileError.at(path, f"its labels cannot be used: {error}") from error
