"""``dsnc reproduce``: the paper's tables and figure, on any data."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dsnc.cli.commands import Several, name_among
from dsnc.cli.common import STATE, AsJson, complain, note, print_json, print_table
from dsnc.cli.config import assignment
from dsnc.cli.methods import option
from dsnc.cli.progress import interruptible
from dsnc.errors import require

if TYPE_CHECKING:
    from dsnc.paper.experiments import Plan


Preset = Literal["quick", "paper"]
WhichExperiment = Annotated[
    str,
    typer.Argument(
        parser=name_among("experiment"),
        metavar="NAME",
        help="accuracy (Table 2), latent (Table 3), cost (Figure 2), or all.",
    ),
]
WhichPreset = Annotated[
    Preset,
    typer.Option(
        help="quick: the paper's protocol for 24 bits, one seed and at most 200 classes, minutes. "
        "paper: everything."
    ),
]
Methods = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="What to compare; by default all.")
]
Select = Annotated[
    bool | None,
    typer.Option(
        "--select/--no-select",
        help="Choose learning rate and factor for each cell on validation rows, as the paper "
        "does (recipe paper). On by default.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Fix a parameter of all methods that have it: learning_rate=0.01 factor=0.001 "
        "adaptive=best weighting=tfidf ...",
    ),
]
Beside = Annotated[
    str | None,
    typer.Option(
        help="The paper's data set that DATA stands for, to show its figures: "
        "DMOZ-1K, DMOZ-12K, ALOI, IMAGENET."
    ),
]
Data = Annotated[str, typer.Option(help="A file, a folder, or a name from the catalog.")]
Bits = Annotated[list[int] | None, typer.Option(min=1, help="Code sizes: --bits 12 24 36.")]
Seeds = Annotated[list[int] | None, typer.Option(min=0, help="Seeds; one run for each.")]
Recipes = Annotated[
    list[str] | None, typer.Option(help="default (ours), paper (the authors'), or both.")
]
Epochs = Annotated[
    int | None, typer.Option(min=1, help="Maximum number of epochs, for every method.")
]
Classes = Annotated[
    int | None, typer.Option(min=2, help="Use a random subset of this many classes.")
]
Output = Annotated[Path, typer.Option("--output", "-o", help="The folder to write the records to.")]
Jobs = Annotated[int, typer.Option(min=1, help="Number of processes that run at a time.")]


class ReproduceCommand(Several):
    """Takes ``--bits 12 24 --methods dsnc mlp``."""

    numbers = ("--bits", "--seeds")
    words = ("--recipes", "--methods", "--set")


def reproduce(
    experiment: WhichExperiment,
    data: Data = "glyphs",
    preset: WhichPreset = "quick",
    bits: Bits = None,
    seeds: Seeds = None,
    recipes: Recipes = None,
    methods: Methods = None,
    select: Select = None,
    settings: Settings = None,
    epochs: Epochs = None,
    classes: Classes = None,
    beside: Beside = None,
    output: Output = Path("runs"),
    jobs: Jobs = 1,
    device: Annotated[str | None, option("device")] = None,
    as_json: AsJson = False,
) -> None:
    """Run the paper's experiments and print their tables.

    Every run leaves a record. A run that has one is not repeated, so the same command continues
    where it was interrupted.

    Example: dsnc reproduce accuracy --data glyphs --bits 12 24 36
    """
    from dsnc.cli.samples import check_data
    from dsnc.paper.experiments import EXPERIMENTS
    from dsnc.paper.experiments import reproduce as run

    require("torch", extra="torch", caller="dsnc reproduce")
    lists = {"bits": bits, "seeds": seeds, "recipes": recipes, "methods": methods}
    chosen: dict[str, Any] = {name: tuple(values) for name, values in lists.items() if values}
    chosen |= _given(n_classes=classes, select=select)
    plan = _plan(preset, chosen, _given(max_epochs=epochs, device=device), settings)
    names = list(EXPERIMENTS) if experiment == "all" else [experiment]
    check_data(data)
    kept = f"the finished runs are kept in {output}; the same command continues from there."
    with interruptible(lambda: kept):
        tables, records = run(
            names, data, plan, output, beside=beside, n_jobs=jobs, progress=not STATE.quiet
        )
    failed = tell_failures(records)
    if as_json:
        print_json([table.to_dict() for table in tables])
    else:
        for table in tables:
            _print(table)
    note(f"Next: dsnc report {output} -o report.html")
    if failed:
        raise typer.Exit(1)


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _plan(
    preset: Preset, chosen: dict[str, Any], fixed: dict[str, Any], settings: list[str] | None
) -> "Plan":
    """Return the preset's plan with what was chosen, and parameters that are fixed."""
    from dsnc.paper.experiments import PRESETS

    if preset == "quick":
        note("A quick look: --preset paper runs all classes, sizes, seeds and both recipes.")
    plan = PRESETS[preset]
    fixed |= dict(map(assignment, settings or []))
    return replace(plan, **chosen, settings={**plan.settings, **fixed})


def tell_failures(records: Iterable[Any]) -> bool:
    """Say which runs failed, and whether any did."""
    failed = [record for record in records if record.error]
    for record in failed:
        reason = record.error.strip().splitlines()[-1]
        complain(f"warning: failed, and left out: {record.definition.title}: {reason}")
    return bool(failed)


def _print(table: Any) -> None:
    typer.echo(f"\n{_plain(table.title)}\n")
    columns = [_plain(column) for column in table.columns]
    print_table(columns, [[_plain(cell.text) for cell in row] for row in table.rows])
    typer.echo("")
    for line in table.notes:
        typer.echo(_plain(line))


def _plain(text: str) -> str:
    """Return text without the marks of Markdown."""
    return text.replace("*", "")
