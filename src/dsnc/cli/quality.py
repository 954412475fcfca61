"""What looks wrong in the rows to learn from, said before anything is learned."""

import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dsnc.cli.common import note

if TYPE_CHECKING:
    from dsnc.data import Dataset, Finding

_WORDS = {
    "duplicate_rows": "rows that repeat another row and its label",
    "several_labels": "equal rows that have different labels",
    "empty_rows": "empty rows",
    "empty_labels": "warning: rows whose label is empty, which is learned as a class",
    "similar_labels": "warning: labels that differ only in spaces or case, "
    "which are learned as different classes",
    "single_row_classes": "classes with a single row",
}
_WIDTH = 200  # letters of a line
_SEPARATORS = ("|", ";", ",")  # that people put between labels
_WORDS_OF_SETS = {
    "duplicate_rows": "rows that repeat another row and its labels",
    "several_labels": "equal rows that have different label sets",
    "unlabelled_rows": "rows without a label, which are learned as the empty set",
    "empty_labels": "warning: rows with an empty label, which is learned as a label",
    "similar_labels": "warning: labels that differ only in spaces or case, "
    "which are learned as different labels",
    "single_row_classes": "labels with a single row",
}


def tell_quality(dataset: "Dataset") -> list[dict[str, Any]]:
    """Say what looks wrong, a line for each kind; return the same for a machine."""
    from dsnc.data import check_quality

    labels = dataset.label_lists() if dataset.is_multilabel else dataset.labels
    findings = check_quality(dataset.X, labels, _own_texts(dataset))
    hint_at_sets(dataset)
    words = _WORDS | (_WORDS_OF_SETS if dataset.is_multilabel else {})
    unit, place = _places(dataset)
    for finding in findings:
        note(_sentence(words[finding.kind], finding, unit, place))
    return [
        {
            "kind": finding.kind,
            "count": finding.count,
            "examples": [
                {f"{unit}s": [place(row) for row in example.rows], "text": example.text}
                for example in finding.examples
            ],
        }
        for finding in findings
    ]


def hint_at_sets(dataset: "Dataset") -> None:
    """Say so if the labels of a table look like several of few labels, with a separator between."""
    if dataset.columns is None or dataset.is_multilabel:
        return
    labels = [label for label in dataset.classes.tolist() if isinstance(label, str)]
    for separator in _SEPARATORS:
        with_it = [label for label in labels if separator in label]
        parts = {part.strip() for label in with_it for part in label.split(separator)}
        if len(with_it) > len(labels) / 2 and len(parts) < len(with_it) / 2:
            note(
                f"{len(with_it):,} of {len(labels):,} labels contain {separator!r}, such as "
                f"{with_it[0]!r}; if a row has several labels, give --label-separator "
                f"{separator!r}."
            )
            return


def _places(dataset: "Dataset") -> tuple[str, Callable[[int], int]]:
    """Return what rows are named by, lines of a file or rows from 1 on, and each one's number."""
    lines = dataset.lines
    if lines is None:
        return "row", lambda row: row + 1
    return "line", lambda row: int(lines[row])


def _sentence(words: str, finding: "Finding", unit: str, place: Callable[[int], int]) -> str:
    examples = []
    for example in finding.examples:
        numbers = ", ".join(f"{place(row):,}" for row in example.rows)
        where = f"{unit}{'s' if len(example.rows) > 1 else ''} {numbers}"
        examples.append(f"{where}: {example.text}" if example.text else where)
    return textwrap.shorten(f"{words}: {finding.count:,} ({'; '.join(examples)})", _WIDTH)


def _own_texts(dataset: "Dataset") -> list[str] | None:
    """Return texts without the words that stand for numbers and categories beside them."""
    from dsnc.data.table_rows import FIELD

    columns = dataset.columns
    if columns is None or not columns.text:
        return None
    has_words = bool(columns.numbers or columns.categories)
    own = (text.rpartition(FIELD)[0] if has_words else text for text in dataset.X.tolist())
    return [text.replace(FIELD, " | ") for text in own]
