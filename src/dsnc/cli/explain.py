"""``dsnc explain``: why rows get their labels."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dsnc.cli.common import (
    FirstIndex,
    Force,
    Model,
    escape,
    json_text,
    load_model,
    note,
    plain_errors,
    print_table,
)
from dsnc.cli.output import check_new_files
from dsnc.cli.table_options import takes_tables
from dsnc.errors import InputError, require

if TYPE_CHECKING:
    from rich.text import Text

    from dsnc.explanation import Explanation

_MOST_ROWS = 1000  # as of dsnc.explanation, which is not imported for help
_STYLES = ("", "", "", "bold", "bold underline")  # of shades, beside their colors


@takes_tables
def explain(
    model: Model,
    source: Annotated[
        str,
        typer.Argument(
            metavar="TEXT|INPUT",
            help="A text, or rows in a form that predict accepts: a file, a folder; - for stdin.",
        ),
    ],
    rows: Annotated[
        int,
        typer.Option(
            min=1, max=_MOST_ROWS, help="How many rows to explain, starting with the first."
        ),
    ] = 5,
    top: Annotated[
        int, typer.Option(min=1, help="How many features to show for the label and against it.")
    ] = 6,
    html: Annotated[
        Path | None,
        typer.Option(help="Write an HTML page, with texts in color; needs the extra report."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object for every row.")
    ] = False,
    force: Force = False,
    first_index: FirstIndex = None,
    table: Any = None,
) -> None:
    """Show why rows get their labels: what speaks for the best class against the second best.

    All terms add up to the difference of the two scores. On a terminal a text is shown in color:
    green speaks for the label, red against it.

    Example: dsnc explain model "night nurse, surgical ward"
    """
    check_new_files({"--html": html}, force=force)
    if html is not None:
        require("jinja2", extra="report", caller="dsnc explain --html")
    estimator = load_model(model, to_predict=True)
    if not hasattr(estimator, "explain"):
        raise InputError(
            f"{model} is of kind {estimator.kind!r}, which has no codes; explain needs a model "
            "with codes."
        )
    explained: list[Explanation] = []
    with plain_errors():
        for block in _blocks(estimator, source, rows, first_index, table or {}):
            explained += estimator.explain(block)
    if not explained:
        raise InputError(f"{source} has no rows.")
    if html is not None:
        from dsnc.explanation import explanation_page

        explanation_page(html, explained, title=f"Answers of {model.resolve().name}", top=top)
        note(f"page: {html}")
    for number, explanation in enumerate(explained):
        if as_json:
            typer.echo(json_text(explanation.as_dict()))
            continue
        if number:
            typer.echo("")
        _show(explanation, top)


def _blocks(
    estimator: Any, source: str, n_rows: int, first_index: int | None, table: dict[str, Any]
) -> Iterator[Any]:
    """Yield the first rows of a file; or a text, which is what no file is called."""
    from dsnc.cli.samples import stream_for
    from dsnc.data.readers import named_reader
    from dsnc.model import takes_text

    is_file = source == "-" or Path(source).exists() or bool(table)
    is_file = is_file or (" " not in source and named_reader(source) is not None)
    if takes_text(estimator) and not is_file:
        yield [_record(source)]
        return
    for block in stream_for(estimator, source, n_rows, first_index, table):
        n = block.shape[0] if hasattr(block, "shape") else len(block)
        yield block[: min(n, n_rows)]
        n_rows -= n
        if n_rows <= 0:
            return


def _record(text: str) -> Any:
    """Return an object of JSON as a record; everything else is a text."""
    try:
        return json.loads(text) if text.startswith("{") else text
    except ValueError:
        return text


def _show(explanation: "Explanation", top: int) -> None:
    from dsnc.explanation import words
    from dsnc.explanation.marks import shades

    if explanation.text is not None and sys.stdout.isatty():
        from rich.console import Console

        Console().print(colored(explanation), soft_wrap=True)
    elif explanation.text is not None:
        pieces = shades(explanation.text, explanation.marks)
        typer.echo("".join(escape(piece) for piece, _ in pieces))
    typer.echo(escape(words.headline(explanation)))
    typer.echo(words.who_decided(explanation))
    typer.echo(f"code {words.code_line(explanation)}\n")
    print_table(*words.candidate_table(explanation))
    if explanation.terms:
        typer.echo("")
        print_table(*words.term_table(explanation, top))


def colored(explanation: "Explanation") -> "Text":
    """Return a text in which green speaks for the label, and red against it."""
    from rich.text import Text

    from dsnc.explanation.marks import shades

    text = Text()
    for piece, shade in shades(explanation.text or "", explanation.marks):
        color = "green" if shade > 0 else "red"
        text.append(escape(piece), style=f"{_STYLES[abs(shade)]} {color}" if shade else "")
    return text
