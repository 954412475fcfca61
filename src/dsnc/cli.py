"""The command line: ``dsnc data list | show | fetch``, ``dsnc warm-up``.

Commands import what they need when they run, so that ``dsnc --help`` is quick. Results go to
stdout, everything else to stderr; 0 is success, 1 a failure, 2 a wrong use.
"""

import json
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dsnc
from dsnc.errors import DsncError

if TYPE_CHECKING:
    from dsnc.data import Dataset
    from dsnc.data.catalog import Entry

app = typer.Typer(
    name="dsnc",
    help="Classification with very many classes through short binary codes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data_app = typer.Typer(help="Look at data: the catalog, or your own files.", no_args_is_help=True)
app.add_typer(data_app, name="data")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a machine to read.")]


def main() -> None:
    """Run the command line; an error is one paragraph, not a traceback."""
    try:
        app()
    except DsncError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(1)


@app.callback()
def _root(
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
    """Classification with very many classes through short binary codes."""


@app.command("warm-up")
def warm_up() -> None:
    """Compile the search kernels now, so that the first prediction need not (seconds, once)."""
    import time

    from dsnc.codes import warm_up

    begin = time.perf_counter()
    warm_up()
    typer.echo(f"The kernels are ready ({time.perf_counter() - begin:.1f} s).", err=True)


def _print_version() -> None:
    typer.echo(dsnc.__version__)
    raise typer.Exit


@data_app.command("list")
def list_data(as_json: AsJson = False) -> None:
    """List the data sets of the catalog.

    Example: dsnc data list
    """
    from dsnc.data.catalog import DATASETS

    if as_json:
        _print_json([_entry_fields(entry) for entry in DATASETS.values()])
        return
    rows = [
        [
            entry.name,
            _figure(entry.classes),
            _figure(entry.rows),
            _figure(entry.features),
            _where(entry),
            entry.title,
        ]
        for entry in DATASETS.values()
    ]
    _print_table(["name", "classes", "rows", "features", "here", "what"], rows)
    typer.echo("\nNext: dsnc data show NAME, dsnc data fetch NAME", err=True)


@data_app.command("show")
def show_data(
    name_or_path: Annotated[
        str, typer.Argument(help="A name of the catalog, a file, or a folder.", show_default=False)
    ],
    picture: Annotated[
        Path | None,
        typer.Option(help="Where to write a contact sheet, for data that are pictures."),
    ] = None,
    reader: Annotated[
        str | None, typer.Option(help="The file's format, when it is not recognized.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what is in a data set: its size, its classes, a picture.

    Example: dsnc data show glyphs --picture glyphs.png
    """
    from dsnc.data import DATASETS, load_dataset

    entry = None if Path(name_or_path).exists() else DATASETS.get(name_or_path)
    if entry is not None and not entry.is_here():
        _describe(entry, as_json)
        return
    dataset = load_dataset(name_or_path, reader=reader)
    if as_json:
        _print_json({**asdict(dataset.summary()), "source": dataset.source})
    else:
        _print_dataset(dataset)
    if picture is not None:
        from dsnc.report import contact_sheet

        typer.echo(f"picture: {contact_sheet(dataset, picture)}", err=True)


@data_app.command("fetch")
def fetch_data(
    name: Annotated[str, typer.Argument(help="A name of the catalog.", show_default=False)],
) -> None:
    """Download a data set; a broken-off download goes on where it stopped.

    Example: dsnc data fetch aloi
    """
    from dsnc.data import DATASETS, fetch

    folder = fetch(name)
    if DATASETS[name].builtin:
        typer.echo(f"{name} needs no download: it is made when it is loaded.")
    else:
        typer.echo(folder)


def _print_dataset(dataset: "Dataset") -> None:
    summary = dataset.summary()
    typer.echo(f"{dataset.name}: {dataset.source}\n")
    _print_table(["", ""], [list(line) for line in summary.lines()])
    shown = textwrap.shorten(", ".join(map(str, dataset.classes[:100])), 300, placeholder=" ...")
    typer.echo(f"\nclasses: {shown}")
    if dataset.is_text and len(dataset):
        typer.echo(f"first row: {textwrap.shorten(dataset.X[0], 300)}")


def _describe(entry: "Entry", as_json: bool) -> None:
    """Show what is known of a data set that is not on this machine."""
    if as_json:
        _print_json(_entry_fields(entry))
        return
    typer.echo(f"{entry.name}: {entry.title}\n")
    lines = [
        ["rows", _figure(entry.rows)],
        ["features", _figure(entry.features)],
        ["classes", _figure(entry.classes)],
        ["licence", entry.licence],
        ["homepage", entry.homepage],
        ["cite", entry.citation],
        ["here", _where(entry)],
    ]
    _print_table(["", ""], lines)
    typer.echo(f"\n{entry.instructions()}")
    if entry.note:
        typer.echo(entry.note)
    if entry.files:
        typer.echo(f"\nNext: dsnc data fetch {entry.name}", err=True)


def _entry_fields(entry: "Entry") -> dict[str, Any]:
    fields = asdict(entry)
    del fields["load"]
    return {**fields, "folder": str(entry.folder), "here": entry.is_here()}


def _where(entry: "Entry") -> str:
    if entry.builtin:
        return "built in"
    return "yes" if entry.is_here() else "by hand" if not entry.files else "no"


def _figure(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=1, ensure_ascii=False, default=str))


def _print_table(columns: list[str], rows: list[list[str]]) -> None:
    """Print aligned columns; a terminal folds them, a pipe gets them whole."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=any(columns), pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(width=None if sys.stdout.isatty() else 10_000)
    console.print(table)
