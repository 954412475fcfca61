"""``--ray``: commands that a cluster runs."""

import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from dsnc.cli.common import STATE, note
from dsnc.errors import InputError
from dsnc.progress import count, duration

Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Run on a Ray cluster: auto (this machine's), local, or HOST:PORT.",
        rich_help_panel="Cluster",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Worker processes on the cluster; by default as many as fit.",
        rich_help_panel="Cluster",
    ),
]


def refuse_workers(workers: int | None) -> None:
    """Refuse a number of workers where there is no cluster."""
    if workers is not None:
        raise InputError(f"--workers {workers} is for a cluster; add --ray, or use --jobs.")


def refuse_lines(*, as_json: bool, first_index: int | None, force: bool) -> None:
    """Refuse options of lines: a cluster reads tables and texts, and writes Parquet."""
    given = {"--json": as_json, "--first-index": first_index is not None, "--force": force}
    for name in (name for name, is_given in given.items() if is_given):
        raise InputError(
            f"{name} is for lines; leave it out, since --ray reads tables and texts, and writes "
            "a folder of Parquet parts that an earlier run may have begun."
        )


def address_of(path: Path) -> str:
    """Return a path as the user gave it: of addresses, `Path` drops a slash."""
    return re.sub(r"^(\w[\w+.-]+):/(?!/)", r"\1://", str(path))


def predict_on_ray(
    model: Path, source: str, output: Path | None, told: dict[str, Any], table: dict[str, Any]
) -> None:
    """Predict on a cluster, and say what was done."""
    from dsnc.cluster import predict

    if output is None:
        raise InputError("--ray writes parts into a folder; name it with -o FOLDER.")
    if source == "-":
        raise InputError("--ray reads files, not stdin; give a file or a folder.")
    on_screen = sys.stderr.isatty() and not STATE.quiet
    done = predict(model, source, address_of(output), verbose=on_screen, **told, **table)
    resumed = f", {done.resumed:,} of them from an earlier run" if done.resumed else ""
    note(
        f"{count(done.rows, 'row')} in {duration(done.seconds)} by "
        f"{count(done.workers, 'worker')}; "
        f"{count(done.parts, 'part')} in {address_of(output)}{resumed}"
    )
    note(str(done.noticed))
