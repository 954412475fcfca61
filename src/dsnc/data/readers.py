"""`load_dataset`: reads every format, and chooses the reader by what it finds."""

import inspect
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.data.dataset import SPLIT_NAMES, Dataset, check_multilabel, fit_width
from dsnc.data.files import begins_json, head, is_parquet, stem
from dsnc.data.folder import is_folder, read_folder
from dsnc.data.svmlight import looks_like_svmlight, read_svmlight
from dsnc.data.text import read_csv, read_fasttext, read_jsonl, read_parquet, read_tsv
from dsnc.errors import DataFileError, InputError, unknown_name
from dsnc.labels import Labels

_LOG = logging.getLogger(__name__)
_PART_FILES = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test",),
}

READERS: dict[str, Callable[..., Dataset]] = {
    "csv": read_csv,
    "fasttext": read_fasttext,
    "folder": read_folder,
    "jsonl": read_jsonl,
    "parquet": read_parquet,
    "svmlight": read_svmlight,
    "tsv": read_tsv,
}


def load_dataset(
    name_or_path: str | os.PathLike[str],
    *,
    reader: str | None = None,
    multilabel: bool | str = "auto",
    **options: Any,
) -> Dataset:
    """Load a data set: a file, a folder, or a name of the catalog.

    Parameters
    ----------
    name_or_path : str or path
        A path that exists is read; anything else is a name of the catalog ("glyphs", "aloi", ...),
        which is downloaded if necessary. A folder holds arrays (``X.npz`` ...) or files of one
        format called ``train``, ``validation`` (or ``valid``, ``val``, ``dev``) and ``test``, which
        become the predefined split.
    reader : str, optional
        One of `READERS`. By default, the content and the name decide; ``Dataset.source`` and the
        log say what was chosen.
    multilabel : bool or "auto", default "auto"
        Whether rows have label sets, in ``Dataset.Y``. "auto" detects it: a row has several labels,
        or none, or the format says so; ``Dataset.source`` says what was decided. True reads single
        labels as sets of one. False refuses rows with several labels.
    **options
        Options of the reader: ``classes``, ``label_column``, ``label_separator`` and so on.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> dataset = load_dataset("titles.tsv")  # doctest: +SKIP
    >>> train, validation, test = dataset.split(0.8, 0.1, 0.1, random_state=0)  # doctest: +SKIP
    """
    if reader is not None and reader not in READERS:
        raise unknown_name("reader", reader, READERS)
    check_multilabel(multilabel)
    path = Path(name_or_path).expanduser()
    if not path.exists():
        dataset = _load_by_name(name_or_path, reader, options)
        dataset = dataset.as_label_sets() if multilabel is True else dataset
    else:
        options["multilabel"] = multilabel
        dataset = _load_path(path, reader, options)
    if dataset.is_multilabel:
        if multilabel is False:
            raise InputError(
                f"{name_or_path} has label sets, but multilabel=False asks for one label a row."
            )
        source = f"{dataset.source}; {dataset.summary().labels_text}"
        dataset = replace(dataset, source=source)
    _LOG.info("%s: %s", dataset.name, dataset.source)
    return dataset


def _load_path(path: Path, reader: str | None, options: dict[str, Any]) -> Dataset:
    if path.is_dir() and reader in (None, "folder") and is_folder(path):
        return _read("folder", path, options)
    if not path.is_dir():
        return _read(reader or detect_reader(path), path, options)
    files = _find_parts(path)
    chosen = reader or detect_reader(files["train"])
    parts: dict[str, Dataset] = {}
    for name, file in files.items():
        parts[name] = _read(chosen, file, options)
        if parts["train"].is_multilabel:  # the other files may have one label a row by chance
            options = {**options, "multilabel": True}
    return replace(_stack_parts(parts), name=path.resolve().name)


def detect_reader(path: str | os.PathLike[str]) -> str:
    """Name the reader for a file, from its first lines and then its name."""
    if is_parquet(path):
        return "parquet"
    lines = head(path)
    if not lines:
        raise DataFileError.at(path, "is empty", expected="a data file")
    if any(line.startswith(b"__label__") for line in lines):
        return "fasttext"
    if begins_json(b"".join(lines), (b"{", b"[{")):
        return "jsonl"
    endings = Path(path).name.lower().split(".")[1:]
    for name in ("tsv", "csv", "jsonl"):
        if name in endings:
            return name
    if looks_like_svmlight(lines):
        return "svmlight"
    if all(b"\t" in line for line in lines):
        return "tsv"
    if any(all(mark in line for line in lines) for mark in (b",", b";", b"|")):
        return "csv"
    raise DataFileError.at(
        path,
        "is not in a format that can be recognized",
        line=1,
        text=lines[0].strip(),
        expected=f"one of {', '.join(sorted(READERS))}; name it with reader=",
    )


def check_options(what: str, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse options that a function of a path and options does not have."""
    try:
        inspect.signature(function).bind(Path(), **options)
    except TypeError as error:
        raise InputError(f"{what}: {error}.") from None


def _load_by_name(name: str | os.PathLike[str], reader: str | None, options: Any) -> Dataset:
    # A late import: the catalog reads its files through this very module.
    from dsnc.data.catalog import DATASETS, load_catalog

    text = os.fspath(name)
    if text in DATASETS and reader is None:
        return load_catalog(text, **options)
    if os.sep in text or "." in text or reader is not None:
        raise DataFileError.at(
            text, "does not exist", expected="a file, a folder or a catalog name"
        )
    raise unknown_name("name_or_path", text, DATASETS)


def _read(reader: str, path: Path, options: Mapping[str, Any]) -> Dataset:
    check_options(f"The reader {reader!r} of {path}", READERS[reader], options)
    return READERS[reader](path, **options)


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
