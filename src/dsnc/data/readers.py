"""All readers by name, and how one is chosen: by what is found in a file, and what it is called."""

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dsnc.data.dataset import SPLIT_NAMES, Dataset, fit_width
from dsnc.data.files import head, stem
from dsnc.data.folder import ArraysReader
from dsnc.data.lines import FastTextReader, SvmlightReader
from dsnc.data.reader import NO, SURE, Reader, Start
from dsnc.data.table_readers import CsvReader, JsonReader, ParquetReader, TsvReader
from dsnc.errors import DataFileError, InputError, unknown_name
from dsnc.labels import Labels
from dsnc.sparse import sp

if TYPE_CHECKING:
    from dsnc.data.columns import Columns

_PART_FILES = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test",),
}

# The last is asked first: what is certain before what is likely, and those from outside before all.
READERS: dict[str, Reader] = {
    "csv": CsvReader(),
    "tsv": TsvReader(),
    "svmlight": SvmlightReader(),
    "jsonl": JsonReader(),
    "fasttext": FastTextReader(),
    "folder": ArraysReader(),
    "parquet": ParquetReader(),
}
LINES = "svmlight"  # reads lines of any text, too, where rows need no labels


def read_path(
    path: Path, *, reader: str | None = None, multilabel: bool | str = "auto", **options: Any
) -> Dataset:
    """Read a file or a folder with labels, as `dsnc.data.load_dataset` explains it."""
    check_reader(reader)
    options["multilabel"] = multilabel
    if not path.is_dir():
        return _read(reader or detect_reader(path), path, options)
    if (found := _recognize(Start(path))) and reader in (None, found):
        return _read(found, path, options)
    files = _find_parts(path)
    chosen = reader or detect_reader(files["train"])
    parts: dict[str, Dataset] = {}
    for name, file in files.items():
        parts[name] = _read(chosen, file, options)
        if parts["train"].is_multilabel:  # the other files may have one label a row by chance
            options = {**options, "multilabel": True}
    return replace(_stack_parts(parts), name=path.resolve().name)


def detect_reader(path: str | os.PathLike[str]) -> str:
    """Name the reader for a file of rows with labels."""
    if name := _recognize(Start(path)):
        return name
    lines = head(path)
    if not lines:
        raise DataFileError.at(path, "is empty", expected="a data file")
    raise DataFileError.at(
        path,
        "is not in a format that can be recognized",
        line=1,
        text=lines[0].strip(),
        expected=f"one of {', '.join(sorted(READERS))}; name it with reader=",
    )


def rows_reader(name: str | os.PathLike[str], columns: "Columns | None" = None) -> Reader:
    """Return the reader of rows without labels, which a model with these columns is asked about.

    Without labels, a line may be any text: only names, bytes and the columns of the model tell.
    """
    start = Start(name, labelled=False, columns=columns)
    return READERS[_recognize(start) or ("csv" if start.names_columns() else LINES)]


def named_reader(name: str) -> str | None:
    """Name the reader for a file by its name alone, which may be that of one far away."""
    return next((key for key, one in READERS.items() if Start(name).named(one.endings)), None)


def _recognize(start: Start) -> str | None:
    """Name the reader that is surest of a file; None if none is."""
    best, surest = None, NO
    for name, reader in reversed(READERS.items()):
        if (sure := reader.detect(start)) > surest:
            best, surest = name, sure
        if surest == SURE:
            break
    return best


def check_reader(name: str | None) -> None:
    """Refuse a name that no reader has."""
    if name is not None and name not in READERS:
        raise unknown_name("reader", name, READERS)


def check_options(what: str, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse options that a function of a path and options does not have."""
    try:
        inspect.signature(function).bind(Path(), **options)
    except TypeError as error:
        raise InputError(f"{what}: {error}.") from None


def _read(name: str, path: Path, options: Mapping[str, Any]) -> Dataset:
    read = READERS[name].read
    check_options(f"The reader {name!r} of {path}", read, options)
    return read(path, **options)


# Several files, one data set: train, validation and test become a predefined split.


def _find_parts(folder: Path) -> dict[str, Path]:
    """Find the files of a split by their names, in the order train, validation, test."""
    found: dict[str, Path] = {}
    for part in SPLIT_NAMES:
        usual = _PART_FILES[part]
        files = sorted(f for f in folder.iterdir() if f.is_file() and stem(f).lower() in usual)
        if len(files) > 1:
            raise DataFileError.at(
                folder,
                f"has several {part} files ({', '.join(f.name for f in files)})",
                expected="one each; name the file itself instead of the folder",
            )
        if files:
            found[part] = files[0]
    if "train" not in found:
        raise DataFileError.at(
            folder,
            "holds no data that can be recognized",
            expected="X.npz or X.npy with y.npy, or files named train, validation, test",
        )
    return found


def _stack_parts(parts: Mapping[str, Dataset]) -> Dataset:
    """Stack data sets that may differ in width and classes; what each was is the split."""
    ends = np.cumsum([0, *(len(part) for part in parts.values())])
    splits = {
        name: np.arange(start, end)
        for name, start, end in zip(parts, ends[:-1], ends[1:], strict=True)
    }
    members = list(parts.values())
    # Whether the first feature is 0 or 1 is a question to all files together.
    first = min((m.first_index for m in members if m.first_index is not None), default=None)
    members = [member.numbered_from(first) for member in members]
    classes = _shared_classes(members)
    fields: dict[str, Any] = {"y": None}
    if any(part.is_multilabel for part in members):
        fields["Y"] = sp.vstack([_label_sets(part, classes) for part in members], format="csr")
    else:
        fields["y"] = np.concatenate([_renumber(part, classes)[part.y] for part in members])
    for what in ("lines", "ids"):
        own = [getattr(member, what) for member in members]
        fields[what] = None if any(some is None for some in own) else np.concatenate(own)
    return Dataset(
        _stack_rows([part.X for part in members]),
        classes=classes,
        splits=splits,
        source="; ".join(f"{name}: {part.source}" for name, part in parts.items()),
        first_index=first,
        columns=members[0].columns
        if all(m.columns == members[0].columns for m in members)
        else None,
        **fields,
    )


def _stack_rows(rows: list[Any]) -> Any:
    if not sp.issparse(rows[0]):
        return np.concatenate(rows)
    width = max(X.shape[1] for X in rows)
    return sp.vstack([fit_width(X, width)[0] for X in rows], format="csr")


def _shared_classes(parts: list[Dataset]) -> NDArray[Any]:
    first = parts[0].classes
    if all(np.array_equal(part.classes, first) for part in parts):
        return first  # also keeps an order that the user gave
    return Labels.fit(np.concatenate([part.classes for part in parts]))[0].names


def _renumber(part: Dataset, classes: NDArray[Any]) -> NDArray[np.int32]:
    """Return the shared number of each class of a part."""
    return Labels(classes).numbers(part.classes)


def _label_sets(part: Dataset, classes: NDArray[Any]) -> Any:
    columns = _renumber(part, classes)
    if part.y is not None:
        indices, indptr = columns[part.y], np.arange(len(part) + 1)
        data = np.ones(len(part), dtype=np.int8)
    else:
        data, indices, indptr = part.Y.data, columns[part.Y.indices], part.Y.indptr
    return sp.csr_array((data, indices, indptr), shape=(len(part), len(classes)))
