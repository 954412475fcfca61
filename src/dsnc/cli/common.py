"""What all commands share: where output goes, how figures look, options that mean the same."""

import codecs
import json
import logging
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from dsnc.errors import DsncError, InputError

AsJson = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON.")]
Reader = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Format of the data, if it is not recognized."),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a trained model.")]
FirstIndex = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=1,
        help="Number of the first feature in svmlight lines; by default as in training, if known.",
    ),
]

Source = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="A file of texts, a table, svmlight or numbers, .npy, .npz, a folder; - for stdin.",
    ),
]
Batch = Annotated[int, typer.Option("--batch", min=1, help="Maximum number of rows at a time.")]
WholeFile = Annotated[
    Path | None, typer.Option("--output", "-o", help="The file to write, completely or not at all.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace what exists.")]
Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A file, a folder, or a name from the catalog.")
]
Validation = Annotated[
    str | None, typer.Option(help="Rows that choose the best model; by default, a share of DATA.")
]
ConfigFile = Annotated[
    Path | None, typer.Option(help="A TOML file of settings; options override it.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other parameter of the estimator, such as hidden=[512], or of its text features: "
        "text.words=[1,3].",
    ),
]

_UNSEEN = (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)  # ends of lines, terminal codes
_ESCAPES = {code: chr(code).encode("unicode_escape").decode() for code in _UNSEEN}
_BACKSLASH = {ord("\\"): r"\\"}
_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in _UNSEEN if code >= 0x7F}


class InterruptedRun(BaseException):
    """Ctrl-C or SIGTERM, with a sentence about what is kept, and the number of the signal.

    No `KeyboardInterrupt`: the training loop would catch that, and go on to choose a decoder.
    """

    def __init__(self, said: str = "", number: int = signal.SIGINT) -> None:
        super().__init__(said)
        self.number = number


@dataclass
class _State:
    quiet: bool = False
    verbose: bool = False
    debug: bool = False


STATE = _State()
"""How much is said; set anew by every run of the command line."""


def configure(*, quiet: bool, verbose: bool, debug: bool) -> None:
    """Set how much is said."""
    STATE.quiet, STATE.verbose, STATE.debug = quiet and not verbose, verbose, debug
    for stream in (sys.stdout, sys.stderr):  # a terminal may lack a letter of a label
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    logger = logging.getLogger("dsnc")
    logger.handlers = [_Notes()]
    logger.setLevel(logging.INFO if verbose else logging.NOTSET)
    logger.propagate = not verbose


class _Notes(logging.Handler):
    """Shows what modules log as notes."""

    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


def note(text: str) -> None:
    """Say something besides the result, unless the user wants quiet."""
    if text and not STATE.quiet:
        typer.echo(text, err=True)


def complain(text: str) -> None:
    """Say what the user must know, in any case."""
    typer.echo(text, err=True)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    typer.echo(json_text(value, indent=1))


def json_text(value: Any, *, indent: int | None = None, encoding: str | None = None) -> str:
    """Return a value as JSON that an encoding can hold, by default that of stdout."""
    encoding = encoding or getattr(sys.stdout, "encoding", None) or "ascii"
    is_utf8 = codecs.lookup(encoding).name == "utf-8"
    text = json.dumps(value, indent=indent, ensure_ascii=not is_utf8, default=str)
    return text.translate(_JSON_ESCAPES)


def escape(label: Any, *, backslash: bool = True) -> str:
    r"""Return a label that fits into a cell of a line, and gives a terminal no orders.

    `backslash` says whether backslashes are doubled.

    Examples
    --------
    >>> print(escape("a\tb"))
    a\tb
    """
    return str(label).translate(_ESCAPES | _BACKSLASH if backslash else _ESCAPES)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print aligned columns; a terminal folds them, a pipe gets them whole."""
    rows = [[escape(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        lines = [list(columns), *map(list, rows)] if any(columns) else list(map(list, rows))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            typer.echo("  ".join(cells).rstrip())
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=any(columns), pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def percent(share: float) -> str:
    """Return a share as people read it."""
    return f"{100 * share:.2f} %"


def size(n_bytes: int) -> str:
    """Return a number of bytes as people read it."""
    from rich.filesize import decimal

    return decimal(n_bytes)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what scikit-learn says about bad input into an error of ours: it is the user's data."""
    try:
        yield
    except DsncError:
        raise
    except ValueError as error:
        message = " ".join(str(error).split("\n")[0].split()).rstrip(".")
        raise InputError(f"{message}.") from error


def load_model(path: Path, *, to_predict: bool = False) -> Any:
    """Load a model; what is not a model is said at once.

    To predict, it need not be an estimator: importing scikit-learn takes longer than the rest.
    """
    import dsnc

    check_model(path)
    model = None
    if to_predict:
        from dsnc.model import read_fitted

        model = read_fitted(path)
    return dsnc.load(path) if model is None else model


def check_model(path: Path) -> None:
    """Refuse what is no folder."""
    if not path.is_dir():
        what = "is a file" if path.exists() else "does not exist"
        raise InputError(f"{path} {what}; give the folder of a model that dsnc train -o wrote.")
