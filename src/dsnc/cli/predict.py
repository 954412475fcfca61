"""``dsnc predict``: a line in, a line out; a table in, the table with predictions out."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from dsnc.cli.table_options import takes_tables
from dsnc.errors import InputError
from dsnc.kernels import deferred

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsnc.data.columns import Columns
    from dsnc.data.tables import Table


class OnError(StrEnum):
    """What a row that cannot be read does."""

    stop = "stop"
    skip = "skip"


class Strangers:
    """Rows that seem to belong to no class, and the label that they get; None looks for none."""

    def __init__(self, model: Any, label: str | None, share: float) -> None:
        self.label, self._model, self._share = label, model, share
        if label is not None and not hasattr(model, "novelty"):
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
    top_k: Annotated[int, typer.Option(min=1, help="The k most probable labels.")] = 1,
    proba: Annotated[
        bool, typer.Option("--proba", help="Print each label's probability after it.")
    ] = False,
    reject_below: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Leave a row empty whose best label is less probable."),
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
    inside one are written \t, \n, \r, \\, \x1b.

    Example: echo "forklift operator" | dsnc predict model - --top-k 3 --proba
    """
    from dsnc.cli.output import lines_to
    from dsnc.cli.samples import model_table, stream_for

    estimator = load_model(model, to_predict=True)
    if jobs is not None:
        estimator.n_jobs = jobs
    k = min(top_k, len(estimator.classes_))
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
    with deferred(), lines_to(output) as write, plain_errors():
        rows = stream_for(estimator, source, batch, first_index, table or {})
        for block in rows:
            write(_lines(estimator, block, k, encoding=to, **form))


def _predict_table(
    model: Any,
    table: "Table",
    columns: "Columns",
    output: Path | None,
    k: int,
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

    numbers = [""] if k == 1 else [f"_{place}" for place in range(1, k + 1)]
    added: dict[str, type] = {}
    for place in numbers:
        added |= {f"prediction{place}": str, f"probability{place}": float}
    added |= {"error": str} if skip else {}
    n_errors = 0
    with bytes_to(output) as file:
        writer = TableWriter(file, table, added, "jsonl" if as_json else None)
        for block in stream_table(table, columns, batch=batch, skip_errors=skip):
            labels, shares = model.predict_top_k(block.X, k=k)
            is_strange = strangers.among(block.X, len(labels))
            cells = []
            for row, error in enumerate(block.errors):
                is_empty = error or (reject_below is not None and shares[row, 0] < reject_below)
                pairs = zip(labels[row].tolist(), shares[row].tolist(), strict=True)
                some = [x for label, share in pairs for x in (str(label), share)]
                some = [None] * len(some) if is_empty or is_strange[row] else some
                if is_strange[row] and not error:
                    some[0] = strangers.label
                cells.append([*some, error] if skip else some)
                n_errors += bool(error)
            writer.write(block.rows, cells)
        writer.close()
    if n_errors:
        note(f"{n_errors:,} rows could not be read; their column 'error' says why")


def _lines(
    model: Any,
    rows: Any,
    k: int,
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
    labels, probabilities = model.predict_top_k(rows, k=k)
    is_strange = strangers.among(rows, len(labels))
    rows_of = zip(labels.tolist(), probabilities.tolist(), is_strange, strict=True)
    for names, shares, strange in rows_of:
        if strange:
            names, shares = [strangers.label], []
        elif reject_below is not None and shares[0] < reject_below:
            names, shares = [], []
        if as_json:
            record = {"labels": names, "probabilities": [round(share, 6) for share in shares]}
            yield json_text(record, encoding=encoding)
            continue
        cells = [escape(name) for name in names]
        if proba:
            sure = [f"\t{share:.4f}" for share in shares] or [""] * len(cells)
            cells = [f"{cell}{share}" for cell, share in zip(cells, sure, strict=True)]
        yield "\t".join(cells)
