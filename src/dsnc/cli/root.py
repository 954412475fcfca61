"""The root: which commands there are, what all of them share, and how errors are told.

A new command is a function in a file of its own and a line at the end of this one.
"""

import contextlib
import gc
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import dsnc
from dsnc.cli.commands import (
    in_options,
    in_plain_words,
    name_nearest_option,
    show_no_type_of_flags,
)
from dsnc.cli.common import STATE, InterruptedRun, complain, configure
from dsnc.errors import DsncError, DsncWarning

_EVERYWHERE = ("--quiet", "-q", "--verbose", "-v", "--debug")
_PIPE_CLOSED = 128 + 13  # what the shell calls a program that SIGPIPE ended


class Root(TyperGroup):
    """A group whose failures are one paragraph, and whose own flags may stand anywhere."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the flags of the root from wherever they stand, up to a ``--``."""
        end = args.index("--") if "--" in args else len(args)
        front = [arg for arg in args[:end] if arg in _EVERYWHERE]
        others = [arg for arg in args[:end] if arg not in _EVERYWHERE]
        self.asked: Any = self  # the command, in whose options it is said what went wrong
        for word in others:
            self.asked = getattr(self.asked, "commands", {}).get(word, self.asked)
        return super().parse_args(ctx, front + others + args[end:])

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Show flags as such."""
        show_no_type_of_flags(self, ctx)
        super().format_help(ctx, formatter)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command whose help shows flags as such."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            show_no_type_of_flags(command, ctx)
        return command

    def invoke(self, ctx: Any) -> Any:
        """Run the command; say what went wrong in words."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", DsncWarning)
                warnings.showwarning = partial(_show_warning, self.asked)
                result = super().invoke(ctx)
                sys.stdout.flush()  # here a closed pipe can still be told from a failure
            return result
        except BrokenPipeError:
            _forget_stdout()
            raise typer.Exit(_PIPE_CLOSED) from None
        except (KeyboardInterrupt, InterruptedRun) as error:
            complain(f"interrupted: {error}" if str(error) else "interrupted")
            raise typer.Exit(128 + getattr(error, "number", signal.SIGINT)) from None
        except Exception as error:
            if _is_typers(error):
                in_plain_words(error)
                name_nearest_option(error)
                raise
            if STATE.debug:
                traceback.print_exc()
            complain(in_options(_in_words(error), self.asked))
            raise typer.Exit(1) from None


# In the order in which they are met: the module of each, its function, and its kind if not typer's.
_COMMANDS: dict[str, tuple[str, str, str]] = {
    "demo": ("demo", "demo", ""),
    "train": ("train", "train", "TrainCommand"),
    "evaluate": ("evaluate", "evaluate", "EvaluateCommand"),
    "predict": ("predict", "predict", ""),
    "encode": ("encode", "encode", ""),
    "explain": ("explain", "explain", ""),
    "inspect": ("inspect", "inspect_model", ""),
    "serve": ("serve", "serve", ""),
    "tune": ("tune", "tune", "TuneCommand"),
    "reproduce": ("reproduce", "reproduce", "ReproduceCommand"),
    "report": ("report", "report", ""),
    "classes": ("classes", "app", ""),
    "data": ("data", "app", ""),
    "version": ("about", "version", ""),
}


def make_app(words: Sequence[str] = ()) -> typer.Typer:
    """Return the command line; if its words name a command, with nothing but this one.

    One line to predict would otherwise wait for the code of all the others.
    """
    app = typer.Typer(
        name="dsnc",
        cls=Root,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="--quiet, --verbose and --debug may appear anywhere. "
        "Help for a command: dsnc train -h",
    )
    app.callback()(_root)
    first = next((word for word in words if not word.startswith("-")), "")
    for name in [first] if first in _COMMANDS else _COMMANDS:
        place, function, kind = _COMMANDS[name]
        module = import_module(f"dsnc.cli.{place}")
        part = getattr(module, function)
        if isinstance(part, typer.Typer):
            app.add_typer(part, name=name)
        else:
            app.command(name, cls=getattr(module, kind) if kind else None)(part)
    return app


def main() -> None:
    """Run the command line."""
    gc.set_threshold(100_000)  # what is imported stays: looking for garbage there takes a tenth
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:  # what is half done is cleared away
        signal.signal(signal.SIGTERM, _end)
    completes = "_DSNC_COMPLETE" in os.environ  # of which nobody knows how far it is typed
    make_app(() if completes else sys.argv[1:])()


def _end(number: int, _: Any) -> None:
    raise InterruptedRun(number=number)


def _is_typers(error: Exception) -> bool:
    """Tell errors that typer shows itself: wrong use, and the wish to end."""
    return isinstance(error, typer.Exit | typer.Abort) or hasattr(error, "exit_code")


def _in_words(error: Exception) -> str:
    """Return one paragraph about what went wrong."""
    if isinstance(error, DsncError):
        return f"error: {error}"
    if isinstance(error, OSError) and error.filename is not None:
        return f"error: {error.filename}: {(error.strerror or str(error)).lower()}."
    if isinstance(error, MemoryError):
        return "error: there is not enough memory. Try fewer rows, fewer bits, or smaller batches."
    message = " ".join(str(error).split())
    said = f"unexpected error: {type(error).__name__}: {message}" if message else "unexpected error"
    if STATE.debug:
        return f"{said}. Please report it with the lines above."
    return f"{said}. Run the same command with --debug and report what it prints."


def _show_warning(asked: Any, message: Any, category: type[Warning], *place: Any) -> None:
    """Show our own warnings as sentences; those of other packages only to who wants details."""
    if issubclass(category, DsncWarning):
        complain(in_options(f"warning: {message}", asked))
    elif STATE.verbose:
        complain(f"warning: {category.__name__}: {message}")


def _forget_stdout() -> None:
    """Let nothing more be written to a pipe that nobody reads, not even at the end."""
    with contextlib.suppress(OSError, ValueError):  # stdout may be no file, or closed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _root(
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show results and errors only.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print more about what is being done.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=lambda wanted: _print_version() if wanted else None,
            is_eager=True,
            help="Print the version and stop.",
        ),
    ] = False,
) -> None:
    """Classification with very many classes through short binary codes.

    Start: dsnc train titles.tsv -o model, then echo "night nurse" | dsnc predict model -
    """
    configure(quiet=quiet, verbose=verbose, debug=debug)


def _print_version() -> None:
    typer.echo(dsnc.__version__)
    raise typer.Exit
