"""Rows without labels, block by block: what `predict` and `encode` read."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsnc.cli.common import note
from dsnc.cli.lines import STDIN, check_encoding, decode, open_lines
from dsnc.errors import DataFileError, DsncWarning, InputError, shorten

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TABLES = (".csv", ".jsonl", ".tsv")


def read_rows(
    model: Any, name: str, batch: int, *, encoding: str = "utf-8", first_index: int | None = None
) -> Iterator[Any]:
    """Yield blocks of rows, as the model takes them, from a file, a folder or stdin.

    Parameters
    ----------
    model : estimator
        Its kind of rows decides how the input is read.
    name : str
        A path, or ``-``.
    batch : int
        Rows of a block at most.
    encoding : str
        Of texts.
    first_index : 0 or 1, optional
        The number of the first feature in svmlight lines; as in training by default.
    """
    from dsnc import inspection as look

    if name != STDIN and not Path(name).exists():
        raise DataFileError.at(name, "does not exist", expected="a file, a folder, or - for stdin")
    if look.takes_text(model):
        check_encoding(encoding)
        return _texts(name, batch, encoding)
    if name != STDIN and (Path(name).is_dir() or Path(name).suffix in (".npy", ".npz")):
        return _blocks(name, _array(Path(name)), batch, model.n_features_in_)
    if first_index is None:
        first_index = look.first_index(model)
    return _numbers(name, batch, model.n_features_in_, first_index)


def _texts(name: str, batch: int, encoding: str) -> Iterator[list[str]]:
    if Path(name).suffix.lower() in _TABLES:
        warnings.warn(
            f"{name} looks like a table; every line of it is taken as a text, as it is.",
            DsncWarning,
            stacklevel=2,
        )
    first = 1
    with open_lines(name, batch) as batches:
        for lines in batches:
            yield decode(name, lines, first, encoding)
            first += len(lines)


def _array(path: Path) -> Any:
    """Return the rows of a folder, a .npy (memory-mapped) or a .npz."""
    from dsnc.data import folder

    if path.is_dir():
        return folder._read_X(path)[0]
    if path.suffix == ".npy":
        X: Any = folder._load_npy(path, memory_map=True)
    else:
        X = folder._load_dense_npz(path)
        X = folder._load_csr(path) if X is None else X
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        expected = "numbers, (rows, features)"
        raise DataFileError.at(path, f"has shape {X.shape} and type {X.dtype}", expected=expected)
    return X


def _blocks(name: str, X: Any, batch: int, n_features: int) -> Iterator[Any]:
    if X.shape[1] != n_features:
        raise _wrong_width(name, X.shape[1], n_features)
    for start in range(0, X.shape[0], batch):
        yield X[start : start + batch]


def _numbers(name: str, batch: int, n_features: int, first_index: int | None) -> Iterator[Any]:
    """Yield rows of lines of numbers: ``3 1:0.5 7:1`` or ``0.5,0,1``."""
    from dsnc.data.svmlight_lines import parse_lines

    number, beyond, is_table = 1, 0, None
    with open_lines(name, batch) as batches:
        for lines in batches:
            if number == 1:
                lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
            if is_table is None:
                is_table = _is_table(lines, n_features)
                blank = next((i for i, line in enumerate(lines) if line.strip()), 0)
                if is_table and _is_header(lines[blank]):
                    note(f"{name}, line {number + blank}: taken as the names of the columns")
                    if blank:
                        yield _table_rows(name, lines[:blank], number, n_features)
                    lines, number = lines[blank + 1 :], number + blank + 1
            if is_table:
                rows = _table_rows(name, lines, number, n_features) if lines else None
            else:
                first = 1 if first_index is None else first_index
                rows, dropped = parse_lines(name, lines, number, n_features, first)
                beyond += dropped
            if rows is not None:
                yield rows
            number += len(lines)
    if beyond:
        warnings.warn(
            f"{name} has {beyond:,} values of features above the {n_features:,} that were "
            "learned; they are left out.",
            DsncWarning,
            stacklevel=2,
        )


def _is_table(lines: list[bytes], n_features: int) -> bool | None:
    """Tell columns of numbers from svmlight by the first line that has something in it."""
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        return None
    if not (b"," in first or any(byte in b"0123456789" for byte in first)):
        raise InputError(
            f"The model was trained on numbers, and the input holds texts: {shorten(first)}."
        )
    return b":" not in first and (b"," in first or len(first.split()) == n_features)


def _is_header(line: bytes) -> bool:
    """Tell names of columns from a row: no name is a number."""
    cells = line.replace(b",", b" ").split()
    return bool(cells) and not any(map(_is_number, cells))


def _is_number(cell: bytes) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _table_rows(
    name: str, lines: list[bytes], first: int, n_features: int
) -> "NDArray[np.float32]":
    import numpy as np

    rows = np.zeros((len(lines), n_features), dtype=np.float32)
    for row, line in enumerate(lines):
        cells = line.split(b",") if b"," in line else line.split()
        if not cells:
            continue  # an empty line is a row of zeros
        try:
            values = [float(cell) for cell in cells]
        except ValueError:
            column = next(i for i, cell in enumerate(cells) if not _is_number(cell))
            text = cells[column].decode("utf-8", errors="backslashreplace").strip()
            problem = f"has what is not a number in column {column + 1}"
            raise DataFileError.at(name, problem, line=first + row, text=text) from None
        if len(values) != n_features:
            raise _wrong_width(f"{name}, line {first + row}", len(values), n_features)
        rows[row] = values
    if not np.isfinite(rows).all():
        bad = first + int(np.argmin(np.isfinite(rows).all(axis=1)))
        raise DataFileError.at(name, "has NaN or infinity", line=bad, expected="finite numbers")
    return rows


def _wrong_width(where: str, found: int, expected: int) -> InputError:
    return InputError(f"{where}: has {found:,} features; the model was trained on {expected:,}.")
