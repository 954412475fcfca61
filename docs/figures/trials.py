"""Trials of ``runs.jsonl`` as records, so that ``dsnc reproduce`` need not repeat them.

Run it with:  python docs/figures/trials.py docs/results/runs.jsonl RUNS --data DATA

Only trials that the present grid, recipe and data have are taken: those with the same digest. They
keep what selection looks at, the best accuracy, but no history.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

from dsnc.paper.experiments import PRESETS, Record
from dsnc.paper.experiments.record import write_record
from dsnc.paper.experiments.selection import trials_of


def restore(lines: Path, data: str, runs: Path) -> tuple[int, int]:
    """Write the records; return how many trials are known, and how many there are in all."""
    known = {line["digest"]: line for line in map(json.loads, lines.open(encoding="utf-8"))}
    plan = replace(PRESETS["paper"], recipes=("paper",))
    definitions = [d for source in plan.sources(data) for d in plan.definitions(source)]
    trials = trials_of(definitions, plan.settings)
    found = [trial for trial in trials if trial.digest in known]
    for trial in found:
        line = known[trial.digest]
        history = {"best_accuracy": line["validation_accuracy"]}
        write_record(Record(trial, history=history, seconds={"fit": line["fit_seconds"]}), {}, runs)
    return len(found), len(trials)


def main() -> None:
    """Read the command line."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("lines", type=Path)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--data", required=True)
    arguments = parser.parse_args()
    found, n = restore(arguments.lines, arguments.data, arguments.runs)
    print(f"{found} of {n} trials are known; {arguments.runs} has their records.")


if __name__ == "__main__":
    main()
