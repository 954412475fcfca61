"""A page about explanations: one HTML file without scripts or links, texts marked in color."""

import os
from collections.abc import Sequence
from pathlib import Path

from dsnc.explanation import words
from dsnc.explanation.marks import shades
from dsnc.explanation.result import TOP, Explanation
from dsnc.files import write_whole


def explanation_page(
    path: str | os.PathLike[str],
    explanations: Sequence[Explanation],
    *,
    title: str = "Explanations",
    top: int = TOP,
) -> Path:
    """Write an HTML page about the answers for some rows; needs the extra ``report``.

    Parameters
    ----------
    path : path
        The file to write; an existing one is replaced.
    explanations : sequence of Explanation
        Returned by `dsnc.DSNCClassifier.explain`.
    title : str, default "Explanations"
        Title of the page.
    top : int, default 6
        How many features to list for each answer, and how many against it.

    Returns
    -------
    Path
        The file that was written.
    """
    from dsnc.pictures.templating import render

    html = render(
        "explanation.html.j2",
        "A page of explanations",
        title=title,
        rows=[_row(explanation, top) for explanation in explanations],
    )
    return write_whole(Path(path), html)


def _row(explanation: Explanation, top: int) -> dict[str, object]:
    """Return what the template shows of a row."""
    return {
        "label": explanation.label,
        "runner_up": explanation.runner_up,
        "headline": words.headline(explanation),
        "decided": words.who_decided(explanation),
        "pieces": shades(explanation.text or "", explanation.marks),
        "bits": explanation.bits,
        "candidates": words.candidate_table(explanation),
        "terms": words.term_table(explanation, top) if explanation.terms else None,
    }
