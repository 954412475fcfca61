"""The paper's Table 2: test accuracy of every method for every code size."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from dsnc.experiments import published
from dsnc.experiments.definition import Definition, Source
from dsnc.experiments.methods import METHODS, TABLE_BITS
from dsnc.experiments.plan import Plan
from dsnc.experiments.record import OWN, Record
from dsnc.experiments.tables import Cell, Table


class Column(NamedTuple):
    """A column: a method, and one of its decoders."""

    title: str
    method: str
    decoder: str = OWN
    sublinear: bool = False  # in constant time where all codes fit into a table

    @property
    def key(self) -> str:
        """Its name among the published figures."""
        return self.method if self.decoder == OWN else f"{self.method}/{self.decoder}"


COLUMNS = (
    Column("DSNC linear", "dsnc", "linear", True),
    Column("DSNC NN", "dsnc", "nearest", True),
    Column("DSNC linear+Reg", "dsnc_reg", "linear", True),
    Column("DSNC NN+Reg", "dsnc_reg", "nearest", True),
    Column("DSNC shortlist", "dsnc", "shortlist"),
    Column("DSNC shortlist+Reg", "dsnc_reg", "shortlist"),
    Column("DSNC table, 16 probes", "dsnc", "table", True),
    Column("MLP", "mlp"),
    Column("MLP+Reg", "mlp_reg"),
    Column("ECOC", "ecoc", sublinear=True),
    Column("one-vs-rest", "one_vs_rest"),
    Column("nearest centroid", "nearest_centroid"),
)


def definitions(source: Source, plan: Plan) -> list[Definition]:
    """Return the runs that the table needs."""
    return list(plan.definitions(source))


def tables(records: Iterable[Record]) -> list[Table]:
    """Return a table for each data set and recipe; the paper's figures beside ours if any."""
    return [_table(data, recipe, group) for (data, recipe), group in groups(records).items()]


def groups(records: Iterable[Record]) -> dict[tuple[str, str], list[Record]]:
    """Return the records that did not fail, by data set and recipe."""
    found: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if not record.error:
            found.setdefault((record.definition.data, record.definition.recipe), []).append(record)
    # What a recipe does not change was run under the first one only.
    for (data, recipe), group in found.items():
        known = {record.definition.method for record in group}
        group += [
            record
            for (other, _), others in found.items()
            for record in others
            if other == data
            and record.definition.method not in known
            and _is_same_under(recipe, record.definition)
        ]
    return found


def accuracies(column: Column, n_bits: int, records: Iterable[Record]) -> list[float]:
    """Return the test accuracy of each run of a column and code size, in percent."""
    return [
        100 * record.outcomes[column.decoder]["accuracy"]
        for record in records
        if record.definition.method == column.method
        and record.definition.n_bits in (n_bits, None)
        and column.decoder in record.outcomes
    ]


def _is_same_under(recipe: str, definition: Definition) -> bool:
    """Tell whether another recipe would have made the same run."""
    recipes = METHODS[definition.method].recipes
    return dict(recipes[definition.recipe]) == dict(recipes[recipe])


def _table(data: str, recipe: str, records: Sequence[Record]) -> Table:
    columns = [c for c in COLUMNS if any(r.definition.method == c.method for r in records)]
    sizes = sorted({r.definition.n_bits for r in records if r.definition.n_bits is not None})
    beside = next((r.definition.source.beside for r in records if r.definition.source.beside), None)
    own = published.NAMES.get(data)
    paper = beside or own
    rows = []
    for n_bits in sizes:
        cells = [_cell(column, n_bits, records) for column in columns]
        best = max((c.value for c in cells if c.text), default=0.0)
        cells = [replace(cell, best=cell.value == best) for cell in cells]
        rows.append([Cell(str(n_bits)), *cells])
        if paper:
            rows += _published(paper, n_bits, columns)
    seeds = sorted({r.definition.seed for r in records})
    over = f", mean ± standard deviation over up to {len(seeds)} seeds (no ±: one)"
    over = over if len(seeds) > 1 else ""
    notes = [
        f"Test accuracy in percent{over}.",
        f"Up to {TABLE_BITS} bits all codes can be decoded beforehand: a look-up, in constant "
        "time, for DSNC linear, NN, the table with probes, and ECOC.",
    ]
    if paper:
        kind = "the same data set" if paper == own else f"our data stand for its {paper}"
        notes.append(f"*paper*: figures of the paper's Table 2; {kind}.")
    return Table(
        f"Accuracy on {data}, {recipe} recipe", ["bits", *(c.title for c in columns)], rows, notes
    )


def _cell(column: Column, n_bits: int, records: Iterable[Record]) -> Cell:
    values = accuracies(column, n_bits, records)
    return Cell.of(values, constant_time=column.sublinear and n_bits <= TABLE_BITS)


def _published(paper: str, n_bits: int, columns: Iterable[Column]) -> list[list[Cell]]:
    """Return the row of the paper's figures, if it has one."""
    figures = published.ACCURACY[paper].get(n_bits)
    if figures is None:
        return []
    known = dict(zip(published.COLUMNS, figures, strict=True))
    cells = [known.get(column.key) for column in columns]
    return [[Cell("*paper*"), *(Cell() if v is None else Cell(f"{v:.2f}", v) for v in cells)]]
