"""Files that are there whole or not at all."""

import os
import tempfile
from collections.abc import Callable
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
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        aside = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                write(file)
            aside.chmod(0o644)
            aside.replace(path)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error}); choose another file.") from error
    return path
