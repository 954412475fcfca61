"""Options about tables, the same in every command that reads one."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

TABLE_OPTIONS: dict[str, tuple[Any, str]] = {
    "label_column": (str | None, "The column of labels: its name, or its number, counted from 0."),
    "label_separator": (
        str | None,
        "What separates labels in a cell, such as '|'; rows then have label sets.",
    ),
    "text_column": (list[str] | None, "The column of texts; several are joined."),
    "id_column": (str | None, "A column that identifies rows and is not learned from."),
    "number_column": (list[str] | None, "A column of numbers to learn from, in addition to texts."),
    "category_column": (
        list[str] | None,
        "A column of categories (few different texts) to learn from.",
    ),
    "missing": (str | None, "Missing numbers: refuse (default), zero, mean, or drop the row."),
    "header": (
        bool | None,
        "Whether the first row names the columns; by default, its cells decide.",
    ),
    "delimiter": (str | None, "The character between cells, if it is not recognized."),
    "encoding": (str | None, "Encoding of the text; utf-8 by default."),
    "decode_errors": (
        str | None,
        "Bytes that are invalid in the encoding: strict (default) refuses them, replace does not.",
    ),
}
"""Parameter of `dsnc.data.load_dataset` to its type and help."""


def takes_tables(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options about tables; they reach it as the dict ``table``."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        given = {name: options.pop(name, None) for name in TABLE_OPTIONS}
        command(*arguments, **options, table=plain(given))

    signature = inspect.signature(command, eval_str=True)
    own = [p for p in signature.parameters.values() if p.name != "table"]
    added = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[kind, typer.Option(help=text, rich_help_panel="Tables")],
        )
        for name, (kind, text) in TABLE_OPTIONS.items()
    ]
    run.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (*own, *added)}
    return run


def plain(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given, a tab as a tab."""
    told = {name: value for name, value in given.items() if value not in (None, [])}
    if "delimiter" in told:
        told["delimiter"] = told["delimiter"].replace("\\t", "\t").replace("tab", "\t")
    return told
