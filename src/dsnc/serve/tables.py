"""A table in CSV comes back with columns added, as ``dsnc predict`` does it."""

import io
import tempfile
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from dsnc.data.columns import TEXT_NAMES, Roles
from dsnc.data.stream import stream_table
from dsnc.data.table_output import TableWriter
from dsnc.data.tables import open_table
from dsnc.errors import DsncError
from dsnc.model.answers import columns_in
from dsnc.serve.answers import Block, Go, answer, as_json, relabel
from dsnc.serve.options import Options
from dsnc.serve.refusals import Refused, too_large
from dsnc.serve.served import Served


def answer_table(
    served: Served, body: bytes, options: Options, go: Go, most: int, *, to_json: bool
) -> tuple[bytes, int]:
    """Return the table with its answers, or the answers alone as JSON; and the number of rows."""
    if options.explain and not to_json:
        raise Refused(
            400, "explain: a table cannot hold explanations; send Accept: application/json."
        )
    with tempfile.TemporaryDirectory(prefix="dsnc-serve-") as aside:
        path = Path(aside) / "body.csv"
        path.write_bytes(body)
        try:
            return _answer_file(served, path, options, go, most, to_json=to_json)
        except DsncError as error:  # which knows the file; clients do not
            raise Refused(400, str(error).replace(str(path), "The body")) from None


def _answer_file(
    served: Served, path: Path, options: Options, go: Go, most: int, *, to_json: bool
) -> tuple[bytes, int]:
    if served.has_sets and options.top_k is None and not to_json:
        raise Refused(400, "A table cannot hold sets of labels; ask for top_k, or for JSON.")
    model = served.model
    table = open_table(path, "csv", known=model.records.names or TEXT_NAMES)
    columns = columns_in(model, table, Roles())
    names = [""] if options.top_k is None else [f"_{place + 1}" for place in range(options.top_k)]
    names = names[: served.n_classes]
    added: dict[str, type] = {}
    for name in names:
        added[f"prediction{name}"] = str
        if options.probabilities:
            added[f"probability{name}"] = float
    several = options.top_k is not None or served.has_sets
    output, blocks, n_rows = io.BytesIO(), [], 0
    writer = TableWriter(output, table, added)
    for part in stream_table(table, columns, batch=1024):
        n_rows += len(part.rows)
        if n_rows > most:
            raise too_large(f"The table has more than {most:,} rows; send fewer at a time.")
        errors = iter(part.errors)
        for block in answer(served, part.X, options, go):
            nothing = [bool(error) for error in islice(errors, len(block.labels))]
            blocks.append(relabel(block, nothing, None, several=several))
        if not to_json:
            writer.write(part.rows, _cells(blocks, len(added)))
            blocks.clear()
    return (as_json(served, iter(blocks)) if to_json else output.getvalue()), n_rows


def _cells(blocks: list[Block], width: int) -> list[list[Any]]:
    """Return what is added to each row: a label and its probability, once or several times.

    A row that is unknown has one label, without a probability; one without a text has neither.
    """
    lines = []
    for block in blocks:
        columns = [some for some in (block.labels, block.probabilities) if some is not None]
        for row in zip(*columns, strict=True):
            pairs = zip_longest(*row) if isinstance(row[0], list) else [row]
            cells = [cell for pair in pairs for cell in pair]
            lines.append(cells + [None] * (width - len(cells)))
    return lines
