"""Files that describe classes: a label and a text a line, or a label and numbers."""

from typing import Any

from dsnc.errors import InputError


def load_descriptions(name: str, reading: dict[str, Any]) -> dict[str, dict[Any, Any]]:
    """Return descriptions, or else attributes, of each label, as `fit` takes them.

    A label may have several lines of text, and several columns of it; each is a text of its own.
    """
    from dsnc.cli.samples import load
    from dsnc.data.table_rows import FIELD

    columns = reading.get("text_column") or ()
    several = {"separate_texts": True} if len(columns) > 1 else {}
    dataset = load(name, {**reading, **several}, sets=False)
    labels = dataset.labels.tolist()
    if dataset.is_text:
        texts: dict[Any, list[str]] = {}
        for label, line in zip(labels, dataset.X.tolist(), strict=True):
            texts.setdefault(label, []).extend(line.split(FIELD))
        return {"descriptions": texts}
    if len(set(labels)) < len(labels):
        twice = next(label for place, label in enumerate(labels) if label in labels[:place])
        raise InputError(f"{name} has the attributes of {twice!r} twice; give each label once.")
    X = dataset.X.toarray() if dataset.is_sparse else dataset.X
    return {"attributes": dict(zip(labels, X, strict=True))}
