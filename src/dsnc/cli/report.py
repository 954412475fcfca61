"""``dsnc report``: one page about the experiments whose records are in a folder."""

from pathlib import Path
from typing import Annotated

import typer

from dsnc.cli.common import Force, note


def report(
    runs: Annotated[
        Path,
        typer.Argument(metavar="RUNS", help="The folder of records that dsnc reproduce wrote."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    force: Force = False,
) -> None:
    """Write a page with tables and figures that opens in any browser, even offline."""
    from dsnc.paper.report import write_report

    path = write_report(runs, output, overwrite=force)
    note(f"{path}: {path.stat().st_size / 1e6:.1f} MB. Open it in a browser.")
