"""A reliability diagram, which shows whether answers that claim 80 % are right that often.

Each curve has one marker per bin of confidence, at the bin's mean confidence and its accuracy; the
area of the marker shows how many answers are in the bin. Lines leave out bins with few answers,
which are right or wrong by chance. On the diagonal, confidence is honest; below it, too high; above
it, too low.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

from dsnc.errors import InputError
from dsnc.metrics import CalibrationBins
from dsnc.pictures.drawing import COLORS, FAINT, new_figure, readable, write_picture

_SHAPES = "osD^vPX"
_SMALLEST, _LARGEST = 18.0, 420.0  # areas of markers, of no answers and of all
_ENOUGH = 10  # answers in a bin that a line goes through


def reliability_picture(
    path: str | os.PathLike[str],
    curves: Mapping[str, CalibrationBins],
    title: str = "Confidence and accuracy",
) -> Path:
    """Write a reliability diagram.

    Parameters
    ----------
    path : path
        The file to write, ending in ``.png`` or ``.svg``; its folder is created, and an existing
        file is replaced.
    curves : mapping of str to CalibrationBins
        What to compare, by name, as `dsnc.metrics.calibration_bins` returns it. The legend shows
        the expected calibration error of each.
    title : str, default "Confidence and accuracy"
        Title of the diagram.

    Returns
    -------
    Path
        The file that was written.
    """
    if not curves:
        raise InputError("curves is empty, so there is nothing to show; give at least one.")
    for name, bins in curves.items():
        if not bins.counts.sum():
            raise InputError(f"curves[{name!r}] holds no answers, so there is nothing to show.")
    draw = partial(reliability_figure, curves, title)
    return write_picture("reliability_picture", Path(path), draw)


def reliability_figure(
    curves: Mapping[str, CalibrationBins],
    title: str,
    looks: Sequence[tuple[str, str]] | None = None,
) -> Any:
    """Return the diagram as a matplotlib figure; inside `dsnc.pictures.drawing.look`.

    `looks` are color and marker of each curve, where they have a meaning elsewhere.
    """
    figure, axes = new_figure(5.2, 5.5 + 0.22 * len(curves))  # the legend needs room
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)  # inches, around and between
    axes.plot([0, 1], [0, 1], color=FAINT, linestyle=(0, (4, 3)), linewidth=1, zorder=1)
    axes.text(0.03, 0.9, "underconfident", color=FAINT, va="center")
    axes.text(0.97, 0.1, "overconfident", color=FAINT, va="center", ha="right")
    handles = []
    looks = looks or list(zip(cycle(COLORS.values()), _SHAPES * len(COLORS), strict=False))
    for number, (name, bins) in enumerate(curves.items()):
        color, shape = looks[number % len(looks)]
        used, enough = bins.counts > 0, bins.counts >= _ENOUGH
        x, y = bins.confidence[used], bins.accuracy[used]
        area = _SMALLEST + _LARGEST * bins.counts[used] / bins.counts.sum()
        line = bins.confidence[enough], bins.accuracy[enough]
        axes.plot(*line, color=color, linewidth=1.2, alpha=0.7, zorder=2)
        axes.scatter(x, y, area, color=color, marker=shape, alpha=0.75, linewidth=0, zorder=3)
        # A name may begin with "_", which legends leave out: it comes last.
        label = f"ECE {bins.error:.3f}   {readable(name, 40)}"
        handles += axes.plot([], [], color=color, marker=shape, linewidth=1.2, label=label)
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    axes.set(xlabel="confidence of the answer", ylabel="share of correct answers")
    axes.spines[:].set_visible(False)
    figure.suptitle(readable(title, 50), x=0.02, ha="left", fontsize=13)
    # Below the diagram, where it hides nothing whatever the curves do.
    legend = figure.legend(
        handles=handles,
        loc="outside lower left",
        alignment="left",
        title="area of a marker: answers in the bin; ECE: expected calibration error",
        title_fontproperties={"size": 8},
    )
    legend.get_title().set_color(FAINT)
    return figure
