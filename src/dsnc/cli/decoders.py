"""The option ``--decoder``: every decoder that is registered, by name or with settings."""

from typing import Any

import typer
from typer.core import TyperCommand

from dsnc.errors import InputError


def decoder_option(help_: str, **options: Any) -> Any:
    """Return the option; a value is a name, or a table such as ``{name="shortlist", size=50}``."""
    return typer.Option(
        "--decoder", parser=_parse, metavar="NAME", autocompletion=_names, help=help_, **options
    )


class ListsDecoders(TyperCommand):
    """A command whose help lists the decoders that there are."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Look the names up now: who does not ask for help does not wait for numpy."""
        for option in self.params:
            if option.name == "decoder":
                option.metavar = f"[{'|'.join(_names())}]"
        super().format_help(ctx, formatter)


def _names() -> list[str]:
    from dsnc.decoders import decoder_names

    return decoder_names()


def _parse(text: str) -> Any:
    from dsnc.cli.config import value_of
    from dsnc.decoders import parse_decoder

    choice = value_of(text)
    try:
        parse_decoder(choice)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error
    return choice
