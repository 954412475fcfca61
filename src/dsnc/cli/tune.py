"""``dsnc tune``: choose parameters on validation accuracy."""

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dsnc.cli import config as c
from dsnc.cli.commands import Several
from dsnc.cli.common import (
    STATE,
    AsJson,
    ConfigFile,
    Data,
    Force,
    Reader,
    Settings,
    Validation,
    note,
    percent,
    plain_errors,
    print_json,
    print_table,
)
from dsnc.cli.output import check_output
from dsnc.cli.progress import interruptible
from dsnc.cli.table_options import takes_tables
from dsnc.errors import InputError, require
from dsnc.progress import settings_text

if TYPE_CHECKING:
    from dsnc.tuning import TuningResult

Space = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUES",
        help="What to choose, such as learning_rate=1e-3..1e-1:log n_bits=24,36,64. factor "
        "stands for beta and gamma together. By default learning_rate and factor, as in the paper.",
    ),
]
Trials = Annotated[int, typer.Option(min=1, help="Number of trials in the whole study.")]
TimeLimit = Annotated[
    str | None, typer.Option(help="Start no more trials after this time: 600, 10m, 2h.")
]
Study = Annotated[
    Path | None, typer.Option(help="A file that keeps the study, so that it can be continued.")
]
Jobs = Annotated[int, typer.Option(min=1, help="Processes; several need --study.")]
Seed = Annotated[int, typer.Option(min=0, help="Random seed of the search.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Where to write the best settings as a TOML file."),
]


class TuneCommand(Several):
    """Takes ``--space A=1,2 B=3,4``."""

    words = ("--space", "--set")


@takes_tables
def tune(
    data: Data,
    space: Space = None,
    config: ConfigFile = None,
    settings: Settings = None,
    validation: Validation = None,
    reader: Reader = None,
    trials: Trials = 20,
    time_limit: TimeLimit = None,
    study: Study = None,
    jobs: Jobs = 1,
    seed: Seed = 0,
    output: Output = None,
    force: Force = False,
    as_json: AsJson = False,
    table: Any = None,
) -> None:
    """Choose parameters by validation accuracy; hopeless trials end early.

    Example: dsnc tune titles.tsv --space learning_rate=1e-3..1e-1:log n_bits=32,64 -o best.toml
    """
    from dsnc.cli.samples import known_rows, load_parts, rows_of
    from dsnc.files import write_whole
    from dsnc.tuning import PAPER_SPACE
    from dsnc.tuning import tune as run

    whole = c.read_config(config)
    c.set_parameters(whole, settings)
    if output is not None:
        with contextlib.suppress(OSError):  # why it fails is said below
            output.parent.mkdir(parents=True, exist_ok=True)
        check_output(output, force=force)
    model = whole.make_model()
    ranges = dict(_range(item) for item in space) if space else dict(PAPER_SPACE)
    require("torch", extra="torch", caller="dsnc tune")
    require("optuna", extra="tune", caller="dsnc tune")
    reading = {**whole.reading, **(table or {})} | ({"reader": reader} if reader else {})
    parts = load_parts(data, reading, validation)
    if parts.train.is_multilabel:
        raise InputError(
            f"{data} has label sets, which dsnc tune does not support; choose parameters with "
            "scikit-learn's GridSearchCV and dsnc.DSNCMultiLabelClassifier."
        )
    labels = parts.train.labels
    held_out = known_rows(parts.validation, parts.train) if len(parts.validation) else None
    kept = f"the trials are kept in {study}; the same command continues from there."
    kept = kept if study else "to keep trials, give --study FILE."
    with interruptible(lambda: kept), plain_errors():
        found = run(
            model,
            rows_of(parts.train),
            labels,
            space=ranges,
            validation=held_out,
            n_trials=trials,
            time_limit=None if time_limit is None else c.seconds_of(time_limit),
            study=study,
            n_jobs=jobs,
            random_state=seed,
            progress=not STATE.quiet,
        )
    if as_json:
        best = {"parameters": found.parameters, "validation_accuracy": found.accuracy}
        print_json({**best, "trials": found.trials})
    else:
        _print_trials(found, ranges)
    if output is not None:
        whole.model |= found.parameters
        whole.table |= table or {}
        whole.train |= {  # what decided here decides there, too
            name: given
            for name, given in (("validation", validation), ("reader", reader))
            if given is not None
        }
        write_whole(output, c.config_text(whole).encode())
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
    name, equals, values = item.partition("=")
    if not equals or not values:
        raise typer.BadParameter(
            f"{item!r} has no values; write learning_rate=1e-3..1e-1:log or n_bits=24,64.",
            param_hint="--space",
        )
    if ".." in values:
        return name, values.replace(":log", " log")
    return name, [c.value_of(value.strip()) for value in values.split(",")]
