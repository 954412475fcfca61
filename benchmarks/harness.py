"""What every benchmark shares: fair timing, and one way to show and keep the result.

Machines are noisy, so contestants take turns within one run and the fastest turn of each counts;
what is reported is ratios.
"""

import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from dsnc.versions import versions

RESULTS = Path(__file__).parent / "results"
PRELUDE = f"""
import json, re, sys
sys.path.insert(0, {str(Path(__file__).resolve().parent)!r})
from memory import now, peak
"""


def best_of(functions: Mapping[str, Callable[[], object]], repeat: int = 5) -> dict[str, float]:
    """Time functions in turns; return the least seconds of each."""
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(repeat):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def peak_megabytes(code: str, *arguments: str) -> dict[str, float]:
    """Run `code` in a fresh Python; return the figures that it prints as JSON.

    The code may call ``now()`` and ``peak()``: the resident memory of its process in MB at this
    moment, and the most it has been since the last call of ``now()``.
    """
    command = [sys.executable, "-c", PRELUDE + code, *arguments]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    figures: dict[str, float] = json.loads(output)
    return figures


def settings_of(pairs: list[str]) -> dict[str, Any]:
    """Return ``NAME=VALUE`` as a dictionary; a value is JSON, or else a string."""
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise SystemExit(f"{pair!r} is no setting; write NAME=VALUE, as in n_bits=64.")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            settings[name] = {"True": True, "False": False, "None": None}.get(value, value)
    return settings


def report(name: str, rows: list[dict[str, object]]) -> None:
    """Print a table and keep it as a line of JSON in ``benchmarks/results``.

    ``docs/figures/tables.py --take NAME`` makes the latest line a record of the documents.
    """
    show(name, rows)
    keep(name, rows)


def show(title: str, rows: list[dict[str, object]]) -> None:
    """Print a table."""
    table = Table(title=title)
    for column in rows[0]:
        table.add_column(column, justify="left" if isinstance(rows[0][column], str) else "right")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    Console(width=max(120, Console().width)).print(table)


def keep(name: str, rows: list[dict[str, object]], folder: Path = RESULTS) -> None:
    """Add a table to the records of its name: a line of JSON in `folder`."""
    path = folder / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {"measured": _measured(), "rows": [_without_nan(row) for row in rows]}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")


def _measured() -> dict[str, object]:
    """Return by what, when and where; of paths in the command only their names."""
    return {
        "by": " ".join(Path(argument).name for argument in sys.argv),
        "date": time.strftime("%Y-%m-%d"),
        "machine": platform.machine(),
        "versions": versions("numpy", "scikit-learn", "scipy", "torch"),
    }


def _without_nan(row: dict[str, object]) -> dict[str, object]:
    return {key: None if value != value else value for key, value in row.items()}


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,.3g}" if isinstance(value, float) else str(value)
