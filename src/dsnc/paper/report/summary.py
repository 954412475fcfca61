"""What the figures say, in words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from dsnc.paper.experiments import METHODS, Cell
from dsnc.paper.experiments.accuracy_table import COLUMNS, Column, accuracy
from dsnc.paper.experiments.cost_curve import TITLES, Point
from dsnc.paper.report.chapters import Chapter

_NEAR = 1.0  # points of accuracy that a fast model may be behind the best


class Result(NamedTuple):
    """A method, decoder and code size: mean accuracy over seeds."""

    column: Column
    n_bits: int
    cell: Cell


def results(chapter: Chapter) -> list[Result]:
    """Return all that the accuracy table shows, in its order."""
    found = (
        Result(column, n_bits, accuracy(column, n_bits, chapter.records))
        for column in COLUMNS
        for n_bits in chapter.sizes or [0]
    )
    return [result for result in found if result.cell.text]


def sentences(chapter: Chapter) -> Iterator[str]:
    """Yield what is to be known of a chapter before its tables."""
    found = results(chapter)
    if not found:
        return
    best = max(found, key=lambda result: result.cell.value)
    bits = f" with {best.n_bits} bits" if METHODS[best.column.method].width else ""
    yield f"Most accurate: {best.column.title}{bits}, {best.cell.text} % of test rows right."
    gaps = _gaps(found, "dsnc/shortlist", "mlp")
    if gaps:
        ahead = sum(gap > 0 for gap in gaps.values())
        how = f"; ahead at {ahead} of {len(gaps)} sizes" if len(gaps) > 1 else ""
        yield f"DSNC shortlist against an MLP of the same width: {_each(gaps)}{how}."
    gaps = _gaps(found, "dsnc_reg/nearest", "dsnc/nearest")
    if gaps:
        yield f"Regularized codes, decoded by the nearest: {_each(gaps)}."
    timed = [p for p in chapter.curve.points if p.microseconds > 0] if chapter.curve else []
    if timed:
        yield _fastest(timed)


def _fastest(points: Sequence[Point]) -> str:
    best = max(points, key=lambda point: (point.accuracy, -point.microseconds))
    near = [point for point in points if 100 * (best.accuracy - point.accuracy) <= _NEAR]
    fast = min(near, key=lambda point: (point.microseconds, -point.accuracy))
    said = f"Fastest within {_NEAR:.0f} point of the most accurate that was timed: {_timed(fast)}"
    if fast != best:
        times = best.microseconds / fast.microseconds
        said += f", {times:.1f} times as fast as {_timed(best)}"
    return said + "."


def _timed(point: Point) -> str:
    figures = f"{100 * point.accuracy:.2f} %, {point.microseconds:.2f} µs a row"
    return f"{TITLES[point.series]} with {point.n_bits} bits ({figures})"


def _gaps(found: Sequence[Result], one: str, other: str) -> dict[int, float]:
    """Return by how many points one is ahead of the other, by code size."""
    means = {(result.column.key, result.n_bits): result.cell.value for result in found}
    sizes = sorted({n_bits for key, n_bits in means if key == one and (other, n_bits) in means})
    return {n_bits: means[one, n_bits] - means[other, n_bits] for n_bits in sizes}


def _each(gaps: Mapping[int, float]) -> str:
    """Return the gaps in words, such as "+1.20 points at 12 bits, −0.50 at 24"."""
    said = [f"{gap:+.2f} at {n_bits}".replace("-", "\u2212") for n_bits, gap in gaps.items()]
    first = said[0].replace(" at ", " points at ") + " bits"
    return ", ".join([first, *said[1:]])
