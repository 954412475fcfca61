"""``dsnc tune``: choose parameters on validation accuracy."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsnc.cli.common import (
    STATE,
    AsJson,
    InterruptedRun,
    Reader,
    note,
    percent,
    plain_errors,
    print_json,
    print_table,
)
from dsnc.cli.several import Several
from dsnc.errors import require
from dsnc.progress import settings_text

if TYPE_CHECKING:
    from dsnc.tuning import TuningResult


def tune(  # the options of the command, one parameter each
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A file, a folder, or a name of the catalog.")
    ],
    space: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="What to choose: learning_rate=1e-3..1e-1:log n_bits=24,36,64 hidden.. "
            "factor is beta and gamma together. Without: learning_rate and factor, as the paper.",
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="A TOML file of the other settings, as for dsnc train.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any other parameter, for all trials."),
    ] = None,
    validation: Annotated[
        str | None, typer.Option(help="Rows that decide; without, a share of DATA does.")
    ] = None,
    reader: Reader = None,
    trials: Annotated[int, typer.Option(min=1, help="Of the whole study.")] = 20,
    time_limit: Annotated[
        str | None, typer.Option(help="Begin no trial after this time: 600, 10m, 2h.")
    ] = None,
    study: Annotated[
        Path | None, typer.Option(help="A file that keeps the study, to go on with it later.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes; several need --study.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write the best settings as a TOML file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Choose parameters by the best validation accuracy; hopeless trials end early.

    Example: dsnc tune titles.tsv --space learning_rate=1e-3..1e-1:log n_bits=32,64 -o best.toml
    """
    from dsnc.cli import config as c
    from dsnc.cli.methods import kind_of
    from dsnc.cli.output import check_folder_of
    from dsnc.cli.samples import known_rows, load_parts, rows_of
    from dsnc.files import write_whole
    from dsnc.tuning import PAPER_SPACE
    from dsnc.tuning import tune as run

    whole = c.read_config(config) if config is not None else c.Config()
    for assignment in settings or []:
        c.set_option(whole, assignment)
    whole.check("")
    if output is not None:
        if output.exists():
            raise typer.BadParameter(f"{output} exists; choose another file.", param_hint="-o")
        check_folder_of(output)
    parameters = whole.estimator_parameters()
    if whole.text:
        parameters["text"] = whole.text_settings()
    model = kind_of(whole.method)(**parameters)
    ranges = dict(_range(item) for item in space) if space else dict(PAPER_SPACE)
    require("torch", extra="torch", caller="dsnc tune")
    parts = load_parts(data, reader, validation, None)
    held_out = None
    if parts.validation is not None and len(parts.validation):
        held_out = known_rows(parts.validation, parts.train.labels)
    try:
        with plain_errors():
            found = run(
                model,
                rows_of(parts.train),
                parts.train.labels,
                space=ranges,
                validation=held_out,
                n_trials=trials,
                time_limit=None if time_limit is None else c.seconds_of(time_limit),
                study=study,
                n_jobs=jobs,
                random_state=seed,
                progress=not STATE.quiet,
            )
    except KeyboardInterrupt:
        kept = f"the trials are kept in {study}" if study else "give --study FILE to keep trials"
        raise InterruptedRun(f"{kept}; the same command goes on from there.") from None
    if as_json:
        best = {"parameters": found.parameters, "validation_accuracy": found.accuracy}
        print_json({**best, "trials": found.trials})
    else:
        _print_trials(found, ranges)
    if output is not None:
        whole.model |= found.parameters
        write_whole(output, c.print_config(whole).encode())
        note(f"Next: dsnc train {data} --config {output} -o model")


def _print_trials(found: "TuningResult", names: Iterable[str]) -> None:
    rows = [
        [
            str(trial["number"]),
            trial["state"],
            "" if trial["accuracy"] is None else percent(trial["accuracy"]),
            settings_text({name: trial[name] for name in names if name in trial}),
        ]
        for trial in found.trials
    ]
    print_table(["trial", "", "validation", "parameters"], rows)
    typer.echo(f"\nbest: {percent(found.accuracy)} with {settings_text(found.parameters)}")


def _range(item: str) -> tuple[str, object]:
    """Read NAME=VALUES: a list, or a range."""
    from dsnc.cli.config import value_of

    name, equals, values = item.partition("=")
    if not equals or not values:
        raise typer.BadParameter(
            f"{item!r} has no values; write learning_rate=1e-3..1e-1:log or n_bits=24,64.",
            param_hint="--space",
        )
    if ".." in values:
        return name, values.replace(":log", " log")
    return name, [value_of(value.strip()) for value in values.split(",")]


TuneCommand = Several.options(words=("--space", "--set"))
