"""The figures of the report: from numbers to matplotlib figures, or to small pictures of pixels."""

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.errors import require
from dsnc.paper.experiments.cost_curve import TITLES, Curve
from dsnc.pictures.drawing import COLORS, FAINT, INK, new_figure

COSTS = {
    "operations": "operations to decode a row, by the paper's formulas",
    "microseconds": "µs to decode a row, measured on one thread",
}
_LEVELS = 16  # shades of a heat map: more are not told apart, and cost bytes
_LOW, _HIGH = (248, 250, 252), (8, 48, 107)  # of a heat map: nothing, the most

Run = tuple[Sequence[float], Sequence[float]]  # epochs, values


class Look(NamedTuple):
    """Color, and what tells a method apart without color; the same in every figure."""

    color: str
    marker: str
    dashed: bool = False  # regularized, or without a code size

    @property
    def style(self) -> dict[str, Any]:
        """Settings of a line and its markers, which are hollow where it is dashed."""
        return {
            "color": self.color,
            "linestyle": (0, (4, 2)) if self.dashed else "-",
            "marker": self.marker,
            "markerfacecolor": "none" if self.dashed else self.color,
        }


LOOKS = {
    "dsnc/linear": Look(COLORS["blue"], "o"),
    "dsnc_reg/linear": Look(COLORS["blue"], "o", True),
    "dsnc/nearest": Look(COLORS["sky"], "D"),
    "dsnc_reg/nearest": Look(COLORS["sky"], "D", True),
    "dsnc/shortlist": Look(COLORS["vermillion"], "s"),
    "dsnc_reg/shortlist": Look(COLORS["vermillion"], "s", True),
    "dsnc/table": Look(COLORS["green"], "^"),
    "mlp": Look(INK, "v"),
    "mlp_reg": Look(INK, "v", True),
    "ecoc": Look(COLORS["purple"], "P"),
    "one_vs_rest": Look(COLORS["orange"], "X", True),
    "nearest_centroid": Look(FAINT, "X", True),
    # Of a method as a whole, where decoders do not matter.
    "dsnc": Look(COLORS["vermillion"], "s"),
    "dsnc_reg": Look(COLORS["blue"], "o", True),
}

_LABEL = 0.07  # of the width of a figure that a number takes


def look_of(key: str) -> Look:
    """Return how a method and decoder look; one that is not known is faint."""
    return LOOKS.get(key, Look(FAINT, "."))


class Line(NamedTuple):
    """A method over code sizes; percents."""

    key: str  # of its look
    title: str
    sizes: Sequence[int]
    means: Sequence[float]
    deviations: Sequence[float]  # 0 with one seed


def accuracy_figure(lines: Sequence[Line]) -> Any:
    """Return accuracy against bits, mean and a band of one standard deviation over seeds."""
    figure, axes = new_figure(5.6, 4.3)
    # In the legend from top to bottom as the lines end at the right.
    for line in sorted(lines, key=lambda line: -line.means[-1]):
        look = look_of(line.key)
        axes.plot(line.sizes, line.means, **look.style, label=line.title, clip_on=False)
        if any(line.deviations):
            means, spread = np.asarray(line.means), np.asarray(line.deviations)
            band = {"color": look.color, "alpha": 0.1, "linewidth": 0}
            axes.fill_between(line.sizes, means - spread, means + spread, **band)
    axes.set_xscale("log", base=2)
    sizes = sorted({size for line in lines for size in line.sizes})
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.set_xticks([], minor=True)
    low, high = axes.get_ylim()
    axes.set_ylim(max(0.0, low), min(100.0, high))
    axes.set(xlabel="bits of a code, or hidden units", ylabel="test accuracy, %")
    short = {"handlelength": 1.5, "handletextpad": 0.5, "borderpad": 0}
    figure.legend(loc="outside right center", labelcolor="linecolor", **short)
    return figure


def cost_figure(curve: Curve, cost: str) -> Any:
    """Return accuracy against cost (a key of `COSTS`, which a point has), and the best's front."""
    figure, axes = new_figure(5.6, 5.0)
    points = [point for point in curve.points if getattr(point, cost) > 0]  # nor NaN
    for series, title in TITLES.items():
        own = sorted((p for p in points if p.series == series), key=lambda point: point.n_bits)
        if own:
            x, y = [getattr(point, cost) for point in own], [100 * p.accuracy for p in own]
            axes.plot(x, y, **look_of(series).style, linewidth=1.0, label=title, zorder=3)
    front = [(getattr(point, cost), 100 * point.accuracy) for point in curve.front(cost)]
    style = {"color": FAINT, "alpha": 0.3, "linewidth": 6, "drawstyle": "steps-post", "zorder": 1}
    axes.plot(*zip(*front, strict=True), **style, marker="o", markersize=13, markeredgewidth=0)
    above = {"xytext": (-3, 8), "textcoords": "offset points", "ha": "right", "color": FAINT}
    room = np.ptp(np.log([getattr(point, cost) for point in points])) * _LABEL
    free = np.inf  # to the left of the last number
    for point, place in reversed(list(zip(curve.front(cost), front, strict=True))):
        if np.log(place[0]) <= free:  # of a crowd, the best has its number
            axes.annotate(str(point.n_bits), place, **above, fontsize=8.5)
            free = np.log(place[0]) - room
    axes.margins(0.08)
    _logarithmic(axes)
    axes.set(xlabel=COSTS[cost], ylabel="test accuracy, %")
    figure.legend(loc="outside lower center", labelcolor="linecolor", ncols=3)
    return figure


def _logarithmic(axes: Any) -> None:
    """Make x logarithmic, with ticks that are plain numbers."""
    ticker = require("matplotlib.ticker", extra="report", caller="the report")
    axes.set_xscale("log")
    left, right = axes.get_xlim()
    steps = (1, 2, 5) if right < 300 * left else (1,)
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=steps))
    axes.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.10g}"))
    axes.xaxis.set_minor_locator(ticker.NullLocator())


def learning_figure(title: str, ylabel: str, runs: Mapping[str, tuple[str, Sequence[Run]]]) -> Any:
    """Return values against epochs; `runs` are a method's title and a thin line for each seed."""
    figure, axes = new_figure(5.2, 3.6)
    for method, (name, seeds) in runs.items():
        style = {**look_of(method).style, "linewidth": 1.0, "alpha": 0.85}
        for number, (epochs, values) in enumerate(seeds):
            marker = style["marker"] if len(epochs) == 1 else ""
            label = name if number == 0 else None
            axes.plot(epochs, values, **style | {"marker": marker}, label=label)
    axes.set(title=title, xlabel="epoch", ylabel=ylabel)
    axes.xaxis.get_major_locator().set_params(integer=True)
    figure.legend(loc="outside lower center", ncols=min(4, len(runs)))
    return figure


def balance_figure(title: str, shares: Mapping[str, tuple[str, NDArray[np.float64]]]) -> Any:
    """Return the shares of ones of a method's bits, sorted; a bit at one half tells the most."""
    figure, axes = new_figure(5.2, 3.4)
    n_bits = max(len(values) for _, values in shares.values())
    axes.axhline(50, color=FAINT, linewidth=0.8, linestyle=(0, (4, 3)))
    for method, (name, values) in shares.items():
        style = look_of(method).style if n_bits <= 40 else look_of(method).style | {"marker": ""}
        axes.plot(np.arange(1, len(values) + 1), 100 * np.sort(values), **style, label=name)
    axes.set(title=title, xlabel="bit, by its share of ones", ylabel="ones, % of test rows")
    axes.set_ylim(0, 100)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(loc="upper left")
    return figure


def distance_figure(
    title: str, within: NDArray[np.int64], between: NDArray[np.int64], highest: float
) -> Any:
    """Return histograms from the numbers of pairs at each distance, of one class and of different.

    `highest` is the upper end of the axis in percent, one for all figures that are compared.
    """
    figure, axes = new_figure(5.2, 3.2)
    kinds = (
        ("same class", within, COLORS["vermillion"]),
        ("different classes", between, COLORS["blue"]),
    )
    for name, counts, color in kinds:
        if counts.sum():
            shares = 100 * counts / counts.sum()
            mean = float((np.arange(len(counts)) * counts).sum() / counts.sum())
            first, last = np.flatnonzero(counts)[[0, -1]]
            edges = np.arange(first, last + 2) - 0.5
            style = {"facecolor": (color, 0.35), "edgecolor": color, "linewidth": 1.2}
            label = f"{name}, mean {mean:.1f}"
            axes.stairs(shares[first : last + 1], edges, fill=True, label=label, **style)
    axes.set(title=title, xlabel="Hamming distance, bits", ylabel="% of pairs")
    axes.set(xlim=(-0.5, len(within) - 0.5), ylim=(0, highest))
    axes.legend(loc="upper right")
    return figure


def picture(pixels: NDArray[np.uint8]) -> str:
    """Return pixels (0 is paper, 255 is ink) as the address of a picture; the page scales it."""
    return _address(_image(255 - pixels))


def sheet(pictures: NDArray[np.uint8], columns: int) -> str:
    """Return pictures of shape (n, height, width) side by side, with a gap between them."""
    n, height, width = pictures.shape
    rows = -(-n // columns)
    gap = max(1, width // 14)
    pixels = np.zeros((rows, height + gap, columns, width + gap), dtype=np.uint8)
    for number, one in enumerate(pictures):
        pixels[number // columns, :height, number % columns, :width] = one
    whole = pixels.reshape(rows * (height + gap), columns * (width + gap))
    return picture(whole[:-gap, :-gap])


def heat_map(values: NDArray[np.float64], largest: float) -> str:
    """Return a matrix as a picture of one pixel for each entry, from 0 (pale) to `largest`."""
    shares = np.clip(values / largest, 0, 1)
    made = _image(np.rint(shares * (_LEVELS - 1)).astype(np.uint8)).convert("P")
    made.putpalette([channel for level in range(_LEVELS) for channel in _shade(level)])
    return _address(made, bits=4)


def shades() -> list[str]:
    """Return the colors of a heat map, palest first, as CSS has them."""
    return ["#{:02x}{:02x}{:02x}".format(*_shade(level)) for level in range(_LEVELS)]


def _shade(level: int) -> tuple[int, ...]:
    share = level / (_LEVELS - 1)
    return tuple(round(a + (b - a) * share) for a, b in zip(_LOW, _HIGH, strict=True))


def _image(pixels: NDArray[np.uint8]) -> Any:
    image = require("PIL.Image", extra="report", caller="the report")
    return image.fromarray(np.ascontiguousarray(pixels))


def _address(image: Any, **options: Any) -> str:
    """Return an image as a data address: no file, no request."""
    file = io.BytesIO()
    image.save(file, format="PNG", optimize=True, **options)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")
