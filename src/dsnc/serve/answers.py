"""Rows to answers, in blocks: between two of them a request may end, and others have their turn."""

import io
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta, Struct

from dsnc.data.columns import TEXT_NAMES, Roles
from dsnc.data.files import InMemory
from dsnc.data.tables import open_table
from dsnc.errors import DsncError
from dsnc.model.answers import PERSON, Question, answers, columns_in, write_answers
from dsnc.serve.limits import Limits, Refused
from dsnc.serve.options import PLAIN, Label, Options
from dsnc.serve.served import Served

_BLOCK = 1024  # labels; more at once are hardly faster
_BLOCK_EXPLAINED = 8  # rows: an explanation takes about as long as a hundred predictions
_BATCH = 1024  # rows of a table
_EXPLANATION = 1000  # labels that an explanation counts for: it has a term for each n-gram
_DIGITS = 6  # of probabilities
_encoder = msgspec.json.Encoder()

Go = Callable[[], None]  # raises when the time is over


class Block(NamedTuple):
    """The answers for some rows: labels, or lists of labels, and what was asked for besides."""

    labels: list[Any]
    probabilities: list[Any] | None = None
    decisions: list[str] | None = None
    explanations: list[dict[str, Any]] | None = None


class Answer(Struct, kw_only=True, omit_defaults=True):
    """The answers to all rows, in their order."""

    model: str
    version: str
    labels: Annotated[list[Any], Meta(description="With top_k, and of sets, lists of labels.")]
    probabilities: Annotated[
        list[Any] | None, Meta(description="One for each label; null for an unknown row.")
    ] = None
    decisions: list[Literal["answer", "person"]] | None = None
    explanations: list[dict[str, Any]] | None = None


def check(served: Served, options: Options) -> None:
    """Refuse options that do not go together, or that a model has no answer to."""
    if options.unknown is None and options.unknown_share != PLAIN.unknown_share:
        raise Refused(400, "unknown_share needs unknown, the label for rows of no known class.")
    if options.explain and not served.explains:
        raise Refused(
            400, f"{served.name} is of kind {served.model.kind!r}, which cannot be explained."
        )
    if options.unknown is not None and (served.has_sets or not hasattr(served.model, "novelty")):
        raise Refused(
            400,
            f"{served.name} is of kind {served.model.kind!r}, which cannot recognize unknown rows.",
        )


def cost(served: Served, n_rows: int, options: Options) -> int:
    """Return the number of labels that rows are answered with; an explanation counts for many."""
    each = min(options.k, served.n_classes)
    return n_rows * (each + _EXPLANATION * bool(options.explain))


def answer(
    served: Served, rows: Any, options: Options, go: Go, limits: Limits | None = None
) -> Iterator[Block]:
    """Yield answers to rows that were checked, block by block.

    `go` is called before each block; it raises when the time is over. Without limits, there may be
    any number of answers, as in a stream.
    """
    n_rows = len(rows) if isinstance(rows, list) else rows.shape[0]
    if limits is not None:
        limits.check_answers(cost(served, n_rows, options))
    step = max(1, _BLOCK // min(options.k, served.n_classes))
    if options.explain:
        step = min(step, _BLOCK_EXPLAINED)
    n_labels = 0  # of sets, whose number is not known before
    for start in range(0, n_rows, step):
        go()
        some = rows if n_rows <= step else rows[start : start + step]
        try:
            block = _answer(served, some, options)
        except (DsncError, ValueError) as error:  # what scikit-learn says about rows
            raise Refused(400, " ".join(str(error).split())) from None
        if limits is not None and served.has_sets:
            n_labels += sum(map(len, block.labels))
            limits.check_answers(n_labels)
        yield block


def _answer(served: Served, rows: Any, options: Options) -> Block:
    model, explanations = served.model, None
    question = Question(options.top_k, options.reject_below)
    labels: list[Any]
    probabilities: list[Any] | None = None
    decisions: list[str] | None = None
    if options.top_k is None and served.has_sets:
        labels, shares = map(list, zip(*answers(model, rows, question), strict=True))
        if options.probabilities:
            probabilities = [[round(share, _DIGITS) for share in row] for row in shares]
    elif options.top_k is None and options.reject_below is None and not options.probabilities:
        labels = model.predict(rows).tolist()
    else:
        found, shares = model.predict_top_k(rows, k=min(options.k, served.n_classes))
        if options.reject_below is not None:
            decisions = [question.decision(row) for row in shares[:, :1].tolist()]
        if options.top_k is None:
            found, shares = found[:, 0], shares[:, 0]
        labels = found.tolist()
        if options.probabilities:
            probabilities = np.round(shares.astype(np.float64), _DIGITS).tolist()
    if options.explain:
        most = None if options.explain is True else int(options.explain)
        explanations = [_explained(one.as_dict(), most) for one in model.explain(rows)]
    block = Block(labels, probabilities, decisions, explanations)
    if options.unknown is None:
        return block
    strange = model.is_unknown(rows, options.unknown_share)
    return _relabel(block, strange, options.unknown, several=options.top_k is not None)


def _relabel(block: Block, which: Any, label: Label, *, several: bool) -> Block:
    """Return answers where some rows have another label, without a probability.

    Such rows are left to a person.
    """
    for place in np.flatnonzero(which).tolist():
        block.labels[place] = [label] if several else label
        if block.probabilities is not None:
            block.probabilities[place] = [] if several else None
        if block.decisions is not None:
            block.decisions[place] = PERSON
    return block


def _explained(explanation: dict[str, Any], most: int | None) -> dict[str, Any]:
    explanation["terms"] = explanation["terms"][:most]
    return explanation


def answer_table(
    served: Served, body: bytes, options: Options, go: Go, limits: Limits
) -> tuple[bytes, dict[bytes, bytes], int]:
    """Return a table in CSV with columns added, as ``dsnc predict`` does it.

    Headers come with it, and the number of its rows.
    """
    if options.explain:
        raise Refused(400, "explain: a table cannot hold explanations; send rows as JSON.")
    check(served, options)
    model, output = served.model, io.BytesIO()
    top_k = options.top_k and min(options.top_k, served.n_classes)

    def check_rows(n_rows: int) -> None:
        go()
        limits.check_rows(n_rows)
        limits.check_answers(cost(served, n_rows, options))

    try:
        question = Question(top_k, options.reject_below, options.unknown, options.unknown_share)
        file = InMemory(body, "The body")
        table = open_table(file, "csv", known=model.records.names or TEXT_NAMES)
        columns = columns_in(model, table, Roles())
        n_rows, _ = write_answers(
            model, table, columns, output, question.of(model), batch=_BATCH, check=check_rows
        )
    except (DsncError, ValueError) as error:  # what scikit-learn says about rows
        raise Refused(400, " ".join(str(error).split())) from None
    return output.getvalue(), {b"content-type": b"text/csv; charset=utf-8"}, n_rows


def as_json(served: Served, blocks: Iterable[Block]) -> bytes:
    """Return all answers as one object, written block by block: others wait for each piece."""
    parts: dict[str, list[bytes]] = {"labels": []}
    for block in blocks:
        for name, some in block._asdict().items():
            if some is not None:
                parts.setdefault(name, []).append(to_json(some)[1:-1])
    lists: dict[str, Any] = {k: msgspec.Raw(b"[%b]" % b",".join(v)) for k, v in parts.items()}
    return to_json(Answer(model=served.name, version=served.version, **lists))


def as_lines(block: Block, options: Options) -> bytes:
    """Return a JSON object for each row, a line each."""
    several = options.top_k is not None or isinstance(next(iter(block.labels), None), list)
    names = ("labels", "probabilities") if several else ("label", "probability")
    all_names = (*names, "decision", "explanation")
    columns = {name: some for name, some in zip(all_names, block, strict=True) if some}
    rows = zip(*columns.values(), strict=True)
    return b"".join([to_json(dict(zip(columns, row, strict=True))) + b"\n" for row in rows])


def to_json(value: Any) -> bytes:
    """Return a value as JSON."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:  # half a surrogate pair: only an escape holds it
        return json.dumps(msgspec.to_builtins(value)).encode()
