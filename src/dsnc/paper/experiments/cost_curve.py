"""The paper's Figure 2: accuracy against the cost of decoding, by its formulas and measured.

The paper counts: K classes cost ``c K`` multiplications with an MLP or a linear decoder; the
nearest of n codes costs ``c sqrt(n) / log2(n)``, whether they belong to training rows (DSNC NN) or
to classes (ECOC, one each); a table of all codes is read once, whatever the code size. We also
measure: all models decode the same rows in turns, in one process, on one thread.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from dsnc.codes import Encoded
from dsnc.decoders import Decoder
from dsnc.files import write_whole
from dsnc.paper.experiments.accuracy_table import COLUMNS, groups, series_key, title
from dsnc.paper.experiments.definition import file_name
from dsnc.paper.experiments.methods import TABLE_BITS
from dsnc.paper.experiments.record import Record, find_records
from dsnc.paper.experiments.tables import Cell, Table

CONTESTANTS = ("dsnc", "dsnc_reg", "mlp", "ecoc")
LOOKED_UP = ("dsnc/linear", "dsnc/nearest", "dsnc_reg/nearest", "ecoc")
"""What a table of all codes answers as well, in constant time."""
TITLES = {
    column.key: column.title
    for column in COLUMNS
    if column.key in (*LOOKED_UP, "dsnc/table", "dsnc/shortlist", "mlp")
}
"""What is on the curve: a column's key to its title."""
_READING = 1.0  # operation
_ROUNDS = 5
_FILE = "decoding_times.json"


class Point(NamedTuple):
    """A model on the curve."""

    series: str  # a key of TITLES
    n_bits: int
    accuracy: float  # mean over seeds
    operations: float  # by the paper's formulas
    microseconds: float  # measured; NaN if it was not


@dataclass(frozen=True)
class Curve:
    """All points of a data set and recipe."""

    data: str
    recipe: str
    points: Sequence[Point]
    title: str = ""  # of its table

    def front(self, cost: str) -> list[Point]:
        """Return the points that no other one beats in both accuracy and cost, cheapest first."""
        best, front = -1.0, []
        known = (point for point in self.points if getattr(point, cost) == getattr(point, cost))
        for point in sorted(known, key=lambda p: (getattr(p, cost), -p.accuracy)):
            if point.accuracy > best:
                best = point.accuracy
                front.append(point)
        return front


def measure(records: Iterable[Record], runs: Path) -> None:
    """Time all decoders that were kept of these data sets, in turns; write the times beside them.

    Those of other runs on the same data take part again: times of one run can be compared.
    """
    for data in sorted({record.definition.data for record in records}):
        folder = runs / file_name(data)
        group = [
            record
            for record in find_records(folder)
            if record.has_decoders and record.definition.method in CONTESTANTS
        ]
        wanted = sorted(
            f"{record.definition.digest}/{name}"
            for record in group
            for name, figures in record.outcomes.items()
            if "microseconds" in figures
        )
        if wanted and sorted(_read(folder / _FILE)) != wanted:
            times = decoding_times(_contestants(group), _ROUNDS)
            write_whole(folder / _FILE, json.dumps(times, indent=1).encode())


def curves(records: Sequence[Record], runs: Path) -> list[Curve]:
    """Return a curve for each data set and recipe."""
    return [
        Curve(
            data,
            recipe,
            list(_points(group, _read(runs / file_name(data) / _FILE))),
            title("Cost of decoding", group),
        )
        for (data, recipe), group in groups(records, CONTESTANTS).items()
    ]


def tables(records: Sequence[Record], runs: Path) -> list[Table]:
    """Return the points of each curve as a table, the cheapest first."""
    return [table(curve) for curve in curves(records, runs)]


def _points(records: Sequence[Record], times: dict[str, float]) -> Iterator[Point]:
    found: dict[tuple[str, int], list[tuple[Record, str]]] = {}
    for record in records:
        for decoder in record.outcomes:
            series = series_key(record.definition.method, decoder)
            if series in TITLES:
                key = series, record.definition.n_bits or 0
                found.setdefault(key, []).append((record, decoder))
    for (series, n_bits), runs in sorted(found.items()):
        figures = [record.outcomes[decoder] for record, decoder in runs]
        measured = [
            time
            for record, decoder in runs
            if (time := times.get(f"{record.definition.digest}/{decoder}")) is not None
        ]
        looked_up = n_bits <= TABLE_BITS and series in LOOKED_UP
        operations = _READING if looked_up else min(f["operations"] for f in figures)
        accuracy = sum(f["accuracy"] for f in figures) / len(figures)
        yield Point(series, n_bits, accuracy, operations, min(measured, default=float("nan")))


def table(curve: Curve) -> Table:
    """Return the points of a curve, the fastest first."""
    cheap, fast = curve.front("operations"), curve.front("microseconds")
    # What was not measured comes last.
    ordered = sorted(
        curve.points, key=lambda p: (np.nan_to_num(p.microseconds, nan=np.inf), p.operations)
    )
    rows = [
        [
            Cell(TITLES[point.series]),
            Cell(str(point.n_bits), point.n_bits),
            Cell.of([100 * point.accuracy]),
            Cell(f"{point.operations:,.0f}", point.operations, best=point in cheap),
            replace(Cell.of([point.microseconds]), best=point in fast),
        ]
        for point in ordered
    ]
    notes = [
        "Operations by the paper's formulas; microseconds a row, measured in turns in one run on "
        "one thread.",
        f"Up to {TABLE_BITS} bits the formulas count one reading of a table for DSNC linear, DSNC "
        "NN and ECOC (the paper's constant time), and 16 readings with c operations each for the "
        "table with 16 probes; measured is the decoder itself.",
    ]
    columns = ["model", "bits", "test %", "operations", "µs"]
    best = "no other model is both cheaper and more accurate"
    return Table(curve.title, columns, rows, notes, best)


def decoding_times(
    contestants: Mapping[str, tuple[Decoder, Encoded]], rounds: int
) -> dict[str, float]:
    """Return the least microseconds a row over some rounds in which all take turns."""
    least = dict.fromkeys(contestants, float("inf"))
    with threadpool_limits(1):
        for _ in range(rounds + 1):  # the first makes the index
            for key, (decoder, encoded) in contestants.items():
                start = time.perf_counter()
                decoder.predict(encoded)
                least[key] = min(least[key], (time.perf_counter() - start) / len(encoded))
    return {key: 1e6 * seconds for key, seconds in least.items()}


def _contestants(records: Iterable[Record]) -> dict[str, tuple[Decoder, Encoded]]:
    """Return the decoders that were kept, each with rows to decode."""
    found = {}
    for record in records:
        decoders, logits = record.decoders()
        encoded = Encoded(logits)
        for outcome, decoder in decoders.items():
            found[f"{record.definition.digest}/{outcome}"] = decoder, encoded
    return found


def _read(path: Path) -> dict[str, float]:
    try:
        times: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
        return times
    except (OSError, ValueError):
        return {}
