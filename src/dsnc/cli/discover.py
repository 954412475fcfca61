"""``dsnc classes discover``: classes that nobody has named, and names that a person gave them."""

import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dsnc.cli.common import (
    STATE,
    AsJson,
    FirstIndex,
    Force,
    Model,
    Source,
    escape,
    load_model,
    note,
    plain_errors,
    print_json,
    print_table,
)
from dsnc.cli.output import check_new_files
from dsnc.cli.table_files import check_table, write_table
from dsnc.cli.table_options import takes_tables
from dsnc.errors import DataFileError, InputError, require

if TYPE_CHECKING:
    from dsnc.discovery import Discovery

_BATCH = 4096
_SHOWN = 20  # classes of a terminal
_WIDTH = 40  # letters of a cell
_COLUMNS = ("name", "size", "tightness", "novel", "marks", "nearest", "typical", "rows")


@takes_tables
def discover(
    model: Model,
    source: Source,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the proposed classes here, for a person to name: .csv, .tsv or .jsonl.",
        ),
    ] = None,
    n_classes: Annotated[
        int | None,
        typer.Option(
            "--classes",
            min=1,
            metavar="N",
            help="How many classes to propose; estimated by default.",
        ),
    ] = None,
    unknown_share: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Share of rows of known classes that may count as novel; with 1, all rows do.",
        ),
    ] = 0.05,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write an HTML page about them; needs the extra report."),
    ] = None,
    force: Force = False,
    jobs: Annotated[int | None, typer.Option(help="Threads; -1 uses all cores.")] = None,
    first_index: FirstIndex = None,
    as_json: AsJson = False,
    table: Any = None,
) -> None:
    """Propose classes that nobody has named, from rows without labels.

    Rows that fit no known class are grouped. Name the groups in the file that -o writes (a group
    without a name is left out, groups with the same name are merged), then add them to the model:
    dsnc classes add MODEL INPUT --names FILE

    Example: dsnc classes discover model titles.txt -o proposed.tsv
    """
    check_table("-o", output)
    check_new_files({"-o": output, "--html": html}, force=force)
    if html is not None:
        require("jinja2", extra="report", caller="dsnc classes discover --html")
    estimator = load_model(model, to_predict=True)
    if not hasattr(estimator, "discover_classes"):
        raise InputError(f"{model}: a model of kind {estimator.kind!r} cannot discover classes.")
    if jobs is not None:
        estimator.n_jobs = jobs
    rows = all_rows(estimator, source, first_index, table or {})
    with plain_errors():
        found = estimator.discover_classes(
            rows,
            n_classes,
            unknown_share=unknown_share,
            verbose=sys.stderr.isatty() and not STATE.quiet,
        )
    if passed := found.n_rows - found.n_novel:
        note(
            f"{passed:,} of {found.n_rows:,} rows were taken for known classes; --unknown-share "
            f"{min(1, max(0.3, 2 * unknown_share)):g} takes more for new, 1 takes all"
        )
    if output is not None:
        write_table(output, _COLUMNS, _lines(found), " ")
        note(
            f"proposed classes: {output}; name them, then: dsnc classes add {model} {source} "
            f"--names {output}"
        )
    if html is not None:
        from dsnc.discovery import discovery_page

        discovery_page(html, found, title=f"Proposed classes of {source}")
        note(f"page: {html}")
    if as_json:
        print_json(
            {
                "rows": found.n_rows,
                "novel": found.n_novel,
                "classes": [_numbered(one.as_dict()) for one in found.classes],
            }
        )
        return
    _show(found)


def all_rows(estimator: Any, source: str, first_index: int | None, table: dict[str, Any]) -> Any:
    """Return all rows without labels, as the model takes them; row 1 of messages is the first."""
    from dsnc.cli.samples import stream_for
    from dsnc.rows import concatenate

    blocks = list(stream_for(estimator, source, _BATCH, first_index, table))
    if not blocks:
        raise InputError(f"{source} has no rows.")
    if isinstance(blocks[0], list):
        return [text for block in blocks for text in block]
    import scipy.sparse as sp

    return sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else concatenate(blocks)


def read_names(path: Path, estimator: Any, n_rows: int) -> tuple[list[int], list[Any]]:
    """Return rows and the labels that a person gave them, from a file that `discover` wrote."""
    from dsnc.data.readers import rows_reader
    from dsnc.data.tables import TableOptions

    check_table("--names", path)
    table: Any = rows_reader(path).open(str(path), TableOptions(header=True), _COLUMNS)
    if missing := {"name", "rows"} - set(table.names):
        raise DataFileError.at(
            str(path),
            f"has no column {sorted(missing)[0]!r}",
            line=1,
            expected="a file that dsnc classes discover -o wrote",
        )
    places = [table.names.index(column) for column in ("name", "rows")]
    rows: list[int] = []
    labels: list[Any] = []
    for row in table.rows():
        name, numbers = (row.known()[place] for place in places)
        if name is None or not str(name).strip():
            continue
        some = _row_numbers(numbers, str(path), row.line, n_rows)
        rows += some
        labels += [_label(str(name).strip(), estimator, str(path), row.line)] * len(some)
    if not rows:
        raise InputError(f"--names {path} names no class; fill in its column 'name'.")
    return rows, labels


def _row_numbers(cell: Any, path: str, line: int, n_rows: int) -> list[int]:
    """Return the row numbers of a cell, counted from 0."""
    try:
        numbers = cell if isinstance(cell, list) else str(cell).split()
        rows = [int(number) - 1 for number in numbers]
    except (TypeError, ValueError):
        rows = [-1]
    if not all(0 <= row < n_rows for row in rows):
        raise DataFileError.at(
            path,
            "has rows that the input does not have",
            line=line,
            text=str(cell)[:_WIDTH],
            expected=f"numbers from 1 to {n_rows:,}, those of the file that was searched",
        )
    return rows


def _label(name: str, estimator: Any, path: str, line: int) -> Any:
    """Return a name as a label of the type that the model has."""
    kind = estimator.classes_.dtype.kind
    kinds: dict[str, Any] = {"i": int, "u": int, "f": float}
    try:
        return kinds.get(kind, str)(name)
    except ValueError:
        raise DataFileError.at(
            path,
            f"names a class {name!r}",
            line=line,
            expected="a number, like the other labels of the model",
        ) from None


def _numbered(record: dict[str, Any]) -> dict[str, Any]:
    """Count rows from 1 on, as files and people do."""
    return {**record, "rows": [row + 1 for row in record["rows"]]}


def _lines(found: "Discovery") -> "Any":
    """Yield the cells of each proposed class."""
    for one in found.classes:
        yield [
            one.name,
            len(one),
            round(one.tightness, 4),
            round(one.novel, 4),
            ", ".join(one.marks),
            " | ".join(str(label) for label, _ in one.nearest),
            " | ".join(one.texts),
            [row + 1 for row in one.rows.tolist()],
        ]


def _show(found: "Discovery") -> None:
    """Print the largest classes."""
    typer.echo(f"{found}\n")
    rows = []
    for one in found.classes[:_SHOWN]:
        near = str(one.nearest[0][0]) if one.nearest else ""
        cells = (", ".join(one.marks), near, " | ".join(one.texts))
        short = (textwrap.shorten(cell, _WIDTH, placeholder=" ...") for cell in cells)
        rows.append([str(one.name), f"{len(one):,}", f"{one.tightness:.2f}", *map(escape, short)])
    print_table(["name", "rows", "tight", "marked by", "nearest known", "typical"], rows)
    if len(found) > _SHOWN:
        typer.echo(f"... and {len(found) - _SHOWN:,} more; -o FILE writes all")
