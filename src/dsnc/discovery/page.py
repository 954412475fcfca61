"""A page about proposed classes: one HTML file without scripts or links."""

import os
from pathlib import Path

from dsnc.discovery.result import Discovery
from dsnc.files import write_whole

_ROWS = 20  # numbers of typical rows that are shown


def discovery_page(
    path: str | os.PathLike[str], found: Discovery, *, title: str = "Proposed classes"
) -> Path:
    """Write an HTML page about proposed classes; needs the extra ``report``.

    Parameters
    ----------
    path : path
        The file to write; an existing one is replaced.
    found : Discovery
        Returned by `dsnc.DSNCClassifier.discover_classes`.
    title : str, default "Proposed classes"
        Title of the page.

    Returns
    -------
    Path
        The file that was written.
    """
    from dsnc.pictures.templating import render

    html = render(
        "discovery.html.j2",
        "A page of proposed classes",
        title=title,
        summary=str(found),
        classes=found.classes,
        shown_rows=_ROWS,
    )
    return write_whole(Path(path), html)
