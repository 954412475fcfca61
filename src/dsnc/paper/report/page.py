"""``dsnc report``: one page from a folder of records, for any browser, without a network.

It also writes single figures of the page as files, for documents.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from dsnc.errors import InputError, OutputError, OutputExistsError, require, unknown_name
from dsnc.files import write_whole
from dsnc.paper.experiments import METHODS, Cell, Record, Table
from dsnc.paper.report.chapters import Chapter, DataSet, read_runs
from dsnc.paper.report.figures import accuracy_figure, cost_figure
from dsnc.paper.report.sections import accuracy_lines, chapter_blocks, classes_picture
from dsnc.paper.report.summary import sentences
from dsnc.pictures.drawing import look, write_picture
from dsnc.pictures.templating import render
from dsnc.progress import duration

FIGURES = ("accuracy", "cost", "measured-cost")
_CALLER = "dsnc report"


def write_report(
    runs: str | os.PathLike[str], output: str | os.PathLike[str], *, overwrite: bool = False
) -> Path:
    """Write a page about all experiments whose records are in a folder.

    The page is a single HTML file without scripts that loads nothing from a network. The same
    records give the same bytes.

    Parameters
    ----------
    runs : path
        The folder of records, as `reproduce` and ``dsnc reproduce`` write it.
    output : path
        The file to write; its folder is created.
    overwrite : bool, default False
        Whether to replace an existing file.

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
            f"{path} exists; choose another name, or replace it with overwrite=True."
        )
    require("jinja2", extra="report", caller=_CALLER)
    with look(_CALLER):  # at the door: what is missing is said before records are read
        text = render("report.html.j2", _CALLER, **_content(read_runs(runs)))
    return write_whole(path, text)


def write_figure(
    kind: str,
    runs: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    data: str | None = None,
    recipe: str | None = None,
) -> Path:
    """Write one figure of the report to a file; an existing one is replaced.

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
        Which data set and recipe; required if the records have several.

    Returns
    -------
    Path
        The file that was written.
    """
    if kind not in FIGURES:
        raise unknown_name("kind", kind, FIGURES)

    def draw() -> Any:
        return _figure(kind, _chapter(runs, data, recipe))

    return write_picture("write_figure", Path(path), draw)


def _content(data_sets: Sequence[DataSet]) -> dict[str, Any]:
    records = [record for data in data_sets for record in data.records]
    return {
        "data_sets": [_data_view(n, data) for n, data in enumerate(data_sets, start=1)],
        "failures": [_failure(record) for record in records if record.error],
        "n_runs": len(records),
        "seconds": _all_seconds(records),
        "versions": _lines(record.versions for record in records),
        "machines": _lines(record.machine for record in records),
    }


def _failure(record: Record) -> dict[str, str]:
    trace = record.error.strip()
    reason = (trace.splitlines() or ["unknown"])[-1]
    return {"title": record.definition.title, "reason": reason, "trace": trace}


def _data_view(number: int, data: DataSet) -> dict[str, Any]:
    """Return a data set as the template shows it."""
    settings = {_line(record.definition.settings) for record in data.records}
    chapters = []
    for chapter in data.chapters:
        anchor = f"data-{number}-{chapter.recipe}"
        chapters.append(
            {
                "anchor": anchor,
                "title": f"{chapter.recipe.capitalize()} recipe",
                "summary": list(sentences(chapter)),
                "blocks": chapter_blocks(chapter, data, anchor),
            }
        )
    return {
        "anchor": f"data-{number}",
        "name": data.name,
        "facts": list(_facts(data)),
        "warnings": list(_warnings(data)),
        "classes": classes_picture(data),
        "chapters": chapters,
        "runs": _runs_table(data),
        "settings": sorted(line or "none" for line in settings),
    }


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


def _warnings(data: DataSet) -> Iterator[str]:
    """Yield why runs on a data set may not be compared with each other."""
    good = [record.definition for record in data.records if not record.error]
    if len({definition.fingerprint for definition in good}) > 1:
        yield "Runs on different versions of these data are mixed: rows or split changed."
    if len({_line(definition.settings) for definition in good}) > 1:
        yield "Runs with different settings are mixed; see how it was made."


def _runs_table(data: DataSet) -> Table:
    """Return how many runs of each method there are, and their seconds."""
    rows = []
    for recipe in sorted({record.definition.recipe for record in data.records}):
        for name, method in METHODS.items():
            key = recipe, name
            records = [r for r in data.records if (r.definition.recipe, r.definition.method) == key]
            if records:
                sizes = sorted({r.definition.n_bits for r in records if r.definition.n_bits})
                seeds = sorted({r.definition.seed for r in records})
                texts = [
                    method.title,
                    recipe,
                    ", ".join(map(str, sizes)) or "–",
                    ", ".join(map(str, seeds)),
                    str(len(records)),
                    _mean_seconds(records, "fit"),
                    _mean_seconds(records, "evaluate"),
                ]
                rows.append([Cell(text) for text in texts])
    columns = ("method", "recipe", "bits", "seeds", "runs", "fit, s", "evaluate, s")
    note = f"Mean seconds a run; all runs together: {_all_seconds(data.records)}."
    return Table(f"Runs on {data.name}", columns, rows, [note])


def _mean_seconds(records: Sequence[Record], what: str) -> str:
    values = [record.seconds[what] for record in records if what in record.seconds]
    return f"{fmean(values):,.1f}" if values else "–"


def _all_seconds(records: Sequence[Record]) -> str:
    return duration(sum(sum(record.seconds.values()) for record in records))


def _lines(values: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a line for each different mapping, empty ones left out."""
    return sorted({line for value in values if (line := _line(value))})


def _line(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items() if value is not None)


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
            raise InputError(
                f"No run on {chapter.data!r} has a code size, so there is no line to draw."
            )
        return accuracy_figure(accuracy_lines(chapter))
    cost = "operations" if kind == "cost" else "microseconds"
    points = chapter.curve.points if chapter.curve is not None else ()
    if chapter.curve is None or not any(getattr(point, cost) > 0 for point in points):
        raise InputError(
            f"The runs on {chapter.data!r} have no {cost} of decoding; dsnc reproduce cost "
            "measures it."
        )
    return cost_figure(chapter.curve, cost)
