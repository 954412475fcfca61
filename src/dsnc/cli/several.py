"""Options that take several values in a row: ``--bits 12 24 36``."""

from typing import Any

from typer.core import TyperCommand


class Several(TyperCommand):
    """A command that reads ``--bits 12 24`` as ``--bits 12 --bits 24``; ``--bits=12 24``, too.

    An option of numbers ends where there is no number, so that arguments may follow it; one of
    words ends at the next option.
    """

    numbers: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    @classmethod
    def options(cls, *, numbers: tuple[str, ...] = (), words: tuple[str, ...] = ()) -> type[Any]:
        """Return the kind of command in which these options take several values."""
        return type("SeveralOf", (cls,), {"numbers": numbers, "words": words})

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
