"""What the space of codes looks like: balance of bits, distances of classes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.paper.report.figures.series import look_of
from dsnc.pictures.drawing import COLORS, FAINT, new_figure


def balance_figure(title: str, shares: Mapping[str, tuple[str, NDArray[np.float64]]]) -> Any:
    """Return the share of ones of each bit, sorted; a bit at one half tells the most.

    Parameters
    ----------
    title : str
    shares : mapping
        Method to its title and each bit's share of ones.
    """
    figure, axes = new_figure(5.2, 3.4)
    n_bits = max(len(values) for _, values in shares.values())
    axes.axhline(50, color=FAINT, linewidth=0.8, linestyle=(0, (4, 3)))
    for method, (name, values) in shares.items():
        look = look_of(method)
        marker = look.points if n_bits <= 40 else {}
        ranks = np.arange(1, len(values) + 1)
        axes.plot(ranks, 100 * np.sort(values), **look.line, label=name, **marker)
    axes.set(title=title, xlabel="bit, by its share of ones", ylabel="ones, % of test rows")
    axes.set_ylim(0, 100)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(loc="upper left")
    return figure


def distance_figure(
    title: str, within: NDArray[np.int64], between: NDArray[np.int64], highest: float
) -> Any:
    """Return histograms of distances of pairs of one class, and of different classes.

    Parameters
    ----------
    title : str
    within, between : arrays of shape (n_bits + 1,)
        Number of pairs at each distance.
    highest : float
        Upper end of the axis, percent; one for all figures that are compared.
    """
    figure, axes = new_figure(5.2, 3.2)
    kinds = (
        ("one class", within, COLORS["vermillion"]),
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
