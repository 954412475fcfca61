"""Files that are there whole or not at all."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dsnc.errors import OutputError


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> Path:
    """Write aside and rename: whoever looks sees the old file or the new, never half of one.

    Parameters
    ----------
    path : Path
        The file; its folder is made, and an older file is replaced.
    write : callable
        Is given the open file.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            write(file)
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error}); choose another file.") from error
    return path


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file to write, which takes its name when nothing has gone wrong.

    A link stays, and its target is replaced. What is there and no regular file, such as a pipe or
    ``/dev/null``, is not replaced but written to.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open("wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
    aside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        aside.chmod(0o644)
        aside.replace(target)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
