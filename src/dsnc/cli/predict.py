"""``dsnc predict``: a line in, a line out."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dsnc.cli.common import (
    Batch,
    Encoding,
    FirstIndex,
    Model,
    Source,
    WholeFile,
    escape,
    json_text,
    load_model,
    plain_errors,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object for every row.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(help="Threads; -1 takes all cores.")] = None,
    batch: Batch = 4096,
    encoding: Encoding = "utf-8",
    first_index: FirstIndex = None,
) -> None:
    r"""Predict labels: one line for every row, at once, also from a pipe that is still open.

    Labels are separated by tabs; tabs, line ends, backslashes and what cannot be seen inside one
    are written \t, \n, \r, \\, \x1b.

    Example: echo "forklift operator" | dsnc predict model - --top-k 3 --proba
    """
    from dsnc.cli.output import lines_to
    from dsnc.cli.samples import stream_for

    estimator = load_model(model, to_predict=True)
    if jobs is not None:
        estimator.n_jobs = jobs
    k = min(top_k, len(estimator.classes_))
    form: dict[str, Any] = {"proba": proba, "reject_below": reject_below, "as_json": as_json}
    to = None if output is None else "utf-8"
    with lines_to(output) as write, plain_errors():
        rows = stream_for(estimator, source, batch, encoding, first_index)
        for block in rows:
            write(_lines(estimator, block, k, encoding=to, **form))


def _lines(
    model: Any,
    rows: Any,
    k: int,
    *,
    proba: bool,
    reject_below: float | None,
    as_json: bool,
    encoding: str | None,
) -> "Iterator[str]":
    """Yield a line for every row; the encoding is that of stdout if it is None."""
    if k == 1 and not (proba or as_json or reject_below is not None):
        yield from (escape(label) for label in model.predict(rows).tolist())
        return
    labels, probabilities = model.predict_top_k(rows, k=k)
    for names, shares in zip(labels.tolist(), probabilities.tolist(), strict=True):
        if reject_below is not None and shares[0] < reject_below:
            names, shares = [], []
        if as_json:
            record = {"labels": names, "probabilities": [round(share, 6) for share in shares]}
            yield json_text(record, encoding=encoding)
            continue
        cells = [escape(name) for name in names]
        if proba:
            cells = [f"{cell}\t{share:.4f}" for cell, share in zip(cells, shares, strict=True)]
        yield "\t".join(cells)
