"""Where lines and arrays go: to stdout at once, or to a file that is there whole or not at all."""

import codecs
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from dsnc.errors import DsncError, InputError, OutputError, OutputExistsError
from dsnc.files import whole_file, why

Write = Callable[[Iterable[str]], None]


@contextmanager
def lines_to(path: Path | None, *, force: bool) -> Iterator[Write]:
    """Yield a function that writes lines; each call is handed on before it returns."""
    if path is None:
        yield _writer(sys.stdout)
        return
    with aside(path, force=force) as file:  # half a surrogate pair is written as on stdout
        yield _writer(codecs.getwriter("utf-8")(file, "backslashreplace"))


@contextmanager
def bytes_to(path: Path | None, *, force: bool) -> Iterator[Any]:
    """Yield a binary file to write to: stdout, or one that is there whole or not at all."""
    if path is None:
        yield sys.stdout.buffer
    else:
        with aside(path, force=force) as file:
            yield file


@contextmanager
def aside(path: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """Yield a file to write, which gets its name when nothing has gone wrong."""
    check_output(path, force=force)
    try:
        with whole_file(path) as file:
            yield file
    except DsncError:
        raise
    except OSError as error:
        raise OutputError(
            f"-o {path} could not be written {why(error)}. No partial file is left."
        ) from error


def check_output(path: Path, *, force: bool) -> None:
    """Refuse a file that cannot be written, before there is something to write."""
    check_new_files({"-o": path}, force=force)
    if path.exists() and not path.is_file():
        return  # a pipe, or a device
    folder = path.resolve().parent
    if not folder.is_dir():
        raise OutputError(f"-o {path} cannot be written: there is no folder {folder}.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"-o {path} cannot be written: no permission in {folder}.")


def check_new_files(files: dict[str, Path | None], *, force: bool) -> None:
    """Refuse files that would be refused at the end; keys are the options that name them."""
    seen: dict[Path, str] = {}
    for option, path in files.items():
        if path is None:
            continue
        if path.is_dir():
            raise OutputError(f"{option} {path} is a folder; give the name of a file.")
        if path.is_file() and not force:
            raise OutputExistsError(
                f"{option} {path} exists; choose another name, or replace it with --force."
            )
        other = seen.setdefault(path.resolve(), option)
        if other != option:
            raise InputError(f"{other} and {option} both name {path}; give each a file of its own.")


def _writer(file: Any) -> Write:
    def write(lines: Iterable[str]) -> None:
        file.write("".join(f"{line}\n" for line in lines))
        file.flush()

    return write
