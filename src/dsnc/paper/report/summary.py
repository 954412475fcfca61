"""What the figures say, in words."""

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from dsnc.paper.experiments.accuracy_table import COLUMNS, Column, accuracies
from dsnc.paper.experiments.cost_curve import TITLES, Point
from dsnc.paper.report.chapters import Chapter

_NEAR = 1.0  # points of accuracy that a fast model may be behind the best
SHORTLIST, MLP = "dsnc/shortlist", "mlp"


class Result(NamedTuple):
    """A method, decoder and code size: mean accuracy over seeds."""

    column: Column
    n_bits: int
    mean: float
    deviation: float  # NaN with one seed

    @property
    def text(self) -> str:
        """Its accuracy, for people."""
        spread = "" if math.isnan(self.deviation) else f" ± {self.deviation:.2f}"
        return f"{self.mean:.2f}{spread} %"


def plain(title: str) -> str:
    """Return a title without the marks of bold and italic."""
    return title.replace("*", "")


def results(chapter: Chapter) -> list[Result]:
    """Return all that the accuracy table shows, in its order."""
    found = []
    for column in COLUMNS:
        for n_bits in chapter.sizes or [0]:
            values = accuracies(column, n_bits, chapter.records)
            if values:
                deviation = stdev(values) if len(values) > 1 else math.nan
                found.append(Result(column, n_bits, fmean(values), deviation))
    return found


def sentences(chapter: Chapter) -> Iterator[str]:
    """Yield what is to be known of a chapter before its tables."""
    found = results(chapter)
    if not found:
        return
    best = max(found, key=lambda result: result.mean)
    bits = f" with {best.n_bits} bits" if best.column.method in _sized(chapter) else ""
    yield f"Most accurate: {plain(best.column.title)}{bits}, {best.text} of test rows right."
    yield from _against_mlp(found)
    yield from _regularized(found)
    if chapter.curve is not None:
        yield from _fastest([p for p in chapter.curve.points if p.microseconds > 0])


def _sized(chapter: Chapter) -> set[str]:
    return {r.definition.method for r in chapter.records if r.definition.n_bits}


def _against_mlp(found: Sequence[Result]) -> Iterator[str]:
    gaps = _gaps(found, SHORTLIST, MLP)
    if not gaps:
        return
    ahead = sum(gap > 0 for gap in gaps.values())
    how = f"; ahead at {ahead} of {len(gaps)} sizes" if len(gaps) > 1 else ""
    yield f"DSNC shortlist against an MLP of the same width: {_each(gaps)}{how}."


def _regularized(found: Sequence[Result]) -> Iterator[str]:
    gaps = _gaps(found, "dsnc_reg/nearest", "dsnc/nearest")
    if gaps:
        yield f"Regularized codes, decoded by the nearest: {_each(gaps)}."


def _fastest(points: Sequence[Point]) -> Iterator[str]:
    if not points:
        return
    best = max(points, key=lambda point: (point.accuracy, -point.microseconds))
    near = [point for point in points if 100 * (best.accuracy - point.accuracy) <= _NEAR]
    fast = min(near, key=lambda point: (point.microseconds, -point.accuracy))
    said = f"Fastest within {_NEAR:.0f} point of the most accurate that was timed: {_timed(fast)}"
    if fast != best:
        times = best.microseconds / fast.microseconds
        said += f", {times:.1f} times as fast as {_timed(best)}"
    yield said + "."


def _timed(point: Point) -> str:
    accuracy = f"{100 * point.accuracy:.2f} %"
    title = plain(TITLES[point.series])
    return f"{title} with {point.n_bits} bits ({accuracy}, {point.microseconds:.2f} µs a row)"


def _gaps(found: Sequence[Result], one: str, other: str) -> dict[int, float]:
    """Return by how many points one is ahead of the other, by code size."""
    means = {(result.column.key, result.n_bits): result.mean for result in found}
    sizes = sorted({n_bits for key, n_bits in means if key == one and (other, n_bits) in means})
    return {n_bits: means[one, n_bits] - means[other, n_bits] for n_bits in sizes}


def _each(gaps: Mapping[int, float]) -> str:
    """Return the gaps in words, such as "+1.20 points at 12 bits, −0.50 at 24"."""
    said = [f"{gap:+.2f} at {n_bits}".replace("-", "\u2212") for n_bits, gap in gaps.items()]
    first = said[0].replace(" at ", " points at ") + " bits"
    return ", ".join([first, *said[1:]])
