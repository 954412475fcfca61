"""Single figures of a report as files, for documents."""

import os
from pathlib import Path
from typing import Any

from dsnc.errors import InputError, unknown_name
from dsnc.paper.report.chapters import Chapter, read_runs
from dsnc.paper.report.figures import accuracy_figure, cost_figure
from dsnc.paper.report.sections import accuracy_lines
from dsnc.pictures.drawing import write_picture

FIGURES = ("accuracy", "cost", "measured-cost")


def write_figure(
    kind: str,
    runs: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    data: str | None = None,
    recipe: str | None = None,
) -> Path:
    """Write one figure of the report to a file; an older one is replaced.

    Parameters
    ----------
    kind : str
        "accuracy" (against code size), "cost" (accuracy against the cost of decoding, by the
        paper's formulas) or "measured-cost" (by measured times).
    runs : path
        The folder of records.
    path : path
        The file to write, ending in ``.png`` or ``.svg``.
    data, recipe : str, optional
        Which data set and recipe; needed where the records have several.
    """
    if kind not in FIGURES:
        raise unknown_name("kind", kind, FIGURES)

    def draw() -> Any:
        return _figure(kind, _chapter(runs, data, recipe))

    return write_picture("write_figure", Path(path), draw)


def _chapter(runs: str | os.PathLike[str], data: str | None, recipe: str | None) -> Chapter:
    known = [chapter for data_set in read_runs(runs) for chapter in data_set.chapters]
    found = [c for c in known if data in (None, c.data) and recipe in (None, c.recipe)]
    if len(found) != 1:
        names = "; ".join(f"data={c.data!r}, recipe={c.recipe!r}" for c in known)
        what = "matches none" if not found else f"matches {len(found)}"
        raise InputError(
            f"data={data!r}, recipe={recipe!r} {what} of what {os.fspath(runs)!r} holds; choose "
            f"one: {names or 'every run failed'}."
        )
    return found[0]


def _figure(kind: str, chapter: Chapter) -> Any:
    if kind == "accuracy":
        if not chapter.sizes:
            raise InputError(f"No run on {chapter.data!r} has a code size; there is no line.")
        return accuracy_figure(accuracy_lines(chapter))
    cost = "operations" if kind == "cost" else "microseconds"
    points = chapter.curve.points if chapter.curve is not None else ()
    if chapter.curve is None or not any(getattr(point, cost) > 0 for point in points):
        raise InputError(
            f"The runs on {chapter.data!r} tell no {cost} of decoding; dsnc reproduce cost does."
        )
    return cost_figure(chapter.curve, cost)
