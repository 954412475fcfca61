"""``dsnc encode``: rows to their binary codes."""

from typing import IO, Annotated, Any, Literal

import typer

from dsnc.cli.common import (
    Batch,
    FirstIndex,
    Force,
    Model,
    Source,
    WholeFile,
    load_model,
    note,
    plain_errors,
)
from dsnc.cli.table_options import takes_tables
from dsnc.errors import InputError
from dsnc.progress import count

Format = Literal["hex", "bits", "npy"]


@takes_tables
def encode(
    model: Model,
    source: Source,
    output: WholeFile = None,
    form: Annotated[
        Format | None,
        typer.Option("--format", help="hex (default), bits, or npy (default if -o ends in .npy)."),
    ] = None,
    batch: Batch = 4096,
    first_index: FirstIndex = None,
    force: Force = False,
    table: Any = None,
) -> None:
    """Print the binary code of every row, or write them as an array.

    hex and bits begin with bit 0. npy holds the words of the codes, uint64 of shape (rows, words),
    with bit 0 as the lowest bit of the first word.

    Example: dsnc encode model titles.txt --format bits
    """
    from dsnc.cli.output import aside, lines_to
    from dsnc.cli.samples import stream_for

    if form is None:
        form = "npy" if output is not None and output.suffix == ".npy" else "hex"
    if form == "npy" and output is None:
        raise typer.BadParameter(
            "npy is written to a file; name it with -o codes.npy.", param_hint="--format"
        )
    estimator = load_model(model, to_predict=True)
    if not hasattr(estimator, "encode"):
        raise InputError(f"{model} is of kind {estimator.kind!r}, which has no codes.")
    with plain_errors():
        rows = stream_for(estimator, source, batch, first_index, table or {})
        if form == "npy" and output is not None:
            with aside(output, force=force) as file:
                n_rows = _write_words(file, estimator, rows)
            note(f"{count(n_rows, 'code')} of {estimator.predictor_.n_bits} bits: {output}")
            return
        with lines_to(output, force=force) as write:
            for block in rows:
                write(_texts(estimator.encode(block), form))


def _write_words(file: IO[bytes], estimator: Any, rows: Any) -> int:
    """Write the words of all codes as an array, and return how many there are."""
    import numpy as np

    none = np.empty((0, -(-estimator.predictor_.n_bits // 64)), dtype=np.uint64)
    words = np.concatenate([none, *(estimator.encode(block).words for block in rows)])
    words = np.ascontiguousarray(words, dtype="<u8")
    np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(words))
    file.write(words.tobytes())  # not np.save, which cannot write to a pipe
    return len(words)


def _texts(codes: Any, form: Format) -> list[str]:
    if form == "bits":
        return ["".join("01"[bit] for bit in row) for row in codes.to_bits().astype(int)]
    found: list[str] = codes.to_hex()
    return found
