"""What a reader is: all that is known of one format of files.

It recognizes its files, reads them with labels, to learn from, and streams or opens them without,
to be asked about. Whoever takes files asks the readers; nobody else knows a format by name.
"""

import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsnc.data.files import STDIN, UTF_16, head
from dsnc.errors import DataFileError, InputError

if TYPE_CHECKING:
    from dsnc.data.columns import Columns
    from dsnc.data.dataset import Dataset
    from dsnc.data.tables import Table, TableOptions

NO, LIKELY, NAMED, SURE = range(4)
"""How sure a reader is of a file: not at all; by how its lines look; by its name; by its content,
which no other format begins with."""


class Start:
    """How a file begins, and its name: what tells its format.

    The file or folder need not exist; ``-`` is stdin. Rows without labels, which a model is asked
    about, may be lines of any text; if the first names the model's columns, it begins a table.
    """

    def __init__(
        self, path: Any, *, labelled: bool = True, columns: "Columns | None" = None
    ) -> None:
        self.name, self.labelled, self._columns = str(path), labelled, columns
        self.path = Path(path)
        if self.name != STDIN and self.path.is_fifo():
            raise DataFileError.at(
                path, "is a pipe, which can be read only once", expected="a file, or - for stdin"
            )
        self.endings = self.path.name.lower().split(".")[1:]

    def named(self, endings: Iterable[str]) -> bool:
        """Tell whether the name of a file has such an ending, maybe before a compression's."""
        return not self.path.is_dir() and not set(endings).isdisjoint(self.endings)

    @cached_property
    def begin(self) -> bytes:
        """The first bytes, as they stand there; none of what is no regular file."""
        if self.name == STDIN or not self.path.is_file():
            return b""
        with suppress(OSError), self.path.open("rb") as file:
            return file.read(64)
        return b""

    @cached_property
    def lines(self) -> list[bytes]:
        """The first lines that are not empty, decompressed; none of what has no lines."""
        if self.name == STDIN:
            return [line] if (line := _first_of_stdin()) else []
        with suppress(DataFileError):
            return head(self.path) if self.path.is_file() else []
        return []

    @property
    def table_lines(self) -> list[bytes]:
        """The lines that show a table: without labels, only a first that names the columns."""
        if self.labelled:
            return self.lines
        return self.lines[:1] if self.names_columns() else []

    def names_columns(self) -> bool:
        """Tell whether the first line has all columns of the model, which are names."""
        if self._columns is None or not self.lines:
            return False
        names = {name.lower() for name in self._columns.names}
        first = self.lines[0].decode("utf-8", "replace").strip()
        cells = {cell.strip(' "\ufeff').lower() for cell in re.split("[,;|\t:{}]", first)}
        return names <= cells and not all(name.isdigit() for name in names)


def _first_of_stdin() -> bytes:
    """Return the first line that has come, without taking it."""
    stdin: Any = sys.stdin.buffer
    begin: bytes = stdin.peek() if hasattr(stdin, "peek") else b""
    if begin.startswith(UTF_16):
        begin = begin.decode("utf-16", "ignore").encode()
    return begin.split(b"\n")[0]


@dataclass(frozen=True)
class RowOptions:
    """How rows without labels are streamed."""

    n_features: int | None = None  # of the model; None if it was trained on texts
    batch: int = 4096  # largest number of rows in a block
    encoding: str = "utf-8"  # of texts
    decode_errors: str = "strict"  # or "replace"
    first_index: int = 1  # number of the first feature in svmlight lines, 0 or 1


class Reader(ABC):
    """One format. A new one is a subclass in a file of its own, and a line in `READERS`."""

    endings: tuple[str, ...] = ()
    """What names of its files end in."""
    is_table: bool = False
    """Whether its rows have columns, which `open` returns."""
    joint: tuple[str, str] = ("\t", "")
    """What stands between the labels of a line that is answered, and before each."""

    @abstractmethod
    def detect(self, start: Start) -> int:
        """Return how sure it is that a file is of this format: `NO` to `SURE`."""

    @abstractmethod
    def read(self, *args: Any, **options: Any) -> "Dataset":
        """Return the data set in a file: ``read(path, *, multilabel="auto", **options)``.

        A subclass lists its own options, by name; others are refused. Where rows have several
        labels, or `multilabel` is True, they have label sets.
        """

    def stream(self, path: str, options: RowOptions) -> Iterator[Any]:
        """Yield rows without labels: lists of texts, or arrays; by default those of `read`."""
        X = self.read(path).X
        return blocks_of(path, X if X.ndim > 1 else X.tolist(), options)

    def open(self, path: Any, options: "TableOptions", known: Iterable[str]) -> "Table | None":
        """Open a table that has columns; None if rows have none, and are streamed.

        Names that are `known` tell a header from a row.
        """
        return None

    def cut(self, name: str, open_file: Callable[[], Any], n_rows: int) -> list[Any]:
        """Return what stands for pieces of about `n_rows` rows; [None] is the whole file."""
        return [None]

    def open_piece(self, name: str, file: Any, piece: Any) -> "Table":
        """Open a piece of a file that `cut` has cut, for one of several workers."""
        raise NotImplementedError


def blocks_of(path: str, X: Any, options: RowOptions) -> Iterator[Any]:
    """Yield rows that are in memory, block by block; refuse those that are not for the model."""
    is_text, n_features = isinstance(X, list), options.n_features
    if is_text != (n_features is None):
        kinds = ("numbers", "texts") if is_text else ("texts", "numbers")
        raise InputError(f"The model was trained on {kinds[0]}, but {path} holds {kinds[1]}.")
    n_rows = len(X) if is_text else X.shape[0]
    if not is_text and X.shape[1] != n_features:
        raise wrong_width(path, X.shape[1], n_features or 0)
    return (X[start : start + options.batch] for start in range(0, n_rows, options.batch))


def wrong_width(where: str, found: int, expected: int) -> InputError:
    """Return the error about rows of another width than those of training."""
    return InputError(f"{where}: has {found:,} features; the model was trained on {expected:,}.")
