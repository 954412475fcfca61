"""Pages of results from the records of ``dsnc reproduce all``: tables, figures, and all runs.

Run it with:  python docs/figures/results.py RUNS docs/results

The cells of every table go to ``docs/records/results``, so that `tables.py` can write them again,
and the figures of every run to ``runs.jsonl``, from which other pages take theirs.
"""

import argparse
import json
import re
from pathlib import Path

from dsnc.paper.experiments import EXPERIMENTS, Record, Table, find_records
from dsnc.paper.report import write_figure
from records import write

FIGURES = {
    "accuracy": "Accuracy against code size.",
    "measured-cost": "Accuracy against measured time of decoding; the line joins the models that "
    "no other one beats in both.",
    "cost": "Accuracy against operations of decoding, by the paper's formulas.",
}


def write_page(data: str, records: list[Record], runs: Path, target: Path) -> None:
    """Write the page of one data set, and its figures."""
    parts = [f"# {data}", ""]
    for recipe in sorted({record.definition.recipe for record in records}):
        parts += section(recipe, data, records, runs, target)
    (target / f"{data}.md").write_text("\n".join(parts), encoding="utf-8")


def section(recipe: str, data: str, records: list[Record], runs: Path, target: Path) -> list[str]:
    """Draw the figures of a data set under one recipe; return the text around them."""
    parts = [f"## {recipe.capitalize()} recipe", ""]
    for kind, caption in FIGURES.items():
        image = f"images/{data}-{recipe}-{kind}.png"
        write_figure(kind, runs, target / image, data=data, recipe=recipe)
        parts += [f"![{caption} {data}, {recipe} recipe]({image})", ""]
    for name, experiment in EXPERIMENTS.items():
        for table in experiment.tables(records, runs):
            if table.title.endswith(f"on {data}, {recipe} recipe"):
                parts.append(recorded(table, f"results/{data}-{recipe}-{name}", target))
    return parts


def recorded(table: Table, name: str, target: Path) -> str:
    """Keep a table as a record, unrounded values beside its cells; return its part of the page."""
    title, lines, notes = re.split(r"((?:^\|.*\n)+)", table.to_markdown(), flags=re.MULTILINE)
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines.splitlines()]
    columns, _, *rows = ([cell.strip() for cell in row] for row in cells)
    record = {
        "measured": {"by": "dsnc reproduce all, docs/figures/results.py", "runs": "runs.jsonl"},
        "columns": columns,
        "rows": rows,
        "values": [[cell["value"] for cell in row] for row in table.to_dict()["rows"]],
    }
    write(target.parent / "records" / f"{name}.json", record)
    return f"{title}<!-- record: {name} -->\n{lines}<!-- end of record -->\n{notes}"


def line_of(record: Record) -> dict[str, object]:
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
    with (arguments.target / "runs.jsonl").open("w", encoding="utf-8") as file:
        for record in [*records, *trials]:
            file.write(json.dumps(line_of(record), sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
