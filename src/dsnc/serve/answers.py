"""Rows to answers, in blocks: between two of them a request may end, and others have their turn."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from dsnc.errors import DsncError
from dsnc.serve.options import Options
from dsnc.serve.refusals import Refused
from dsnc.serve.served import Served

_BLOCK = 1024  # rows; more at once are hardly faster
_BLOCK_EXPLAINED = 8  # an explanation takes about as long as a hundred predictions
_DIGITS = 6  # of probabilities
_encode = json.JSONEncoder(ensure_ascii=False).encode

Go = Callable[[], None]  # raises when the time is over


class Block(NamedTuple):
    """The answers for some rows: labels, or lists of labels, and what was asked for besides."""

    labels: list[Any]
    probabilities: list[Any] | None = None
    explanations: list[dict[str, Any]] | None = None


def answer(served: Served, rows: Any, options: Options, go: Go) -> Iterable[Block]:
    """Return answers to rows that were checked, block by block.

    `go` is called before each block; it raises when the time is over.
    """
    if options.explain and not served.explains:
        raise Refused(
            400, f"{served.name} is of kind {served.model.kind!r}, which cannot be explained."
        )
    if options.unknown is not None and (served.has_sets or not hasattr(served.model, "novelty")):
        raise Refused(
            400,
            f"{served.name} is of kind {served.model.kind!r}, which cannot recognize unknown rows.",
        )
    n_rows = len(rows) if isinstance(rows, list) else rows.shape[0]
    step = _BLOCK_EXPLAINED if options.explain else _BLOCK
    if n_rows <= step:
        go()
        return (_answer(served, rows, options),) if n_rows else ()
    return _answers(served, rows, options, go, range(0, n_rows, step))


def _answers(served: Served, rows: Any, options: Options, go: Go, starts: range) -> Iterator[Block]:
    for start in starts:
        go()
        yield _answer(served, rows[start : start + starts.step], options)


def _answer(served: Served, rows: Any, options: Options) -> Block:
    try:
        return _answer_block(served, rows, options)
    except (DsncError, ValueError) as error:  # what scikit-learn says about rows
        raise Refused(400, " ".join(str(error).split())) from None


def _answer_block(served: Served, rows: Any, options: Options) -> Block:
    model, explanations = served.model, None
    labels: list[Any]
    probabilities: list[Any] | None = None
    if options.top_k is None and served.has_sets:
        labels, shares = model.sets_and_probabilities(rows)
        if options.probabilities:
            probabilities = [[round(share, _DIGITS) for share in row] for row in shares]
    elif options.top_k is None and not options.probabilities:
        labels = model.predict(rows).tolist()
    else:
        found, shares = model.predict_top_k(rows, k=min(options.k, served.n_classes))
        if options.top_k is None:
            found, shares = found[:, 0], shares[:, 0]
        labels = found.tolist()
        if options.probabilities:
            probabilities = np.round(shares.astype(np.float64), _DIGITS).tolist()
    if options.explain:
        most = None if options.explain is True else int(options.explain)
        explanations = [_explained(one.as_dict(), most) for one in model.explain(rows)]
    block = Block(labels, probabilities, explanations)
    if options.unknown is None:
        return block
    strange = model.is_unknown(rows, options.unknown_share)
    return relabel(block, strange, options.unknown, several=options.top_k is not None)


def relabel(block: Block, which: Any, label: str | None, *, several: bool) -> Block:
    """Return answers where some rows have another label, or none, without a probability."""
    for place in np.flatnonzero(which).tolist():
        block.labels[place] = [label] * (label is not None) if several else label
        if block.probabilities is not None:
            block.probabilities[place] = [] if several else None
    return block


def _explained(explanation: dict[str, Any], most: int | None) -> dict[str, Any]:
    explanation["terms"] = explanation["terms"][:most]
    return explanation


def as_json(served: Served, blocks: Iterable[Block]) -> bytes:
    """Return all answers as one object, a list for each thing that was asked for."""
    labels, probabilities, explanations = [], [], []
    for block in blocks:
        labels.append(dumps(block.labels)[1:-1])
        if block.probabilities is not None:
            probabilities.append(dumps(block.probabilities)[1:-1])
        if block.explanations is not None:
            explanations.append(dumps(block.explanations)[1:-1])
    text = f'{served.introduction}, "labels": [{", ".join(labels)}]'
    if probabilities:
        text += f', "probabilities": [{", ".join(probabilities)}]'
    if explanations:
        text += f', "explanations": [{", ".join(explanations)}]'
    return f"{text}}}".encode()


def as_lines(block: Block, options: Options) -> bytes:
    """Return a JSON object for each row, a line each."""
    several = options.top_k is not None or isinstance(next(iter(block.labels), None), list)
    names = ("labels", "probabilities") if several else ("label", "probability")
    columns = {
        name: some for name, some in zip((*names, "explanation"), block, strict=True) if some
    }
    lines = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return "".join(f"{dumps(line)}\n" for line in lines).encode()


def dumps(value: Any) -> str:
    """Return JSON that can be encoded."""
    text = _encode(value)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:  # half a surrogate pair: only an escape holds it
            return json.dumps(value)
    return text
