"""Kinds of commands that typer does not have, options of parts, and unknown options."""

import difflib
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand

from dsnc.cli.methods import method_names
from dsnc.errors import InputError, unknown_name

_PARAMETER = re.compile(  # what stands in quotes is the user's
    r"(?<!\w)(?:'[^']*'|\"[^\"]*\")|(?<![\w.-])(?<!\] )"
    r"(?P<name>[a-z]\w*)=(?P<value>'[^']*'|\S*?(?=[.,;:)]*(?:\s|$)))"
)

_IN_PYTHON = {"overwrite": "force", "k": "top_k", "n_jobs": "jobs", "random_state": "seed"}


# Imported when a name is asked for: who wants no help does not wait for numpy.
_NAMES: dict[str, Callable[[], list[str]]] = {
    "decoder": lambda: import_module("dsnc.decoders").decoder_names(),
    "experiment": lambda: [*import_module("dsnc.paper.experiments").EXPERIMENTS, "all"],
    "method": method_names,
    "methods": lambda: [*import_module("dsnc.paper.experiments").METHODS],
    "reader": lambda: sorted(import_module("dsnc.data").READERS),
}


class ListsNames(TyperCommand):
    """A command whose help lists the decoders, readers and methods that there are."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Look the names up now."""
        for option in self.params:
            if option.name in _NAMES:
                names = "|".join(_NAMES[option.name]())
                option.metavar = f"[{names}]" if option.param_type_name == "option" else names
        super().format_help(ctx, formatter)


class Several(ListsNames):
    """A command that reads ``--bits 12 24`` as ``--bits 12 --bits 24``; ``--bits=12 24``, too.

    An option of numbers ends where there is no number, so that arguments may follow it; one of
    words ends at the next option.
    """

    numbers: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the option before each of its values."""
        spread: list[str] = []
        current: str | None = None  # the option whose values we are among
        for arg in args:
            if arg.startswith("-"):
                name = arg.partition("=")[0]
                current = name if name in self.numbers + self.words else None
            elif current is not None and spread[-1] != current:
                if current in self.words or arg.isdigit():
                    spread.append(current)
                else:
                    current = None
            spread.append(arg)
        return super().parse_args(ctx, spread)


def show_no_type_of_flags(command: Any, ctx: Any) -> None:
    """Let the help of a command, or a group of them, show flags without ``<bool>``."""
    for option in command.get_params(ctx):
        if getattr(option, "is_flag", False):
            option.metavar = ""
    for child in getattr(command, "commands", {}).values():
        show_no_type_of_flags(child, ctx)


def name_nearest_option(error: Any) -> None:
    """Let the error about an unknown option name the nearest one.

    By its letters, by the parameter of Python (``--n-bits``), or by initials (``--lr``).
    """
    if not hasattr(error, "possibilities") or error.ctx is None:
        return
    known: dict[str, str] = {}
    for option in error.ctx.command.get_params(error.ctx):
        for name in (n for n in (*option.opts, *option.secondary_opts) if n.startswith("--")):
            words = name.strip("-").split("-")
            known.setdefault("".join(word[0] for word in words if len(words) > 1), name)
            known.setdefault((option.name or "").replace("_", "-"), name)
            known["-".join(words)] = name
    asked = error.option_name.strip("-").replace("_", "-").lower()
    near = [asked] if asked in known else difflib.get_close_matches(asked, known, n=1)
    error.possibilities = [known[name] for name in near]


def in_plain_words(error: Any) -> None:
    """Leave out of an error about an option what typer takes over from pydantic."""
    if hasattr(error, "message"):
        error.message = error.message.removeprefix("Value error, ")


def in_options(message: str, command: Any) -> str:
    """Return a message of the library in words of a command: ``reader='x'`` as ``--reader 'x'``."""
    options = options_by_parameter(command)

    def said(found: re.Match[str]) -> str:
        name, value = found["name"], found["value"]
        if name not in options:
            return found[0]
        yes, no = options[name]
        if value in ("True", "False"):
            return yes if value == "True" else no
        return f"{yes} {value}".rstrip()

    return _PARAMETER.sub(said, message)


def options_by_parameter(command: Any) -> dict[str, tuple[str, str]]:
    """Return what each parameter is called by a command: its option, and that of False.

    A group has the options of all its commands.
    """
    found: dict[str, tuple[str, str]] = {}
    for option in (p for p in command.params if p.param_type_name == "option"):
        found[option.name] = option.opts[0], (option.secondary_opts or option.opts)[0]
    for name, own in _IN_PYTHON.items():
        if own in found:
            found.setdefault(name, found[own])
    for child in getattr(command, "commands", {}).values():
        found = {**options_by_parameter(child), **found}
    return found


def decoder_option(help_: str, **options: Any) -> Any:
    """Return the option; a value is a name, or a table such as ``{name="shortlist", size=50}``."""
    return typer.Option(
        "--decoder",
        parser=_parse_decoder,
        metavar="NAME",
        autocompletion=_NAMES["decoder"],
        help=help_,
        **options,
    )


def reranker_option(help_: str, **options: Any) -> Any:
    """Return the option; a value is a name, or a table such as ``{budget=1000000}``."""
    return typer.Option(
        "--reranker",
        parser=_parse_reranker,
        metavar="[auto|features|none]",
        help=help_,
        **options,
    )


def _parse_reranker(text: str) -> Any:
    from dsnc.selection.second_stage import parse_reranker

    return _parsed(text, parse_reranker)


def name_among(family: str) -> Callable[[str], str]:
    """Return what refuses a text that is no name of a family."""

    def parse(text: str) -> str:
        if text not in (names := _NAMES[family]()):
            raise typer.BadParameter(str(unknown_name(family, text, names)))
        return text

    return parse


def _parse_decoder(text: str) -> Any:
    from dsnc.decoders import parse_decoder

    return _parsed(text, parse_decoder)


def _parsed(text: str, parse: Any) -> Any:
    """Return a name or a table of settings, or refuse what `parse` refuses."""
    from dsnc.cli.config import value_of

    choice = value_of(text)
    try:
        parse(choice)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error
    return choice
