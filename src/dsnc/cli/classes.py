"""``dsnc classes``: classes come to a model and go, without training anew."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from dsnc.cli.commands import ListsNames
from dsnc.cli.common import (
    AsJson,
    FirstIndex,
    Force,
    Model,
    Reader,
    check_model,
    escape,
    load_model,
    note,
    plain_errors,
    print_json,
)
from dsnc.cli.discover import discover
from dsnc.cli.table_options import takes_tables
from dsnc.errors import InputError, did_you_mean
from dsnc.files import locked
from dsnc.progress import count

app = typer.Typer(help="Add classes to a trained model, or remove some, without retraining.")

app.command("discover")(discover)

Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Write the changed model here; by default it replaces MODEL."
    ),
]


@app.command("list")
def list_classes(model: Model, as_json: AsJson = False) -> None:
    """List the classes of a model, one per line; --json also shows removed ones and changes.

    Example: dsnc classes list model | grep nurse
    """
    from dsnc.model import plain

    estimator = load_model(model, to_predict=True)
    names = estimator.classes_.tolist()
    if as_json:
        removed = [plain(label) for label in estimator._labels.removed.values()]
        changes = estimator.data_.get("changes", [])
        print_json({"classes": names, "removed": removed, "changes": changes})
        return
    for name in names:
        typer.echo(escape(name))


@app.command("add", cls=ListsNames)
@takes_tables
def add_classes(
    model: Model,
    data: Annotated[str, typer.Argument(metavar="DATA", help="Labeled rows of new classes.")],
    names: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The file that dsnc classes discover wrote for DATA, with names filled in; labels "
            "in DATA are ignored.",
        ),
    ] = None,
    output: Output = None,
    force: Force = False,
    reader: Reader = None,
    first_index: FirstIndex = None,
    table: Any = None,
) -> None:
    """Add classes to a model from labeled rows: one row per class is enough, more are better.

    Old classes are not forgotten: rows that the model remembers of them are trained on as well.
    Rows of classes that it already has are learned, too, unless rows have label sets: then only the
    new labels are learned. MODEL is replaced once the changed model is completely written.

    Example: dsnc classes add model new_titles.tsv
    """
    from dsnc.cli.evaluate import load_labelled
    from dsnc.cli.samples import has_label_sets, rows_of

    with _changing(model, output, force=force) as (estimator, said):
        if names is not None:
            X, y = _named_rows(estimator, data, names, first_index, table or {})
        else:
            reading = {"reader": reader, **(table or {})}
            dataset = load_labelled(estimator, data, reading, "all", first_index)
            is_of_sets = has_label_sets(estimator)
            X, y = rows_of(dataset), dataset.label_lists() if is_of_sets else dataset.labels
        before = len(estimator.classes_)
        estimator.add_classes(X, y)
        added = len(estimator.classes_) - before
        said.append(f"{count(added, 'class')} added from {count(len(y), 'row')}")


@app.command("describe", cls=ListsNames)
@takes_tables
def describe_classes(
    model: Model,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A file with a label and its description on each line."
        ),
    ],
    output: Output = None,
    force: Force = False,
    reader: Reader = None,
    table: Any = None,
) -> None:
    """Add classes that have no rows yet, from descriptions: CSV, TSV or JSON lines.

    A label may have several lines, such as its name and a definition; name several columns with
    --text-column. Numbers instead of a text are attributes; the model must know the attributes of
    other classes, from this file or from training. MODEL is replaced once the changed model is
    completely written.

    Example: dsnc classes describe model new_terms.csv
    """
    from dsnc.cli.descriptions import load_descriptions

    with _changing(model, output, force=force) as (estimator, said):
        ((kind, told),) = load_descriptions(file, {"reader": reader, **(table or {})}).items()
        before = len(estimator.classes_)
        estimator.add_described_classes(list(told), **{kind: list(told.values())})
        added = len(estimator.classes_) - before
        said.append(f"{count(len(told), 'class')} described, {added:,} of them new")


@app.command("remove")
def remove_classes(
    model: Model,
    labels: Annotated[
        list[str] | None, typer.Argument(metavar="LABEL...", help="The classes to remove.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="A file of classes to remove, one per line."),
    ] = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Remove classes from a model, so that they are not predicted any more.

    MODEL is replaced once the changed model is completely written.

    Example: dsnc classes remove model "night nurse" "drone pilot"
    """
    wanted = list(labels or [])
    if file is not None:
        lines = file.read_text(encoding="utf-8").splitlines()
        wanted += [line for line in lines if line.strip()]
    if not wanted:
        raise InputError("LABEL is missing; name the classes to remove, or give --from FILE.")
    with _changing(model, output, force=force) as (estimator, said):
        known = {str(label): label for label in estimator.classes_.tolist()}
        for name in wanted:
            if name not in known:
                raise InputError(
                    f"{name!r} is not one of the {len(known):,} classes."
                    f"{did_you_mean(name, list(known))}"
                )
        estimator.remove_classes([known[name] for name in wanted])
        said.append(f"{count(len(wanted), 'class')} removed")


def _named_rows(
    estimator: Any, data: str, names: Path, first_index: int | None, table: dict[str, Any]
) -> tuple[Any, Any]:
    """Return the rows of proposed classes, and the labels that a person gave them."""
    from dsnc.cli.discover import all_rows, read_names

    rows = all_rows(estimator, data, first_index, table)
    is_text = isinstance(rows, list)
    chosen, labels = read_names(names, estimator, len(rows) if is_text else rows.shape[0])
    return [rows[row] for row in chosen] if is_text else rows[chosen], labels


@contextmanager
def _changing(model: Path, output: Path | None, *, force: bool) -> Iterator[tuple[Any, list[str]]]:
    """Yield a model to change, and a list for what was done; save it if nothing went wrong."""
    from dsnc.persistence import check_target

    check_model(model)
    target, replaces = output or model, output is None or force
    with locked(target, "changing"), plain_errors():
        check_target(target, overwrite=replaces)
        estimator = load_model(model)
        if not hasattr(estimator, "add_classes"):
            raise InputError(f"{model}: classes of a model of kind {estimator.kind!r} are fixed.")
        said: list[str] = []
        yield estimator, said
        estimator.save(target, overwrite=replaces)
        note(f"{target}: {said[0]}; {count(len(estimator.classes_), 'class')} in all")
