"""Where lines and arrays go: to stdout at once, or to a file that is there whole or not at all."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dsnc.errors import OutputError

Write = Callable[[Iterable[str]], None]


@contextmanager
def lines_to(path: Path | None) -> Iterator[Write]:
    """Yield a function that writes lines; each call is handed on before it returns."""
    if path is None:
        yield _writer(sys.stdout)
        return
    with aside(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        yield _writer(file)


@contextmanager
def aside(path: Path) -> Iterator[Path]:
    """Yield a file to write, which gets its name when nothing has gone wrong."""
    if path.is_dir():
        raise OutputError(f"-o {path} is a folder; give the name of a file.")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OutputError(f"-o {path} cannot be written ({reason}).") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _writer(file: IO[str]) -> Write:
    def write(lines: Iterable[str]) -> None:
        file.write("".join(f"{line}\n" for line in lines))
        file.flush()

    return write
