"""Pages of results from the records of ``dsnc reproduce all``: tables, figures, and all runs.

Run it with:  python docs/figures/results.py RUNS docs/results
"""

import argparse
import json
from pathlib import Path

from dsnc.paper.experiments import EXPERIMENTS, Record, find_records
from dsnc.paper.report import write_figure

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
    for experiment in EXPERIMENTS.values():
        for table in experiment.tables(records, runs):
            if table.title.endswith(f"on {data}, {recipe} recipe"):
                parts.append(table.to_markdown())
    return parts


def line_of(record: Record) -> dict[str, object]:
    """Return what a run was and what came out of it, without its arrays."""
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
        "accuracy": {k: round(v["accuracy"], 5) for k, v in record.outcomes.items()},
        "top_5": {k: round(v["top_5"], 5) for k, v in record.outcomes.items()},
        "calibration_error": {
            k: round(v["calibration_error"], 4)
            for k, v in record.outcomes.items()
            if "calibration_error" in v
        },
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
