"""``dsnc report``: one page from a folder of records, for any browser, without a network."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsnc.errors import OutputError, OutputExistsError, require
from dsnc.files import write_whole
from dsnc.paper.experiments.tables import Table
from dsnc.paper.report.blocks import Block, Picture
from dsnc.paper.report.chapters import Chapter, DataSet, read_runs
from dsnc.paper.report.code_sections import (
    balance_block,
    classes_picture,
    confusion_block,
    correlation_block,
    distance_block,
)
from dsnc.paper.report.making import distinct, failures, runs_table, settings_of, warnings_of
from dsnc.paper.report.sections import (
    accuracy_block,
    bits_block,
    cost_block,
    latent_block,
    learning_block,
    reliability_block,
)
from dsnc.paper.report.summary import sentences
from dsnc.pictures.drawing import look
from dsnc.pictures.templating import render
from dsnc.progress import duration

_CALLER = "dsnc report"
_BLOCKS: Mapping[str, Callable[[Chapter, str], Block | None]] = {
    "accuracy": accuracy_block,
    "bits": bits_block,
    "latent": latent_block,
    "cost": cost_block,
    "learning": learning_block,
    "reliability": reliability_block,
    "balance": balance_block,
    "correlation": correlation_block,
    "distances": distance_block,
}


@dataclass(frozen=True)
class ChapterView:
    """A chapter as the template shows it."""

    anchor: str
    title: str
    summary: Sequence[str]
    blocks: Sequence[Block]


@dataclass(frozen=True)
class DataView:
    """A data set as the template shows it."""

    anchor: str
    name: str
    facts: Sequence[str]
    warnings: Sequence[str]
    classes: Picture | None
    chapters: Sequence[ChapterView]
    runs: Table
    settings: Sequence[str]


def write_report(
    runs: str | os.PathLike[str], output: str | os.PathLike[str], *, overwrite: bool = False
) -> Path:
    """Write a page about all experiments whose records are in a folder.

    The page is one HTML file that needs nothing else: no network, no script. The same records give
    the same bytes.

    Parameters
    ----------
    runs : path
        The folder of records, as `reproduce` and ``dsnc reproduce`` write it.
    output : path
        The file to write; its folder is made.
    overwrite : bool
        Replace a file that is there.

    Returns
    -------
    Path
        The file that was written.
    """
    path = Path(output)
    if path.is_dir():
        raise OutputError(f"{path} is a folder; give the name of a file, such as report.html.")
    if path.exists() and not overwrite:
        raise OutputExistsError(
            f"{path} exists; choose another name, or replace it with --force (overwrite=True)."
        )
    require("jinja2", extra="report", caller=_CALLER)
    with look(_CALLER):  # at the door: what is missing is said before records are read
        text = render("report.html.j2", _CALLER, **_content(read_runs(runs)))
    return write_whole(path, text)


def _content(data_sets: Sequence[DataSet]) -> dict[str, Any]:
    records = [record for data in data_sets for record in data.records]
    views = [_data_view(number, data) for number, data in enumerate(data_sets, start=1)]
    return {
        "data_sets": views,
        "failures": failures(data_sets),
        "n_runs": len(records),
        "seconds": duration(sum(sum(record.seconds.values()) for record in records)),
        "versions": distinct(record.versions for record in records),
        "machines": distinct(record.machine for record in records),
    }


def _data_view(number: int, data: DataSet) -> DataView:
    anchor = f"data-{number}"
    chapters = []
    for chapter in data.chapters:
        own = f"{anchor}-{chapter.recipe}"
        title = f"{chapter.recipe.capitalize()} recipe"
        blocks = list(_blocks(chapter, data, own))
        chapters.append(ChapterView(own, title, list(sentences(chapter)), blocks))
    return DataView(
        anchor,
        data.name,
        list(_facts(data)),
        warnings_of(data),
        classes_picture(data),
        chapters,
        runs_table(data),
        settings_of(data),
    )


def _blocks(chapter: Chapter, data: DataSet, anchor: str) -> Iterator[Block]:
    """Yield the blocks of a chapter for which there are figures."""
    blocks = [make(chapter, f"{anchor}-{name}") for name, make in _BLOCKS.items()]
    blocks.append(confusion_block(chapter, data, f"{anchor}-confusions"))
    yield from (block for block in blocks if block is not None)


def _facts(data: DataSet) -> Iterator[str]:
    about = data.about
    rows = about.get("rows")
    if rows:
        names = ("training", "validation", "test")
        parts = (f"{n:,} {name}" for n, name in zip(rows, names, strict=False))
        yield f"{' · '.join(parts)} rows"
    if about.get("classes"):
        yield f"{len(about['classes']):,} classes"
    if about.get("features"):
        yield f"{about['features']:,} features"
    if about.get("image_shape"):
        yield "pictures of {} × {} pixels".format(*about["image_shape"])
    if about.get("description"):
        yield str(about["description"])
