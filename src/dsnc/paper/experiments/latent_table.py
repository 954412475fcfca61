"""The paper's Table 3: what regularization does to the space of codes."""

from collections.abc import Iterable, Sequence

from dsnc.paper.experiments import published
from dsnc.paper.experiments.accuracy_table import groups, left_out, title
from dsnc.paper.experiments.record import Record
from dsnc.paper.experiments.tables import Cell, Table

METHODS = {"dsnc": "no Reg", "dsnc_reg": "Reg"}
COLUMNS = ("bits", "", *published.LATENT_COLUMNS, "test codes", "NN %", "linear %")


def tables(records: Iterable[Record]) -> list[Table]:
    """Return a table for each data set and recipe."""
    grouped = groups(records, METHODS)
    return [_table(data, group) for (data, _), group in grouped.items()]


def _table(data: str, records: Sequence[Record]) -> Table:
    paper = published.paper_set(records[0].definition.source, data)
    rows = []
    for n_bits in sorted({r.definition.n_bits or 0 for r in records}):
        for method, name in METHODS.items():
            same = [
                r for r in records if (r.definition.method, r.definition.n_bits) == (method, n_bits)
            ]
            if same:
                rows.append([Cell(str(n_bits)), Cell(name), *_cells(same)])
            known = published.LATENT.get(paper, {}).get((n_bits, method == "dsnc_reg"))
            if same and known:
                rows.append([Cell("*paper*"), Cell(name), *map(Cell, known), *[Cell()] * 3])
    rows_of = next(iter(records)).codes
    notes = [
        "Hamming distances of hard codes: mean over all pairs of rows ± standard deviation over "
        "classes of their mean distance. Exact: no pair is left out.",
        f"Number of distinct codes of {int(rows_of['train']['rows']):,} training and "
        f"{int(rows_of['test']['rows']):,} test rows. Means over seeds.",
        *left_out(records),
    ]
    if any(row[0].text == "*paper*" for row in rows):
        notes.append(f"*paper*: figures of the paper's Table 3, on {paper}.")
    return Table(title("Space of codes", records), COLUMNS, rows, notes)


def _cells(records: Sequence[Record]) -> list[Cell]:
    cells = []
    for part in ("train", "test"):
        for kind in ("intra", "inter"):
            mean = Cell.of([_mean(records, part, kind)], 1)
            spread = _mean(records, part, f"{kind}_class_std")
            cells.append(Cell(f"{mean.text} ± {spread:.1f}", mean.value))
        cells.append(Cell.of([_mean(records, part, "codes")], 0))
    for decoder in ("nearest", "linear"):
        cells.append(Cell.of([100 * r.outcomes[decoder]["accuracy"] for r in records]))
    # train intra, train inter, train codes, test intra, test inter, test codes, accuracies
    return cells


def _mean(records: Sequence[Record], part: str, figure: str) -> float:
    values = [record.codes[part][figure] for record in records]
    return sum(values) / len(values)
