"""Where lines and arrays go: to stdout at once, or to a file that is there whole or not at all."""

import codecs
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from dsnc.errors import OutputError
from dsnc.files import whole_file

Write = Callable[[Iterable[str]], None]


@contextmanager
def lines_to(path: Path | None) -> Iterator[Write]:
    """Yield a function that writes lines; each call is handed on before it returns."""
    if path is None:
        yield _writer(sys.stdout)
        return
    with aside(path) as file:  # half a surrogate pair is written as on stdout
        yield _writer(codecs.getwriter("utf-8")(file, "backslashreplace"))


@contextmanager
def aside(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file to write, which gets its name when nothing has gone wrong."""
    if path.is_dir():
        raise OutputError(f"-o {path} is a folder; give the name of a file.")
    with ExitStack() as stack:
        try:
            file = stack.enter_context(whole_file(path))
        except OSError as error:
            raise _cannot_write(path, error) from error
        yield file


def check_folder_of(path: Path) -> None:
    """Make the folder of a file that is written at the end; refuse at once where that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise PermissionError(f"no permission to write to {path.parent}")
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> OutputError:
    reason = (error.strerror or str(error)).lower()
    return OutputError(f"-o {path} cannot be written ({reason}).")


def _writer(file: Any) -> Write:
    def write(lines: Iterable[str]) -> None:
        file.write("".join(f"{line}\n" for line in lines))
        file.flush()

    return write
