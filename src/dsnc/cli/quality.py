"""What looks wrong in the rows to learn from, said before anything is learned."""

from typing import TYPE_CHECKING, Any

from dsnc.cli.common import note

if TYPE_CHECKING:
    from dsnc.data import Dataset, Finding
    from dsnc.data.quality import Example

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
    for finding in findings:
        note(_sentence(finding))
    return [
        {
            "kind": finding.kind,
            "count": finding.count,
            "examples": [
                {"rows": [row + 1 for row in example.rows], "text": example.text}
                for example in finding.examples
            ],
        }
        for finding in findings
    ]


def _sentence(finding: "Finding") -> str:
    examples = "; ".join(map(_place, finding.examples))
    return f"{_WORDS[finding.kind]}: {finding.count:,} ({examples})"


def _place(example: "Example") -> str:
    """Say where and what; rows are counted from 1."""
    numbers = ", ".join(f"{row + 1:,}" for row in example.rows)
    where = f"row {numbers}" if len(example.rows) == 1 else f"rows {numbers}"
    return f"{where}: {example.text}" if example.text else where
