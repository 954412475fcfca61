"""``dsnc evaluate``: how good a model is on labelled rows, and where it goes wrong."""

import textwrap
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dsnc.cli.commands import ListsDecoders, Several, decoder_option
from dsnc.cli.common import (
    AsJson,
    FirstIndex,
    Model,
    Reader,
    load_model,
    note,
    percent,
    print_json,
    print_table,
)
from dsnc.errors import InputError

if TYPE_CHECKING:
    from dsnc.cli.measure import Answers
    from dsnc.data import Dataset

_SHOWN = 70  # letters of a text


class EvaluateCommand(ListsDecoders, Several):
    """Lists decoders, and takes ``--top-k 1 5``."""

    numbers = ("--top-k",)


class Part(StrEnum):
    """Which rows."""

    train = "train"
    validation = "validation"
    test = "test"
    all = "all"


def evaluate(
    model: Model,
    data: Annotated[str, typer.Argument(metavar="DATA", help="Labelled rows, as in training.")],
    top_k: Annotated[
        list[int], typer.Option(min=1, help="Among how many answers to look for the class.")
    ] = [1, 5],  # noqa: B006 - typer only reads it
    decoder: Annotated[Any, decoder_option("Another decoder on the same codes.")] = None,
    part: Annotated[
        Part | None,
        typer.Option(help="Of data with a split; test by default, else all rows."),
    ] = None,
    errors: Annotated[
        int, typer.Option(min=0, help="Show so many of the most confident mistakes.")
    ] = 0,
    confusions: Annotated[
        int, typer.Option(min=0, help="Show so many of the most confused pairs of classes.")
    ] = 0,
    reader: Reader = None,
    first_index: FirstIndex = None,
    as_json: AsJson = False,
) -> None:
    """Measure a model on labelled rows.

    macro accuracy is the mean of the classes' accuracies; the calibration error says how far
    probabilities are from the truth.

    Example: dsnc evaluate model test.tsv --errors 10 --confusions 10
    """
    from dsnc.cli.measure import answer, figure_rows

    estimator = load_model(model, to_predict=decoder is None)
    if decoder is not None:
        estimator = _with_decoder(estimator, decoder)
    dataset = _load(estimator, data, reader, part, first_index)
    ks = sorted({min(k, len(estimator.classes_)) for k in top_k})
    answers = answer(estimator, dataset, max([1, *ks]))
    figures = answers.figures([k for k in ks if k > 1])
    mistakes = _mistakes(answers, dataset, errors)
    pairs = _pairs(answers, confusions)
    if as_json:
        record: dict[str, Any] = {"model": str(model), "data": data, **figures}
        record |= {"errors": mistakes} if errors else {}
        record |= {"confusions": pairs} if confusions else {}
        print_json(record)
        return
    print_table(["", ""], figure_rows(figures))
    if errors:
        _print_mistakes(mistakes)
    if confusions:
        typer.echo("\nThe most confused pairs" if pairs else "\nNo pair was confused.")
        if pairs:
            counts = [[str(p["rows"]), str(p["label"]), str(p["answer"])] for p in pairs]
            print_table(["rows", "label", "answer"], counts)


def _print_mistakes(mistakes: list[dict[str, Any]]) -> None:
    typer.echo("\nThe most confident mistakes" if mistakes else "\nThere is no mistake.")
    rows = []
    for mistake in mistakes:
        sure = percent(mistake["probability"])
        text = textwrap.shorten(mistake.get("text", ""), _SHOWN, placeholder=" ...")
        cells = (mistake["row"], sure, mistake["label"], mistake["answer"], text)
        rows.append([str(cell) for cell in cells])
    if rows:
        print_table(["row", "sure", "label", "answer", "text"], rows)


def _with_decoder(estimator: Any, decoder: Any) -> Any:
    if not hasattr(estimator, "with_decoder"):
        raise InputError(f"--decoder {decoder}: a model of kind {estimator.kind!r} has only one.")
    return estimator.with_decoder(decoder)


def _load(
    estimator: Any, data: str, reader: str | None, part: Part | None, first_index: int | None
) -> "Dataset":
    from dsnc import inspection as look
    from dsnc.cli.samples import load

    text, n_features = look.takes_text(estimator), estimator.n_features_in_
    dataset = load(data, reader)
    if dataset.is_text != text:
        kinds = ("texts", "numbers") if text else ("numbers", "texts")
        raise InputError(f"The model was trained on {kinds[0]}, and {data} holds {kinds[1]}.")
    if not text:
        first = look.first_index(estimator) if first_index is None else first_index
        dataset = dataset.numbered_from(first).of_width(n_features)
        if dataset.width != n_features:
            raise InputError(
                f"{data} has {dataset.width:,} features; the model was trained on {n_features:,}."
            )
    if part is None:
        part = Part.test if dataset.splits and len(dataset.splits.get("test", ())) else Part.all
        if part is Part.test:
            note(f"{data}: its test part")
    if part is Part.all:
        return dataset
    rows = (dataset.splits or {}).get(str(part), ())
    if not len(rows):
        raise InputError(f"--part {part}: {data} has no such part; use --part all.")
    return dataset.take(rows)


def _mistakes(answers: "Answers", dataset: "Dataset", n: int) -> list[dict[str, Any]]:
    """Return the wrong rows that the model is most sure of."""
    import numpy as np

    wrong = np.flatnonzero(~answers.is_right)
    wrong = wrong[np.argsort(-answers.probabilities[wrong, 0], kind="stable")]
    mistakes = []
    for row in wrong[:n].tolist():
        mistake: dict[str, Any] = {
            "row": row + 1,
            "label": answers.truth[row : row + 1].tolist()[0],
            "answer": answers.labels[row, :1].tolist()[0],
            "probability": round(float(answers.probabilities[row, 0]), 6),
        }
        if dataset.is_text:
            mistake["text"] = dataset.X[row]
        mistakes.append(mistake)
    return mistakes


def _pairs(answers: "Answers", n: int) -> list[dict[str, Any]]:
    """Return (label, answer) and how often it happened, the most frequent first."""
    from collections import Counter

    wrong = ~answers.is_right
    pairs = zip(answers.truth[wrong].tolist(), answers.labels[wrong, 0].tolist(), strict=True)
    return [
        {"label": label, "answer": answer, "rows": count}
        for (label, answer), count in Counter(pairs).most_common(n)
    ]
