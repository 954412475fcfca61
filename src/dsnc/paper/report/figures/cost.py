"""Accuracy against the cost of decoding: the paper's Figure 2."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from dsnc.paper.experiments.cost_curve import TITLES, Curve, Point
from dsnc.paper.report.figures.series import Tag, label_points, look_of
from dsnc.pictures.drawing import FAINT, new_figure

COSTS = {
    "operations": "operations to decode a row, by the paper's formulas",
    "microseconds": "µs to decode a row, measured on one thread",
}
_WIDTH, _HEIGHT = 5.6, 4.3  # inches
_ROOM = 0.07  # around all points, in shares of a side
_STEPS = 10  # of a line that a name had better not cover
Place = tuple[float, float]


def cost_figure(curve: Curve, cost: str) -> Any:
    """Return accuracy against cost on a logarithmic scale, with the front of the best.

    Parameters
    ----------
    curve : Curve
    cost : str
        A key of `COSTS`. Points without it are left out; at least one has it.
    """
    figure, axes = new_figure(_WIDTH, _HEIGHT)
    points = [point for point in curve.points if getattr(point, cost) > 0]  # nor NaN
    for series in TITLES:
        own = sorted((p for p in points if p.series == series), key=lambda point: point.n_bits)
        if own:
            x = [getattr(point, cost) for point in own]
            y = [100 * point.accuracy for point in own]
            look = look_of(series)
            axes.plot(x, y, **look.line | {"linewidth": 1.0}, **look.points, zorder=3)
    front = curve.front(cost)
    x = [getattr(point, cost) for point in front]
    y = [100 * point.accuracy for point in front]
    style = {"color": FAINT, "alpha": 0.3, "zorder": 1, "marker": "o", "markersize": 13}
    axes.plot(x, y, linewidth=6, drawstyle="steps-post", markeredgewidth=0, **style)
    axes.set_xlabel(COSTS[cost])
    axes.set_ylabel("test accuracy, %")
    _scale(axes, [getattr(point, cost) for point in points])
    _label(axes, points, front, cost)
    return figure


def _label(axes: Any, points: Sequence[Point], front: Sequence[Point], cost: str) -> None:
    """Write the name of each series at its best point, and the bits of the points of the front."""
    x = [math.log10(getattr(point, cost)) for point in points]
    y = [100 * point.accuracy for point in points]
    (left, right), (low, high) = _range(x), _range(y)
    axes.set_ylim(low, high)
    shares = {
        (point.series, point.n_bits): ((a - left) / (right - left), (b - low) / (high - low))
        for point, a, b in zip(points, x, y, strict=True)
    }
    tags = []
    for series, title in TITLES.items():
        own = [point for point in points if point.series == series]
        if own:
            best = max(own, key=lambda point: (point.accuracy, -point.n_bits))
            place = shares[series, best.n_bits]
            tags.append(Tag(*place, title, look_of(series).color))
    for point in front:
        place = shares[point.series, point.n_bits]
        tags.append(Tag(*place, str(point.n_bits), FAINT))
    size = 0.86 * _WIDTH, 0.84 * _HEIGHT  # of the axes, about
    label_points(axes, tags, list(_obstacles(shares)), size)


def _obstacles(shares: Mapping[tuple[str, int], Place]) -> Iterator[tuple[float, float, float]]:
    """Yield points, and lighter ones along the lines between them."""
    for x, y in shares.values():
        yield x, y, 1.0
    for one, two in pairwise(sorted(shares)):
        if one[0] == two[0]:  # of one series
            (a, b), (c, d) = shares[one], shares[two]
            for step in range(1, _STEPS):
                t = step / _STEPS
                yield a + t * (c - a), b + t * (d - b), 0.1


def _scale(axes: Any, values: Sequence[float]) -> None:
    """Make x logarithmic, with ticks that are plain numbers."""
    axes.set_xscale("log")
    left, right = _range([math.log10(value) for value in values])
    axes.set_xlim(10**left, 10**right)
    steps = (1, 2, 5) if right - left < 2.5 else (1,)
    decades = range(math.floor(left), math.ceil(right) + 1)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    shown = [tick for tick in ticks if 10**left <= tick <= 10**right]
    axes.set_xticks(shown, [f"{tick:,.10g}" for tick in shown])
    axes.set_xticks([], minor=True)


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Return ends that leave some room around values, also where they are all the same."""
    room = _ROOM * (max(values) - min(values)) or 0.5
    return min(values) - room, max(values) + room
