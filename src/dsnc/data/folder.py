"""A data set as a folder of plain arrays.

===============  ==========================================================================
``X.npz``        CSR as `scipy.sparse.save_npz` writes it, or a dense array under key ``X``
``X.npy``        instead of ``X.npz``: dense, opened as a memory map
``y.npy``        class numbers 0..K-1 (or ``Y.npz``: CSR label sets)
``split.npy``    optional: 0 train, 1 validation, 2 test
``classes.json`` optional: the K labels
``meta.json``    optional: ``image_shape``
===============  ==========================================================================
"""

import json
import math
import os
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from dsnc.data.dataset import SPLIT_NAMES, Dataset, check_multilabel, counted_classes
from dsnc.data.reader import NO, SURE, Reader, RowOptions, Start, blocks_of
from dsnc.errors import DataFileError, DsncError, InputError, OutputError, OutputExistsError
from dsnc.files import whole_folder
from dsnc.labels import label_array
from dsnc.sparse import sp

_UNREADABLE = (
    *(ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error),  # damaged
    *(KeyError, TypeError, AttributeError, OverflowError, SyntaxError, tokenize.TokenError),
    *(RuntimeError, MemoryError),  # a password, a compression that is not known; too large
)


def read_folder(path: str | os.PathLike[str], *, multilabel: bool | str = "auto") -> Dataset:
    """Read a folder of arrays; nothing in it is ever unpickled.

    With ``multilabel="auto"``, rows have label sets if there is a ``Y.npz``, and no ``y.npy``.
    """
    check_multilabel(multilabel)
    folder = Path(path)
    X, how = _read_rows(folder)
    y, Y = _read_labels(folder)
    if multilabel is False and y is None:
        raise DataFileError.at(
            folder, "has label sets (Y.npz)", expected="y.npy, one label a row (multilabel=False)"
        )
    classes = _read_classes(folder, y, Y)
    try:
        dataset = Dataset(
            X,
            y,
            classes,
            Y=Y,
            splits=_read_splits(folder),
            name=folder.resolve().name,
            source=f"folder of arrays {os.fspath(path)} ({how})",
            image_shape=_read_image_shape(folder / "meta.json"),
        )
    except DsncError as error:
        raise DataFileError.at(folder, f"its files do not fit together: {error}") from error
    return dataset.as_label_sets() if multilabel is True else dataset


class ArraysReader(Reader):
    """Such a folder; without labels, the file of rows alone will do."""

    endings = ("npy", "npz")
    read = staticmethod(read_folder)

    def detect(self, start: Start) -> int:
        """Look for the file of rows."""
        if start.path.is_dir():
            found = any(file.is_file() for file in _row_files(start.path))
            return SURE if found or not start.labelled else NO
        return SURE if not start.labelled and start.named(self.endings) else NO

    def stream(self, path: str, options: RowOptions) -> Iterator[Any]:
        """Yield rows of an array, which may be memory-mapped."""
        if options.n_features is None and Path(path).is_dir():
            raise DataFileError.at(path, "is a folder", expected="a file of lines")
        return blocks_of(path, _read_rows(Path(path))[0], options)


def _read_rows(path: Path) -> tuple[Any, str]:
    """Return the rows of a folder, a .npy or a .npz file, and how they are kept there."""
    if path.is_dir():
        found = next((file for file in _row_files(path) if file.is_file()), None)
        if found is None:
            raise DataFileError.at(path, "holds neither X.npz nor X.npy", expected="one of them")
        path = found
    if path.suffix == ".npy":
        X, how = _load_npy(path, memory_map=True), f"dense {path.name}, memory-mapped"
    elif (dense := _load_dense_npz(path)) is not None:
        X, how = dense, f"dense {path.name}"
    else:
        X, how = _load_csr(path), f"sparse {path.name}"
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise DataFileError.at(
            path, f"has shape {X.shape} and type {X.dtype}", expected="numbers, (rows, features)"
        )
    return X, how


def write_folder(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Write a data set as a folder, completely or not at all.

    Parameters
    ----------
    dataset : Dataset
        Must have features; raw text is an error.
    path : path
        The folder to write. It must not exist.
    """
    if dataset.is_text:
        raise InputError(f"{dataset.name!r} is raw text, but a folder of arrays holds features.")
    target = Path(path)
    try:
        if target.exists():
            raise OutputExistsError(f"{target} exists; write to another folder or remove it first.")
        with whole_folder(target) as aside:
            _write_files(dataset, aside)
    except DsncError:
        raise
    except OSError as error:
        raise OutputError(f"{target} cannot be written ({error}); nothing is left.") from error


def _write_files(dataset: Dataset, folder: Path) -> None:
    if dataset.is_sparse:
        sp.save_npz(folder / "X.npz", dataset.X)
    else:
        np.save(folder / "X.npy", dataset.X)
    if dataset.y is not None:
        np.save(folder / "y.npy", dataset.y)
    else:
        sp.save_npz(folder / "Y.npz", dataset.Y)
    if dataset.splits is not None:
        np.save(folder / "split.npy", _split_numbers(dataset))
    _write_json(folder / "classes.json", dataset.classes.tolist())
    if dataset.image_shape is not None:
        _write_json(folder / "meta.json", {"image_shape": list(dataset.image_shape)})


def _row_files(folder: Path) -> tuple[Path, Path]:
    return folder / "X.npy", folder / "X.npz"


def _split_numbers(dataset: Dataset) -> NDArray[np.int8]:
    numbers = np.full(len(dataset), -1, dtype=np.int8)
    for number, name in enumerate(SPLIT_NAMES):
        numbers[(dataset.splits or {}).get(name, [])] = number
    return numbers


def _read_labels(folder: Path) -> tuple[Any, Any]:
    if (folder / "y.npy").is_file():
        y = _load_npy(folder / "y.npy")
        if y.ndim != 1 or y.dtype.kind not in "iu":
            problem = f"has shape {y.shape} and type {y.dtype}"
            raise DataFileError.at(folder / "y.npy", problem, expected="class numbers, (rows,)")
        return y, None
    if (folder / "Y.npz").is_file():
        return None, _load_label_sets(folder / "Y.npz")
    raise DataFileError.at(folder, "holds neither y.npy nor Y.npz", expected="one of them")


def _read_classes(folder: Path, y: Any, Y: Any) -> NDArray[Any]:
    path = folder / "classes.json"
    if not path.is_file():
        if y is None:
            return counted_classes(folder / "Y.npz", Y.shape[1])
        return counted_classes(folder / "y.npy", int(y.max()) + 1 if len(y) else 0)
    labels = _read_json(path, list)
    if not all(isinstance(label, str | int | float) for label in labels):
        raise DataFileError.at(path, "is not a flat list", expected="one label per class")
    return label_array(labels)


def _read_image_shape(path: Path) -> tuple[int, int] | None:
    shape = _read_json(path, dict).get("image_shape") if path.is_file() else None
    match shape:
        case None:
            return None
        case [int() as height, int() as width]:
            return height, width
    raise DataFileError.at(path, f"has image_shape {shape!r}", expected="[height, width]")


def _read_splits(folder: Path) -> dict[str, NDArray[np.int64]] | None:
    path = folder / "split.npy"
    if not path.is_file():
        return None
    numbers = _load_npy(path)
    if numbers.ndim != 1 or not np.isin(numbers, [-1, 0, 1, 2]).all():
        raise DataFileError.at(
            path, "has unknown values", expected="0 train, 1 validation, 2 test (-1 unused)"
        )
    return {name: np.flatnonzero(numbers == i) for i, name in enumerate(SPLIT_NAMES)}


def _load_npy(path: Path, *, memory_map: bool = False) -> NDArray[Any]:
    """Read an array; a map finds out whether the file is as long as it says before it is read."""
    try:
        mapped = npy.open_memmap(path, mode="r")
        return mapped if memory_map else np.array(mapped)
    except _UNREADABLE as error:
        raise DataFileError.at(path, f"is not a readable .npy file ({error})") from error


def _check_sizes(path: Path) -> None:
    """Refuse an archive with an array that says it has more bytes than there are."""
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            with archive.open(member) as file:
                is_first = npy.read_magic(file) == (1, 0)
                read = npy.read_array_header_1_0 if is_first else npy.read_array_header_2_0
                shape, _, dtype = read(file)
                if math.prod(shape) * dtype.itemsize > member.file_size:
                    raise ValueError(f"{member.filename} says {shape}, but is shorter")


def _load_dense_npz(path: Path) -> NDArray[Any] | None:
    """Return the array under key X, or None if there is no such key."""
    try:
        _check_sizes(path)
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return archive["X"] if "X" in archive else None
    except _UNREADABLE as error:
        raise DataFileError.at(path, f"is not a readable .npz file ({error})") from error


def _load_csr(path: Path) -> Any:
    try:
        _check_sizes(path)
        with path.open("rb") as file:
            matrix = sp.csr_array(sp.load_npz(file))
        matrix.check_format(full_check=True)
    except _UNREADABLE as error:
        raise DataFileError.at(
            path, f"is not a sparse matrix ({error})", expected="what scipy.sparse.save_npz writes"
        ) from error
    # scipy reads such numbers, but cannot compute with them.
    return matrix.astype(np.float32) if matrix.dtype == np.float16 else matrix


def _load_label_sets(path: Path) -> Any:
    sets = _load_csr(path)
    if sets.dtype.kind not in "biuf":
        raise DataFileError.at(path, f"has type {sets.dtype}", expected="numbers, 0 or 1")
    wrong = np.flatnonzero((sets.data != 0) & (sets.data != 1))
    if len(wrong):
        row = int(np.searchsorted(sets.indptr, wrong[0], side="right")) - 1
        raise DataFileError.at(
            path,
            f"holds {sets.data[wrong[0]]} in row {row}, column {sets.indices[wrong[0]]}",
            expected="1 where a row has the label, and 0 elsewhere",
        )
    return sets


def _read_json(path: Path, kind: type) -> Any:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise DataFileError.at(path, f"is not readable JSON ({error})") from error
    if not isinstance(value, kind):
        raise DataFileError.at(
            path, f"holds a value of type {type(value).__name__}", expected=f"a {kind.__name__}"
        )
    return value


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
