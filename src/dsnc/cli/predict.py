"""``dsnc predict``: a line in, a line out; a table in, the table with predictions out."""

import itertools
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from dsnc.cli.cluster import Ray, Workers, predict_on_ray, refuse_lines, refuse_workers
from dsnc.cli.common import (
    FirstIndex,
    Force,
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

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsnc.model.answers import Question


_BATCH = 4096


class Joint(NamedTuple):
    """How the labels of a row are written into a line."""

    separator: str = "\t"
    prefix: str = ""  # of each label

    def written(self, label: Any) -> str:
        """Return a label as it stands in a line; with a prefix, it is one word."""
        if not self.prefix:
            return escape(label)
        return self.prefix + escape("_".join(str(label).split()), backslash=False)


@takes_tables
def predict(
    model: Model,
    source: Source,
    output: WholeFile = None,
    top_k: Annotated[
        int | None,
        typer.Option(
            min=1, help="Predict the k most probable labels; by default 1, or the whole label set."
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
            help="Leave rows to a person whose best label is less probable than this, by a column "
            "decision: answer or person. From label sets, leave out such labels.",
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
        typer.Option(
            min=0,
            max=1,
            help="Share of rows of known classes that may be mistaken for unknown ones.",
        ),
    ] = 0.05,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object for every row.")
    ] = False,
    on_error: Annotated[
        Literal["stop", "skip"],
        typer.Option(help="If a row of a table cannot be read: stop, or skip it."),
    ] = "stop",
    jobs: Annotated[int | None, typer.Option(help="Threads; -1 uses all cores.")] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            min=1, help="Maximum number of rows at a time; 4096 by default, 1024 with --ray."
        ),
    ] = None,
    first_index: FirstIndex = None,
    ray: Ray = None,
    workers: Workers = None,
    force: Force = False,
    table: Any = None,
) -> None:
    r"""Predict labels: one line for every row, immediately, even from a pipe that is still open.

    A table (csv, tsv, jsonl, parquet) comes back with columns added: prediction, probability. For
    other rows, labels are separated by tabs; tabs, line ends, backslashes and invisible characters
    inside a label are written as \t, \n, \r, \\, \x1b. Label sets are lists in JSON and Parquet; in
    csv and tsv, --label-separator separates labels, by default that of training, else a bar.
    With --ray, INPUT may be a folder or an address, and OUTPUT is a folder of Parquet parts.

    Example: echo "forklift operator" | dsnc predict model - --top-k 3 --proba
    """
    skip = on_error == "skip"
    if ray is not None:
        refuse_lines(as_json=as_json, first_index=first_index, force=force)
        told: dict[str, Any] = {"ray": ray, "workers": workers, "cpus_per_worker": jobs or 1}
        told |= {"top_k": top_k, "reject_below": reject_below, "unknown": unknown}
        told |= {"unknown_share": unknown_share, "skip_errors": skip}
        told |= {} if batch is None else {"batch": batch}
        predict_on_ray(model, source, output, told, table or {})
        return
    refuse_workers(workers)
    batch = batch or _BATCH
    from dsnc.cli.output import bytes_to, lines_to
    from dsnc.cli.samples import model_table, stream_for
    from dsnc.data.stream import errors_of
    from dsnc.model.answers import Noticed, Question, features_of, write_answers

    estimator = load_model(model, to_predict=True)
    if jobs is not None:
        estimator.n_jobs = jobs
    question = Question(top_k, reject_below, unknown, unknown_share).of(estimator)
    found = model_table(estimator, source, table or {})
    if found is not None:
        kind: Any = {"kind": "jsonl" if as_json else None, "batch": batch, "skip_errors": skip}
        with plain_errors(), bytes_to(output, force=force) as file:
            note(str(write_answers(estimator, *found, file, question, **kind)[1]))
        return
    to = None if output is None else "utf-8"
    joint = _joint(source, table or {}) if question.top_k is None else Joint()
    noticed, line = Noticed(), 1
    with lines_to(output, force=force) as write, plain_errors():
        for block in stream_for(estimator, source, batch, first_index, table or {}):
            errors = errors_of(block)
            lines = range(line, line := line + len(errors))
            rows = features_of(estimator, block, lines, errors, noticed)
            form: Any = {"encoding": to, "proba": proba, "as_json": as_json}
            write(_lines(estimator, rows, errors, question, joint, **form))
    note(str(noticed))


def _joint(source: str, options: dict[str, Any]) -> Joint:
    """Return how label sets are written: as in lines of the format that comes."""
    from dsnc.data.readers import rows_reader

    if "label_separator" in options:
        return Joint(options["label_separator"])
    return Joint(*rows_reader(source).joint)


def _lines(
    model: Any,
    rows: Any,
    errors: list[str],
    question: "Question",
    joint: Joint,
    *,
    proba: bool,
    as_json: bool,
    encoding: str | None,
) -> "Iterator[str]":
    """Yield a line for every row; the encoding is that of stdout if it is None."""
    from dsnc.model.answers import answers

    plain = question.reject_below is None and question.unknown is None
    found: Iterable[tuple[list[Any], list[float]]]
    if plain and question.top_k in (1, None) and not (proba or as_json):
        is_one = question.top_k == 1
        several = model.predict(rows)[:, None].tolist() if is_one else model.predict_sets(rows)
        found = ((names, []) for names in several)
    else:
        found = answers(model, rows, question)
    for (names, shares), error in zip(found, errors, strict=True):
        if error:
            names, shares = [], []
        if as_json:
            record: dict[str, Any] = {"labels": names}
            record["probabilities"] = [round(share, 6) for share in shares]
            record |= {"decision": question.decision(shares)} if question.decides else {}
            yield json_text(record, encoding=encoding)
            continue
        cells = [joint.written(name) for name in names]
        if proba:
            pairs = itertools.zip_longest(cells, (f"{share:.4f}" for share in shares))
            cells = [x for pair in pairs for x in pair if x is not None]
        cells += [question.decision(shares)] if question.decides else []
        yield joint.separator.join(cells)
