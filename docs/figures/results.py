"""Pages of results from the records of ``dsnc reproduce all``: tables, figures, and all runs.

Run it with:  python docs/figures/results.py RUNS docs/results

The cells of every table go to ``docs/records/results``, so that `tables.py` can write them again,
and the figures of every run to ``runs.jsonl``, from which other pages take theirs. Of a data set
and recipe that is not in RUNS, everything stays as it is. `trials.py` goes the other way: from
``runs.jsonl`` to records that ``dsnc reproduce`` goes on from.
"""

import argparse
import json
import re
from itertools import compress
from pathlib import Path
from typing import Any

from dsnc.paper.experiments import EXPERIMENTS, METHODS, Record, Table, find_records
from dsnc.paper.report import write_figure
from records import Records, write

FIGURES = {
    "accuracy": "Accuracy against code size.",
    "measured-cost": "Accuracy against measured time of decoding; the line joins the models that "
    "no other one beats in both.",
    "cost": "Accuracy against operations of decoding, by the paper's formulas.",
}

SHOWN = {"default": ("accuracy", "cost"), "paper": ("accuracy", "latent")}  # tables of a recipe

Line = dict[str, Any]  # of runs.jsonl
PART = re.compile(r"^## .*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)  # of a page: a recipe


def write_page(data: str, records: list[Record], runs: Path, target: Path) -> None:
    """Write the page of one data set, and its figures; recipes without records keep their part."""
    page = target / f"{data}.md"
    before = page.read_text(encoding="utf-8") if page.exists() else ""
    parts = {part.split()[1].lower(): part for part in re.findall(PART, before)}
    for recipe in {record.definition.recipe for record in records}:
        parts[recipe] = "\n".join(section(recipe, data, records, runs, target))
    text = "\n".join(parts[recipe].rstrip("\n") + "\n" for recipe in sorted(parts))
    page.write_text(f"# {data}\n\n{text}", encoding="utf-8")


def section(recipe: str, data: str, records: list[Record], runs: Path, target: Path) -> list[str]:
    """Draw the figures of a data set under one recipe; return the text around them."""
    parts = [f"## {recipe.capitalize()} recipe", ""]
    for kind, caption in FIGURES.items():
        image = f"images/{data}-{recipe}-{kind}.png"
        write_figure(kind, runs, target / image, data=data, recipe=recipe)
        parts += [f"![{caption} {data}, {recipe} recipe]({image})", ""]
    for name in SHOWN[recipe]:
        for table in EXPERIMENTS[name].tables(records, runs):
            if f"on {data}, {recipe} recipe" in table.title:
                parts.append(recorded(table, f"results/{data}-{recipe}-{name}", target))
    return parts


def recorded(table: Table, name: str, target: Path) -> str:
    """Keep a table as a record, unrounded values beside its cells; return its part of the page.

    What its notes say stands in ``docs/results/README.md``, once for all pages.
    """
    title, lines, _ = re.split(r"((?:^\|.*\n)+)", table.to_markdown(), flags=re.MULTILINE)
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines.splitlines()]
    columns, _, *rows = ([cell.strip() for cell in row] for row in cells)
    values = [[cell["value"] for cell in row] for row in table.to_dict()["rows"]]
    shown = [worth_showing(name, row) for row in rows]
    rows, values = list(compress(rows, shown)), list(compress(values, shown))
    if name.endswith("-latent"):  # accuracies stand in a table of their own
        own = [not title.endswith("%") for title in columns]
        columns, *rows = (list(compress(row, own)) for row in (columns, *rows))
        values = [list(compress(row, own)) for row in values]
    record = {
        "measured": {"by": "dsnc reproduce all, docs/figures/results.py", "runs": "runs.jsonl"},
        "columns": columns,
        "rows": rows,
        "values": values,
    }
    write(target.parent / "records" / f"{name}.json", record)
    table_of_it = Records(target.parents[1]).table(name)
    return f"{title}<!-- record: {name} -->\n{table_of_it}<!-- end of record -->\n"


def worth_showing(name: str, row: list[str]) -> bool:
    """Tell whether a page has a row: of costs what no other model beats, the paper's once."""
    if name.endswith("-cost"):
        return "**" in "".join(row)
    return row[0] != "*paper*" or "-paper-" in name


def line_of(record: Record) -> Line:
    """Return what a run was and what came out of it, without its arrays.

    Accuracies are shares of some thousand rows at most: eight digits are all there is to know.
    """
    definition = record.definition
    line = {
        "data": definition.data,
        "method": definition.method,
        "recipe": definition.recipe,
        "bits": definition.n_bits,
        "seed": definition.seed,
        "settings": definition.settings,
        "weighting": definition.weighting,
        "selected": definition.selected,
        "digest": definition.digest,
        "validation_accuracy": record.history.get("best_accuracy"),
        "fit_seconds": round(record.seconds["fit"], 2),
    }
    if definition.trial:  # the settings are those of the run that was chosen
        return {name: value for name, value in line.items() if name != "settings"} | {"trial": True}
    return line | {
        **{
            name: {k: round(v[name], 8) for k, v in record.outcomes.items() if name in v}
            for name in ("accuracy", "top_5", "calibration_error", "operations")
        },
        "codes": record.codes,
        "rows": record.rows,
        "versions": record.versions,
        "machine": record.machine,
    }


def merged(before: list[Line], made: list[Line]) -> list[Line]:
    """Return all runs: what was made anew takes the place of all of its data set and recipe."""
    anew = {(line["data"], line["recipe"]) for line in made}
    return [line for line in before if (line["data"], line["recipe"]) not in anew] + made


def write_selected(lines: list[Line], target: Path) -> None:
    """Keep which factor validation rows chose for each cell as a record."""
    cells = {
        (line["data"], line["method"], line["bits"]): line["selected"]
        for line in lines
        if "factor" in line["selected"] and not line.get("trial")
    }
    sizes = sorted({bits for *_, bits in cells})
    rows = [
        [data, METHODS[method].title]
        + [f"{c['factor']:g}" if (c := cells.get((data, method, n))) else "" for n in sizes]
        for data, method in sorted({key[:2] for key in cells})
    ]
    measured = {"by": "docs/figures/results.py", "from": "runs.jsonl"}
    record = {"measured": measured, "columns": ["data", "method", *map(str, sizes)], "rows": rows}
    write(target.parent / "records" / "selected_factors.json", record)


def main() -> None:
    """Read the command line and write everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("target", type=Path)
    arguments = parser.parse_args()
    (arguments.target / "images").mkdir(parents=True, exist_ok=True)
    records = [record for record in find_records(arguments.runs) if not record.error]
    by_data: dict[str, list[Record]] = {}
    for record in records:
        by_data.setdefault(record.definition.data, []).append(record)
    for data, group in by_data.items():
        write_page(data, group, arguments.runs, arguments.target)
    trials = [trial for trial in find_records(arguments.runs, trials=True) if not trial.error]
    path = arguments.target / "runs.jsonl"
    before = list(map(json.loads, path.read_text(encoding="utf-8").splitlines()))
    lines = merged(before, list(map(line_of, [*records, *trials])))
    text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
    write_selected(lines, arguments.target)


if __name__ == "__main__":
    main()
