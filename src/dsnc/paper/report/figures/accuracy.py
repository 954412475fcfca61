"""Accuracy against code size: one line for each method and decoder."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dsnc.paper.report.figures.series import TEXT, End, label_ends, look_of
from dsnc.pictures.drawing import new_figure

_WIDTH, _HEIGHT = 5.6, 4.3  # inches


class Line(NamedTuple):
    """A method over code sizes; percents."""

    key: str  # of its look
    title: str
    sizes: Sequence[int]
    means: Sequence[float]
    deviations: Sequence[float]  # 0 with one seed


def accuracy_figure(lines: Sequence[Line]) -> Any:
    """Return accuracy against bits, mean and a band of one standard deviation over seeds."""
    figure, axes = new_figure(_WIDTH, _HEIGHT)
    sizes = sorted({size for line in lines for size in line.sizes})
    for line in lines:
        look = look_of(line.key)
        axes.plot(line.sizes, line.means, **look.line, **look.points, clip_on=False, zorder=3)
        if any(line.deviations):
            means, spread = np.asarray(line.means), np.asarray(line.deviations)
            band = {"color": look.color, "alpha": 0.1, "linewidth": 0}
            axes.fill_between(line.sizes, means - spread, means + spread, **band)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.set_xticks([], minor=True)
    single = len(sizes) == 1  # a scale needs two ends
    axes.set_xlim(sizes[0] / (2 if single else 1.08), sizes[-1] * (2 if single else 1.02))
    axes.set_ylim(*_limits(lines))
    axes.set_xlabel("bits of a code, or hidden units")
    axes.set_ylabel("test accuracy, %")
    ends = []
    for line in lines:
        color = look_of(line.key).color
        if line.sizes[-1] == sizes[-1]:
            ends.append(End(line.means[-1], line.title, color))
        else:  # a line that ends earlier has its name there, above
            place = {"xytext": (0, 8), "textcoords": "offset points", "ha": "center"}
            end = line.sizes[-1], line.means[-1]
            axes.annotate(line.title, end, color=color, fontsize=TEXT, **place)
    label_ends(axes, ends, 0.82 * _HEIGHT)
    return figure


def _limits(lines: Sequence[Line]) -> tuple[float, float]:
    """Return a range that shows all lines, inside 0 to 100."""
    both = [
        (mean - deviation, mean + deviation)
        for line in lines
        for mean, deviation in zip(line.means, line.deviations, strict=True)
    ]
    values = [value for pair in both for value in pair]
    room = max(1.0, 0.06 * (max(values) - min(values)))
    return max(0.0, min(values) - room), min(100.0, max(values) + room)
