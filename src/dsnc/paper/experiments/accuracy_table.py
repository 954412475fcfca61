"""The paper's Table 2: test accuracy of every method for every code size."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from dsnc.paper.experiments import published
from dsnc.paper.experiments.definition import Definition
from dsnc.paper.experiments.methods import METHODS, RECIPES, TABLE_BITS
from dsnc.paper.experiments.record import FITTED, OWN, Record
from dsnc.paper.experiments.tables import Cell, Table
from dsnc.progress import settings_text


def series_key(method: str, decoder: str) -> str:
    """Return the name of a method with one of its decoders."""
    return method if decoder == OWN else f"{method}/{decoder}"


class Column(NamedTuple):
    """A column: a method, and one of its decoders."""

    title: str
    method: str
    decoder: str = OWN
    sublinear: bool = False  # in constant time where all codes fit into a table

    @property
    def key(self) -> str:
        """Its name among the published figures and on the curve of cost."""
        return series_key(self.method, self.decoder)


COLUMNS = (
    Column("DSNC linear", "dsnc", "linear", True),
    Column("DSNC NN", "dsnc", "nearest", True),
    Column("DSNC linear+Reg", "dsnc_reg", "linear", True),
    Column("DSNC NN+Reg", "dsnc_reg", "nearest", True),
    Column("DSNC shortlist", "dsnc", "shortlist"),
    Column("DSNC shortlist+Reg", "dsnc_reg", "shortlist"),
    Column("DSNC table, 16 probes", "dsnc", "table", True),
    Column("DSNC as fitted", "dsnc", FITTED),
    Column("MLP", "mlp"),
    Column("MLP+Reg", "mlp_reg"),
    Column("ECOC", "ecoc", sublinear=True),
    Column("one-vs-rest", "one_vs_rest"),
    Column("nearest centroid", "nearest_centroid"),
)


def tables(records: Iterable[Record]) -> list[Table]:
    """Return a table for each data set and recipe; the paper's figures beside ours if any."""
    return [_table(data, group) for (data, _), group in groups(records).items()]


def groups(
    records: Iterable[Record], methods: Iterable[str] = tuple(METHODS)
) -> dict[tuple[str, str], list[Record]]:
    """Return the records of some methods that did not fail, by data set and recipe."""
    found: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        definition = record.definition
        if definition.method in methods and not record.error:
            found.setdefault((definition.data, definition.recipe), []).append(record)
    return found


def accuracy(column: Column, n_bits: int, records: Iterable[Record]) -> Cell:
    """Return the test accuracy of a column and code size over its runs, in percent."""
    values = [
        100 * record.outcomes[column.decoder]["accuracy"]
        for record in records
        if record.definition.method == column.method
        and record.definition.n_bits in (n_bits, None)
        and column.decoder in record.outcomes
    ]
    return Cell.of(values, constant_time=column.sublinear and n_bits <= TABLE_BITS)


def _table(data: str, records: Sequence[Record]) -> Table:
    known = {(r.definition.method, decoder) for r in records for decoder in r.outcomes}
    columns = [column for column in COLUMNS if (column.method, column.decoder) in known]
    sizes = sorted({r.definition.n_bits for r in records if r.definition.n_bits is not None})
    paper = published.paper_set(records[0].definition.source, data)
    rows = []
    for n_bits in sizes:
        cells = [accuracy(column, n_bits, records) for column in columns]
        best = max((c.value for c in cells if c.text), default=0.0)
        cells = [replace(cell, best=cell.value == best) for cell in cells]
        rows.append([Cell(str(n_bits)), *cells])
        if paper:
            rows += _published(paper, n_bits, columns)
    notes = [
        f"Test accuracy in percent{_over(records)}.",
        *left_out(records),
        *_selection(records),
        f"Up to {TABLE_BITS} bits all codes can be decoded beforehand: a look-up, in constant "
        "time, for DSNC linear, NN, the table with probes, and ECOC.",
    ]
    if paper:
        same = paper == published.NAMES.get(data)
        kind = "the same data set" if same else f"our data stand for its {paper}"
        notes.append(f"*paper*: figures of the paper's Table 2; {kind}.")
    return Table(title("Accuracy", records), ["bits", *(c.title for c in columns)], rows, notes)


def title(what: str, records: Sequence[Record]) -> str:
    """Name a table, and say in what its runs are not the whole of the paper's protocol."""
    definitions = [record.definition for record in records]
    recipe = definitions[0].recipe
    name = f"{what} on {definitions[0].data}, {recipe} recipe"
    fewer, other = [*_fewer(records)], [*_other(definitions)]
    if not fewer and not other:
        return name
    kinds = ["a quick look"] * bool(fewer)
    kinds += ["not the paper's protocol"] * bool(other or recipe != "paper")
    return f"{name} ({', '.join([*fewer, *other])}: {', '.join(kinds)})"


def _fewer(records: Sequence[Record]) -> Iterator[str]:
    """Yield what there is less of than in the preset of the paper."""
    rows = records[0].rows
    if rows.get("classes left out"):
        yield f"{rows['classes']:,} of {rows['classes'] + rows['classes left out']:,} classes"
    if len({record.definition.seed for record in records}) == 1:
        yield "1 seed"


def _other(definitions: Sequence[Definition]) -> Iterator[str]:
    """Yield what differs from the recipe."""
    settings = {
        name: value
        for one in definitions
        for name, value in one.settings.items()
        if METHODS[one.method].recipes.get(one.recipe, {}).get(name) != value and name != "device"
    }
    if "max_epochs" in settings:
        yield f"{settings.pop('max_epochs')} epochs"
    if settings:
        yield settings_text(settings)
    if RECIPES[definitions[0].recipe].grid and not any(one.selected for one in definitions):
        yield "nothing selected"


def left_out(records: Sequence[Record]) -> Iterator[str]:
    """Yield how many rows could not be used, if there are any."""
    by_draw = {r.definition.source.draw: r.rows for r in records}
    for draw, rows in by_draw.items():
        parts = [
            f"{n:,} of {n + rows[part]:,} {part} rows"
            for part in ("validation", "test")
            if (n := rows.get(f"{part} left out", 0))
        ]
        if parts:
            where = "" if draw is None else f" (draw {draw})"
            yield f"Left out, since no training row has their class: {' and '.join(parts)}{where}."


def _over(records: Sequence[Record]) -> str:
    """Say what the deviations are over."""
    n_seeds = len({r.definition.seed for r in records})
    n_draws = len({r.definition.source.draw for r in records})
    what = [f"up to {n_seeds} seeds"] * (n_seeds > 1) + [f"{n_draws} draws"] * (n_draws > 1)
    return f", mean ± standard deviation over {' of each of '.join(what)} (no ±: one)" * bool(what)


def _selection(records: Sequence[Record]) -> Iterator[str]:
    """Yield what was chosen on validation rows, if anything was."""
    names = sorted({name for r in records for name in r.definition.selected}, reverse=True)
    if names:
        what = " and ".join(name.replace("_", " ") for name in names)
        yield f"Chosen for each cell on validation rows, with the first seed: {what}."


def _published(paper: str, n_bits: int, columns: Iterable[Column]) -> list[list[Cell]]:
    """Return the row of the paper's figures, if it has one."""
    figures = published.ACCURACY[paper].get(n_bits)
    if figures is None:
        return []
    known = dict(zip(published.COLUMNS, figures, strict=True))
    cells = [known.get(column.key) for column in columns]
    return [[Cell("*paper*"), *(Cell() if v is None else Cell(f"{v:.2f}", v) for v in cells)]]
