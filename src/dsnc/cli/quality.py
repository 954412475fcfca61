"""What looks wrong in labeled rows, as ``dsnc train`` and ``dsnc data show`` say it."""

from typing import TYPE_CHECKING

from dsnc.cli.common import note

if TYPE_CHECKING:
    from dsnc.data import Dataset, Finding

_SEPARATORS = ("|", ";", ",")  # that people put between labels


def tell_quality(dataset: "Dataset") -> "list[Finding]":
    """Say what looks wrong, a line for each kind; return the same."""
    from dsnc.data import check_quality

    findings = check_quality(dataset)
    for finding in findings:
        note(str(finding))
    _hint_at_sets(dataset)
    return findings


def _hint_at_sets(dataset: "Dataset") -> None:
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
