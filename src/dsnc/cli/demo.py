"""``dsnc demo``: train on the embedded pictures of characters, compare, look."""

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsnc.cli.common import STATE, note, percent, print_table, size
from dsnc.cli.progress import interruptible
from dsnc.cli.reproduce import tell_failures
from dsnc.errors import require
from dsnc.progress import duration

if TYPE_CHECKING:
    from dsnc.paper.demo import Answer

_SHOWN = 6  # predictions with their pictures
_LINES = 7  # of an explanation


def demo(
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The folder to write the records, models and pages to."
        ),
    ] = Path("demo"),
    classes: Annotated[
        int, typer.Option(min=10, max=1000, help="Number of characters to tell apart.")
    ] = 500,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the rows.")] = 12,
    jobs: Annotated[int, typer.Option(min=1, help="Number of models to train at a time.")] = 1,
) -> None:
    """Train on pictures of Unicode characters, add some, compare with baselines, write a report.

    Everything is included; nothing is downloaded. It takes about two minutes on two cores.

    Example: dsnc demo --classes 100 --epochs 5
    """
    from dsnc.paper.demo import answers, compare, run_demo
    from dsnc.paper.report import write_report

    require("torch", extra="torch", caller="dsnc demo")
    for module in ("jinja2", "matplotlib", "PIL"):  # of the pictures and the page at the end
        require(module, extra="report", caller="dsnc demo")
    begin, runs = time.monotonic(), output / "runs"
    _show_tour(output, classes, epochs)
    note(f"\nDrawing {classes} characters 60 times each, then training six models.")
    with interruptible(lambda: f"finished models are kept in {runs}; run it again."):
        records = run_demo(
            runs, n_classes=classes, max_epochs=epochs, n_jobs=jobs, progress=not STATE.quiet
        )
    failed = tell_failures(records)
    rows = [
        [
            model.title,
            str(model.n_bits),
            percent(model.accuracy),
            percent(model.top_5),
            f"{model.microseconds:.2f}",
            size(model.n_bytes),
        ]
        for model in compare(records, runs)
    ]
    typer.echo("")
    print_table(["model", "bits", "accuracy", "top 5", "µs per row", "decoder size"], rows)
    _print_answers(answers(records, _SHOWN))
    page = write_report(runs, output / "report.html", overwrite=True)
    typer.echo(f"\n{page}: learning curves, cost, reliability, bits, confusable characters")
    typer.echo(f"{output / 'model.html'}: a map of the characters, their codes, bits to flip")
    note(
        f"\n'dsnc serve {output / 'model'}' serves it over HTTP, with that page."
        f"\nDone in {duration(time.monotonic() - begin)}. Next:\n"
        "  dsnc train FILE -o model         a model of your own (tsv, csv, jsonl, svmlight)\n"
        "  dsnc reproduce all               the paper's tables on these pictures\n"
        "  dsnc demo --classes 1000         more classes"
    )
    if failed:
        raise typer.Exit(1)


def _show_tour(output: Path, n_classes: int, max_epochs: int) -> None:
    """Tell what one model does, and leave it with a page about it."""
    from dsnc.cli.inspect import write_page
    from dsnc.paper.tour import Tour

    tour = Tour(n_classes, max_epochs)
    for sentence in tour.steps():
        typer.echo(sentence)
    said = str(tour.model.explain(tour.example)[0]).splitlines()
    typer.echo("\nWhy one of the new pictures gets its label:\n" + "\n".join(said[:_LINES]))
    output.mkdir(parents=True, exist_ok=True)
    tour.model.save(output / "model", overwrite=True)
    write_page(tour.model, output / "model.html", output / "model")


def _print_answers(answers: "list[Answer]") -> None:
    if not answers:
        return
    width = len(answers[0].drawing.splitlines()[0])
    typer.echo("\nSome test pictures and what the 64-bit shortlist says:\n")
    for answer in answers[: max(1, shutil.get_terminal_size().columns // width)]:
        first, second, third = answer.said
        mark = "right" if answer.is_right else f"wrong, it is {answer.truth}"
        typer.echo(f"{first}  ({percent(answer.confidence)}, {mark}; then {second} {third})")
        typer.echo(answer.drawing)
