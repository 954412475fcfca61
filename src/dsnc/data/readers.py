"""`load_dataset`: one door for every format, choosing the reader by what it finds."""

import logging
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dsnc.data.dataset import Dataset
from dsnc.data.files import head
from dsnc.data.folder import is_folder, read_folder
from dsnc.data.parts import find_parts, stack_parts
from dsnc.data.svmlight import has_header, looks_like_svmlight, read_svmlight
from dsnc.data.text import read_csv, read_fasttext, read_jsonl, read_tsv
from dsnc.errors import DataFileError, InputError, unknown_name

_LOG = logging.getLogger(__name__)

READERS: dict[str, Callable[..., Dataset]] = {
    "csv": read_csv,
    "fasttext": read_fasttext,
    "folder": read_folder,
    "jsonl": read_jsonl,
    "svmlight": read_svmlight,
    "tsv": read_tsv,
}


def load_dataset(
    name_or_path: str | os.PathLike[str], *, reader: str | None = None, **options: Any
) -> Dataset:
    """Load a data set: a catalog's name, a file or a folder.

    Parameters
    ----------
    name_or_path : str or path
        What exists on disk is read; otherwise it is a name of the catalog ("glyphs", "aloi", ...),
        fetched if need be. A folder holds arrays (``X.npz`` ...) or the three files ``train``,
        ``validation`` (or ``valid``, ``dev``) and ``test`` of one format, which become the
        predefined split.
    reader : str, optional
        One of `READERS`; without it the content and the name decide. ``Dataset.source`` and the
        log say what was chosen.
    **options
        Passed to the reader: ``classes``, ``label_column``, ``zero_based``, ...

    Examples
    --------
    >>> dataset = load_dataset("titles.tsv")  # doctest: +SKIP
    >>> train, validation, test = dataset.split(0.8, 0.1, 0.1, random_state=0)  # doctest: +SKIP
    """
    if reader is not None and reader not in READERS:
        raise unknown_name("reader", reader, READERS)
    path = Path(name_or_path).expanduser()
    if not path.exists():
        dataset = _load_by_name(name_or_path, reader, options)
    elif path.is_dir() and reader in (None, "folder") and is_folder(path):
        dataset = _call("folder", path, options)
    elif path.is_dir():
        dataset = _read_parts(path, reader, options)
    else:
        dataset = _call(reader or detect_reader(path), path, options)
    _LOG.info("%s: %s", dataset.name, dataset.source)
    return dataset


def detect_reader(path: str | os.PathLike[str]) -> str:
    """Name the reader for a file, from its first lines and then its name."""
    lines = head(path)
    if not lines:
        raise DataFileError.at(path, "is empty", expected="a data file")
    if lines[0].startswith(b"__label__"):
        return "fasttext"
    if lines[0].lstrip(b"\xef\xbb\xbf ").startswith(b"{"):
        return "jsonl"
    endings = Path(path).name.lower().split(".")
    for ending, name in (("tsv", "tsv"), ("csv", "csv"), ("jsonl", "jsonl")):
        if ending in endings[1:]:
            return name
    if looks_like_svmlight(lines):
        return "svmlight"
    if all(b"\t" in line for line in lines):
        return "tsv"
    if all(b"," in line for line in lines):
        return "csv"
    raise DataFileError.at(
        path,
        "is of no format that can be recognized",
        line=1,
        text=lines[0].strip(),
        expected=f"one of {', '.join(sorted(READERS))}; name it with reader=",
    )


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


def _call(reader: str, path: Path, options: dict[str, Any]) -> Dataset:
    try:
        return READERS[reader](path, **options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        raise InputError(f"The reader {reader!r} of {path}: {error}.") from error


def _read_parts(folder: Path, reader: str | None, options: dict[str, Any]) -> Dataset:
    """Read train, validation and test files into one data set with a predefined split."""
    files = find_parts(folder)
    chosen = reader or detect_reader(files["train"])
    guess_base = (
        chosen == "svmlight"
        and options.get("zero_based", "auto") == "auto"
        and not has_header(files["train"])
    )
    if guess_base:
        # Whether the first feature is 0 or 1 is a question to all files together.
        options = {**options, "zero_based": True}
    whole = stack_parts({name: _call(chosen, file, options) for name, file in files.items()})
    if guess_base and whole.X.nnz and whole.X.indices.min() > 0:
        whole = replace(whole, X=whole.X[:, 1:])
    return replace(whole, name=folder.resolve().name)
