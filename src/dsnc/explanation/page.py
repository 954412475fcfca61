"""Explanations as a page: one file without scripts or links, texts marked in color."""

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
    """Write a page about the answers for some rows; needs the extra ``report``.

    Parameters
    ----------
    path : path
        The file to write; an older one is replaced.
    explanations : sequence of Explanation
        Of `dsnc.DSNCClassifier.explain`.
    title : str
        Stands above.
    top : int
        How many features of each row are listed.

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
