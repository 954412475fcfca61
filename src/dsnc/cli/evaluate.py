"""``dsnc evaluate``: how good a model is on labelled rows, and where it goes wrong."""

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dsnc.checks import whole
from dsnc.cli.commands import Several, decoder_option
from dsnc.cli.common import (
    AsJson,
    FirstIndex,
    Force,
    Model,
    Reader,
    load_model,
    note,
    percent,
    print_json,
    print_table,
)
from dsnc.cli.output import check_new_files
from dsnc.cli.table_files import check_table, write_table
from dsnc.cli.table_options import takes_tables
from dsnc.errors import InputError
from dsnc.progress import figure_name

if TYPE_CHECKING:
    from dsnc.cli.measure import Answers
    from dsnc.cli.measure_sets import SetAnswers
    from dsnc.data import Dataset

_SHOWN = 70  # letters of a text


class EvaluateCommand(Several):
    """Takes ``--top-k 1 5``."""

    numbers = ("--top-k",)


Part = Literal["train", "validation", "test", "all"]


@takes_tables
def evaluate(
    model: Model,
    data: Annotated[str, typer.Argument(metavar="DATA", help="Labeled rows, as in training.")],
    top_k: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            help="Measure whether the class is among the k best answers; by default k is 1 and 5, "
            "for label sets 1, 3 and 5.",
        ),
    ] = None,
    decoder: Annotated[Any, decoder_option("Use another decoder on the same codes.")] = None,
    part: Annotated[
        Part | None,
        typer.Option(help="Part of data with a split; test by default. Without a split, all rows."),
    ] = None,
    errors: Annotated[
        int, typer.Option(min=0, help="Show this many of the most confident mistakes.")
    ] = 0,
    confusions: Annotated[
        int,
        typer.Option(
            min=0,
            help="Show this many of the most confused pairs, or of the labels that are missed most "
            "often; --json shows all.",
        ),
    ] = 5,
    per_class: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write precision, recall, F1 of classes: .csv, .tsv or .jsonl."
        ),
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the answer for each row: .csv, .tsv or .jsonl."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write an HTML page about the results; needs the extra report."
        ),
    ] = None,
    unknown: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Rows of no known class; measure how well they are told from DATA."
        ),
    ] = None,
    force: Force = False,
    reader: Reader = None,
    first_index: FirstIndex = None,
    as_json: AsJson = False,
    table: Any = None,
) -> None:
    """Measure a model on labeled rows.

    Macro accuracy is the mean of the accuracies of the classes, macro F1 that of their F1; the
    calibration error tells how far probabilities are from the truth. For label sets: P@k, PSP@k,
    recall, nDCG and coverage of the k best labels, and F1 of the predicted sets.

    Example: dsnc evaluate model test.tsv --errors 10 --html test.html
    """
    from dsnc.cli.measure import answer, figure_rows
    from dsnc.cli.measure_sets import answer_sets, by_threshold
    from dsnc.cli.samples import has_label_sets

    _check_files(per_class, predictions, html, force=force)
    estimator = load_model(model, to_predict=decoder is None)
    if decoder is not None:
        estimator = _with_decoder(estimator, decoder)
    reading = {"reader": reader, **(table or {})}
    dataset = load_labelled(estimator, data, reading, part, first_index)
    sets = has_label_sets(estimator)
    n_classes = len(estimator.classes_)
    usual = [min(k, n_classes) for k in ((1, 3, 5) if sets else (1, 5))]
    ks = sorted({whole("top_k", k, most=n_classes) for k in top_k or usual})
    answers = (answer_sets if sets else answer)(estimator, dataset, max([1, *ks]))
    figures = answers.figures(ks if sets else [k for k in ks if k > 1])
    if unknown is not None:
        strange = load_labelled(estimator, unknown, reading, "all", first_index)
        figures |= _of_strangers(estimator, dataset, strange, answers)
    thresholds = by_threshold(estimator, dataset, answers) if sets else []
    mistakes = _mistakes(answers, dataset, errors)
    _write_files(answers, dataset, per_class, predictions)
    if html is not None:
        _write_page(html, f"{model.resolve().name} on {data}", figure_rows(figures), answers)
    if as_json:
        record: dict[str, Any] = {"model": str(model), "data": data, **figures}
        record |= {"errors": mistakes} if errors else {}
        record |= {"thresholds": thresholds} if sets else {}
        record["missed" if sets else "confusions"] = answers.confusions()
        print_json(record)
        return
    print_table(["", ""], figure_rows(figures))
    if sets:
        _print_thresholds(thresholds)
    if errors:
        _print_mistakes(mistakes)
    if confusions:
        _print_confusions(answers.confusions(confusions), sets=sets)


def _of_strangers(
    estimator: Any, known: "Dataset", strange: "Dataset", answers: Any
) -> dict[str, float]:
    """Return how well rows of no known class are told from the others."""
    from dsnc import metrics
    from dsnc.cli.samples import has_label_sets, rows_of

    if not hasattr(estimator, "novelty") or has_label_sets(estimator):
        raise InputError(
            f"--unknown: a model of kind {estimator.kind!r} cannot recognize unknown rows."
        )
    inside, outside = (estimator.novelty(rows_of(rows)) for rows in (known, strange))
    return {
        "novelty_auroc": metrics.novelty_auroc(inside, outside),
        "false_positives_at_95": metrics.false_positives_at_95(inside, outside),
        "open_set_classification_rate": metrics.open_set_classification_rate(
            inside, answers.is_right, outside
        ),
        "known_rows_lost": float(estimator.is_unknown(rows_of(known)).mean()),
        "unknown_rows_found": float(estimator.is_unknown(rows_of(strange)).mean()),
    }


def _check_files(
    per_class: Path | None, predictions: Path | None, html: Path | None, *, force: bool
) -> None:
    """Refuse what would be refused after all rows are measured."""
    tables = {"--per-class": per_class, "--predictions": predictions}
    for option, path in tables.items():
        check_table(option, path)
    check_new_files({**tables, "--html": html}, force=force)
    if html is not None:
        from dsnc.pictures.evaluation import require_page

        require_page()


def _write_files(
    answers: "Answers | SetAnswers",
    dataset: "Dataset",
    per_class: Path | None,
    predictions: Path | None,
) -> None:
    if per_class is not None:
        columns = ["class", "precision", "recall", "f1", "support", "predicted"]
        rows = zip(*(column.tolist() for column in answers.scores), strict=True)
        write_table(per_class, columns, rows)
        note(f"classes: {per_class}")
    if predictions is not None:
        from dsnc.model.answers import separator_of

        known: dict[str, Any] = {
            "id": dataset.ids,
            "line": None if dataset.lines is None else dataset.lines.tolist(),
            "row": range(1, len(dataset) + 1) if dataset.lines is None else None,
        }
        cells = {name: list(values) for name, values in known.items() if values is not None}
        cells |= answers.columns()
        separator = separator_of(dataset.columns)
        write_table(predictions, list(cells), zip(*cells.values(), strict=True), separator)
        note(f"predictions: {predictions}")


def _write_page(
    path: Path, title: str, figures: list[list[str]], answers: "Answers | SetAnswers"
) -> None:
    from dsnc.pictures.evaluation import evaluation_page

    evaluation_page(
        path,
        title=title,
        figures=[(name, value) for name, value in figures],
        bins=answers.bins,
        scores=answers.scores,
        pairs=answers.pairs,
    )
    note(f"page: {path}")


def _print_confusions(found: list[dict[str, Any]], *, sets: bool) -> None:
    """Print what was taken for what; of label sets, which labels were missed."""
    title = "The labels missed most often" if sets else "The most confused pairs"
    none = "No label was missed." if sets else "No pair was confused."
    typer.echo(f"\n{title}" if found else f"\n{none}")
    if found:
        columns = ["rows", *(name for name in found[0] if name != "rows")]
        print_table(columns, [[str(one[name]) for name in columns] for one in found])


def _print_thresholds(table: list[dict[str, float]]) -> None:
    typer.echo("\nSets of the labels that have at least this probability:")
    columns = [figure_name(name) for name in table[0]]
    print_table(columns, [[f"{value:.4g}" for value in row.values()] for row in table])


def _print_mistakes(mistakes: list[dict[str, Any]]) -> None:
    typer.echo("\nThe most confident mistakes" if mistakes else "\nThere are no mistakes.")
    rows = []
    for mistake in mistakes:
        sure = percent(mistake["probability"])
        text = textwrap.shorten(mistake.get("text", ""), _SHOWN, placeholder=" ...")
        truth = mistake["label"] if "label" in mistake else " | ".join(map(str, mistake["labels"]))
        cells = (mistake["row"], sure, truth, mistake["answer"], text)
        rows.append([str(cell) for cell in cells])
    if rows:
        print_table(["row", "probability", "label", "answer", "text"], rows)


def _with_decoder(estimator: Any, decoder: Any) -> Any:
    if not hasattr(estimator, "with_decoder"):
        raise InputError(f"--decoder {decoder}: a model of kind {estimator.kind!r} has only one.")
    return estimator.with_decoder(decoder)


def load_labelled(
    estimator: Any, data: str, reading: dict[str, Any], part: Part | None, first_index: int | None
) -> "Dataset":
    """Load labelled rows as a model takes them."""
    from dsnc import model as look
    from dsnc.cli.samples import has_label_sets, load
    from dsnc.data.readers import rows_reader

    text, n_features = look.takes_text(estimator), estimator.n_features_in_
    columns = look.columns_of(estimator)
    files = map(str, Path(data).glob("train.*") if Path(data).is_dir() else [data])
    if columns is not None and any(rows_reader(file, columns).is_table for file in files):
        reading = {**reading, "columns": columns}
    dataset = load(data, reading, sets=has_label_sets(estimator))
    if dataset.is_text != text:
        kinds = ("texts", "numbers") if text else ("numbers", "texts")
        raise InputError(f"The model was trained on {kinds[0]}, but {data} holds {kinds[1]}.")
    if not text:
        first = look.first_index(estimator) if first_index is None else first_index
        dataset = dataset.numbered_from(first).of_width(n_features)
        if dataset.width != n_features:
            raise InputError(
                f"{data} has {dataset.width:,} features; the model was trained on {n_features:,}."
            )
    if part is None:
        part = "test" if dataset.splits and len(dataset.splits.get("test", ())) else "all"
        if part == "test":
            note(f"{data}: using its test part")
    if part == "all":
        return dataset
    rows = (dataset.splits or {}).get(str(part), ())
    if not len(rows):
        raise InputError(f"--part {part}: {data} has no such part; use --part all.")
    return dataset.take(rows)


def _mistakes(answers: "Answers | SetAnswers", dataset: "Dataset", n: int) -> list[dict[str, Any]]:
    """Return the wrong rows that the model is most sure of."""
    import numpy as np

    wrong = np.flatnonzero(~answers.is_right)
    wrong = wrong[np.argsort(-answers.probabilities[wrong, 0], kind="stable")]
    mistakes = []
    for row in wrong[:n].tolist():
        mistake: dict[str, Any] = {
            "row": row + 1,
            **answers.shown(row),
            "probability": round(float(answers.probabilities[row, 0]), 6),
        }
        if dataset.is_text:
            mistake["text"] = dataset.X[row]
        mistakes.append(mistake)
    return mistakes
