"""``dsnc train``: the options, and what they make of the settings of a run."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dsnc.cli.common import AsJson, Reader
from dsnc.cli.decoders import decoder_option
from dsnc.cli.methods import ClassWeight, Encoder, Method, option_help
from dsnc.errors import InputError

_MODEL, _RUN = "The model", "The run"


def train(  # the options of the command, one parameter each
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA", help="What to learn from: a file, a folder, or a catalog's name."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="MODEL", help="The folder to write the model to."),
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(help="Rows that choose the best epoch; without, a share of DATA does."),
    ] = None,
    test: Annotated[str | None, typer.Option(help="Rows that are measured at the end.")] = None,
    reader: Reader = None,
    method: Annotated[
        Method | None,
        typer.Option(help="What to train: dsnc (default), or a baseline.", rich_help_panel=_MODEL),
    ] = None,
    bits: Annotated[
        int | None, typer.Option(min=1, help=option_help("n_bits"), rich_help_panel=_MODEL)
    ] = None,
    encoder: Annotated[
        Encoder | None, typer.Option(help=option_help("encoder"), rich_help_panel=_MODEL)
    ] = None,
    decoder: Annotated[Any, decoder_option(option_help("decoder"), rich_help_panel=_MODEL)] = None,
    beta: Annotated[
        float | None, typer.Option(help=option_help("beta"), rich_help_panel=_MODEL)
    ] = None,
    gamma: Annotated[
        float | None, typer.Option(help=option_help("gamma"), rich_help_panel=_MODEL)
    ] = None,
    label_smoothing: Annotated[
        float | None, typer.Option(help=option_help("label_smoothing"), rich_help_panel=_MODEL)
    ] = None,
    class_weight: Annotated[
        ClassWeight | None, typer.Option(help=option_help("class_weight"), rich_help_panel=_MODEL)
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any other parameter, as --print-config names it: hidden=[512], text.words=[1,3].",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help=option_help("max_epochs"), rich_help_panel=_RUN)
    ] = None,
    learning_rate: Annotated[
        str | None, typer.Option(help=option_help("learning_rate"), rich_help_panel=_RUN)
    ] = None,
    batch_size: Annotated[
        str | None, typer.Option(help=option_help("batch_size"), rich_help_panel=_RUN)
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help=option_help("random_state"), rich_help_panel=_RUN)
    ] = None,
    device: Annotated[
        str | None, typer.Option(help=option_help("device"), rich_help_panel=_RUN)
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help=option_help("n_jobs"), rich_help_panel=_RUN)
    ] = None,
    time_limit: Annotated[
        str | None, typer.Option(help=option_help("time_limit"), rich_help_panel=_RUN)
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="A TOML file of settings; options beat it.")
    ] = None,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print all settings as such a file, and stop.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run that was interrupted.")
    ] = False,
    checkpoint: Annotated[
        bool, typer.Option(help="Keep every epoch in MODEL.checkpoint while the run lasts.")
    ] = True,
    force: Annotated[
        bool, typer.Option("--force", help="Replace MODEL; throw an interrupted run away.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Learn from labelled rows and write a model.

    Example: dsnc train titles.tsv -o model --bits 64 --epochs 20
    """
    from dsnc.cli import config as c
    from dsnc.cli.training import Run

    given = {
        "encoder": encoder,
        "decoder": decoder,
        "beta": beta,
        "gamma": gamma,
        "label_smoothing": label_smoothing,
        "class_weight": class_weight,
        "max_epochs": epochs,
        "learning_rate": _number("--learning-rate", learning_rate, float),
        "batch_size": _number("--batch-size", batch_size, int),
        "random_state": seed,
        "device": device,
        "n_jobs": jobs,
        "time_limit": None if time_limit is None else c.seconds_of(time_limit),
    }
    whole = c.read_config(config) if config is not None else c.Config()
    words = {
        "data": data,
        "output": None if output is None else str(output),
        "validation": validation,
        "test": test,
        "reader": reader,
        "method": method,
    }
    whole.train |= {key: str(word) for key, word in words.items() if word is not None}
    c.set_parameters(whole, bits, given)
    for assignment in settings or []:
        c.set_option(whole, assignment)
    whole.check("")
    if print_config:
        typer.echo(c.print_config(whole), nl=False)
        return
    for key, option in (("data", "DATA"), ("output", "-o MODEL")):
        if key not in whole.train:
            raise typer.BadParameter(
                f"missing; try dsnc train DATA -o MODEL, or name it under [train] {key} in "
                "the file of --config.",
                param_hint=option,
            )
    Run(whole, resume=resume, keep_epochs=checkpoint, force=force).run(as_json=as_json)


def _number(option: str, text: str | None, kind: type) -> Any:
    """Read a number, or the word auto."""
    if text is None or text == "auto":
        return text
    try:
        return kind(text)
    except ValueError:
        whole = "a whole number" if kind is int else "a number"
        raise InputError(f"{option} {text!r} is neither {whole} nor auto.") from None
