"""``dsnc predict``: a line in, a line out; a table in, the table with predictions out."""

import itertools
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from dsnc.cli.common import (
    Batch,
    FirstIndex,
    Model,
    Source,
    WholeFile,
    escape,
    json_text,
    load_model,
    note,
    plain_errors,
)
from dsnc.cli.table_files import separator_of
from dsnc.cli.table_options import takes_tables
from dsnc.errors import InputError, shorten, warn
from dsnc.kernels import deferred

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsnc.data.columns import Columns
    from dsnc.data.tables import Table


class OnError(StrEnum):
    """What a row that cannot be read does."""

    stop = "stop"
    skip = "skip"


class Joint(NamedTuple):
    """How the labels of a row are written into a line."""

    separator: str = "\t"
    prefix: str = ""  # of each label

    def written(self, label: Any) -> str:
        """Return a label as it stands in a line; with a prefix, it is one word."""
        return escape(label) if not self.prefix else self.prefix + "_".join(str(label).split())


class Strangers:
    """Rows that seem to belong to no class, and the label that they get; None looks for none."""

    def __init__(self, model: Any, label: str | None, share: float) -> None:
        from dsnc.cli.samples import has_label_sets

        self.label, self._model, self._share = label, model, share
        if label is not None and (not hasattr(model, "novelty") or has_label_sets(model)):
            raise InputError(f"--unknown: a model of kind {model.kind!r} cannot tell.")

    def among(self, rows: Any, n_rows: int) -> list[bool]:
        """Tell which of some rows they are."""
        if self.label is None:
            return [False] * n_rows
        found: list[bool] = self._model.is_unknown(rows, self._share).tolist()
        return found


@takes_tables
def predict(
    model: Model,
    source: Source,
    output: WholeFile = None,
    top_k: Annotated[
        int | None,
        typer.Option(
            min=1, help="The k most probable labels; 1 by default, of label sets the whole set."
        ),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Print each label's probability after it.")
    ] = False,
    reject_below: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Leave a row empty whose best label is less probable; of label sets, leave out "
            "such labels.",
        ),
    ] = None,
    unknown: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL", help="Give this label to rows that seem to belong to no class."
        ),
    ] = None,
    unknown_share: Annotated[
        float,
        typer.Option(min=0, max=1, help="Share of rows of known classes that --unknown may lose."),
    ] = 0.05,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object for every row.")
    ] = False,
    on_error: Annotated[
        OnError, typer.Option(help="A row of a table that cannot be read: stop, or skip it.")
    ] = OnError.stop,
    jobs: Annotated[int | None, typer.Option(help="Threads; -1 takes all cores.")] = None,
    batch: Batch = 4096,
    first_index: FirstIndex = None,
    table: Any = None,
) -> None:
    r"""Predict labels: one line for every row, at once, also from a pipe that is still open.

    A table (csv, tsv, jsonl, parquet) comes back with columns added: prediction, probability. Of
    other rows, labels are separated by tabs; tabs, line ends, backslashes and what cannot be seen
    inside one are written \t, \n, \r, \\, \x1b. Label sets are lists in JSON and Parquet; in csv
    and tsv --label-separator stands between labels, by default that of training, else a bar.

    Example: echo "forklift operator" | dsnc predict model - --top-k 3 --proba
    """
    from dsnc.cli.output import lines_to
    from dsnc.cli.samples import has_label_sets, model_table, stream_for

    estimator = load_model(model, to_predict=True)
    if jobs is not None:
        estimator.n_jobs = jobs
    k = None if top_k is None else min(top_k, len(estimator.classes_))
    if k is None and not has_label_sets(estimator):
        k = 1
    strangers = Strangers(estimator, unknown, unknown_share)
    found = model_table(estimator, source, table or {})
    if found is not None:
        form: dict[str, Any] = {"reject_below": reject_below, "as_json": as_json}
        form["strangers"] = strangers
        skip = on_error is OnError.skip
        with deferred(), plain_errors():
            _predict_table(estimator, *found, output, k, batch=batch, skip=skip, **form)
        return
    form = {"proba": proba, "reject_below": reject_below, "as_json": as_json}
    form["strangers"] = strangers
    to = None if output is None else "utf-8"
    joint = _joint(source, table or {}) if k is None else Joint()
    with deferred(), lines_to(output) as write, plain_errors():
        rows = stream_for(estimator, source, batch, first_index, table or {})
        for block in rows:
            write(_lines(estimator, block, k, joint, encoding=to, **form))


def _joint(source: str, options: dict[str, Any]) -> Joint:
    """Return how label sets are written: as fastText does where the lines that come are such."""
    from dsnc.data.stream import is_fasttext

    if "label_separator" in options:
        return Joint(options["label_separator"])
    return Joint(" ", "__label__") if is_fasttext(source) else Joint()


def _warn_of_separator(model: Any, separator: str) -> None:
    """Say if a set cannot be told from a label that has the separator inside."""
    found = next((x for x in model.classes_.tolist() if separator in str(x)), None)
    if found is not None:
        warn(
            f"the label {shorten(found)} has {separator!r} inside, which stands between labels; "
            "choose another --label-separator, or --json."
        )


def _predict_table(
    model: Any,
    table: "Table",
    columns: "Columns",
    output: Path | None,
    k: int | None,
    *,
    batch: int,
    skip: bool,
    reject_below: float | None,
    as_json: bool,
    strangers: Strangers,
) -> None:
    """Write a table with columns added."""
    from dsnc.cli.output import bytes_to
    from dsnc.data.stream import stream_table
    from dsnc.data.table_output import TableWriter

    added: dict[str, Any] = {"prediction": list[str], "probability": list[float]}
    if k is not None:
        numbers = [""] if k == 1 else [f"_{place}" for place in range(1, k + 1)]
        added = {}
        for place in numbers:
            added |= {f"prediction{place}": str, f"probability{place}": float}
    width = len(added)
    added |= {"error": str} if skip else {}
    separator = table.label_separator or separator_of(columns, table.delimiter)
    if k is None and table.kind in ("csv", "tsv") and not as_json:
        _warn_of_separator(model, separator)
    n_errors = 0
    with bytes_to(output) as file:
        writer = TableWriter(file, table, added, "jsonl" if as_json else None, separator)
        for block in stream_table(table, columns, batch=batch, skip_errors=skip):
            cells = []
            answers = _answers(model, block.X, k, reject_below, strangers)
            for (labels, shares), error in zip(answers, block.errors, strict=True):
                some: list[Any] = [[str(label) for label in labels], shares]
                if k is not None:
                    pairs = itertools.zip_longest(labels, shares)
                    some = [x for label, share in pairs for x in (str(label), share)]
                    some += [None] * (width - len(some))
                some = [None] * width if error else some
                cells.append([*some, error] if skip else some)
                n_errors += bool(error)
            writer.write(block.rows, cells)
        writer.close()
    if n_errors:
        note(f"{n_errors:,} rows could not be read; their column 'error' says why")


def _lines(
    model: Any,
    rows: Any,
    k: int | None,
    joint: Joint,
    *,
    proba: bool,
    reject_below: float | None,
    as_json: bool,
    encoding: str | None,
    strangers: Strangers,
) -> "Iterator[str]":
    """Yield a line for every row; the encoding is that of stdout if it is None."""
    plain = reject_below is None and strangers.label is None
    if k == 1 and plain and not (proba or as_json):
        yield from (escape(label) for label in model.predict(rows).tolist())
        return
    if k is None and plain and not (proba or as_json):
        sets = model.predict_sets(rows)
        yield from (joint.separator.join(map(joint.written, names)) for names in sets)
        return
    for names, shares in _answers(model, rows, k, reject_below, strangers):
        if as_json:
            record = {"labels": names, "probabilities": [round(share, 6) for share in shares]}
            yield json_text(record, encoding=encoding)
            continue
        cells = [joint.written(name) for name in names]
        if proba:
            pairs = itertools.zip_longest(cells, (f"{share:.4f}" for share in shares))
            cells = [x for pair in pairs for x in pair if x is not None]
        yield joint.separator.join(cells)


def _answers(
    model: Any, rows: Any, k: int | None, reject_below: float | None, strangers: Strangers
) -> "Iterator[tuple[list[Any], list[float]]]":
    """Yield the labels of each row and their probabilities, best first: k of them, or its set.

    The label of a stranger has no probability.
    """
    if k is None:
        yield from _sets(model, rows, reject_below or 0.0)
        return
    labels, probabilities = model.predict_top_k(rows, k=k)
    is_strange = strangers.among(rows, len(labels))
    answers = zip(labels.tolist(), probabilities.tolist(), is_strange, strict=True)
    for names, shares, strange in answers:
        if strange:
            yield [strangers.label], []
        else:
            is_empty = reject_below is not None and shares[0] < reject_below
            yield ([], []) if is_empty else (names, shares)


def _sets(model: Any, rows: Any, least: float) -> "Iterator[tuple[list[Any], list[float]]]":
    """Yield the set of each row, best first, without labels that are less probable than `least`."""
    for names, shares in zip(*model.sets_and_probabilities(rows), strict=True):
        kept = [(name, share) for name, share in zip(names, shares, strict=True) if share >= least]
        yield [name for name, _ in kept], [share for _, share in kept]
