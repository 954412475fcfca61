"""What can go wrong, and what the reader can do about it.

Every error of this package is a `DsncError` and also the built-in kind that callers expect
(`ValueError`, `OSError`, `ImportError`), so nobody has to know this package to catch it. A message
names the parameter or file, the offending value, and the fix.
"""

import difflib
import importlib
import inspect
import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Self

_PACKAGE = os.path.dirname(__file__) + os.sep
_SHOWN = 60  # characters of offending text that a message quotes
_COMPARED = 100  # characters of a name that may have come from anybody


class DsncError(Exception):
    """Base class of all errors of this package."""


class InputError(DsncError, ValueError):
    """A parameter or an array that cannot be used."""


class MissingExtraError(DsncError, ImportError):
    """An optional dependency is not installed."""


class OutputExistsError(DsncError, FileExistsError):
    """Something already exists where a file or folder should be written."""


class OutputError(DsncError, OSError):
    """A file or folder cannot be written."""


class CheckpointError(DsncError, OSError):
    """A checkpoint cannot be written or read, or belongs to another run."""


class DownloadError(DsncError, OSError):
    """A file could not be downloaded."""


class ChecksumError(DownloadError):
    """A downloaded file is not the file that was expected."""


class DataFileError(DsncError, ValueError):
    """A data file cannot be read; the message says where, what is there, and what was expected."""

    path: Path
    line: int | None

    @classmethod
    def at(
        cls,
        path: str | os.PathLike[str],
        problem: str,
        *,
        line: int | None = None,
        text: str | bytes | None = None,
        expected: str | None = None,
    ) -> Self:
        """Make the error from its parts.

        The problem is a short clause, lines count from 1, the offending text is quoted and
        shortened, and `expected` is what should be there, or what to do.
        """
        where = f"{os.fspath(path)}, line {line}" if line is not None else os.fspath(path)
        message = f"{where}: {problem}"
        if text is not None:
            message += f": {shorten(text)}"
        if expected is not None:
            message += f". Expected {expected}"
        error = cls(message)
        error.path, error.line = Path(path), line
        return error


class ModelFileError(DsncError, ValueError):
    """A model cannot be read; the message says which file and key, what is wrong, what to do."""

    path: Path

    @classmethod
    def at(cls, path: str | os.PathLike[str], problem: str, *, expected: str | None = None) -> Self:
        """Make the error from the file, the problem, and what was expected."""
        message = f"{os.fspath(path)}: {problem}"
        error = cls(f"{message}. Expected {expected}" if expected is not None else message)
        error.path = Path(path)
        return error


class ModelWriteError(DsncError, OSError):
    """A model cannot be written: the disk is full or the folder not writable, for example."""


class ClusterError(DsncError, OSError):
    """A cluster cannot be reached, or cannot do what was asked."""


class DsncWarning(UserWarning):
    """Something works, but probably not as the user expects."""


def warn(message: str) -> None:
    """Issue a `DsncWarning` at the line outside of this package that called into it."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, DsncWarning, stacklevel=level)


def shorten(value: object) -> str:
    """Return a value as text for a message, cut to a readable length; strings are quoted."""
    if not isinstance(value, str | bytes):
        shown = repr(value)
        cut = f"{shown[:_SHOWN]}... ({len(shown)} characters)"
        return shown if len(shown) <= _SHOWN else cut
    if len(value) <= _SHOWN:
        return repr(value)
    unit = "bytes" if isinstance(value, bytes) else "characters"
    return f"{value[:_SHOWN]!r}... ({len(value)} {unit})"


def unknown_name(parameter: str, value: object, valid: Iterable[str]) -> InputError:
    """Return the error for an unknown name, with the most similar valid one.

    Examples
    --------
    >>> print(unknown_name("decoder", "linaer", ["linear", "table"]))
    decoder='linaer' is not known. Did you mean 'linear'? Valid: linear, table.
    """
    names = sorted(valid)
    hint = did_you_mean(str(value), names)
    return InputError(f"{parameter}={value!r} is not known.{hint} Valid: {', '.join(names)}.")


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """Return a question for a message; an empty string if no valid name is similar.

    Examples
    --------
    >>> did_you_mean("linaer", ["linear", "table"])
    " Did you mean 'linear'?"
    """
    close = difflib.get_close_matches(name[:_COMPARED], list(valid), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def require(module: str, *, extra: str, caller: str) -> ModuleType:
    """Import an optional dependency, or raise an error with the pip command that installs it.

    Parameters
    ----------
    module : str
        The module to import, such as ``"matplotlib.font_manager"``.
    extra : str
        The extra of this package that installs it.
    caller : str
        What needs it; opens the message.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f"{caller} needs {package!r}, which is not installed. Install it with: "
            f"pip install 'dsnc[{extra}]'"
        ) from error
