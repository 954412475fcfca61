"""A reliability diagram, which shows whether answers that claim 80 % are right that often.

Each curve has one marker per bin of confidence, at the bin's mean confidence and its accuracy; the
marker's area shows how many answers are in the bin. On the diagonal confidence is honest, below it
too high, above it too low.
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dsnc.errors import InputError, OutputError, require
from dsnc.metrics import CalibrationBins
from dsnc.report.contact_sheet import _label_font, _readable

_FORMATS = ("png", "svg")
# Okabe and Ito's colors, told apart by almost all eyes; shapes help the others, and printers.
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_SHAPES = "osD^vPX"
_INK, _FAINT, _PAPER = "#1f2933", "#7b8794", "#fbfaf7"
_SMALLEST, _LARGEST = 18.0, 420.0  # areas of markers, of no answers and of all


def reliability_picture(
    path: str | os.PathLike[str],
    curves: Mapping[str, CalibrationBins],
    title: str = "Confidence and accuracy",
) -> Path:
    """Write a reliability diagram.

    Parameters
    ----------
    path : path
        The file to write, ending in ``.png`` or ``.svg``; its folder is made, and an older file is
        replaced.
    curves : mapping of str to CalibrationBins
        What to compare, by name; `dsnc.metrics.calibration_bins` makes them. The legend shows each
        one's expected calibration error.
    title : str
        Stands above the diagram.

    Returns
    -------
    Path
        The file that was written.
    """
    path = Path(path)
    if path.suffix.lower().lstrip(".") not in _FORMATS:
        raise InputError(f"path={str(path)!r} does not end in .png or .svg; choose one of them.")
    if not curves:
        raise InputError("curves is empty, so there is nothing to show; give at least one.")
    for name, bins in curves.items():
        if not bins.counts.sum():
            raise InputError(f"curves[{name!r}] holds no answers, so there is nothing to show.")
    matplotlib = require("matplotlib", extra="report", caller="reliability_picture")
    require("matplotlib.figure", extra="report", caller="reliability_picture")
    look = dict(matplotlib.rcParamsDefault)
    del look["backend"]  # choosing one is the user's affair
    # Whatever the user's settings: the same picture, and the same bytes of an SVG.
    with matplotlib.rc_context({**look, "svg.hashsalt": "dsnc"}):
        return _save(_figure(curves, title), path)


def _figure(curves: Mapping[str, CalibrationBins], title: str) -> Any:
    # The object interface: pyplot would keep the figure and choose a back end for the user.
    figure_module = require("matplotlib.figure", extra="report", caller="reliability_picture")
    _, known = _label_font()
    size = (5.6, 6.0 + 0.22 * len(curves))  # the legend's room
    figure = figure_module.Figure(figsize=size, facecolor=_PAPER, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)  # inches, around and between
    axes = figure.add_subplot(facecolor=_PAPER)
    axes.plot([0, 1], [0, 1], color=_FAINT, linestyle=(0, (4, 3)), linewidth=1, zorder=1)
    axes.text(0.03, 0.9, "too modest", color=_FAINT, va="center")
    axes.text(0.97, 0.1, "too sure", color=_FAINT, va="center", ha="right")
    handles = []
    for number, (name, bins) in enumerate(curves.items()):
        color, shape = _COLORS[number % len(_COLORS)], _SHAPES[number % len(_SHAPES)]
        used = bins.counts > 0
        x, y = bins.confidence[used], bins.accuracy[used]
        area = _SMALLEST + _LARGEST * bins.counts[used] / bins.counts.sum()
        axes.plot(x, y, color=color, linewidth=1.2, alpha=0.7, zorder=2)
        axes.scatter(x, y, area, color=color, marker=shape, alpha=0.75, linewidth=0, zorder=3)
        # A name may begin with "_", which legends leave out: it comes last.
        label = f"ECE {bins.error:.3f}   {_readable(name, known, 40)}"
        handles += axes.plot([], [], color=color, marker=shape, linewidth=1.2, label=label)
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    axes.set_xlabel("confidence of the answer", color=_INK)
    axes.set_ylabel("share of right answers", color=_INK)
    axes.tick_params(colors=_FAINT)
    axes.grid(color=_FAINT, alpha=0.2, linewidth=0.6)
    axes.spines[:].set_visible(False)
    heading = figure.suptitle(_readable(title, known, 50), x=0.02, ha="left", fontsize=13)
    heading.set(color=_INK, parse_math=False)
    # Below the diagram, where it hides nothing whatever the curves do.
    legend = figure.legend(
        handles=handles,
        loc="outside lower left",
        frameon=False,
        alignment="left",
        title="area of a marker: answers in the bin; ECE: expected calibration error",
        title_fontproperties={"size": 8},
    )
    legend.get_title().set_color(_FAINT)
    for text in legend.get_texts():
        text.set(color=_INK, parse_math=False)
    return figure


def _save(figure: Any, path: Path) -> Path:
    """Write aside and rename: whoever looks sees the old picture or the new, never half of one."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        aside = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                kind = path.suffix.lower().lstrip(".")
                no_date = {"Date": None} if kind == "svg" else {}
                figure.savefig(file, format=kind, dpi=200, metadata=no_date)
            aside.chmod(0o644)
            aside.replace(path)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error}); choose another file.") from error
    return path
