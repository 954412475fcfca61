"""What looks wrong in the rows to learn from, said before anything is learned."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dsnc.cli.common import note

if TYPE_CHECKING:
    from dsnc.data import Dataset, Finding

_WORDS = {
    "duplicate_rows": "rows that repeat another one and its label",
    "several_labels": "equal rows that stand under several labels",
    "empty_rows": "empty rows",
    "empty_labels": "warning: rows whose label is empty, which is learned as a class",
    "similar_labels": "warning: labels that differ only in spaces or case, "
    "which are learned as different classes",
    "single_row_classes": "classes of a single row",
}


def tell_quality(dataset: "Dataset") -> list[dict[str, Any]]:
    """Say what looks wrong, a line for each kind; return the same for a machine."""
    from dsnc.data import check_quality

    findings = check_quality(dataset.X, dataset.labels)
    unit, place = _places(dataset)
    for finding in findings:
        note(_sentence(finding, unit, place))
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


def _places(dataset: "Dataset") -> tuple[str, Callable[[int], int]]:
    """Return what rows are named by, lines of a file or rows from 1 on, and each one's number."""
    lines = dataset.lines
    if lines is None:
        return "row", lambda row: row + 1
    return "line", lambda row: int(lines[row])


def _sentence(finding: "Finding", unit: str, place: Callable[[int], int]) -> str:
    examples = []
    for example in finding.examples:
        numbers = ", ".join(f"{place(row):,}" for row in example.rows)
        where = f"{unit}{'s' if len(example.rows) > 1 else ''} {numbers}"
        examples.append(f"{where}: {example.text}" if example.text else where)
    return f"{_WORDS[finding.kind]}: {finding.count:,} ({'; '.join(examples)})"
