"""``dsnc demo``: train on the embedded pictures of characters, compare, look."""

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dsnc.cli.common import STATE, InterruptedRun, note, percent, print_table, size
from dsnc.cli.reproduce import tell_failures
from dsnc.errors import require
from dsnc.progress import duration

if TYPE_CHECKING:
    from dsnc.paper.experiments import Record

_SHOWN = 6  # predictions with their pictures
_SHADES = " ░▒▓█"


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where records and report.html go.")
    ] = Path("demo"),
    classes: Annotated[int, typer.Option(min=10, max=1000, help="Characters to tell apart.")] = 500,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the rows.")] = 12,
    jobs: Annotated[int, typer.Option(min=1, help="Models that are trained at a time.")] = 1,
) -> None:
    """Train on pictures of Unicode characters, compare with the baselines, write a report.

    Everything is embedded: nothing is downloaded. About two minutes on two cores.

    Example: dsnc demo --classes 100 --epochs 5
    """
    from dsnc.paper.experiments import Plan, reproduce
    from dsnc.paper.report import write_report

    require("torch", extra="torch", caller="dsnc demo")
    begin = time.monotonic()
    plan = Plan(
        bits=(24, 64),
        seeds=(0,),
        recipes=("default",),
        methods=("dsnc", "mlp", "ecoc"),
        settings={"max_epochs": epochs},
        n_classes=classes,
    )
    runs = output / "runs"
    note(f"Drawing {classes} characters 60 times each, then training six models.")
    try:
        _, records = reproduce(
            ["accuracy", "cost"], "glyphs", plan, runs, n_jobs=jobs, progress=not STATE.quiet
        )
    except KeyboardInterrupt:
        raise InterruptedRun(f"finished models are kept in {runs}; run it again.") from None
    failed = tell_failures(records)
    _print_comparison(records, runs)
    _print_predictions(records)
    page = write_report(runs, output / "report.html", overwrite=True)
    typer.echo(f"\n{page}: learning curves, cost, reliability, bits, confusable characters")
    note(
        f"\nDone in {duration(time.monotonic() - begin)}. Next:\n"
        "  dsnc train FILE -o model         a model of your own (tsv, csv, jsonl, svmlight)\n"
        "  dsnc reproduce all               the paper's tables on these pictures\n"
        "  dsnc demo --classes 1000         more classes"
    )
    if failed:
        raise typer.Exit(1)


def _print_comparison(records: "list[Record]", runs: Path) -> None:
    """Print accuracy, time and size of every model."""
    from dsnc.paper.experiments.cost_curve import TITLES, curves

    found = {
        (f"{record.definition.method}/{name}", record.definition.n_bits): outcome
        for record in records
        for name, outcome in record.outcomes.items()
    }
    rows = []
    for curve in curves(records, runs):
        for point in sorted(curve.points, key=lambda p: -p.accuracy):
            outcome = found[point.series, point.n_bits]
            rows.append(
                [
                    TITLES[point.series],
                    str(point.n_bits),
                    percent(point.accuracy),
                    percent(outcome["top_5"]),
                    f"{point.microseconds:.2f}",
                    size(int(outcome["bytes"])),
                ]
            )
    typer.echo("")
    print_table(["model", "bits", "accuracy", "top 5", "µs per row", "decoder size"], rows)


def _print_predictions(records: "list[Record]") -> None:
    """Draw some test pictures with what was said of them, right and wrong."""
    from dsnc.paper.experiments.prepare import prepare

    record = next(
        (r for r in records if (r.definition.method, r.definition.n_bits) == ("dsnc", 64)), None
    )
    if record is None or record.error:
        return
    prepared = prepare(record.definition.source)
    test, y, top = prepared.parts.test, record.arrays["y"], record.arrays["top.shortlist"]
    is_right = test.targets.contains(top[:, 0])
    wrong, right = _spread(~is_right, _SHOWN // 2), _spread(is_right, _SHOWN - _SHOWN // 2)
    height, width = prepared.image_shape or (1, test.width or 1)
    columns = min(_SHOWN, max(1, shutil.get_terminal_size().columns // (width + 2)))
    typer.echo("\nSome test pictures and what the 64-bit shortlist says:\n")
    for row in [*right, *wrong][:columns]:
        said = [str(test.classes[k]) for k in top[row, :3]]
        sure = float(record.arrays["confidence.shortlist"][row])
        mark = "right" if is_right[row] else f"wrong, it is {test.classes[y[row]]}"
        typer.echo(f"{said[0]}  ({percent(sure)}, {mark}; then {said[1]} {said[2]})")
        typer.echo(_drawn(test.X[row].reshape(height, width)))


def _spread(chosen: Any, n: int) -> Any:
    """Return the numbers of some rows that lie far apart: neighbors are of one class."""
    rows = chosen.nonzero()[0]
    return rows[:: max(1, len(rows) // n)][:n]


def _drawn(picture: Any) -> str:
    """Return a picture as text, two rows of pixels in a line."""
    top = max(float(picture.max()), 1e-9)
    levels = ((len(_SHADES) - 1) * picture / top + 0.5).astype(int)
    lines = (levels[i : i + 2].max(axis=0) for i in range(0, len(levels), 2))
    return "\n".join("  " + "".join(_SHADES[level] for level in line) for line in lines)
