"""Files of texts and labels: tsv, csv, JSON lines, fastText.

What comes out is a `Dataset` whose X holds the strings; features come later.
"""

import csv
import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np

from dsnc.data.dataset import Classes, Dataset
from dsnc.data.files import read_lines, stem
from dsnc.errors import DataFileError, InputError
from dsnc.labels import UnknownLabelError, object_array

LABEL_NAMES = ("label", "labels", "class", "category", "target")
TEXT_NAMES = ("text", "texts", "title", "sentence", "document", "content", "query")
_SAMPLE = 1000  # rows that decide which column is the label when no name tells

Column = str | int | None
Record = tuple[int, Any, str]  # line number, label or list of labels, text


def read_table(
    path: str | os.PathLike[str],
    *,
    separator: str = ",",
    label_column: Column = None,
    text_column: Column = None,
    header: bool | None = None,
    classes: Classes = None,
    encoding: str = "utf-8",
) -> Dataset:
    """Read texts in columns.

    Parameters
    ----------
    path : path
        The file, compressed or not.
    separator : "," or tab
        Cells between commas are quoted as spreadsheets do; between tabs, a quote is a quote.
    label_column, text_column : str or int, optional
        A header's name or a 0-based number. Without them the header's names decide ("label",
        "class", "category", ... and "text", "title", ...); in a table of two columns without
        such names, the one with fewer distinct values is the label.
    header : bool, optional
        Whether the first line names the columns; without it: if it holds a known name.
    classes : sequence, optional
        The known classes, for a test file; another label is an error.
    encoding : str
        Of the file; UTF-8 by default.
    """
    rows = _csv_rows(path, encoding) if separator == "," else _tsv_rows(path, encoding)
    sample = list(islice(rows, _SAMPLE))
    if not sample:
        raise DataFileError.at(path, "is empty", expected="rows of label and text")
    first = [cell.strip().lower() for cell in sample[0][1]]
    if header is None:
        asked_for = [c.lower() for c in (label_column, text_column) if isinstance(c, str)]
        header = not {*LABEL_NAMES, *TEXT_NAMES, *asked_for}.isdisjoint(first)
    if header:
        del sample[0]
    label, text, why = _columns(path, first, sample, label_column, text_column, header)

    def records() -> Iterator[Record]:
        for number, cells in chain(sample, rows):
            if len(cells) != len(first):
                raise DataFileError.at(
                    path,
                    f"has {len(cells)} columns",
                    line=number,
                    text="\t".join(cells),
                    expected=f"{len(first)}, as in the first line",
                )
            yield number, cells[label], cells[text]

    kind = "comma-separated" if separator == "," else "tab-separated"
    return _collect(path, records(), classes, f"{kind}, {why}")


read_csv = partial(read_table, separator=",")
read_tsv = partial(read_table, separator="\t")


def read_jsonl(
    path: str | os.PathLike[str],
    *,
    label_column: str | None = None,
    text_column: str | None = None,
    classes: Classes = None,
    encoding: str = "utf-8",
) -> Dataset:
    """Read one JSON object a line; a list of labels makes the data set multi-label."""

    def records() -> Iterator[Record]:
        keys: tuple[str, str] | None = None
        for number, line in enumerate(map(str.strip, read_lines(path, encoding)), 1):
            if not line:
                continue
            fail = partial(DataFileError.at, path, line=number, text=line)
            item = _json_object(line, fail)
            keys = keys or _json_keys(path, number, item, label_column, text_column)
            for key in keys:
                if key not in item:
                    raise fail(f"has no {key!r}", expected=f"keys {keys}")
            label, text = item[keys[0]], item[keys[1]]
            labels = label if isinstance(label, list) else [label]
            kinds_fit = all(isinstance(one, str | int | float) for one in labels)
            if not isinstance(text, str) or not kinds_fit:
                kinds = "a string as text and a string, number or list as label"
                raise fail("label or text is of the wrong kind", expected=kinds)
            yield number, label, text

    return _collect(path, records(), classes, "JSON lines")


def read_fasttext(
    path: str | os.PathLike[str],
    *,
    prefix: str = "__label__",
    classes: Classes = None,
    encoding: str = "utf-8",
) -> Dataset:
    """Read fastText lines: ``__label__cat __label__pet the text``."""

    def records() -> Iterator[Record]:
        for number, line in enumerate(read_lines(path, encoding), 1):
            words = line.split()
            if not words:
                continue
            labels = [w.removeprefix(prefix) for w in words if w.startswith(prefix)]
            if not labels:
                expected, text = f"{prefix}NAME text", line.strip()
                raise DataFileError.at(
                    path, "has no label", line=number, text=text, expected=expected
                )
            text = " ".join(w for w in words if not w.startswith(prefix))
            yield number, labels[0] if len(labels) == 1 else labels, text

    return _collect(path, records(), classes, "fastText")


def _tsv_rows(path: Any, encoding: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(read_lines(path, encoding), 1):
        if line.strip():
            yield number, line.rstrip("\r\n").split("\t")


def _csv_rows(path: Any, encoding: str) -> Iterator[tuple[int, list[str]]]:
    # A quoted text may run over several lines: a row is named by the line it starts on.
    reader = csv.reader(read_lines(path, encoding), strict=True)
    start = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataFileError.at(
                path,
                f"cannot be split into columns ({error})",
                line=start,
                expected="cells in double quotes, a quote inside written twice",
            ) from error
        if cells:
            yield start, cells
        start = reader.line_num + 1


def _columns(
    path: Any,
    first: list[str],
    sample: list[tuple[int, list[str]]],
    label_column: Column,
    text_column: Column,
    header: bool,
) -> tuple[int, int, str]:
    """Decide which column is the label and which the text; say why."""
    names = first if header else []
    label = _find(path, names, len(first), label_column, "label_column", LABEL_NAMES)
    text = _find(path, names, len(first), text_column, "text_column", TEXT_NAMES)
    if len(first) == 2:
        if label is None and text is None:
            distinct = [len({cells[c] for _, cells in sample if len(cells) == 2}) for c in (0, 1)]
            label = int(distinct[1] < distinct[0])
        label = 1 - text if label is None and text is not None else label
        text = 1 - label if text is None and label is not None else text
    if label is None or text is None or label == text:
        shown = f"columns {names}" if header else f"{len(first)} columns without names"
        raise DataFileError.at(
            path,
            f"has {shown}, and none says which is the label and which the text",
            line=1,
            expected="a header with 'label' and 'text', or label_column= and text_column=",
        )
    if header:
        return label, text, f"label in {names[label]!r}, text in {names[text]!r}"
    return label, text, f"no header, label in column {label}, text in column {text}"


def _find(
    path: Any, names: list[str], width: int, wish: Column, parameter: str, usual: tuple[str, ...]
) -> int | None:
    if isinstance(wish, int):
        if not -width <= wish < width:
            raise InputError(f"{parameter}={wish}: {os.fspath(path)} has {width} columns.")
        return wish % width
    if wish is not None:
        if wish.lower() not in names:
            raise InputError(f"{parameter}={wish!r}: {os.fspath(path)} has columns {names}.")
        return names.index(wish.lower())
    return next((names.index(name) for name in usual if name in names), None)


def _json_object(line: str, fail: Callable[..., DataFileError]) -> dict[str, Any]:
    try:
        item = json.loads(line)
    except ValueError as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise fail(f"is not JSON ({reason})", expected="one object a line") from error
    if not isinstance(item, dict):
        raise fail("is not a JSON object", expected='{"label": ..., "text": ...}')
    return item


def _json_keys(
    path: Any, number: int, item: dict[str, Any], label: str | None, text: str | None
) -> tuple[str, str]:
    label = label or next((name for name in LABEL_NAMES if name in item), None)
    text = text or next((name for name in TEXT_NAMES if name in item), None)
    if label is None or text is None:
        raise DataFileError.at(
            path,
            f"has keys {sorted(item)}, and none says which is the label and which the text",
            line=number,
            expected="keys 'label' and 'text', or label_column= and text_column=",
        )
    return label, text


def _collect(path: Any, records: Iterator[Record], classes: Any, how: str) -> Dataset:
    lines: list[int] = []
    labels: list[Any] = []
    texts: list[str] = []
    for number, label, text in records:
        lines.append(number)
        labels.append(label)
        texts.append(text)
    if not texts:
        raise DataFileError.at(path, "is empty", expected="lines of label and text")
    source = f"text file {os.fspath(path)} ({how})"
    fields = {"classes": classes, "name": stem(path), "source": source}
    counts = np.array([len(x) if isinstance(x, list) else 1 for x in labels])
    try:
        if any(isinstance(label, list) for label in labels):
            flat = [one for x in labels for one in (x if isinstance(x, list) else [x])]
            return Dataset.from_label_lists(object_array(texts), flat, counts, **fields)
        return Dataset.from_labels(object_array(texts), labels, **fields)
    except UnknownLabelError as error:
        raise error.in_file(path, lines[error.row(counts)]) from error
    except InputError as error:
        raise DataFileError.at(path, f"its labels cannot be used: {error}") from error
