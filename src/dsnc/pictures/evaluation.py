"""A page about how good a model is: one small HTML file without scripts, for any screen."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dsnc.errors import require
from dsnc.files import write_whole
from dsnc.metrics import CalibrationBins, ClassScores, ConfusedPairs
from dsnc.pictures.drawing import inline_svg, look
from dsnc.pictures.reliability import reliability_figure
from dsnc.pictures.templating import render

_CALLER = "A page about an evaluation"
_CLASSES = 200  # at most, on a page
_PAIRS = 50


def require_page() -> None:
    """Refuse at the door where the extra is missing, before anything is measured."""
    for module in ("jinja2", "matplotlib"):
        require(module, extra="report", caller=_CALLER)


def evaluation_page(
    path: str | os.PathLike[str],
    *,
    title: str,
    figures: Sequence[tuple[str, str]],
    bins: CalibrationBins,
    scores: ClassScores,
    pairs: ConfusedPairs | None,
) -> Path:
    """Write a page about an evaluation: figures, reliability, the worst classes, confused pairs.

    Parameters
    ----------
    path : path
        The file to write; its folder is created, and an existing file is replaced.
    title : str
        Title of the page.
    figures : sequence of (name, value)
        What was measured, in words.
    bins : CalibrationBins
        As `dsnc.metrics.calibration_bins` returns them.
    scores : ClassScores
        As `dsnc.metrics.class_scores` returns them. The page shows the 200 with the lowest F1.
    pairs : ConfusedPairs or None
        As `dsnc.metrics.confused_pairs` returns them. The page shows the 50 most frequent. None if
        rows have label sets.

    Returns
    -------
    Path
        The file that was written.
    """
    require_page()
    worst = np.lexsort((-scores.support, scores.f1))[:_CLASSES]
    with look(_CALLER):
        diagram = inline_svg(
            reliability_figure({"answers": bins}, "Confidence and accuracy"),
            "reliability",
            f"Reliability diagram; the expected calibration error is {bins.error:.3f}.",
        )
    html = render(
        "evaluation.html.j2",
        _CALLER,
        title=title,
        figures=figures,
        diagram=diagram,
        classes=[column[worst].tolist() for column in scores],
        n_classes=len(scores.classes),
        pairs=None if pairs is None else [column[:_PAIRS].tolist() for column in pairs],
        n_pairs=0 if pairs is None else len(pairs.counts),
    )
    return write_whole(Path(path), html)
