"""``dsnc data list | show | fetch``: look at data, the catalog's or one's own."""

import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dsnc.cli.commands import ListsNames
from dsnc.cli.common import AsJson, Force, Reader, note, print_json, print_table
from dsnc.cli.output import check_new_files
from dsnc.cli.quality import tell_quality
from dsnc.cli.table_options import takes_tables

if TYPE_CHECKING:
    from dsnc.data import Dataset
    from dsnc.data.catalog import Entry

app = typer.Typer(help="Look at data: the catalog, or your own files.", no_args_is_help=True)


@app.command("list")
def list_data(as_json: AsJson = False) -> None:
    """List the data sets in the catalog.

    Example: dsnc data list
    """
    from dsnc.data.catalog import DATASETS

    if as_json:
        print_json([_entry_fields(entry) for entry in DATASETS.values()])
        return
    rows = []
    for entry in DATASETS.values():
        figures = map(_figure, (entry.classes, entry.rows, entry.features))
        rows.append([entry.name, *figures, _where(entry), entry.title])
    print_table(["name", "classes", "rows", "features", "here", "what"], rows)
    note("\nNext: dsnc data show NAME, dsnc data fetch NAME")


@app.command("show", cls=ListsNames)
@takes_tables
def show_data(
    name_or_path: Annotated[
        str,
        typer.Argument(help="A name from the catalog, a file, or a folder.", show_default=False),
    ],
    picture: Annotated[
        Path | None,
        typer.Option(help="Where to write a contact sheet, if the data are pictures."),
    ] = None,
    force: Force = False,
    reader: Reader = None,
    as_json: AsJson = False,
    table: Any = None,
) -> None:
    """Show what is in a data set: its size, its classes, what looks wrong in it, a picture.

    Example: dsnc data show glyphs --picture glyphs.png
    """
    from dsnc.data import DATASETS, load_dataset

    check_new_files({"--picture": picture}, force=force)
    entry = None if Path(name_or_path).exists() else DATASETS.get(name_or_path)
    if entry is not None and not entry.is_here():
        _describe(entry, as_json)
        return
    dataset = load_dataset(name_or_path, reader=reader, **(table or {}))
    if not as_json:
        _print_dataset(dataset)
    quality = [asdict(finding) for finding in tell_quality(dataset)]
    if as_json:
        print_json({**asdict(dataset.summary()), "source": dataset.source, "quality": quality})
    if picture is not None:
        from dsnc.pictures import contact_sheet

        note(f"picture: {contact_sheet(dataset, picture)}")


@app.command("fetch")
def fetch_data(
    name: Annotated[str, typer.Argument(help="A name from the catalog.", show_default=False)],
) -> None:
    """Download a data set.

    Example: dsnc data fetch aloi
    """
    from dsnc.data import DATASETS, fetch

    folder = fetch(name)
    if DATASETS[name].builtin:
        typer.echo(f"{name} needs no download: it is generated when it is loaded.")
    else:
        typer.echo(folder)


def _print_dataset(dataset: "Dataset") -> None:
    summary = dataset.summary()
    typer.echo(f"{dataset.name}: {dataset.source}\n")
    print_table(["", ""], [list(line) for line in summary.lines()])
    shown = textwrap.shorten(", ".join(map(str, dataset.classes[:100])), 300, placeholder=" ...")
    typer.echo(f"\nclasses: {shown}")
    if dataset.is_text and len(dataset):
        typer.echo(f"first row: {textwrap.shorten(dataset.X[0], 300)}")


def _describe(entry: "Entry", as_json: bool) -> None:
    """Show what is known of a data set that is not on this machine."""
    if as_json:
        print_json(_entry_fields(entry))
        return
    typer.echo(f"{entry.name}: {entry.title}\n")
    lines = [
        ["rows", _figure(entry.rows)],
        ["features", _figure(entry.features)],
        ["classes", _figure(entry.classes)],
        ["license", entry.licence],
        ["homepage", entry.homepage],
        ["cite", entry.citation],
        ["here", _where(entry)],
    ]
    print_table(["", ""], lines)
    typer.echo(f"\n{entry.instructions()}")
    if entry.note:
        typer.echo(entry.note)
    if entry.files:
        note(f"\nNext: dsnc data fetch {entry.name}")


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
